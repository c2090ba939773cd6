//! Answer that a change needs, and the flags that give it beforehand.
//!
//! Takes facts about the change, the release and the flags, and gives the answer that is still
//! needed. `--yes` alone does not approve a wide change: a script states a limit beside it, with
//! --abort-if or --expect.

use super::question::{CountedPods, Question};
use crate::assess::{Consent, WhyWide};
use crate::error::Failure;
use crate::model::Warning;

/// Facts that decide how a change is approved.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalFacts<'a> {
    /// Answer that the impact needs.
    pub impact: Consent,
    /// Number of pods that leave the devices; absent if unknown.
    pub pods: Option<usize>,
    /// True if data is missing on which the evictions depend.
    pub is_unknown: bool,
    /// True if rules of other users or programs are changed.
    pub changes_others: bool,
    /// Bug of the release that any rule can trigger.
    pub defect: Option<&'a Warning>,
    /// Method by which the command removes pods.
    pub eviction: EvictionMethod,
    /// `--yes`
    pub yes: bool,
    /// Limits beside `--yes`.
    pub limit: ImpactLimit,
}

/// Method by which a command removes pods from devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionMethod {
    /// By the effect of its rules.
    Taint,
    /// Through the Eviction API alone, which respects PodDisruptionBudgets.
    EvictionApi,
    /// By taint where a PodDisruptionBudget refuses (`--force`).
    Forced,
}

/// Limits of an impact: a guard of --abort-if, or a report of --expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpactLimit {
    /// At least one is set.
    Set,
    /// None is set.
    Missing,
    /// The command has no flags for limits.
    Unsupported,
}

/// Answer that a change still needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NeededAnswer {
    /// None.
    Nothing,
    /// A yes, which `--yes` gives beforehand.
    Yes,
    /// A yes, which `--yes` alone does not give, for this reason.
    LimitedYes(String),
    /// The number of pods, typed.
    PodCount(usize, WhyWide),
    /// The word `unknown`, typed.
    Unknown,
}

impl<'a> ApprovalFacts<'a> {
    /// Facts of a change that evicts no pod, on a release with this `defect`.
    pub fn without_evictions(defect: Option<&'a Warning>, yes: bool, limit: ImpactLimit) -> Self {
        Self {
            impact: Consent::Nothing,
            pods: Some(0),
            is_unknown: false,
            changes_others: false,
            defect,
            eviction: EvictionMethod::Taint,
            yes,
            limit,
        }
    }

    /// Answer that is still needed.
    ///
    /// # Errors
    ///
    /// `--yes` is given without a limit, and the change is wide or forced.
    pub fn needed_answer(&self) -> Result<NeededAnswer, Failure> {
        let limit_reason = self.limit_reason();
        match self.impact {
            // The known pods are a lower bound: to type their number would approve less than may happen.
            Consent::Yes | Consent::Wide { .. } if self.is_unknown => Ok(NeededAnswer::Unknown),
            Consent::Nothing | Consent::Yes | Consent::Wide { .. } if self.yes => {
                match limit_reason.filter(|_| self.limit != ImpactLimit::Set) {
                    Some(reason) => Err(self.refusal(&reason)),
                    None => Ok(NeededAnswer::Nothing),
                }
            }
            Consent::Wide { pods, why } => Ok(pods.exact().map_or(NeededAnswer::Unknown, |pods| {
                NeededAnswer::PodCount(pods, why)
            })),
            Consent::Nothing | Consent::Yes => Ok(match limit_reason {
                Some(reason) => NeededAnswer::LimitedYes(reason),
                None if self.impact == Consent::Nothing && !self.changes_others => {
                    NeededAnswer::Nothing
                }
                None => NeededAnswer::Yes,
            }),
        }
    }

    /// Question for the answer that is still needed to `action`; absent if none is.
    ///
    /// # Errors
    ///
    /// As [`Self::needed_answer`].
    pub fn question(
        &self,
        action: &str,
        counted: CountedPods,
    ) -> Result<Option<Question>, Failure> {
        let action = action.to_owned();
        Ok(Some(match self.needed_answer()? {
            NeededAnswer::Nothing => return Ok(None),
            NeededAnswer::Yes => Question::Yes { action },
            NeededAnswer::LimitedYes(why) => Question::Limited {
                action,
                why,
                flags: self.flags(),
            },
            NeededAnswer::PodCount(pods, why) => Question::PodCount {
                action,
                pods,
                why: match counted {
                    CountedPods::Evicted => why.to_string(),
                    CountedPods::Leaving => why.of_drain(),
                },
                counted,
                flags: self.flags(),
            },
            NeededAnswer::Unknown => Question::Unknown { action },
        }))
    }

    /// Reason why `--yes` needs a limit beside it; absent if it does not.
    fn limit_reason(&self) -> Option<String> {
        if let Some(defect) = self.defect {
            return Some(defect.message.clone());
        }
        match (self.eviction, self.impact) {
            (EvictionMethod::Forced, _) => {
                Some("--force evicts pods regardless of PodDisruptionBudgets".to_owned())
            }
            // A PodDisruptionBudget is a limit that its owner has set.
            (EvictionMethod::EvictionApi, _)
            | (EvictionMethod::Taint, Consent::Nothing | Consent::Yes) => None,
            (EvictionMethod::Taint, Consent::Wide { why, .. }) => Some(why.to_string()),
        }
    }

    /// Flags that give the answer beforehand; absent if only a person at a terminal can.
    fn flags(&self) -> Option<String> {
        match (self.limit_reason(), self.limit) {
            (None, _) | (Some(_), ImpactLimit::Set) => Some("--yes".to_owned()),
            (Some(_), ImpactLimit::Missing) => Some(format!("--yes {}", self.guard())),
            (Some(_), ImpactLimit::Unsupported) => None,
        }
    }

    fn guard(&self) -> String {
        format!(
            "--abort-if 'pods.evicted>{}'",
            self.pods.unwrap_or_default()
        )
    }

    fn refusal(&self, reason: &str) -> Failure {
        let refused = |needed: &str| {
            Failure::refused(format!("{needed}, because {reason}; nothing was changed"))
        };
        match self.limit {
            ImpactLimit::Set | ImpactLimit::Missing => {
                refused("without a question, this change needs a guard (--abort-if)")
                    .hint(format!("add {}", self.guard()))
            }
            ImpactLimit::Unsupported => {
                refused("this change needs confirmation at a terminal, without --yes")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ExitStatus;
    use crate::model::Count;

    const WIDE: Consent = Consent::Wide {
        pods: Count::known(3),
        why: WhyWide::SystemPods,
    };

    fn facts(impact: Consent, eviction: EvictionMethod) -> ApprovalFacts<'static> {
        ApprovalFacts {
            impact,
            pods: Some(3),
            is_unknown: false,
            changes_others: false,
            defect: None,
            eviction,
            yes: true,
            limit: ImpactLimit::Missing,
        }
    }

    #[test]
    fn a_wide_or_forced_change_needs_a_limit_beside_yes() {
        use EvictionMethod::{EvictionApi, Forced, Taint};
        let defect = Warning {
            code: "scheduler-breaks",
            message: "kube-scheduler can panic".to_owned(),
            fix: None,
        };
        let (nothing, small) = (Consent::Nothing, Consent::Yes);
        let (healthy, broken) = (None, Some(&defect));
        for (command, impact, eviction, defect, alone) in [
            ("add, unused devices", nothing, Taint, healthy, true),
            ("add, one namespace", small, Taint, healthy, true),
            ("add, kube-system", WIDE, Taint, healthy, false),
            ("drain, unused devices", nothing, EvictionApi, healthy, true),
            ("drain, one namespace", small, EvictionApi, healthy, true),
            ("drain, kube-system", WIDE, EvictionApi, healthy, true),
            ("--force, unused devices", nothing, Forced, healthy, false),
            ("--force, one namespace", small, Forced, healthy, false),
            ("drain --force, kube-system", WIDE, Forced, healthy, false),
            ("add of effect None, 1.36.2", nothing, Taint, broken, false),
            ("add, 1.36.2", small, Taint, broken, false),
            ("add, kube-system, 1.36.2", WIDE, Taint, broken, false),
            ("drain, unused, 1.36.2", nothing, EvictionApi, broken, false),
            ("drain, system, 1.36.2", WIDE, EvictionApi, broken, false),
            ("drain --force, 1.36.2", small, Forced, broken, false),
        ] {
            let with = |limit| ApprovalFacts {
                defect,
                limit,
                ..facts(impact, eviction)
            };
            for (limit, is_approved) in [
                (ImpactLimit::Set, true),
                (ImpactLimit::Missing, alone),
                (ImpactLimit::Unsupported, alone),
            ] {
                let answer = with(limit).needed_answer();
                match answer {
                    Ok(answer) => assert_eq!(
                        (answer, is_approved),
                        (NeededAnswer::Nothing, true),
                        "{command}, {limit:?}"
                    ),
                    Err(failure) => {
                        assert!(!is_approved, "{command}, {limit:?}: {failure}");
                        assert_eq!(failure.status(), ExitStatus::Refused);
                        assert!(failure.hints().len() <= 1, "{command}");
                    }
                }
            }
        }
    }
}
