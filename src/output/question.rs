//! Reading of answers to confirmations.
//!
//! Questions stand on standard error and are asked on a terminal only; the caller has made sure
//! that there is one. Ctrl-C breaks one off, Ctrl-D is a no, and after Ctrl-Z it is asked again. In the background
//! nothing is asked: the terminal stops a program that reads from it, and a stopped program does not end by SIGTERM.

use std::io;

use dialoguer::console::{Key, Term};

use super::escape;

/// Reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// The user pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The terminal went away.
    #[error("cannot read the answer")]
    Unreadable(#[source] io::Error),
}

impl From<io::Error> for QuestionError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::Interrupted {
            Self::Interrupted
        } else {
            Self::Unreadable(error)
        }
    }
}

/// Asks for a yes, and for Enter after it: a key that was meant for something else agrees to
/// nothing. Enter alone means no, and so does everything else.
///
/// # Errors
///
/// When there is no answer.
pub fn confirm(prompt: &str) -> Result<bool, QuestionError> {
    Ok(is_yes(&answer(prompt, " [y/N]")?))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

/// Asks for a line of text.
///
/// # Errors
///
/// When there is no answer.
pub fn line(prompt: &str) -> Result<String, QuestionError> {
    answer(prompt, "")
}

/// Columns that an answer needs, with what stands before it.
const ANSWER: u16 = 8;

/// The answer, without the spaces around it; Ctrl-D answers with nothing, which is a no.
fn answer(prompt: &str, choices: &str) -> Result<String, QuestionError> {
    let terminal = Term::stderr();
    let whole = format!("{}{choices}", escape::line(prompt));
    let size = terminal.size_checked();
    let room = size.map_or(u16::MAX, |(_, columns)| columns.saturating_sub(ANSWER));
    // A line with an answer that is longer than the terminal could not be corrected.
    let (above, prompt) = match whole.chars().count() > usize::from(room) {
        true => (Some(whole), "answer".to_owned()),
        false => (None, whole),
    };
    loop {
        wait_for_foreground(&terminal)?;
        if let Some(line) = &above {
            // An error here is ignored: reading the answer fails then, too.
            let _ = terminal.write_line(line);
        }
        match typed(&prompt, &terminal) {
            Ok(Typed::Line(line)) => return Ok(line),
            Ok(Typed::Suspended) => suspend(),
            Err(error) => {
                let _ = terminal.write_line("");
                return Err(error.into());
            }
        }
    }
}

/// Outcome of a line that is typed.
enum Typed {
    /// It was finished.
    Line(String),
    /// The program is to be stopped until the shell goes on with it; what was typed is forgotten.
    Suspended,
}

/// Character of Ctrl-D.
const END: char = '\u{4}';
/// Character of Ctrl-Z.
const SUSPEND: char = '\u{1a}';

/// Reads a line behind the prompt, key by key: while a key is waited for, the terminal gives Ctrl-D and
/// Ctrl-Z away as characters like any other.
fn typed(prompt: &str, terminal: &Term) -> io::Result<Typed> {
    terminal.write_str(&format!("{prompt}: "))?;
    let mut line = String::new();
    loop {
        let key = terminal.read_key()?;
        if let Some(ended) = ended(&key, &line) {
            terminal.write_line("")?;
            return Ok(ended);
        }
        if key == Key::Backspace && line.pop().is_some() {
            terminal.clear_chars(1)?;
        } else if let Key::Char(typed) = key
            && !typed.is_control()
        {
            line.push(typed);
            terminal.write_str(&typed.to_string())?;
        }
    }
}

/// Outcome of the line, if this key ends it.
fn ended(key: &Key, line: &str) -> Option<Typed> {
    if *key == Key::Enter {
        return Some(Typed::Line(line.to_owned()));
    }
    if *key == Key::Char(END) {
        return Some(Typed::Line(String::new()));
    }
    (cfg!(unix) && *key == Key::Char(SUSPEND)).then_some(Typed::Suspended)
}

/// Waits until the terminal takes what is typed to the program. A signal ends that as it ends a question.
#[cfg(unix)]
fn wait_for_foreground(terminal: &Term) -> io::Result<()> {
    use rustix::event::{Timespec, poll};

    /// Pause between checks that the shell has brought the program to the foreground.
    const PAUSE: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    let mut is_told = false;
    while is_in_background() {
        if !is_told {
            // An error here is ignored: reading the answer fails then, too.
            let _ =
                terminal.write_line("waiting in the background for an answer: to answer, run `fg`");
            is_told = true;
        }
        // Of nothing, only for the time: unlike a sleep, it ends early if a signal comes.
        poll(&mut [], Some(&PAUSE))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn wait_for_foreground(_terminal: &Term) -> io::Result<()> {
    Ok(())
}

/// True if the terminal belongs to another job of the shell.
#[cfg(unix)]
fn is_in_background() -> bool {
    use rustix::process::getpgrp;
    use rustix::termios::tcgetpgrp;

    // An error is left to the terminal.
    tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground != getpgrp())
}

/// Stops the program and all that runs with it, as the terminal does at Ctrl-Z elsewhere; returns when
/// the shell goes on with it.
#[cfg(unix)]
fn suspend() {
    use rustix::process::{Signal, kill_current_process_group};

    // A program that cannot be stopped asks again at once.
    let _ = kill_current_process_group(Signal::TSTP);
}

#[cfg(not(unix))]
fn suspend() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for answer in ["y", "Y", "yes", " Yes "] {
            assert!(is_yes(answer), "{answer:?}");
        }
        for answer in ["", "n", "no", "yy", "yno", "ja", "1"] {
            assert!(!is_yes(answer), "{answer:?}");
        }
    }
}
