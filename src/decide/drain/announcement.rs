//! Comparison with the controller before a drain: rules with effect None, for which the eviction controller counts the
//! pods that NoExecute would evict.
//!
//! Upstream: effect `None` of KEP-5055, and the condition of `device_taint_eviction.go`.

use crate::decide::publish::ControllerAnswer;
use crate::error::{ExitStatus, Failure};

/// Result of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// The controller counts the same pods.
    Agrees,
    /// It counts other pods; a line for each rule.
    Differs(Vec<String>),
    /// It has not answered for all rules, or a number of this plugin is unknown; a line for each rule.
    NotCompared(Vec<String>),
}

/// The result for the rules that were published; `is_last` if they are not published again.
///
/// # Errors
///
/// The controller counts other pods, also the last time.
pub fn compared(answers: &[ControllerAnswer], is_last: bool) -> Result<Announcement, Failure> {
    let found = announcement(answers);
    match found {
        Announcement::Differs(lines) if is_last => Err(refuse_difference(lines)),
        Announcement::Agrees | Announcement::Differs(_) | Announcement::NotCompared(_) => Ok(found),
    }
}

fn announcement(answers: &[ControllerAnswer]) -> Announcement {
    let lines = |agrees: Option<bool>| -> Vec<String> {
        let matching = answers.iter().filter(|rule| rule.agrees() == agrees);
        matching.map(ControllerAnswer::line).collect()
    };
    let differing = lines(Some(false));
    if !differing.is_empty() {
        return Announcement::Differs(differing);
    }
    let unknown = lines(None);
    if unknown.is_empty() {
        Announcement::Agrees
    } else {
        Announcement::NotCompared(unknown)
    }
}

/// The refusal of a drain of which the controller predicts other evictions.
fn refuse_difference(lines: Vec<String>) -> Failure {
    let failure = Failure::new(
        ExitStatus::Refused,
        "the eviction controller and this plugin disagree about the pods that are evicted; nothing was tainted",
    );
    lines
        .into_iter()
        .fold(failure, Failure::detail)
        .hint(
            "the controller decides which pods are evicted, so this preview may be wrong; please report the difference",
        )
        .hint("to drain without this comparison: --no-announcement")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EvictionCondition;

    fn answer(agrees: Option<bool>) -> ControllerAnswer {
        let condition = agrees.map(|agrees| EvictionCondition {
            status: "False".to_owned(),
            reason: "NoEffect".to_owned(),
            message: if agrees { "1 pod" } else { "2 pods" }.to_owned(),
            observed_generation: 1,
            last_transition: None,
        });
        ControllerAnswer::new("preview-a", 1, condition.as_ref(), Some("1 pod"))
    }

    fn result(all: &[Option<bool>]) -> Announcement {
        let answers: Vec<ControllerAnswer> = all.iter().map(|agrees| answer(*agrees)).collect();
        announcement(&answers)
    }

    #[test]
    fn a_difference_comes_first_and_silence_is_no_agreement() {
        assert_eq!(result(&[Some(true), Some(true)]), Announcement::Agrees);
        assert!(matches!(
            result(&[Some(true), None]),
            Announcement::NotCompared(lines) if lines.len() == 1
        ));
        assert!(matches!(
            result(&[None, Some(false)]),
            Announcement::Differs(lines) if lines.len() == 1
        ));
        assert_eq!(result(&[]), Announcement::Agrees);
        for (agrees, is_last, is_refused) in [
            (Some(false), false, false),
            (Some(false), true, true),
            (Some(true), true, false),
            (None, true, false),
        ] {
            let found = compared(&[answer(agrees)], is_last);
            assert_eq!(found.is_err(), is_refused, "{agrees:?} {is_last}");
        }
    }

    #[test]
    fn a_difference_refuses_with_a_line_for_each_rule() {
        let failure = refuse_difference(vec!["a".to_owned()]);
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert_eq!(failure.details(), ["a"]);
    }
}
