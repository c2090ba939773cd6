//! Where what goes on is told to programs.

use std::path::PathBuf;

use crate::error::Failure;

/// Where what goes on is told to programs.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct EventsArgs {
    /// Stream progress as JSON Lines to a file, or to stdout with `-`
    ///
    /// Each line is a JSON object of kind CommandEvent, and is written immediately. Events are changes of rules,
    /// evictions, the progress of a wait, and the result of the command. Lines are appended to an existing file. With
    /// `-`, stdout contains only events. A write error does not stop the command, but makes an otherwise successful
    /// command exit with code 1.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) events: Option<PathBuf>,
}

/// Summary of `--events` for commands that print an answer again and again.
pub(crate) const WATCHED: &str = "With --watch, append each new result to a file, as JSON Lines";
/// Its description.
pub(crate) const WATCHED_LONG: &str = "With --watch, append each new result to a file, as JSON Lines\n\nEach \
    line is a JSON object of kind CommandEvent. It has the names of all items in the list, and the \
    names of the items that were added or removed. Each line is written immediately. A write \
    error does not stop the command, but makes an otherwise successful command exit with code 1.";

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
