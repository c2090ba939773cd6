//! What makes the eviction of a pod worse than most?

use crate::engine::disruption::Answer;
use crate::engine::{PodImpact, Verdict};

/// A grace period above this many seconds makes a pod `long-grace`.
pub const LONG_GRACE_SECONDS: i64 = 300;

/// Priority from which a pod is `critical`: that of `system-cluster-critical`.
pub const CRITICAL_PRIORITY: i32 = 2_000_000_000;

/// Something about a pod that makes its eviction, or the lack of one, remarkable.
///
/// Codes are stable; new ones may be added within a schema version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hazard {
    /// A budget says that it has to stay.
    PdbViolated,
    /// Several budgets are about it.
    PdbAmbiguous,
    /// It has no controller.
    Unmanaged,
    /// A DaemonSet manages it.
    DaemonSet,
    /// Its priority is that of the system.
    Critical,
    /// It may take long to stop.
    LongGrace,
    /// It uses the device through an extended resource.
    ExtendedResource,
    /// It has ended, and still holds the device.
    TerminalStillReserved,
    /// It tolerates the taint for the scheduler only.
    ToleratesScheduleOnly,
    /// Something else evicts it too.
    ForeignTaint,
}

impl Hazard {
    /// Every hazard, in the order in which they are shown.
    pub const ALL: [Self; 10] = [
        Self::PdbViolated,
        Self::PdbAmbiguous,
        Self::Unmanaged,
        Self::DaemonSet,
        Self::Critical,
        Self::LongGrace,
        Self::ExtendedResource,
        Self::TerminalStillReserved,
        Self::ToleratesScheduleOnly,
        Self::ForeignTaint,
    ];

    /// The stable code.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::PdbViolated => "pdb-violated",
            Self::PdbAmbiguous => "pdb-ambiguous",
            Self::Unmanaged => "unmanaged",
            Self::DaemonSet => "daemonset",
            Self::Critical => "critical",
            Self::LongGrace => "long-grace",
            Self::ExtendedResource => "extended-resource",
            Self::TerminalStillReserved => "terminal-still-reserved",
            Self::ToleratesScheduleOnly => "tolerates-schedule-only",
            Self::ForeignTaint => "foreign-taint",
        }
    }

    /// How bad it is, the worst first: what the cluster needs, what its owners asked to keep, what
    /// nobody makes again, what goes on for long or for ever, what others do to the pod too, and what
    /// is only worth knowing.
    #[must_use]
    pub fn rank(self) -> u8 {
        match self {
            Self::Critical => 0,
            Self::PdbViolated => 1,
            Self::PdbAmbiguous => 2,
            Self::Unmanaged => 3,
            Self::LongGrace => 4,
            Self::ToleratesScheduleOnly => 5,
            Self::DaemonSet => 6,
            Self::ForeignTaint => 7,
            Self::TerminalStillReserved => 8,
            Self::ExtendedResource => 9,
        }
    }

    /// What the code means, in one line.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::PdbViolated => {
                "a disruption budget says that it has to stay, and taints do not ask"
            }
            Self::PdbAmbiguous => {
                "two or more disruption budgets are about it: the eviction API refuses to say"
            }
            Self::Unmanaged => "has no controller: nothing creates it again",
            Self::DaemonSet => "its DaemonSet creates it again on the same node",
            Self::Critical => "is critical to the system: priority 2000000000 or more",
            Self::LongGrace => "has more than 300s to stop, and holds the device meanwhile",
            Self::ExtendedResource => {
                "uses the device through an extended resource: not evicted up to 1.37.1"
            }
            Self::TerminalStillReserved => "has ended already, and still holds the device",
            Self::ToleratesScheduleOnly => {
                "its toleration has no effect: scheduled again and evicted again, forever"
            }
            Self::ForeignTaint => "is also evicted by another rule or by a taint of the driver",
        }
    }

    /// The hazards of one pod, in the order of [`Hazard::ALL`].
    ///
    /// What makes an eviction costly is told only of pods that would be evicted; `answers` are those of
    /// the budgets that are about the pod.
    #[must_use]
    pub fn of(impact: &PodImpact<'_>, answers: &[Answer]) -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|hazard| hazard.applies_to(impact, answers))
            .collect()
    }

    fn applies_to(self, impact: &PodImpact<'_>, answers: &[Answer]) -> bool {
        let pod = impact.pod;
        let evicted = matches!(impact.verdict, Verdict::Evicted { .. });
        match self {
            Self::PdbViolated => answers.contains(&Answer::Refused),
            Self::PdbAmbiguous => answers.contains(&Answer::Ambiguous),
            Self::Unmanaged => evicted && pod.controller.is_none(),
            Self::DaemonSet => {
                let controller = pod.controller.as_ref();
                evicted && controller.is_some_and(|owner| &*owner.kind == "DaemonSet")
            }
            Self::Critical => {
                let class = &*pod.priority_class_name;
                evicted
                    && (pod.priority >= CRITICAL_PRIORITY
                        || class == "system-node-critical"
                        || class == "system-cluster-critical")
            }
            Self::LongGrace => evicted && pod.grace_period_seconds > LONG_GRACE_SECONDS,
            Self::ExtendedResource => uses_extended_resource(impact),
            Self::TerminalStillReserved => {
                pod.phase.is_terminal() && !matches!(impact.verdict, Verdict::NotEvicted(_))
            }
            Self::ToleratesScheduleOnly => evicted && impact.tolerates_schedule_only,
            Self::ForeignTaint => {
                impact.verdict != Verdict::Terminating && impact.has_foreign_cause()
            }
        }
    }
}

fn uses_extended_resource(impact: &PodImpact<'_>) -> bool {
    let extended = impact.pod.extended_resource_claim.as_ref();
    extended.is_some_and(|name| impact.claims.iter().any(|used| used.claim.name == *name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{ClaimUse, NotEvicted, Origin};
    use crate::model::Phase;
    use crate::report::testing;

    fn codes(impact: &PodImpact<'_>) -> Vec<&'static str> {
        Hazard::of(impact, &[])
            .into_iter()
            .map(Hazard::code)
            .collect()
    }

    #[test]
    fn hazards_are_read_off_the_pod() {
        let plain = testing::pod("team-a", "train-0");
        let controlled = |kind| Some(testing::controller(kind, "owner"));
        for (name, pod, expected) in [
            ("managed", plain.clone(), &[][..]),
            (
                "bare",
                testing::Pod {
                    controller: None,
                    ..plain.clone()
                },
                &["unmanaged"],
            ),
            (
                "daemon",
                testing::Pod {
                    controller: controlled("DaemonSet"),
                    ..plain.clone()
                },
                &["daemonset"],
            ),
            (
                "priority",
                testing::Pod {
                    priority: CRITICAL_PRIORITY,
                    ..plain.clone()
                },
                &["critical"],
            ),
            (
                "priority below",
                testing::Pod {
                    priority: CRITICAL_PRIORITY - 1,
                    ..plain.clone()
                },
                &[],
            ),
            (
                "class",
                testing::Pod {
                    priority_class_name: "system-node-critical".into(),
                    ..plain.clone()
                },
                &["critical"],
            ),
            (
                "grace",
                testing::Pod {
                    grace_period_seconds: 301,
                    ..plain.clone()
                },
                &["long-grace"],
            ),
            (
                "grace at the limit",
                testing::Pod {
                    grace_period_seconds: 300,
                    ..plain.clone()
                },
                &[],
            ),
            (
                "ended",
                testing::Pod {
                    phase: Phase::Failed,
                    ..plain
                },
                &["terminal-still-reserved"],
            ),
        ] {
            assert_eq!(codes(&testing::evicted(&pod, 0)), expected, "{name}");
        }
    }

    #[test]
    fn a_pod_that_stays_has_no_costs_of_eviction() {
        let pod = testing::Pod {
            controller: None,
            grace_period_seconds: 3_600,
            ..testing::pod("team-a", "bare")
        };
        assert!(codes(&testing::with_verdict(&pod, Verdict::Tolerates)).is_empty());
        let unscheduled = Verdict::NotEvicted(NotEvicted::NotScheduled);
        assert!(codes(&testing::with_verdict(&pod, unscheduled)).is_empty());
    }

    #[test]
    fn a_claim_of_an_extended_resource_is_told_by_the_pods_status() {
        let mut pod = testing::pod("team-a", "train-0");
        pod.extended_resource_claim = Some("train-0-extended".into());
        let claim = testing::name("team-a", "train-0-extended");
        let other = testing::name("team-a", "train-0-gpu");
        let reason = Verdict::NotEvicted(NotEvicted::ExtendedResource);
        for (claim, expected) in [(&claim, &["extended-resource"][..]), (&other, &[])] {
            let mut impact = testing::with_verdict(&pod, reason.clone());
            impact.claims = vec![ClaimUse {
                claim,
                results: Vec::new(),
            }];
            assert_eq!(codes(&impact), expected, "{claim}");
        }
    }

    #[test]
    fn an_eviction_that_repeats_or_has_other_causes_is_marked() {
        let pod = testing::pod("team-a", "train-0");
        let rule = "drain-node-7".into();
        let mut impact = testing::evicted(&pod, 0);
        impact.tolerates_schedule_only = true;
        impact.causes.push(testing::cause(Origin::Rule(&rule), 60));
        assert_eq!(codes(&impact), ["tolerates-schedule-only", "foreign-taint"]);
        impact.verdict = Verdict::Terminating;
        assert!(codes(&impact).is_empty());
    }

    #[test]
    fn no_two_hazards_are_equally_bad() {
        let ranks: std::collections::BTreeSet<u8> =
            Hazard::ALL.into_iter().map(Hazard::rank).collect();
        assert_eq!(ranks.len(), Hazard::ALL.len());
        assert_eq!(Hazard::Critical.rank(), 0);
    }

    #[test]
    fn every_hazard_has_a_code_and_a_meaning_of_one_line() {
        for hazard in Hazard::ALL {
            assert!(
                hazard
                    .code()
                    .chars()
                    .all(|letter| letter.is_ascii_lowercase() || letter == '-')
            );
            assert!(hazard.meaning().len() <= 80, "{}", hazard.code());
        }
    }
}
