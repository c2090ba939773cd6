//! Results of the units of a drain: lines, and the exit status.

use super::run::UnitEnd;
use crate::error::{ExitStatus, Failure};
use crate::naming::phrase::{counted, few};
use crate::naming::shell::word;

/// A unit that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitResult {
    /// Its name.
    pub unit: String,
    /// Its end.
    pub end: UnitEnd,
    /// Pods that this run evicted from it.
    pub evicted: usize,
    /// Pods that stay.
    pub staying: usize,
}

impl UnitResult {
    /// The result as a line.
    pub fn line(&self) -> String {
        let Self { unit, .. } = self;
        match &self.end {
            UnitEnd::Idle => {
                let evicted = counted(self.evicted, "pod");
                match self.staying {
                    0 => format!("{unit} idle ({evicted} evicted)"),
                    1 => format!("{unit} idle ({evicted} evicted, 1 stays)"),
                    more => format!("{unit} idle ({evicted} evicted, {more} stay)"),
                }
            }
            UnitEnd::Held(pods) => format!("{unit} held by pods that stay: {}", few(pods)),
            UnitEnd::NotReleased(pods) => format!("{unit} held: {}", few(pods)),
            UnitEnd::Blocked(_) => format!("{unit} is not idle"),
            UnitEnd::Changed(why) => format!("{unit} is no longer drained: {why}"),
        }
    }

    /// True if the drain goes on with the next unit.
    pub fn may_others_start(&self) -> bool {
        match self.end {
            UnitEnd::Idle | UnitEnd::Held(_) | UnitEnd::NotReleased(_) => true,
            UnitEnd::Blocked(_) | UnitEnd::Changed(_) => false,
        }
    }

    fn failure(&self) -> Option<Failure> {
        let Self { unit, .. } = self;
        let stay = |failure: Failure| {
            failure
                .detail("the taints stay")
                .hint("to continue: run the same command again")
        };
        match &self.end {
            UnitEnd::Idle => None,
            UnitEnd::Held(reasons) | UnitEnd::NotReleased(reasons) => {
                let text = format!("{unit} is held");
                let failure = Failure::new(ExitStatus::TimedOut, text);
                Some(
                    reasons
                        .iter()
                        .fold(failure, Failure::detail)
                        .detail("the taints stay"),
                )
            }
            UnitEnd::Blocked(reasons) => {
                let text = format!("{unit} is not idle");
                let failure = Failure::new(ExitStatus::TimedOut, text);
                Some(stay(reasons.iter().fold(failure, Failure::detail)))
            }
            UnitEnd::Changed(why) => Some(Failure::new(
                ExitStatus::Failed,
                format!("{unit} is no longer drained: {why}"),
            )),
        }
    }
}

/// Exit status of a drain whose units ended so.
///
/// # Errors
///
/// The last unit that is not idle: its rules were changed, it is held, or it is not idle in time.
pub fn drain_status(results: &[UnitResult]) -> Result<ExitStatus, Failure> {
    match results.iter().rev().find_map(UnitResult::failure) {
        Some(failure) => Err(failure),
        None => Ok(ExitStatus::Success),
    }
}

/// Ways to continue or undo an interrupted drain.
pub fn interrupted(name: &str) -> Vec<String> {
    vec![
        "to continue: run the same command again".to_owned(),
        format!(
            "to undo the drain: kubectl devicetaint restore {}",
            word(name)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(ends: &[UnitEnd]) -> ExitStatus {
        let results = ends.iter().map(|end| UnitResult {
            unit: "node-1".to_owned(),
            end: end.clone(),
            evicted: 1,
            staying: 0,
        });
        match drain_status(&results.collect::<Vec<_>>()) {
            Ok(status) => status,
            Err(failure) => failure.status(),
        }
    }

    #[test]
    fn only_a_drain_whose_units_are_all_idle_succeeds() {
        let why = || vec!["pod team-a/web-0 was force-deleted".to_owned()];
        let (held, unreleased) = (UnitEnd::Held(why()), UnitEnd::NotReleased(why()));
        let blocked = UnitEnd::Blocked(why());
        let changed = UnitEnd::Changed("rule a was removed".to_owned());
        for (ends, expected) in [
            (vec![], ExitStatus::Success),
            (vec![UnitEnd::Idle, UnitEnd::Idle], ExitStatus::Success),
            (vec![held, UnitEnd::Idle], ExitStatus::TimedOut),
            (vec![unreleased, UnitEnd::Idle], ExitStatus::TimedOut),
            (vec![UnitEnd::Idle, blocked], ExitStatus::TimedOut),
            (vec![UnitEnd::Idle, changed], ExitStatus::Failed),
        ] {
            assert_eq!(status(&ends), expected, "{ends:?}");
        }
    }
}
