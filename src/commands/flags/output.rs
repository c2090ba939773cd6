//! In which format a report is printed.

use clap::builder::{PossibleValue, TypedValueParser};

use crate::commands::work::output_request::OutputRequest;
use crate::decide::Strictness;
use crate::render::Format;

/// Format of a report.
#[derive(clap::Args, Debug)]
pub(crate) struct OutputArgs {
    /// Output format: table, wide, json, yaml, markdown or name
    #[arg(short, long, hide_possible_values = true, value_parser = format_parser(), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Format,
}

impl OutputArgs {
    /// The arguments, as `work` takes them.
    pub(crate) fn wanted(&self) -> OutputRequest {
        OutputRequest {
            format: self.output,
            strictness: Strictness::Lenient,
        }
    }
}

/// Format of a report that can be a page of its own.
#[derive(clap::Args, Debug)]
pub(crate) struct PageArgs {
    /// Output format: table, wide, json, yaml, markdown, html or name
    ///
    /// html is a single file for tickets and reviews: it loads no other files.
    #[arg(short, long, hide_possible_values = true, value_parser = page_parser(), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Format,
}

impl PageArgs {
    /// The arguments, as `work` takes them.
    pub(crate) fn wanted(&self) -> OutputRequest {
        OutputRequest {
            format: self.output,
            strictness: Strictness::Lenient,
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

/// Parser of some formats.
pub(crate) fn parser(formats: &[Format]) -> impl TypedValueParser<Value = Format> + use<> {
    let names = formats
        .iter()
        .map(|format| PossibleValue::new(format.as_str()));
    clap::builder::PossibleValuesParser::new(names).try_map(|text| text.parse::<Format>())
}
