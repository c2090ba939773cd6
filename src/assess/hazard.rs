//! Hazards, which make the eviction of a pod worse than most: a row each.
//!
//! A row is all that a hazard needs. Reports, `help hazards`, the documentation and the legend of tables name
//! its code; its function finds it in the [`HazardEvidence`].

use schemars::JsonSchema;
use serde::Serialize;

use super::assessment::Severity;
use super::completeness::CountSubject;
use super::evidence::{self, HazardEvidence, HazardReason};
use crate::engine::{PodImpact, Verdict};

/// Pods to which a hazard applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Those that would be evicted while their containers run.
    EvictedRunning,
    /// Those that would be evicted, also when nothing is lost but the object: their containers have ended.
    Evicted,
    /// All, also those that stay or have ended.
    All,
}

/// Facts about a hazard.
struct Row {
    code: &'static str,
    severity: Severity,
    of: Of,
    reads: &'static [CountSubject],
    meaning: &'static str,
    find: fn(&HazardEvidence<'_>, &PodImpact<'_>) -> Option<HazardReason>,
}

/// The enum of all hazards, and the row of each.
macro_rules! hazards {
    ($(
        $(#[$attribute:meta])*
        $name:ident {
            code: $code:literal,
            severity: $severity:ident,
            of: $of:ident,
            reads: [$($subject:ident),+],
            meaning: $meaning:literal,
            find: $find:path,
        }
    )+) => {
        /// Something about a pod that makes its eviction, or the lack of one, remarkable.
        ///
        /// Codes are stable; new ones may be added within a schema version.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema,
        )]
        pub enum Hazard {
            $(#[doc = $meaning] $(#[$attribute])* $name,)+
        }

        impl Hazard {
            /// Every hazard, the worst first.
            pub const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$name),+];

            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$name => &Row {
                        code: $code,
                        severity: Severity::$severity,
                        of: Of::$of,
                        reads: &[$(CountSubject::$subject),+],
                        meaning: $meaning,
                        find: |evidence, impact| $find(evidence, impact),
                    },)+
                }
            }
        }
    };
}

// The rows stand in the order in which hazards are shown, the worst first: needed by the cluster, protected by its
// owners, without a replacement device, not recreated, long or endless, affecting other pods, informational. The
// severities are those of the Rescheduler's design (budgets first, pods that are not recreated, long grace periods)
// and of the kubelet's evictions (critical pods, pods of DaemonSets come right back).
hazards! {
    Critical {
        code: "critical",
        severity: Danger,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "is system-critical (priority 2000000000 or more, or scheduler.alpha.kubernetes.io/critical-pod)",
        find: evidence::critical,
    }
    PdbViolated {
        code: "pdb-violated",
        severity: Danger,
        of: EvictedRunning,
        reads: [Budgets],
        meaning: "its eviction violates a PodDisruptionBudget; taint evictions ignore budgets",
        find: HazardEvidence::refused,
    }
    PdbAmbiguous {
        code: "pdb-ambiguous",
        severity: Danger,
        of: EvictedRunning,
        reads: [Budgets],
        meaning: "two or more PodDisruptionBudgets match it, so the Eviction API refuses to evict it",
        find: HazardEvidence::ambiguous,
    }
    LastReplica {
        code: "last-replica",
        severity: Danger,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "its workload would have no ready pod left",
        find: HazardEvidence::last_replica,
    }
    Gang {
        code: "gang",
        severity: Danger,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "its pod group stops working without it, or restarts as a whole",
        find: HazardEvidence::gang,
    }
    JobFails {
        code: "job-fails",
        severity: Danger,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "the eviction makes its Job fail permanently: nothing recreates the pod",
        find: HazardEvidence::job_fails,
    }
    NoReplacement {
        code: "no-replacement",
        severity: Warning,
        of: EvictedRunning,
        reads: [Replacements],
        meaning: "one of its claims cannot be reallocated: too few other devices are available to the claim",
        find: HazardEvidence::no_replacement,
    }
    Unmanaged {
        code: "unmanaged",
        severity: Warning,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "has no controller, or its controller was deleted: nothing recreates it",
        find: HazardEvidence::unmanaged,
    }
    JobRestart {
        code: "job-restart",
        severity: Warning,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "its Job may recreate it, count the eviction as a failure, or fail",
        find: HazardEvidence::job_restart,
    }
    DoNotDisrupt {
        code: "do-not-disrupt",
        severity: Warning,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "an annotation forbids its disruption",
        find: HazardEvidence::asks_to_stay,
    }
    NodeNotReady {
        code: "node-not-ready",
        severity: Warning,
        of: Evicted,
        reads: [Nodes],
        meaning: "its node is not ready or does not exist: the pod would hang in Terminating",
        find: HazardEvidence::node_not_ready,
    }
    DriverDown {
        code: "driver-down",
        severity: Warning,
        of: Evicted,
        reads: [Inventory],
        meaning: "the driver of its device is not running: the pod would hang in Terminating",
        find: HazardEvidence::driver_down,
    }
    ToleratesScheduleOnly {
        code: "tolerates-schedule-only",
        severity: Warning,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "replacements can get tainted devices, because their tolerations allow it, and are then evicted, too",
        find: HazardEvidence::tolerates_schedule_only,
    }
    ClaimStaysAllocated {
        code: "claim-stays-allocated",
        severity: Warning,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "replacements are evicted again: they use the same claim, which stays allocated",
        find: HazardEvidence::claim_stays_allocated,
    }
    LocalData {
        code: "local-data",
        severity: Notice,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "has emptyDir volumes, whose data is deleted with it",
        find: evidence::local_data,
    }
    LongGrace {
        code: "long-grace",
        severity: Notice,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "has a grace period of more than 10s, and may keep the device that long",
        find: evidence::long_grace,
    }
    NodeMaintenance {
        code: "node-maintenance",
        severity: Notice,
        of: Evicted,
        reads: [Nodes],
        meaning: "its node is cordoned or under maintenance",
        find: HazardEvidence::node_maintenance,
    }
    #[serde(rename = "Daemonset")]
    DaemonSet {
        code: "daemonset",
        severity: Notice,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "its DaemonSet recreates it on the same node",
        find: evidence::daemon_set,
    }
    ForeignTaint {
        code: "foreign-taint",
        severity: Notice,
        of: All,
        reads: [Taints],
        meaning: "is also evicted by an existing rule or by a driver's taint",
        find: evidence::foreign_taint,
    }
    SiblingInUse {
        code: "sibling-in-use",
        severity: Notice,
        of: Evicted,
        reads: [Holders],
        meaning: "other pods keep using the same hardware, through partitions or shares",
        find: HazardEvidence::sibling_in_use,
    }
    TerminalStillReserved {
        code: "terminal-still-reserved",
        severity: Notice,
        of: All,
        reads: [Pods],
        meaning: "has ended, but is evicted like a running pod while its claim holds the device",
        find: evidence::terminal_still_reserved,
    }
    ExtendedResource {
        code: "extended-resource",
        severity: Notice,
        of: All,
        reads: [Pods],
        meaning: "uses the device through an extended resource; Kubernetes up to 1.37.1 does not evict such pods",
        find: evidence::extended_resource,
    }
}

impl Hazard {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        self.row().code
    }

    /// Severity of the hazard.
    pub const fn severity(self) -> Severity {
        self.row().severity
    }

    /// Subjects that must be complete to know that a pod does not have it.
    pub const fn reads(self) -> &'static [CountSubject] {
        self.row().reads
    }

    /// Meaning of the code, in one line.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// Finding of this hazard of a pod in `evidence`; absent where the pod does not have it.
    fn find(self, evidence: &HazardEvidence<'_>, impact: &PodImpact<'_>) -> Option<Finding> {
        let evicted = matches!(impact.verdict, Verdict::Evicted { .. });
        let is_told = match self.row().of {
            Of::All => true,
            Of::Evicted => evicted,
            Of::EvictedRunning => evicted && !impact.pod.phase.is_terminal(),
        };
        let message = is_told
            .then(|| (self.row().find)(evidence, impact))
            .flatten()?;
        Some(Finding {
            hazard: self,
            severity: self.severity(),
            message,
        })
    }
}

/// A hazard of a pod, and its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The hazard, such as PdbViolated. `help hazards` explains each hazard; there it is written in kebab-case.
    #[schemars(with = "String")]
    pub hazard: Hazard,
    /// Severity of the hazard.
    pub severity: Severity,
    /// The reason as text, with names and numbers.
    pub message: String,
}

/// The hazards of one pod, in the order of [`Hazard::ALL`].
pub fn findings(evidence: &HazardEvidence<'_>, impact: &PodImpact<'_>) -> Vec<Finding> {
    let hazards = Hazard::ALL.into_iter();
    hazards
        .filter_map(|hazard| hazard.find(evidence, impact))
        .collect()
}

/// The worst of them; well where there is none.
pub fn severity_of(findings: &[Finding]) -> Severity {
    let severities = findings.iter().map(|found| found.severity);
    severities.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worse_severities_come_first() {
        let severities: Vec<_> = Hazard::ALL.map(Hazard::severity).into();
        assert!(severities.is_sorted_by(|worse, better| worse >= better));
        assert_eq!(Hazard::ALL[0], Hazard::Critical);
        assert!(!severities.contains(&Severity::Ok));
    }
}
