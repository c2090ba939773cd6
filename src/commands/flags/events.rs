//! Where what goes on is told to programs.

use std::path::PathBuf;

use crate::error::Failure;

/// Where what goes on is told to programs.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct EventsArgs {
    /// Stream progress as JSON Lines to a file, or to stdout with `-`
    ///
    /// One CommandEvent per line, written immediately: changes of rules, evictions, the progress of a wait,
    /// and the result of the command. Lines are appended to an existing file. With `-`, stdout contains
    /// only events. `list` and `devices` need --watch and a file, and write a line for each new result. A
    /// write error does not stop the command, but a successful command then exits with code 1.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) events: Option<PathBuf>,
}

impl EventsArgs {
    /// A look at what there is has no events.
    ///
    /// # Errors
    ///
    /// When events are asked for of what does not go on.
    pub(crate) fn refuse_without_watch(&self, watches: bool) -> Result<(), Failure> {
        if self.events.is_none() || watches {
            return Ok(());
        }
        Err(Failure::usage("--events needs --watch"))
    }
}
