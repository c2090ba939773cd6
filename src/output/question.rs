//! What does the user have to say to it?
//!
//! Questions stand on standard error and are asked on a terminal only; whoever asks has made sure
//! that there is one.

use std::io;

use dialoguer::Input;
use dialoguer::console::Term;

use super::escape;
use super::wrap::hanging;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// The user pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The terminal went away.
    #[error("cannot read the answer")]
    Unreadable(#[source] io::Error),
}

impl From<dialoguer::Error> for QuestionError {
    fn from(error: dialoguer::Error) -> Self {
        let dialoguer::Error::IO(error) = error;
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

/// The columns of the terminal on which questions stand, if they are known.
#[must_use]
pub fn columns() -> Option<u16> {
    let size = Term::stderr().size_checked();
    size.map(|(_, columns)| columns)
        .filter(|columns| *columns > 0)
}

/// Columns that an answer needs, with what stands before it.
const ANSWER: usize = 8;

fn answer(prompt: &str, choices: &str) -> Result<String, QuestionError> {
    let terminal = Term::stderr();
    let width = columns();
    let (above, prompt) = placed(&escape::line(prompt), choices, width);
    if let Some(above) = above {
        // A terminal that takes nothing has no answer either, which is told then.
        for line in hanging(&above, width) {
            let _ = terminal.write_line(&line);
        }
    }
    let question = Input::<String>::new().with_prompt(prompt).allow_empty(true);
    answered(question.interact_text_on(&terminal), &terminal)
}

/// The line above the one with the answer, if there has to be one, and what stands before the answer.
/// While one types, only the last line is written anew: a question that needs more than one would be
/// seen twice.
fn placed(prompt: &str, choices: &str, width: Option<u16>) -> (Option<String>, String) {
    let whole = format!("{prompt}{choices}");
    let needed = whole.chars().count().saturating_add(ANSWER);
    if width.is_none_or(|width| needed <= usize::from(width)) {
        return (None, whole);
    }
    let before = match choices.trim_start() {
        "" => "Your answer",
        choices => choices,
    };
    (Some(prompt.to_owned()), before.to_owned())
}

/// The answer; without one, the terminal is left as it was found.
fn answered<T>(answer: dialoguer::Result<T>, terminal: &Term) -> Result<T, QuestionError> {
    answer.map_err(|error| {
        // A question that was broken off leaves the cursor hidden, and behind the question. A terminal
        // that is gone needs neither.
        let _ = terminal.show_cursor();
        let _ = terminal.write_line("");
        error.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_is_wider_than_the_terminal_stands_above_the_answer() {
        let above = |text: &str| Some(text.to_owned());
        for (prompt, choices, width, expected) in [
            ("Go on?", " [y/N]", Some(20), (None, "Go on? [y/N]")),
            ("Go on?", " [y/N]", Some(19), (above("Go on?"), "[y/N]")),
            (
                "How many?",
                "",
                Some(16),
                (above("How many?"), "Your answer"),
            ),
            ("How many?", "", None, (None, "How many?")),
        ] {
            let expected = (expected.0, expected.1.to_owned());
            assert_eq!(placed(prompt, choices, width), expected, "{width:?}");
        }
    }

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
