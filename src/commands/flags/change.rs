//! Flags of every command that changes something.

use std::path::PathBuf;

use super::output::parser;
use crate::commands::work::source::Source;
use crate::decide::change_log::DryRun;
use crate::error::Failure;
use crate::render::Format;

/// Flags of every command that changes something.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct ChangeArgs {
    /// Only print what would be done: client or server
    ///
    /// `client`, the default, sends nothing. `server` has the server check the changes.
    #[arg(long, value_enum, hide_possible_values = true, hide_default_value = true, default_value = "none", num_args = 0..=1, require_equals = true, default_missing_value = "client", value_name = "WHERE")]
    pub(crate) dry_run: DryRun,
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
    /// Place where changes are only tried.
    pub(crate) fn dry_run(&self) -> DryRun {
        self.change.dry_run
    }

    /// The source of the cluster's state.
    ///
    /// # Errors
    ///
    /// Changes would be sent, and saved objects read.
    pub(crate) fn source(&self) -> Result<Source, Failure> {
        if !self.from.is_empty() && self.dry_run() != DryRun::Client {
            return Err(Failure::usage("--from needs --dry-run=client"));
        }
        Ok(Source {
            from: self.from.clone(),
            kubernetes: None,
            now: None,
        })
    }
}

/// Format of the report of a change.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct ReportArgs {
    /// Output format: json or yaml
    ///
    /// Prints a ChangeReport at the end: what was done with each rule.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = parser(&[Format::Json, Format::Yaml]), help_heading = "Output")]
    pub(crate) output: Option<Format>,
}
