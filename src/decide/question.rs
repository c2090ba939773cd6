//! Confirmations: the prompt, who can answer it, and the accepted answers.

use std::fmt::Display;

use crate::error::Failure;

/// Question that the user answers before a change is made. Each has the action, as a question without its mark and
/// without the cluster: `Delete 2 rules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A yes or a no.
    Yes {
        /// Proposed action.
        action: String,
    },
    /// A yes or a no to a change of what others made, which `--yes` does not answer.
    Others {
        /// Proposed action.
        action: String,
        /// Authors of the rules and changes, one line each.
        owners: Vec<String>,
        /// True if `--others` alone leaves a question that `--yes` answers.
        needs_yes: bool,
    },
    /// A number, to be typed.
    PodCount {
        /// Proposed action.
        action: String,
        /// The only right answer.
        pods: usize,
        /// Why a yes is not enough.
        why: String,
        /// Pods that are counted.
        counted: CountedPods,
        /// Flags that answer it beforehand; absent if only a person at a terminal can.
        flags: Option<String>,
    },
    /// The word `unknown`, to be typed, where the affected pods are not known: a user who sees less must not get away
    /// with less.
    Unknown {
        /// Proposed action.
        action: String,
    },
    /// A yes or a no, which `--yes` alone does not answer.
    Limited {
        /// Proposed action.
        action: String,
        /// Reason for which `--yes` is not enough.
        why: String,
        /// Flags that answer it beforehand; absent if only a person at a terminal can.
        flags: Option<String>,
    },
}

/// The pods whose number is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedPods {
    /// Those that are evicted.
    Evicted,
    /// Those that a drain evicts, or replaces by a restart: not those on other devices, which a restart replaces, too.
    Leaving,
}

impl CountedPods {
    /// Future of the pods that are counted.
    fn will(self) -> &'static str {
        match self {
            Self::Evicted => "will be evicted",
            Self::Leaving => "will leave the devices",
        }
    }
}

impl Question {
    /// The question, which names the cluster in which it is done: one that was meant for another cluster
    /// must not be answered by habit.
    pub fn prompt(&self, cluster: &str) -> String {
        match self {
            Self::Yes { action } | Self::Others { action, .. } | Self::Limited { action, .. } => {
                format!("{action} in {cluster}?")
            }
            // The text to type stands at the end, which a small terminal shows.
            Self::PodCount {
                action,
                pods,
                why,
                counted,
                ..
            } => format!(
                "{action} in {cluster}? Because {why}, confirm with the number of pods that {}: type {pods}",
                counted.will()
            ),
            Self::Unknown { action } => {
                format!(
                    "{action} in {cluster}? The impact is unknown. Type \"{UNKNOWN}\" to proceed"
                )
            }
        }
    }
}

/// Text to type where the affected pods are not known.
pub const UNKNOWN: &str = "unknown";

/// Audience of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A user at a terminal.
    Terminal,
    /// Stdin or stderr is not a terminal.
    NoTerminal,
    /// No confirmation is needed: nothing will be changed.
    DryRun,
}

/// Outcome of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionOutcome {
    /// It is asked.
    Ask,
    /// It is only told that the real run asks it.
    Told(String),
}

/// Decides if `question` can be asked.
///
/// # Errors
///
/// Without a terminal, with the flags that answer it.
pub fn may_ask(
    question: &Question,
    audience: Audience,
    cluster: &str,
) -> Result<QuestionOutcome, Failure> {
    match audience {
        Audience::Terminal => Ok(QuestionOutcome::Ask),
        Audience::DryRun => Ok(QuestionOutcome::Told(match answering_flags(question) {
            Some(flags) => format!(
                "without --dry-run, this command asks for confirmation; to confirm in advance: \
                {flags}"
            ),
            None => format!(
                "without --dry-run, this command needs {}",
                confirmation(question)
            ),
        })),
        Audience::NoTerminal => Err(no_terminal(question, cluster)),
    }
}

/// Confirmation that flags cannot give.
fn confirmation(question: &Question) -> String {
    let why = match question {
        Question::Limited { why, .. } | Question::PodCount { why, .. } => why,
        Question::Unknown { .. } | Question::Yes { .. } | Question::Others { .. } => {
            "the impact is unknown"
        }
    };
    format!("confirmation at a terminal, because {why}")
}

/// The flags that answer `question` beforehand; `None` where only a user at a terminal can.
fn answering_flags(question: &Question) -> Option<String> {
    match question {
        Question::Yes { .. } => Some("--yes".to_owned()),
        Question::Others { needs_yes, .. } => {
            let yes = if *needs_yes { " --yes" } else { "" };
            Some(format!("--others{yes}"))
        }
        Question::Limited { flags, .. } | Question::PodCount { flags, .. } => flags.clone(),
        // No flag answers it: a script must not evict pods whose number is unknown.
        Question::Unknown { .. } => None,
    }
}

fn no_terminal(question: &Question, cluster: &str) -> Failure {
    let Some(flags) = answering_flags(question) else {
        return Failure::refused(format!(
            "this command needs {}; nothing was changed",
            confirmation(question)
        ));
    };
    let failure = Failure::refused(format!(
        "this command needs confirmation, and stdin is not a terminal: add {flags}; nothing was \
        changed"
    ));
    match question {
        Question::Yes { .. } => failure.detail(format!("question: {}", question.prompt(cluster))),
        Question::Others { owners, .. } => owners.iter().fold(failure, Failure::detail),
        Question::PodCount { why, .. } | Question::Limited { why, .. } => {
            failure.detail(why.clone())
        }
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

/// Judges the typed text where the affected pods are not known.
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
        "the answer {typed:?} is not {wanted}; nothing was changed"
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
    fn every_question_names_the_cluster() {
        let (action, why) = (|| "Delete 2 rules".to_owned(), || "it breaks".to_owned());
        for question in [
            Question::Yes { action: action() },
            Question::Others {
                action: action(),
                owners: Vec::new(),
                needs_yes: false,
            },
            Question::PodCount {
                action: action(),
                pods: 2,
                why: why(),
                counted: CountedPods::Evicted,
                flags: None,
            },
            Question::Unknown { action: action() },
            Question::Limited {
                action: action(),
                why: why(),
                flags: None,
            },
        ] {
            let prompt = question.prompt("prod-eu");
            assert!(prompt.starts_with("Delete 2 rules in prod-eu"), "{prompt}");
            assert!(prompt.contains('?'), "{prompt}");
        }
    }

    #[test]
    fn the_number_that_has_to_be_typed_ends_the_question() {
        let mut question = Question::PodCount {
            action: "Add rule a".to_owned(),
            pods: 15,
            why: "pods in 2 namespaces are evicted".to_owned(),
            counted: CountedPods::Evicted,
            flags: None,
        };
        assert_eq!(
            question.prompt("prod-eu"),
            "Add rule a in prod-eu? Because pods in 2 namespaces are evicted, confirm with the number of pods that will be evicted: type 15"
        );
        if let Question::PodCount { counted, .. } = &mut question {
            *counted = CountedPods::Leaving;
        }
        let prompt = question.prompt("prod-eu");
        let end = "the number of pods that will leave the devices: type 15";
        assert!(prompt.ends_with(end), "{prompt}");
    }

    #[test]
    fn a_change_of_what_others_made_is_refused_without_a_terminal_and_yes_is_no_answer() {
        let asked = |needs_yes| Question::Others {
            action: "Delete 1 rule".to_owned(),
            owners: vec!["rule a was created by bob".to_owned()],
            needs_yes,
        };
        let refused = |question| may_ask(&question, Audience::NoTerminal, "prod-eu").unwrap_err();
        // Both flags at once, where one of them would be answered with the other.
        let both = refused(asked(true)).to_string();
        assert!(both.contains("add --others --yes;"), "{both}");
        let refused = refused(asked(false));
        assert_eq!(refused.status(), ExitStatus::Refused);
        assert!(refused.to_string().contains("add --others;"), "{refused}");
        assert_eq!(refused.details(), ["rule a was created by bob"]);
    }

    #[test]
    fn what_is_not_known_is_agreed_to_by_one_word_and_at_a_terminal() {
        let question = Question::Unknown {
            action: "Add rule a".to_owned(),
        };
        assert_eq!(
            may_ask(&question, Audience::Terminal, "prod-eu").unwrap(),
            QuestionOutcome::Ask
        );
        let told = may_ask(&question, Audience::DryRun, "prod-eu").unwrap();
        assert!(
            matches!(told, QuestionOutcome::Told(text) if text.contains("without --dry-run, this \
                command needs"))
        );
        let refused = may_ask(&question, Audience::NoTerminal, "prod-eu").unwrap_err();
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
            action: "Go on".to_owned(),
        };
        let count = Question::PodCount {
            action: "Evict them".to_owned(),
            pods: 2,
            why: "pods in 2 namespaces are evicted".to_owned(),
            counted: CountedPods::Evicted,
            flags: Some("--yes --abort-if 'pods.evicted>2'".to_owned()),
        };
        for question in [&yes, &count] {
            assert_eq!(
                may_ask(question, Audience::Terminal, "prod-eu").unwrap(),
                QuestionOutcome::Ask
            );
            let failure = may_ask(question, Audience::NoTerminal, "prod-eu").unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Refused);
        }
        let failure = may_ask(&count, Audience::NoTerminal, "prod-eu").unwrap_err();
        assert!(
            failure
                .to_string()
                .contains("--yes --abort-if 'pods.evicted>2'")
        );
        assert_eq!(
            may_ask(&yes, Audience::DryRun, "prod-eu").unwrap(),
            QuestionOutcome::Told(
                "without --dry-run, this command asks for confirmation; to confirm in advance: \
                --yes"
                    .to_owned()
            )
        );
    }
}
