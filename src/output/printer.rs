//! The printer, which writes to the two streams.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::AutoStream;

use super::environment::Environment;
use super::escape;
use super::progress::Progress;

/// A result that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the result")]
pub struct OutputError(#[from] io::Error);

/// The two streams of the program.
///
/// A reader that goes away early (`| head`) is no failure: from then on results are dropped.
/// Messages that cannot be written to standard error are dropped too; there is nowhere to say so.
pub struct Printer<'a> {
    stdout: Mutex<Box<dyn Write + Send + 'a>>,
    stderr: Mutex<Box<dyn Write + Send + 'a>>,
    reader_is_gone: AtomicBool,
    shown_warnings: Mutex<BTreeSet<String>>,
    progress: Progress,
    colored: bool,
    colored_results: bool,
}

/// Standard output for a result that is too long to be in memory as a whole. Every write has to be text.
#[derive(Debug)]
pub struct ResultWriter<'p, 'a> {
    printer: &'p Printer<'a>,
    text: String,
}

/// Bytes that are written at a time.
const PART: usize = 64 * 1024;

impl Write for ResultWriter<'_, '_> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.text
            .push_str(str::from_utf8(part).map_err(io::Error::other)?);
        if self.text.len() >= PART {
            self.flush()?;
        }
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        self.printer.emit(&text).map_err(|OutputError(error)| error)
    }
}

impl fmt::Debug for Printer<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Printer").finish_non_exhaustive()
    }
}

impl Printer<'static> {
    /// A printer on the process' own standard output and standard error.
    pub fn standard(environment: &Environment) -> Self {
        let colored = environment.colors_stderr();
        // Old Windows consoles know no escape sequences; the stream translates them there.
        let stream = if colored {
            AutoStream::always(io::stderr())
        } else {
            AutoStream::never(io::stderr())
        };
        let watched = environment.stderr_is_terminal && !environment.dumb_terminal;
        let progress = if watched {
            Progress::on_standard_error()
        } else {
            Progress::default()
        };
        // Passes on what is written, but where the console has to be told in another way.
        let results = AutoStream::always(io::stdout());
        Self {
            colored,
            colored_results: environment.colors_stdout(),
            progress,
            ..Self::plain(results, stream)
        }
    }
}

impl<'a> Printer<'a> {
    /// A printer on any two streams, without colours, that says everything.
    pub fn plain(stdout: impl Write + Send + 'a, stderr: impl Write + Send + 'a) -> Self {
        Self {
            stdout: Mutex::new(Box::new(stdout)),
            stderr: Mutex::new(Box::new(stderr)),
            reader_is_gone: AtomicBool::new(false),
            shown_warnings: Mutex::new(BTreeSet::new()),
            progress: Progress::default(),
            colored: false,
            colored_results: false,
        }
    }

    /// The line that shows what the program is busy with. A result takes it away.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Asks something on the terminal: nothing is drawn over it until it is answered.
    pub fn while_asking<T>(&self, ask: impl FnOnce() -> T) -> T {
        self.progress.held(ask)
    }

    /// Writes a result to standard output, as it is but for characters that may not be printed raw.
    ///
    /// # Errors
    ///
    /// When standard output takes no more, for any other reason than that its reader is gone.
    pub fn emit(&self, text: &str) -> Result<(), OutputError> {
        self.write_result(&escape::layout(text))
    }

    /// Writes a result as [`Printer::emit`] does, with these words in colour where results have any.
    ///
    /// # Errors
    ///
    /// As [`Printer::emit`].
    pub fn emit_marked(&self, text: &str, marks: &[Mark]) -> Result<(), OutputError> {
        let text = escape::layout(text);
        if self.colored_results {
            self.write_result(&marked(&text, marks))
        } else {
            self.write_result(&text)
        }
    }

    /// A stream of which every part becomes a result as by [`Printer::emit`]; the last one when it is flushed.
    pub fn result_writer(&self) -> ResultWriter<'_, 'a> {
        ResultWriter {
            printer: self,
            text: String::new(),
        }
    }

    fn write_result(&self, text: &str) -> Result<(), OutputError> {
        self.progress.finish();
        if self.reader_is_gone.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut stdout = locked(&self.stdout);
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.reader_is_gone.store(true, Ordering::Relaxed);
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// Says why the command failed: `error: …`.
    pub fn error(&self, text: &str) {
        self.say(Prefix::Error, text);
    }

    /// Says a fact about an error, indented below it.
    pub fn detail(&self, text: &str) {
        self.say(Prefix::Detail, text);
    }

    /// Says what to do about an error or a warning: `hint: …`.
    pub fn hint(&self, text: &str) {
        self.say(Prefix::Hint, text);
    }

    /// Prints a warning: `warning: …`. The same warning is printed once only.
    pub fn warn(&self, text: &str) {
        if locked(&self.shown_warnings).insert(text.to_owned()) {
            self.say(Prefix::Warning, text);
        }
    }

    /// Passes on a warning of the API server, `Warning: …` as kubectl writes it, once.
    pub fn server_warning(&self, text: &str) {
        let line = format!("Warning: {text}");
        if locked(&self.shown_warnings).insert(line.clone()) {
            self.note(&line);
        }
    }

    /// Says something that is worth knowing, such as `No resources found`, without a prefix.
    pub fn note(&self, text: &str) {
        self.say(Prefix::Note, text);
    }

    /// Writes a message of several lines to standard error, such as what is wrong with the command
    /// line.
    pub fn block(&self, text: &str) {
        self.write_aside(&escape::layout(text));
    }

    fn say(&self, prefix: Prefix, text: &str) {
        let (word, color) = prefix.parts();
        let text = format!("{word}{}", escape::line(text));
        let colored = text
            .strip_prefix(word)
            .filter(|_| self.colored && !color.is_empty())
            .map(|rest| format!("{color}{word}\u{1b}[0m{rest}"));
        self.write_aside(&format!("{}\n", colored.unwrap_or(text)));
    }

    fn write_aside(&self, text: &str) {
        let mut stderr = locked(&self.stderr);
        // Ignored on purpose: a message about a broken standard error has nowhere to go.
        let _ = self.progress.aside(|| {
            stderr
                .write_all(text.as_bytes())
                .and_then(|()| stderr.flush())
        });
    }
}

/// The stream, also after a thread that held it has panicked: whole lines are written at once.
fn locked<T>(stream: &Mutex<T>) -> MutexGuard<'_, T> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prefix of a message.
#[derive(Clone, Copy)]
enum Prefix {
    Error,
    Warning,
    Detail,
    Hint,
    Note,
}

impl Prefix {
    /// The word in front of the message, and the escape sequence that colours it.
    fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::Error => ("error: ", "\u{1b}[1;31m"),
            Self::Warning => ("warning: ", "\u{1b}[1;33m"),
            Self::Hint => ("hint: ", "\u{1b}[1;36m"),
            Self::Detail => ("  ", ""),
            Self::Note => ("", ""),
        }
    }
}

/// A word that is coloured wherever it stands alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The word, as it is printed.
    pub word: &'static str,
    /// Colour.
    pub color: MarkColor,
}

/// Colour of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkColor {
    /// For what hurts.
    Red,
    /// For what is worth a second look.
    Yellow,
    /// For what is well.
    Green,
}

impl MarkColor {
    fn sequence(self) -> &'static str {
        match self {
            Self::Red => "\u{1b}[31m",
            Self::Yellow => "\u{1b}[33m",
            Self::Green => "\u{1b}[32m",
        }
    }
}

/// The text with its marked words in colour. Columns stay where they are: nothing that can be seen is
/// added.
pub(super) fn marked(text: &str, marks: &[Mark]) -> String {
    let mut colored = String::with_capacity(text.len());
    let mut rest = text;
    // Marks follow each other in any order, so the first of all of them is searched each time.
    let next = |rest: &str| {
        let found = marks
            .iter()
            .filter_map(|mark| Some((rest.find(mark.word)?, *mark)));
        found.min_by_key(|(at, _)| *at)
    };
    while let Some((at, mark)) = next(rest) {
        let (before, found) = rest.split_at(at);
        let (word, after) = found.split_at(mark.word.len());
        colored.push_str(before);
        // `danger` in the name of a pod is no severity.
        let alone = !colored.ends_with(is_inner) && !after.starts_with(is_inner);
        if alone {
            colored.push_str(mark.color.sequence());
            colored.push_str(word);
            colored.push_str("\u{1b}[0m");
        } else {
            colored.push_str(word);
        }
        rest = after;
    }
    colored.push_str(rest);
    colored
}

/// True if a character next to a word makes it a part of another one.
fn is_inner(character: char) -> bool {
    character.is_alphanumeric() || ['-', '.', '/', '_'].contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::MarkColor;

    fn on_stderr(say: impl FnOnce(&Printer<'_>)) -> String {
        let mut stderr = Vec::new();
        say(&Printer::plain(io::sink(), &mut stderr));
        String::from_utf8(stderr).unwrap()
    }

    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn results_go_to_standard_output_and_messages_do_not() {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        {
            let printer = Printer::plain(&mut stdout, &mut stderr);
            printer.emit("NAME\ngpu-0\n").unwrap();
            printer.note("No resources found");
        }
        assert_eq!(stdout, b"NAME\ngpu-0\n");
        assert_eq!(stderr, b"No resources found\n");
    }

    #[test]
    fn a_long_result_is_written_in_parts_and_as_one() {
        let parts = [
            "ü\u{1b}".repeat(PART / 2),
            "a".repeat(PART),
            "end".to_owned(),
        ];
        let written = |printer: &Printer<'_>| {
            let mut writer = printer.result_writer();
            let mut parts = parts.iter();
            parts.try_for_each(|part| writer.write_all(part.as_bytes()))?;
            writer.flush()
        };
        let (mut stdout, mut emitted) = (Vec::new(), Vec::new());
        written(&Printer::plain(&mut stdout, io::sink())).unwrap();
        let whole = Printer::plain(&mut emitted, io::sink());
        whole.emit(&parts.concat()).unwrap();
        drop(whole);
        assert!(stdout == emitted && !stdout.contains(&0x1b));
        // A reader that goes away is no failure; a full disk is one.
        let gone = Printer::plain(Failing(io::ErrorKind::BrokenPipe), io::sink());
        assert!(written(&gone).is_ok());
        let full = Printer::plain(Failing(io::ErrorKind::StorageFull), io::sink());
        let error = written(&full).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn nothing_raw_gets_through() {
        let mut stdout = Vec::new();
        Printer::plain(&mut stdout, io::sink())
            .emit("a\u{1b}]0;x\u{7}\n")
            .unwrap();
        assert_eq!(stdout, b"a\\x1b]0;x\\x07\n");
        let said = on_stderr(|printer| printer.error("no such file: a\nhint: rm \u{202e}"));
        assert_eq!(said, "error: no such file: a\\nhint: rm \\u202e\n");
    }

    #[test]
    fn a_warning_is_said_once() {
        let said = on_stderr(|printer| {
            printer.warn("pool is incomplete");
            printer.warn("pool is incomplete");
            printer.warn("selector is empty");
        });
        assert_eq!(
            said,
            "warning: pool is incomplete\nwarning: selector is empty\n"
        );
    }

    #[test]
    fn results_are_coloured_only_where_they_are_to_be_and_foreign_colours_never_pass() {
        for (colored_results, expected) in [
            (true, "\u{1b}[31mEvictedNow\u{1b}[0m \\x1b[32mx\n"),
            (false, "EvictedNow \\x1b[32mx\n"),
        ] {
            let mut stdout = Vec::new();
            let printer = Printer {
                colored_results,
                ..Printer::plain(&mut stdout, io::sink())
            };
            let mark = Mark {
                word: "EvictedNow",
                color: MarkColor::Red,
            };
            printer
                .emit_marked("EvictedNow \u{1b}[32mx\n", &[mark])
                .unwrap();
            drop(printer);
            assert_eq!(String::from_utf8(stdout).unwrap(), expected);
        }
    }
}
