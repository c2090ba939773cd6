//! Exit status of commands that printed a report.

use crate::error::{ExitStatus, Failure};
use crate::naming::phrase::each_once;
use crate::report::Answer;

/// What is made of an answer of which a part is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It says so itself.
    Lenient,
    /// That is an error.
    Strict,
}

/// A refusal goes before what is missing. What is `unsaid`, since names alone have no place for it, makes
/// a failure of every answer: they cannot pass for all of them.
///
/// # Errors
///
/// When the answer is a refusal, or does not say all that was asked.
pub fn exit_status(
    answer: &impl Answer,
    unsaid: Vec<String>,
    strictness: Strictness,
) -> Result<ExitStatus, Failure> {
    if let Some(refusal) = answer.refusal() {
        return Err(Failure::refused(refusal));
    }
    if !unsaid.is_empty() {
        let failure = Failure::new(
            ExitStatus::Incomplete,
            "incomplete: names may be missing from this list",
        );
        return Err(unsaid.into_iter().fold(failure, Failure::detail));
    }
    let unanswered = answer.unanswered();
    if !unanswered.is_empty() {
        return Err(Failure::new(
            ExitStatus::Incomplete,
            format!("no response from {}", unanswered.join(", ")),
        ));
    }
    let incomplete = answer.incomplete();
    if strictness == Strictness::Lenient || incomplete.is_empty() {
        return Ok(ExitStatus::Success);
    }
    let missing = each_once(incomplete.iter().map(|gap| gap.missing.clone()));
    Err(Failure::new(
        ExitStatus::Incomplete,
        format!(
            "the {} is incomplete: {}",
            answer.subject(),
            missing.join(", ")
        ),
    ))
}

/// How a command ends of which several parts failed: trying again is worth while as soon as one of them
/// may be better next time, since it does no harm to the others.
#[must_use]
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
    use crate::report::View;
    use crate::report::metadata::{Affects, Incomplete, Warning};
    use crate::report::table::Section;

    /// Whether the format can say that something is missing.
    #[derive(Clone, Copy)]
    enum Form {
        NamesAlone,
        WithRoom,
    }

    #[derive(Default, serde::Serialize)]
    struct Told {
        incomplete: Vec<Incomplete>,
        refusal: Option<String>,
        unanswered: Vec<&'static str>,
    }

    impl View for Told {
        fn sections(&self) -> Vec<Section> {
            Vec::new()
        }

        fn names(&self) -> Vec<String> {
            vec!["a".to_owned()]
        }

        fn missing_from_names(&self) -> Vec<String> {
            self.incomplete.iter().map(Incomplete::line).collect()
        }
    }

    impl Answer for Told {
        fn warnings(&self) -> &[Warning] {
            &[]
        }

        fn incomplete(&self) -> &[Incomplete] {
            &self.incomplete
        }

        fn refusal(&self) -> Option<String> {
            self.refusal.clone()
        }

        fn unanswered(&self) -> Vec<&str> {
            self.unanswered.clone()
        }
    }

    #[test]
    fn one_of_several_that_gives_no_answer_is_an_incomplete_one() {
        let ended = |refusal: Option<&str>| {
            let told = Told {
                refusal: refusal.map(str::to_owned),
                unanswered: vec!["prod-eu"],
                ..Told::default()
            };
            exit_status(&told, Vec::new(), Strictness::Lenient).unwrap_err()
        };
        let failure = ended(None);
        assert_eq!(failure.status(), ExitStatus::Incomplete);
        assert_eq!(failure.to_string(), "no response from prod-eu");
        assert_eq!(ended(Some("guard tripped")).status(), ExitStatus::Refused);
    }

    fn code(incomplete: bool, refused: bool, form: Form, strict: bool) -> u8 {
        let gap = Incomplete {
            missing: "pods".to_owned(),
            message: "denied".to_owned(),
            affects: Affects::Evictions,
        };
        let told = Told {
            incomplete: incomplete.then_some(gap).into_iter().collect(),
            refusal: refused.then(|| "guard tripped".to_owned()),
            unanswered: Vec::new(),
        };
        let unsaid = match form {
            Form::NamesAlone => told.missing_from_names(),
            Form::WithRoom => Vec::new(),
        };
        let strictness = if strict {
            Strictness::Strict
        } else {
            Strictness::Lenient
        };
        match exit_status(&told, unsaid, strictness) {
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
            (
                "incomplete, which the table says",
                true,
                false,
                Form::WithRoom,
                false,
                0,
            ),
            (
                "incomplete and strict",
                true,
                false,
                Form::WithRoom,
                true,
                6,
            ),
            (
                "incomplete and strict, as data",
                true,
                false,
                Form::WithRoom,
                true,
                6,
            ),
            (
                "names alone cannot say it",
                true,
                false,
                Form::NamesAlone,
                false,
                6,
            ),
            ("a tripped guard", false, true, Form::WithRoom, false, 4),
            (
                "a tripped guard goes first",
                true,
                true,
                Form::NamesAlone,
                true,
                4,
            ),
        ] {
            assert_eq!(code(incomplete, refused, form, strict), expected, "{name}");
        }
    }
}
