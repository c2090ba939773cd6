//! Flags of every command that changes something.

use clap::ValueEnum;

use crate::commands::work::changer::{Change, DryRun};

/// Flags of every command that changes something.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Change")]
pub(crate) struct ChangeArgs {
    /// Say what would be done: client does not send it, server sends it without storing it
    #[arg(long, value_enum, default_value = "none", num_args = 0..=1, require_equals = true, default_missing_value = "client", value_name = "WHERE")]
    dry_run: Where,

    /// Exit with code 3 when there is nothing to change
    #[arg(long)]
    error_unchanged: bool,
}

/// Who pretends.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Where {
    /// Nobody: it is done
    None,
    /// This plugin
    Client,
    /// The server
    Server,
}

impl ChangeArgs {
    /// What was typed, as work takes it.
    pub(crate) fn change(&self) -> Change {
        Change {
            dry_run: match self.dry_run {
                Where::None => DryRun::None,
                Where::Client => DryRun::Client,
                Where::Server => DryRun::Server,
            },
            error_unchanged: self.error_unchanged,
        }
    }
}
