//! How much is printed, and how.

use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};

use crate::error::{ExitStatus, Failure};
use crate::output::ColorChoice;
use crate::render::Format;
use crate::report::metadata::Incomplete;

/// Flags of every command.
#[derive(clap::Args, Debug)]
pub(crate) struct GlobalArgs {
    /// When to use colours
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
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that has them
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
    /// Output format
    #[arg(short, long, value_parser = format_parser(), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Format,

    /// Exit with code 6 when part of the answer is missing
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
}

impl OutputArgs {
    /// Ends well, unless part of the answer is missing and that was asked to be an error, or could
    /// not be said in what was printed: those are the lines that are `unsaid`.
    pub(crate) fn accept(
        &self,
        incomplete: &[Incomplete],
        unsaid: &[String],
    ) -> Result<ExitStatus, Failure> {
        if !unsaid.is_empty() {
            let failure = Failure::new(
                ExitStatus::Incomplete,
                "the answer is incomplete, and more names may be missing",
            );
            return Err(unsaid.iter().cloned().fold(failure, Failure::hint));
        }
        if !self.strict || incomplete.is_empty() {
            return Ok(ExitStatus::Success);
        }
        let missing: Vec<&str> = incomplete.iter().map(|gap| gap.what.as_str()).collect();
        Err(Failure::new(
            ExitStatus::Incomplete,
            format!("the answer is incomplete: {}", missing.join(", ")),
        ))
    }
}

/// Accepts the formats that `render` knows, so that there is one list of them.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(|format| PossibleValue::new(format.as_str()));
    clap::builder::PossibleValuesParser::new(names).try_map(|text| text.parse::<Format>())
}
