//! How much is printed, and how.

use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};

use crate::commands::work::output_request::OutputRequest;
use crate::output::ColorChoice;
use crate::render::Format;

/// Flags of every command.
#[derive(clap::Args, Debug)]
pub(crate) struct GlobalArgs {
    /// When to use colors
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        help_heading = "Output"
    )]
    pub(crate) color: Color,

    /// Print results and errors only
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// If a permission is missing, print a ClusterRole that grants it
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) show_role: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that supports them
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// How a report is printed.
#[derive(clap::Args, Debug)]
pub(crate) struct OutputArgs {
    /// Output format: table, wide, json, yaml, markdown or name
    #[arg(short, long, hide_possible_values = true, value_parser = format_parser(), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Format,

    /// Exit with code 6 when the report is incomplete
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
}

impl OutputArgs {
    /// What was typed, as work takes it.
    pub(crate) fn wanted(&self) -> OutputRequest {
        OutputRequest {
            format: self.output,
            strict: self.strict,
        }
    }
}

/// How a report is printed that can be a page of its own.
#[derive(clap::Args, Debug)]
pub(crate) struct PageArgs {
    /// Output format: table, wide, json, yaml, markdown, html or name
    ///
    /// html is a single file for tickets and reviews: it loads no other files, and works without
    /// scripts.
    #[arg(short, long, hide_possible_values = true, value_parser = page_parser(), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Format,

    /// Exit with code 6 when the report is incomplete
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
}

impl PageArgs {
    /// What was typed, as work takes it.
    pub(crate) fn wanted(&self) -> OutputRequest {
        OutputRequest {
            format: self.output,
            strict: self.strict,
        }
    }
}

/// Accepts the formats that `render` knows but pages, so that there is one list of them.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = Format> {
    parser(&Format::UNPAGED)
}

/// Accepts pages too.
fn page_parser() -> impl TypedValueParser<Value = Format> {
    parser(&Format::ALL)
}

fn parser(formats: &[Format]) -> impl TypedValueParser<Value = Format> + use<> {
    let names = formats
        .iter()
        .map(|format| PossibleValue::new(format.as_str()));
    clap::builder::PossibleValuesParser::new(names).try_map(|text| text.parse::<Format>())
}
