//! Result of a drain, in words.

use std::collections::BTreeMap;

use super::unit_run::UnitEnd;
use crate::error::{ExitStatus, Failure};
use crate::naming::phrase::{counted, few};
use crate::naming::shell::word;

/// Results of the units in one run of a drain, in order.
#[derive(Clone, Debug, Default)]
pub struct DrainEnd {
    /// Name of the drain.
    pub name: String,
    /// The finished units with their results.
    pub units: Vec<(String, UnitEnd)>,
    /// Units that are being drained.
    pub running: Vec<String>,
    /// Units that the run did not start.
    pub waiting: Vec<String>,
    /// Units that were reversed before the run, with the reasons.
    pub skipped: BTreeMap<String, String>,
}

impl DrainEnd {
    /// The line for a finished unit.
    #[must_use]
    pub fn line(unit: &str, end: &UnitEnd) -> String {
        match end {
            UnitEnd::Idle => {
                format!("unit {unit}: no claim holds its devices, and its workloads are ready")
            }
            UnitEnd::Held(pods) => format!(
                "unit {unit}: drained, except for {} that the drain does not evict ({})",
                counted(pods.len(), "pod"),
                few(pods)
            ),
            UnitEnd::Blocked(reasons) => format!("unit {unit} is blocked: {}", few(reasons)),
            UnitEnd::Reversed(why) => format!("unit {unit} is skipped: {why}"),
            UnitEnd::TakenOver(by) => format!("unit {unit}: continued by {by}"),
        }
    }

    /// Exit status of the command.
    ///
    /// # Errors
    ///
    /// A unit is blocked, another run has taken it over, or another user or program has reversed one.
    pub fn status(&self) -> Result<ExitStatus, Failure> {
        // Others that ran beside it may have ended later.
        let is_open = |(_, end): &&(String, UnitEnd)| match end {
            UnitEnd::Blocked(_) | UnitEnd::TakenOver(_) => true,
            UnitEnd::Idle | UnitEnd::Held(_) | UnitEnd::Reversed(_) => false,
        };
        let Some((unit, end)) = self.units.iter().find(is_open) else {
            return self.refuse_reversed();
        };
        let name = word(&self.name);
        match end {
            UnitEnd::Idle | UnitEnd::Held(_) | UnitEnd::Reversed(_) => self.refuse_reversed(),
            UnitEnd::TakenOver(by) => Err(Failure::new(
                ExitStatus::Failed,
                format!("drain {} is continued by {by}", self.name),
            )
            .hint(format!(
                "to watch it: kubectl devicetaint drain status {name}"
            ))),
            UnitEnd::Blocked(reasons) => {
                let failure = Failure::new(
                    ExitStatus::TimedOut,
                    format!("unit {unit} cannot be drained"),
                );
                let failure = reasons.iter().fold(failure, |failure, reason| {
                    failure.detail(format!("left: {reason}"))
                });
                let failure = if self.waiting.is_empty() {
                    failure
                } else {
                    failure.detail(format!("not started: {}", few(&self.waiting)))
                };
                let reversed = self.reversed();
                // The taints of reversed units do not stay.
                let failure = if reversed.is_empty() {
                    failure.detail(TAINTS_STAY)
                } else {
                    failure
                };
                let failure = reversed.into_iter().fold(failure, |failure, line| {
                    failure.detail(format!("reversed by another user or program: {line}"))
                });
                let advice = interrupted(&self.name).into_iter();
                Err(advice.fold(failure, Failure::hint))
            }
        }
    }
}

/// What goes on without the command.
const TAINTS_STAY: &str = "the taints stay: no new pods are scheduled on the devices";

impl DrainEnd {
    /// The units that others have reversed, before the run or meanwhile, with the reasons.
    fn reversed(&self) -> Vec<String> {
        let ended = self.units.iter().filter_map(|(unit, end)| match end {
            UnitEnd::Reversed(why) => Some(format!("unit {unit}: {why}")),
            UnitEnd::Idle | UnitEnd::Held(_) | UnitEnd::Blocked(_) | UnitEnd::TakenOver(_) => None,
        });
        let skipped = self
            .skipped
            .iter()
            .map(|(unit, why)| format!("unit {unit}: {why}"));
        skipped.chain(ended).collect()
    }

    /// A drain is not done where a unit was left out: nothing keeps new pods off its devices.
    fn refuse_reversed(&self) -> Result<ExitStatus, Failure> {
        let lines = self.reversed();
        if lines.is_empty() {
            return Ok(ExitStatus::Success);
        }
        let failure = Failure::new(
            ExitStatus::Failed,
            format!(
                "drain {}: {} reversed by another user or program",
                self.name,
                if lines.len() == 1 {
                    "1 unit was".to_owned()
                } else {
                    format!("{} units were", lines.len())
                }
            ),
        );
        let failure = lines.into_iter().fold(failure, Failure::detail);
        Err(failure.hint(format!(
            "to drain again, first run: kubectl devicetaint restore {}",
            word(&self.name)
        )))
    }
}

/// How to continue or undo an interrupted drain.
#[must_use]
pub fn interrupted(name: &str) -> Vec<String> {
    vec![
        "to continue: run the same command again".to_owned(),
        format!(
            "to undo the drain: kubectl devicetaint restore {}",
            word(name)
        ),
    ]
}

/// The next command after a finished drain.
#[must_use]
pub fn next_line(name: &str) -> String {
    format!(
        "next: when the work is done, run kubectl devicetaint restore {}",
        word(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(end: UnitEnd) -> DrainEnd {
        DrainEnd {
            name: "fw".to_owned(),
            units: vec![("node-1".to_owned(), end)],
            running: Vec::new(),
            waiting: vec!["node-2".to_owned()],
            skipped: BTreeMap::new(),
        }
    }

    #[test]
    fn a_unit_that_is_blocked_taken_over_or_reversed_fails_the_command() {
        for (end, expected) in [
            (UnitEnd::Idle, ExitStatus::Success),
            (
                UnitEnd::Held(vec!["a/agent".to_owned()]),
                ExitStatus::Success,
            ),
            (UnitEnd::Reversed("x".to_owned()), ExitStatus::Failed),
            (UnitEnd::Blocked(vec!["x".to_owned()]), ExitStatus::TimedOut),
            (UnitEnd::TakenOver("bob".to_owned()), ExitStatus::Failed),
        ] {
            let found = match ended(end).status() {
                Ok(status) => status,
                Err(failure) => failure.status(),
            };
            assert_eq!(found, expected);
        }
        assert_eq!(DrainEnd::default().status().unwrap(), ExitStatus::Success);
    }

    #[test]
    fn reversed_units_are_named_wherever_they_were_in_the_order() {
        let mut end = ended(UnitEnd::Reversed("rule a was removed".to_owned()));
        end.units.push(("node-2".to_owned(), UnitEnd::Idle));
        let skipped = ("node-3".to_owned(), "rule c was removed".to_owned());
        end.skipped.extend([skipped]);
        let failure = end.status().unwrap_err();
        assert_eq!(
            failure.to_string(),
            "drain fw: 2 units were reversed by another user or program"
        );
        assert_eq!(
            failure.details(),
            [
                "unit node-3: rule c was removed",
                "unit node-1: rule a was removed"
            ]
        );
        end.units.clear();
        assert_eq!(end.status().unwrap_err().status(), ExitStatus::Failed);
    }

    #[test]
    fn a_blocked_unit_names_what_is_left_and_the_ways_on() {
        let reason = "pod team-a/web-1: the budget needs 3".to_owned();
        let failure = ended(UnitEnd::Blocked(vec![reason])).status().unwrap_err();
        assert_eq!(failure.to_string(), "unit node-1 cannot be drained");
        assert_eq!(
            failure.details(),
            [
                "left: pod team-a/web-1: the budget needs 3",
                "not started: node-2",
                TAINTS_STAY
            ]
        );
        assert_eq!(failure.hints().len(), 2);
        assert!(failure.hints()[1].ends_with("restore fw"));
        let mut end = ended(UnitEnd::Blocked(vec!["x".to_owned()]));
        let reversed = UnitEnd::Reversed("rule b was removed".to_owned());
        end.units.push(("node-3".to_owned(), reversed));
        let failure = end.status().unwrap_err();
        let last = failure.details().last().map(String::as_str);
        assert_eq!(
            last,
            Some("reversed by another user or program: unit node-3: rule b was removed")
        );
        let mut details = failure.details().iter();
        assert!(details.all(|detail| detail != TAINTS_STAY));
    }

    #[test]
    fn how_a_unit_ended_is_told_in_a_line() {
        for (end, expected) in [
            (
                UnitEnd::Idle,
                "unit n: no claim holds its devices, and its workloads are ready",
            ),
            (
                UnitEnd::Held(vec!["a/b".to_owned()]),
                "unit n: drained, except for 1 pod that the drain does not evict (a/b)",
            ),
            (
                UnitEnd::Blocked(vec!["x".to_owned()]),
                "unit n is blocked: x",
            ),
            (
                UnitEnd::Reversed("rule r was removed".to_owned()),
                "unit n is skipped: rule r was removed",
            ),
            (
                UnitEnd::TakenOver("bob".to_owned()),
                "unit n: continued by bob",
            ),
        ] {
            assert_eq!(DrainEnd::line("n", &end), expected);
        }
    }
}
