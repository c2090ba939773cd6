//! Status of a long operation: a changing line or view on a terminal, single lines elsewhere.

use std::time::{Duration, Instant};

use super::printer::Printer;

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
    use std::sync::{Arc, Mutex};

    use super::*;

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
