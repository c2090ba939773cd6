//! Flags of every command that changes something.

use clap::ValueEnum;

use crate::commands::work::changer::Lines;
use crate::commands::work::dry_run::WriteRequest;
use crate::error::Failure;
use crate::render::Format;
use crate::report::change::DryRun;

/// Flags of every command that changes something.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Change")]
pub(crate) struct ChangeArgs {
    /// Only print what would be done: client or server
    ///
    /// `client`, the default if WHERE is omitted, sends no changes. `server` sends them as a dry run: the
    /// server validates the changes, but does not store them.
    #[arg(long, value_enum, hide_possible_values = true, hide_default_value = true, default_value = "none", num_args = 0..=1, require_equals = true, default_missing_value = "client", value_name = "WHERE")]
    dry_run: Where,
}

/// Who pretends.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Where {
    /// No dry run
    None,
    /// This plugin
    Client,
    /// The server
    Server,
}

impl ChangeArgs {
    /// What was typed, as work takes it.
    pub(crate) fn change(&self) -> WriteRequest {
        WriteRequest {
            dry_run: match self.dry_run {
                Where::None => DryRun::None,
                Where::Client => DryRun::Client,
                Where::Server => DryRun::Server,
            },
        }
    }
}

/// How what was done is printed.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct ReportArgs {
    /// Output format: json or yaml
    ///
    /// Prints a ChangeReport at the end: what was done with each rule.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = ["json", "yaml"], help_heading = "Output")]
    output: Option<String>,
}

impl ReportArgs {
    /// The format, if what was done is wanted as data.
    pub(crate) fn format(&self) -> Result<Option<Format>, Failure> {
        let format = self.output.as_deref().map(str::parse::<Format>);
        Ok(format.transpose()?)
    }

    /// Whether every change is printed as it is made.
    pub(crate) fn lines(&self) -> Lines {
        match self.output {
            Some(_) => Lines::Left,
            None => Lines::Printed,
        }
    }
}
