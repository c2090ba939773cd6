//! Flags of every command that changes something.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::commands::work::changer::Lines;
use crate::commands::work::dry_run::WriteRequest;
use crate::commands::work::source::Source;
use crate::error::Failure;
use crate::render::Format;
use crate::report::change::DryRun;

/// Flags of every command that changes something.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct ChangeArgs {
    /// Only print what would be done: client or server
    ///
    /// `client`, the default, sends nothing. `server` has the server check the changes.
    #[arg(long, value_enum, hide_possible_values = true, hide_default_value = true, default_value = "none", num_args = 0..=1, require_equals = true, default_missing_value = "client", value_name = "WHERE")]
    dry_run: Where,
}

/// Side that evaluates a dry run.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Where {
    /// No dry run
    None,
    /// This plugin
    Client,
    /// The server
    Server,
}

/// Flags of commands that change something, and can be rehearsed on saved objects.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct RehearsalArgs {
    #[command(flatten)]
    change: ChangeArgs,

    /// With --dry-run=client, read saved objects instead of a cluster; repeatable
    #[arg(long, value_name = "FILENAME", hide_short_help = true)]
    from: Vec<PathBuf>,
}

impl RehearsalArgs {
    /// The request for changes.
    pub(crate) fn change(&self) -> WriteRequest {
        self.change.change()
    }

    /// The source of the cluster's state.
    ///
    /// # Errors
    ///
    /// Changes would be sent, and saved objects read.
    pub(crate) fn source(&self) -> Result<Source, Failure> {
        if !self.from.is_empty() && self.change().mode().is_some() {
            return Err(Failure::usage("--from needs --dry-run=client"));
        }
        Ok(Source {
            from: self.from.clone(),
            kubernetes: None,
            now: None,
        })
    }
}

impl ChangeArgs {
    /// The arguments, as `work` takes them.
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

/// Format of the report of a change.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct ReportArgs {
    /// Output format: json or yaml
    ///
    /// Prints a ChangeReport at the end: what was done with each rule.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = ["json", "yaml"], help_heading = "Output")]
    output: Option<String>,
}

impl ReportArgs {
    /// The format, if the changes are wanted as data.
    pub(crate) fn format(&self) -> Result<Option<Format>, Failure> {
        let format = self.output.as_deref().map(str::parse::<Format>);
        Ok(format.transpose()?)
    }

    /// Decides if every change is printed as it is made.
    pub(crate) fn lines(&self) -> Lines {
        match self.output {
            Some(_) => Lines::Left,
            None => Lines::Printed,
        }
    }
}
