//! How far is it?
//!
//! One line on a terminal that changes in place; elsewhere a line of its own whenever there is
//! something new to say.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::{Printer, escape};

/// How often the line is drawn anew, so that one sees that the program lives.
const TICK: Duration = Duration::from_millis(200);

/// The line; it disappears when this is dropped.
#[derive(Debug)]
pub struct Progress<'a> {
    bar: Option<ProgressBar>,
    printer: &'a Printer<'static>,
    last: String,
}

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// In place, on a terminal.
    Terminal,
    /// Line by line, in a log.
    Log,
}

impl<'a> Progress<'a> {
    /// Nothing to say yet.
    #[must_use]
    pub fn new(stage: Stage, printer: &'a Printer<'static>) -> Self {
        let bar = match stage {
            Stage::Terminal => {
                let bar = ProgressBar::new_spinner();
                if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(TICK);
                Some(bar)
            }
            Stage::Log => None,
        };
        Self {
            bar,
            printer,
            last: String::new(),
        }
    }

    /// Says how far it is.
    pub fn say(&mut self, text: &str) {
        if text == self.last {
            return;
        }
        text.clone_into(&mut self.last);
        match &self.bar {
            Some(bar) => bar.set_message(escape::line(text).into_owned()),
            None => self.printer.note(text),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
