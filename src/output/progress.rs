//! Progress line on a terminal.
//!
//! One line on standard error that comes after half a second, moves, and is gone before anything else
//! is written; or a view of several lines. Nothing at all where standard error is no terminal.

use super::escape;
use super::escape::hanging;
use super::printer::Printer;
use super::question::columns;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use textwrap::core::display_width;

/// Duration below which no line is shown.
const UNNOTICED: Duration = Duration::from_millis(500);
/// From one picture to the next.
const PICTURE: Duration = Duration::from_millis(100);
/// Columns of the spinner, with the space behind it.
const SPINNER: u16 = 2;
/// Columns of a line of a view: a narrow terminal has 80, and the spinner takes two of them.
const COLUMNS: usize = 78;

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
    /// True if the lines are a view, which says more than any single line that comes meanwhile.
    is_view: bool,
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
        if state.held || state.is_view {
            return;
        }
        let since = *state.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= UNNOTICED {
            show(bar, &mut state);
        }
        bar.set_message(status(text, columns()));
    }

    /// Shows a view of work that lasts, at once; the next view replaces it. Single lines do not, until it is taken
    /// away. Lines that are too long are shortened.
    pub fn update_view(&self, lines: &[String]) {
        let Some(bar) = &self.bar else {
            return;
        };
        let mut state = self.state();
        if state.held {
            return;
        }
        state.is_view = true;
        bar.set_message(view(lines));
        show(bar, &mut state);
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

/// The text as one message, broken between words behind the spinner and a space: why work lasts and until when
/// stand at its end, so nothing is left out.
fn status(text: &str, columns: Option<u16>) -> String {
    let columns = columns.map(|columns| columns.saturating_sub(SPINNER));
    hanging(&escape::line(text), columns).join("\n")
}

/// The lines as one message. Each is escaped by itself, so that none has a line break of its own.
fn view(lines: &[String]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| shortened(&escape::line(line), COLUMNS))
        .collect();
    lines.join("\n")
}

/// The line in at most `columns` columns; omitted text is shown as `…`. A line that goes on in the next would make
/// the view higher than the terminal.
fn shortened(line: &str, columns: usize) -> String {
    if display_width(line) <= columns {
        return line.to_owned();
    }
    let ends = line.char_indices().map(|(place, _)| &line[..place]);
    let fits = |start: &&str| display_width(start) < columns;
    let start = ends.take_while(fits).last().unwrap_or_default();
    format!("{start}…")
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
    state.is_view = false;
}

fn style() -> ProgressStyle {
    // The template is a constant, and a wrong one only looks different.
    ProgressStyle::with_template("{spinner} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Time without news after which a line is written.
const REMINDER: Duration = Duration::from_secs(30);

/// Status of something that goes on for long: one line or one view that changes in place on a terminal;
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

    /// Shows on a terminal all of `lines`; elsewhere says `text` when `state` is another.
    pub fn show(&mut self, state: &str, text: &str, lines: &[String]) {
        if self.printer.progress().is_seen() {
            self.printer.progress().update_view(lines);
        } else {
            self.say(state, text);
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
    fn a_view_is_shown_at_once_and_single_lines_do_not_replace_it() {
        let progress = Progress::on_standard_error();
        let message = || progress.bar.as_ref().unwrap().message();
        progress.update_view(&["drain fw".to_owned(), "  node-1".to_owned()]);
        assert!(progress.state().shown);
        progress.update("reading");
        assert_eq!(message(), "drain fw\n  node-1");
        progress.held(|| progress.update_view(&["drain fw".to_owned()]));
        assert!(!progress.state().shown && !progress.state().is_view);
        progress.update("reading");
        assert_eq!(message(), "reading");
        progress.finish();
    }

    #[test]
    fn lines_of_a_view_are_escaped_each_by_itself_and_shortened_by_columns() {
        let lines = ["a\nb\u{1b}[2J".to_owned(), "大".repeat(60), "x".repeat(78)];
        let shown = view(&lines);
        let shown: Vec<&str> = shown.lines().collect();
        let wide = format!("{}…", "大".repeat(38));
        assert_eq!(shown, ["a\\nb\\x1b[2J", &wide, &"x".repeat(78)]);
        assert!(shown.iter().all(|line| display_width(line) <= COLUMNS));
    }

    #[test]
    fn nobody_sees_what_has_no_terminal() {
        let progress = Progress::default();
        progress.update("reading");
        progress.update_view(&["reading".to_owned()]);
        assert!(!progress.is_seen());
        assert_eq!(progress.aside(|| 7), 7);
    }

    #[test]
    fn a_view_is_one_line_where_there_is_no_terminal() {
        let stderr = Lines::default();
        let printer = Printer::plain(std::io::sink(), stderr.clone());
        let mut status = StatusLine::new(&printer);
        let lines = ["drain fw".to_owned(), "  node-1".to_owned()];
        status.show("1 pod", "1 pod, 9s left", &lines);
        status.show("1 pod", "1 pod, 8s left", &lines);
        status.show("0 pods", "0 pods, 7s left", &lines);
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
