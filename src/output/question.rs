//! What does the user have to say to it?
//!
//! Questions stand on standard error and are asked on a terminal only; whoever asks has made sure
//! that there is one.

use std::io;

use dialoguer::Input;
use dialoguer::console::Term;

use super::escape;

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
    Ok(is_yes(&line(&format!("{prompt} [y/N]"))?))
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
    let question = Input::<String>::new()
        .with_prompt(escape::line(prompt))
        .allow_empty(true);
    let terminal = Term::stderr();
    answered(question.interact_text_on(&terminal), &terminal)
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
    fn only_a_yes_is_a_yes() {
        for answer in ["y", "Y", "yes", " Yes "] {
            assert!(is_yes(answer), "{answer:?}");
        }
        for answer in ["", "n", "no", "yy", "yno", "ja", "1"] {
            assert!(!is_yes(answer), "{answer:?}");
        }
    }
}
