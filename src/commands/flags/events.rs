//! Where what goes on is told to programs.

use std::path::PathBuf;

use crate::error::Failure;

/// Where what goes on is told to programs.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct EventsArgs {
    /// Tell what goes on as JSON Lines, in a file or on `-`
    ///
    /// One CommandEvent in each line, written at once: every change of a rule, how far a wait is, and how
    /// the command ended. Lines are added to the end of a file; `-` is standard output, which then
    /// has nothing else. Events that cannot be written stop nothing, and make exit code 1 of a success.
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
        Err(Failure::usage(
            "--events tells what goes on, and without --watch nothing does",
        ))
    }
}
