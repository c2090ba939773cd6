//! What shows that something is going on?
//!
//! One line on standard error that comes after half a second, moves, and is gone before anything else
//! is written. Nothing at all where standard error is no terminal.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Printer, escape};

/// What lasts less than this is not worth a line.
const UNNOTICED: Duration = Duration::from_millis(500);
/// From one picture to the next.
const PICTURE: Duration = Duration::from_millis(100);

/// A line that says what the program is busy with.
#[derive(Debug, Default)]
pub struct Progress {
    /// Absent where nobody looks.
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    shown: bool,
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

    /// Whether anybody would see it.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        self.bar.is_some()
    }

    /// Says what is going on. Call it now and then: the line appears when the work has lasted.
    pub fn update(&self, text: &str) {
        let Some(bar) = &self.bar else {
            return;
        };
        let mut state = self.state();
        let since = *state.since.get_or_insert_with(Instant::now);
        if !state.shown && since.elapsed() >= UNNOTICED {
            state.shown = true;
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(PICTURE);
        }
        bar.set_message(escape::line(text).into_owned());
    }

    /// Takes the line away; the next update begins anew.
    pub fn finish(&self) {
        let Some(bar) = &self.bar else {
            return;
        };
        let mut state = self.state();
        if state.shown {
            bar.disable_steady_tick();
            bar.finish_and_clear();
            bar.set_draw_target(ProgressDrawTarget::hidden());
            bar.reset();
        }
        *state = State::default();
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

/// How long nothing new is worth no line of its own.
const REMINDER: Duration = Duration::from_secs(30);

/// What is told of something that goes on for long: one line that changes in place on a terminal;
/// elsewhere a line of its own when it has come further, and now and then as a sign of life.
pub struct Account<'a> {
    printer: &'a Printer<'static>,
    /// How far it was when that was last told, and when that was.
    told: Option<(String, Instant)>,
}

impl<'a> Account<'a> {
    /// Nothing to say yet.
    #[must_use]
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

impl Drop for Account<'_> {
    fn drop(&mut self) {
        self.printer.progress().finish();
    }
}

fn style() -> ProgressStyle {
    // The template is a constant, and a wrong one only looks different.
    ProgressStyle::with_template("{spinner} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_shows_nothing() {
        let progress = Progress::on_standard_error();
        progress.update("reading");
        assert!(!progress.state().shown);
        progress.finish();
        assert!(progress.state().since.is_none());
    }

    #[test]
    fn nobody_sees_what_has_no_terminal() {
        let progress = Progress::default();
        progress.update("reading");
        assert!(!progress.is_seen());
        assert_eq!(progress.aside(|| 7), 7);
    }

    #[test]
    fn a_line_is_written_when_it_has_come_further() {
        let stderr = Lines::default();
        let printer = Printer::plain(std::io::sink(), stderr.clone());
        let mut account = Account::new(&printer);
        account.say("0 gone", "0 gone, 10s left");
        account.say("0 gone", "0 gone, 9s left");
        account.say("1 gone", "1 gone, 8s left");
        let long_ago = Instant::now().checked_sub(REMINDER).unwrap();
        account.told = Some(("1 gone".to_owned(), long_ago));
        account.say("1 gone", "1 gone, 7s left");
        account.say("1 gone", "1 gone, 6s left");
        let written = stderr.0.lock().unwrap().clone();
        let written = String::from_utf8(written).unwrap();
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(
            lines,
            ["0 gone, 10s left", "1 gone, 8s left", "1 gone, 7s left"]
        );
    }

    #[derive(Clone, Default)]
    struct Lines(std::sync::Arc<Mutex<Vec<u8>>>);

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
