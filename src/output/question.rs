//! What does the user have to say to it?
//!
//! Questions stand on standard error and are asked on a terminal only; whoever asks has made sure
//! that there is one.

use std::io;

use dialoguer::console::Term;
use dialoguer::{Confirm, Input};

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

/// Asks for a yes; no is what Enter means.
///
/// # Errors
///
/// When there is no answer.
pub fn confirm(prompt: &str) -> Result<bool, QuestionError> {
    let question = Confirm::new()
        .with_prompt(escape::line(prompt))
        .default(false);
    let answer = question.interact_on_opt(&Term::stderr())?;
    Ok(answer == Some(true))
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
    Ok(question.interact_text_on(&Term::stderr())?)
}
