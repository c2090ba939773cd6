//! Exit status of commands that printed a report.

use crate::error::{ExitStatus, Failure};
use crate::naming::phrase::each_once;

/// Treatment of an answer of which a part is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It says so itself.
    Lenient,
    /// It is an error.
    Strict,
}

impl From<bool> for Strictness {
    /// By `--strict`.
    fn from(is_strict: bool) -> Self {
        if is_strict {
            Self::Strict
        } else {
            Self::Lenient
        }
    }
}

/// State of a printed answer, as far as the exit status depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerState {
    /// Reason for which the user must not go on; absent where nothing speaks against it.
    pub refusal: Option<String>,
    /// Facts that names alone have no place for, one line each.
    pub unsaid: Vec<String>,
    /// Facts that could not be read or evaluated.
    pub missing: Vec<String>,
}

/// A refusal goes before what is missing. What is unsaid, since names alone have no place for it, makes
/// a failure of every answer: they cannot pass for all of them.
///
/// # Errors
///
/// When the answer is a refusal, or does not say all that was asked.
pub fn exit_status(answer: AnswerState, strictness: Strictness) -> Result<ExitStatus, Failure> {
    // A refusal comes first: a script must not take it for a report that is only incomplete.
    if let Some(refusal) = answer.refusal {
        return Err(Failure::refused(refusal));
    }
    if !answer.unsaid.is_empty() {
        let failure = Failure::new(
            ExitStatus::Incomplete,
            "incomplete: names may be missing from this list",
        );
        return Err(answer.unsaid.into_iter().fold(failure, Failure::detail));
    }
    if strictness == Strictness::Lenient || answer.missing.is_empty() {
        return Ok(ExitStatus::Success);
    }
    let missing = each_once(answer.missing.into_iter());
    Err(Failure::new(
        ExitStatus::Incomplete,
        format!("the report is incomplete: {}", missing.join(", ")),
    ))
}

/// Exit status of a command of which several parts failed: trying again is worth while as soon as one of them may be
/// better next time, since it does no harm to the others.
pub fn of_parts(failed: impl IntoIterator<Item = ExitStatus>) -> ExitStatus {
    let mut failed = failed.into_iter();
    if failed.any(|status| status == ExitStatus::TryAgain) {
        ExitStatus::TryAgain
    } else {
        ExitStatus::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Format that can, or cannot, say that something is missing.
    #[derive(Clone, Copy)]
    enum Form {
        NamesAlone,
        WithRoom,
    }

    fn code(incomplete: bool, refused: bool, form: Form, strict: bool) -> u8 {
        let missing: Vec<String> = incomplete.then(|| "pods".to_owned()).into_iter().collect();
        let state = AnswerState {
            refusal: refused.then(|| "guard tripped".to_owned()),
            unsaid: match form {
                Form::NamesAlone => missing.clone(),
                Form::WithRoom => Vec::new(),
            },
            missing,
        };
        let strictness = Strictness::from(strict);
        match exit_status(state, strictness) {
            Ok(status) => status.code(),
            Err(failure) => failure.status().code(),
        }
    }

    #[test]
    fn a_part_that_may_be_better_next_time_makes_it_worth_trying() {
        use ExitStatus::{Failed, TryAgain};
        for (parts, expected) in [
            (&[Failed, TryAgain][..], TryAgain),
            (&[TryAgain, Failed], TryAgain),
            (&[Failed, Failed], Failed),
            (&[], Failed),
        ] {
            assert_eq!(of_parts(parts.iter().copied()), expected, "{parts:?}");
        }
    }

    #[test]
    fn how_an_answer_ends() {
        for (name, incomplete, refused, form, strict, expected) in [
            ("complete", false, false, Form::WithRoom, true, 0),
            ("incomplete, a table", true, false, Form::WithRoom, false, 0),
            ("incomplete, strict", true, false, Form::WithRoom, true, 6),
            ("names, incomplete", true, false, Form::NamesAlone, false, 6),
            ("a tripped guard", false, true, Form::WithRoom, false, 4),
            ("guard goes first", true, true, Form::NamesAlone, true, 4),
        ] {
            assert_eq!(code(incomplete, refused, form, strict), expected, "{name}");
        }
    }
}
