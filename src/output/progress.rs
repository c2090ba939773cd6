//! Progress line on a terminal.
//!
//! One line on standard error that comes after half a second, moves, and is gone before anything else
//! is written. Nothing at all where standard error is no terminal.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::escape;
use super::printer::Printer;

/// Duration below which no line is shown.
const UNNOTICED: Duration = Duration::from_millis(500);
/// From one picture to the next.
const PICTURE: Duration = Duration::from_millis(100);

/// A line that says what the program is busy with.
#[derive(Debug, Default)]
pub struct Progress {
    /// Absent where standard error is no terminal.
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    shown: bool,
    /// True if a question is open, whose line must not be drawn over.
    held: bool,
}

impl Progress {
    /// A line on standard error, which must be a terminal.
    pub(super) fn on_standard_error() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style());
        Self {
            bar: Some(bar),
            state: Mutex::default(),
        }
    }

    /// True if it is visible.
    pub fn is_seen(&self) -> bool {
        self.bar.is_some()
    }

    /// Says what is going on. Call it now and then: the line appears when the work has lasted.
    pub fn update(&self, text: &str) {
        let Some(bar) = &self.bar else {
            return;
        };
        let mut state = self.state();
        if state.held {
            return;
        }
        let since = *state.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= UNNOTICED {
            show(bar, &mut state);
        }
        bar.set_message(escape::line(text).into_owned());
    }

    /// Takes the line away; the next update begins anew.
    pub fn finish(&self) {
        let Some(bar) = &self.bar else {
            return;
        };
        clear(bar, &mut self.state());
    }

    /// Does what needs the terminal for itself, such as a question: the line is taken away before, and does not
    /// come back until that is done.
    pub(super) fn held<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(bar) = &self.bar else {
            return work();
        };
        {
            let mut state = self.state();
            clear(bar, &mut state);
            state.held = true;
        }
        let done = work();
        self.state().held = false;
        done
    }

    /// Writes something else meanwhile.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins to draw.
fn show(bar: &ProgressBar, state: &mut State) {
    if !state.shown {
        state.shown = true;
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(PICTURE);
    }
}

/// Takes the lines away.
fn clear(bar: &ProgressBar, state: &mut State) {
    if state.shown {
        bar.disable_steady_tick();
        bar.finish_and_clear();
        bar.set_draw_target(ProgressDrawTarget::hidden());
        bar.reset();
    }
    state.since = None;
    state.shown = false;
}

fn style() -> ProgressStyle {
    // The template is a constant, and a wrong one only looks different.
    ProgressStyle::with_template("{spinner} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Time without news after which a line is written.
const REMINDER: Duration = Duration::from_secs(30);

/// Status of something that goes on for long: one line that changes in place on a terminal;
/// elsewhere a line of its own when it has come further, and now and then as a sign of life.
pub struct StatusLine<'a> {
    printer: &'a Printer<'static>,
    /// Status that was last shown, and its time.
    told: Option<(String, Instant)>,
}

impl<'a> StatusLine<'a> {
    /// Nothing to say yet.
    pub fn new(printer: &'a Printer<'static>) -> Self {
        Self {
            printer,
            told: None,
        }
    }

    /// Says how far it is, in a few words that change only then, and all there is to say about it.
    pub fn say(&mut self, state: &str, text: &str) {
        if self.printer.progress().is_seen() {
            self.printer.progress().update(text);
        } else if self.is_news(state) {
            self.printer.note(text);
            self.told = Some((state.to_owned(), Instant::now()));
        }
    }

    fn is_news(&self, state: &str) -> bool {
        match &self.told {
            Some((told, at)) => told != state || at.elapsed() >= REMINDER,
            None => true,
        }
    }
}

impl Drop for StatusLine<'_> {
    fn drop(&mut self) {
        self.printer.progress().finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn nothing_is_drawn_over_an_open_question() {
        let progress = Progress::on_standard_error();
        let long_ago = Instant::now().checked_sub(UNNOTICED).unwrap();
        progress.state().since = Some(long_ago);
        progress.update("reading");
        assert!(progress.state().shown);
        let is_shown = || {
            progress.state().since = Some(long_ago);
            progress.update("reading");
            progress.state().shown
        };
        assert!(!progress.held(is_shown));
        progress.state().since = Some(long_ago);
        progress.update("reading");
        assert!(progress.state().shown, "the work goes on");
        progress.finish();
    }

    #[test]
    fn nobody_sees_what_has_no_terminal() {
        let progress = Progress::default();
        progress.update("reading");
        assert!(!progress.is_seen());
        assert_eq!(progress.aside(|| 7), 7);
    }

    #[test]
    fn a_line_is_written_only_with_news_where_there_is_no_terminal() {
        let stderr = Lines::default();
        let printer = Printer::plain(std::io::sink(), stderr.clone());
        let mut status = StatusLine::new(&printer);
        status.say("1 pod", "1 pod, 9s left");
        status.say("1 pod", "1 pod, 8s left");
        status.say("0 pods", "0 pods, 7s left");
        let written = String::from_utf8(stderr.0.lock().unwrap().clone()).unwrap();
        assert_eq!(written, "1 pod, 9s left\n0 pods, 7s left\n");
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
