//! What has to be answered before a change is made, who can be asked, and is it the right answer?

use std::fmt::Display;

use crate::error::Failure;

/// What somebody has to answer before a change is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A yes or a no.
    Yes {
        /// The question in one line.
        prompt: String,
    },
    /// A number, to be typed.
    PodCount {
        /// The question in one line.
        prompt: String,
        /// The only right answer.
        pods: usize,
        /// Why a yes is not enough.
        why: String,
    },
    /// The word `unknown`, to be typed, where it is not known whom a change hits: who sees less must not
    /// get away with less.
    Unknown {
        /// The question in one line.
        prompt: String,
    },
    /// A yes or a no to what the release does wrong, which nothing else answers that was agreed to.
    Defect {
        /// The question in one line.
        prompt: String,
        /// What the release does wrong.
        why: String,
    },
}

/// What has to be typed where it is not known whom a change hits.
pub const UNKNOWN: &str = "unknown";

/// Who can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Somebody at a terminal.
    Terminal,
    /// Nobody: there is no terminal.
    Nobody,
    /// Nobody needs to be: nothing will be changed.
    DryRun,
}

/// What becomes of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asking {
    /// It is asked.
    Ask,
    /// It is only told that the real run asks it.
    Told(String),
}

/// Whether `question` can be asked.
///
/// # Errors
///
/// When there is nobody to ask, with the flags that answer it.
pub fn may_ask(question: &Question, audience: Audience) -> Result<Asking, Failure> {
    match audience {
        Audience::Terminal => Ok(Asking::Ask),
        Audience::DryRun => Ok(Asking::Told(match answering_flags(question) {
            Some(flags) => format!("the real run asks, or needs {flags}"),
            None => format!("the real run needs {SOMEBODY}"),
        })),
        Audience::Nobody => Err(nobody_to_ask(question)),
    }
}

/// What it takes where flags cannot answer.
const SOMEBODY: &str = "somebody at a terminal, since it is not known whom it hits";

/// The flags that answer `question` beforehand; `None` where somebody has to.
fn answering_flags(question: &Question) -> Option<String> {
    match question {
        Question::Yes { .. } => Some("--yes".to_owned()),
        Question::Defect { .. } => Some("--accept-known-defects".to_owned()),
        Question::PodCount { pods, .. } => Some(format!(
            "--yes --confirm-pods {pods}, or --yes --expect REPORT.json"
        )),
        Question::Unknown { .. } => None,
    }
}

fn nobody_to_ask(question: &Question) -> Failure {
    let Some(flags) = answering_flags(question) else {
        return Failure::refused(format!("this needs {SOMEBODY}; nothing was changed"));
    };
    let failure = Failure::refused(format!(
        "this needs to be confirmed, and there is no terminal to ask on: add {flags}; nothing was changed"
    ));
    match question {
        Question::Yes { prompt } => failure.hint(format!("it would be asked: {prompt}")),
        Question::PodCount { why, .. } => {
            failure.hint(format!("a number is asked for because {why}"))
        }
        Question::Defect { why, .. } => failure.hint(why.clone()),
        Question::Unknown { .. } => failure,
    }
}

/// Judges what was typed as the number of pods.
///
/// # Errors
///
/// When it is not `pods`.
pub fn check_count(typed: &str, pods: usize) -> Result<(), Failure> {
    check(typed, typed.trim().parse() == Ok(pods), pods)
}

/// Judges what was typed where it is not known whom a change hits.
///
/// # Errors
///
/// When it is not [`UNKNOWN`].
pub fn check_unknown(typed: &str) -> Result<(), Failure> {
    check(typed, typed.trim() == UNKNOWN, UNKNOWN)
}

fn check(typed: &str, is_right: bool, wanted: impl Display) -> Result<(), Failure> {
    if is_right {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "{typed:?} is not {wanted}; nothing was changed"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ExitStatus;

    #[test]
    fn number_has_to_be_the_one_that_was_asked_for() {
        for (typed, good) in [
            ("3", true),
            (" 3 ", true),
            ("2", false),
            ("", false),
            ("y", false),
        ] {
            assert_eq!(check_count(typed, 3).is_ok(), good, "{typed:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_agreed_to_by_one_word_and_at_a_terminal() {
        let question = Question::Unknown {
            prompt: "Type unknown".to_owned(),
        };
        assert_eq!(may_ask(&question, Audience::Terminal).unwrap(), Asking::Ask);
        let told = may_ask(&question, Audience::DryRun).unwrap();
        assert!(matches!(told, Asking::Told(text) if text.contains("the real run needs")));
        let refused = may_ask(&question, Audience::Nobody).unwrap_err();
        assert_eq!(refused.status(), ExitStatus::Refused);
        assert!(check_unknown(" unknown ").is_ok());
        for typed in ["", "y", "yes", "3"] {
            let refused = check_unknown(typed).unwrap_err();
            assert_eq!(refused.status(), ExitStatus::Refused, "{typed}");
        }
    }

    #[test]
    fn nobody_to_ask_is_a_refusal_and_a_dry_run_says_what_would_be_asked() {
        let yes = Question::Yes {
            prompt: "Go on?".to_owned(),
        };
        let count = Question::PodCount {
            prompt: "How many?".to_owned(),
            pods: 2,
            why: "pods in 2 namespaces are evicted".to_owned(),
        };
        for question in [&yes, &count] {
            assert_eq!(may_ask(question, Audience::Terminal).unwrap(), Asking::Ask);
            let failure = may_ask(question, Audience::Nobody).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Refused);
        }
        let defect = Question::Defect {
            prompt: "Add rule a all the same?".to_owned(),
            why: "any rule can break it".to_owned(),
        };
        assert_eq!(may_ask(&defect, Audience::Terminal).unwrap(), Asking::Ask);
        let told = "the real run asks, or needs --accept-known-defects".to_owned();
        assert_eq!(
            may_ask(&defect, Audience::DryRun).unwrap(),
            Asking::Told(told)
        );
        let failure = may_ask(&defect, Audience::Nobody).unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert!(
            failure.to_string().contains("add --accept-known-defects"),
            "{failure}"
        );
        assert_eq!(failure.hints(), ["any rule can break it"]);
        let failure = may_ask(&count, Audience::Nobody).unwrap_err();
        assert!(
            failure
                .to_string()
                .contains("--yes --confirm-pods 2, or --yes --expect REPORT.json")
        );
        assert_eq!(
            may_ask(&yes, Audience::DryRun).unwrap(),
            Asking::Told("the real run asks, or needs --yes".to_owned())
        );
    }
}
