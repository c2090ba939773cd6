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
    rank: u8,
    of: Of,
    reads: &'static [CountSubject],
    meaning: &'static str,
    find: fn(&HazardEvidence<'_>, &PodImpact<'_>) -> Option<HazardReason>,
}

/// The enum of all hazards, and the row of each.
macro_rules! hazards {
    ($(
        $(#[$doc:meta])*
        $name:ident {
            code: $code:literal,
            severity: $severity:ident,
            rank: $rank:literal,
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
            $($(#[$doc])* $name,)+
        }

        impl Hazard {
            /// Every hazard, in the order in which they are shown.
            pub const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$name),+];

            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$name => &Row {
                        code: $code,
                        severity: Severity::$severity,
                        rank: $rank,
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

// The rows stand in the order in which hazards are shown. `rank` orders them, the worst first: needed by the
// cluster, protected by its owners, without a replacement device, not recreated, long or endless, affecting
// other pods, informational. The severities are those of the Rescheduler's design (budgets first, pods that
// are not recreated, long grace periods) and of the kubelet's evictions (critical pods, pods of DaemonSets
// come right back).
hazards! {
    /// Its eviction violates a PodDisruptionBudget.
    PdbViolated {
        code: "pdb-violated",
        severity: Danger,
        rank: 10,
        of: EvictedRunning,
        reads: [Budgets],
        meaning: "its eviction violates a PodDisruptionBudget; taint evictions ignore budgets",
        find: HazardEvidence::refused,
    }
    /// Several budgets are about it.
    PdbAmbiguous {
        code: "pdb-ambiguous",
        severity: Danger,
        rank: 20,
        of: EvictedRunning,
        reads: [Budgets],
        meaning: "two or more PodDisruptionBudgets match it, so the Eviction API refuses to evict it",
        find: HazardEvidence::ambiguous,
    }
    /// None of its workload's pods would be left.
    LastReplica {
        code: "last-replica",
        severity: Danger,
        rank: 30,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "its workload would have no ready pod left",
        find: HazardEvidence::last_replica,
    }
    /// Its group cannot do without it.
    Gang {
        code: "gang",
        severity: Danger,
        rank: 40,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "its pod group stops working without it, or restarts as a whole",
        find: HazardEvidence::gang,
    }
    /// Too few other devices are available to its claim.
    NoReplacement {
        code: "no-replacement",
        severity: Warning,
        rank: 50,
        of: EvictedRunning,
        reads: [Replacements],
        meaning: "one of its claims cannot be reallocated: too few other devices are available to the claim",
        find: HazardEvidence::no_replacement,
    }
    /// Its Job fails for good.
    JobFails {
        code: "job-fails",
        severity: Danger,
        rank: 45,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "the eviction makes its Job fail permanently: nothing recreates the pod",
        find: HazardEvidence::job_fails,
    }
    /// Its Job may recreate it, count it as a failure, or fail.
    JobRestart {
        code: "job-restart",
        severity: Warning,
        rank: 70,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "its Job may recreate it, count the eviction as a failure, or fail",
        find: HazardEvidence::job_restart,
    }
    /// An annotation forbids its disruption.
    DoNotDisrupt {
        code: "do-not-disrupt",
        severity: Warning,
        rank: 80,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "an annotation forbids its disruption",
        find: HazardEvidence::asks_to_stay,
    }
    /// Its node cannot end it.
    NodeNotReady {
        code: "node-not-ready",
        severity: Warning,
        rank: 90,
        of: Evicted,
        reads: [Nodes],
        meaning: "its node is not ready or does not exist: the pod would hang in Terminating",
        find: HazardEvidence::node_not_ready,
    }
    /// The driver of its device is away from its node.
    DriverDown {
        code: "driver-down",
        severity: Warning,
        rank: 100,
        of: Evicted,
        reads: [Inventory],
        meaning: "the driver of its device is not running: the pod would hang in Terminating",
        find: HazardEvidence::driver_down,
    }
    /// Its node is being drained already.
    NodeMaintenance {
        code: "node-maintenance",
        severity: Notice,
        rank: 140,
        of: Evicted,
        reads: [Nodes],
        meaning: "its node is cordoned or under maintenance",
        find: HazardEvidence::node_maintenance,
    }
    /// It has no controller.
    Unmanaged {
        code: "unmanaged",
        severity: Warning,
        rank: 60,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "has no controller, or its controller was deleted: nothing recreates it",
        find: HazardEvidence::unmanaged,
    }
    /// A DaemonSet manages it.
    #[serde(rename = "Daemonset")]
    DaemonSet {
        code: "daemonset",
        severity: Notice,
        rank: 150,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "its DaemonSet recreates it on the same node",
        find: evidence::daemon_set,
    }
    /// Its priority is that of the system.
    Critical {
        code: "critical",
        severity: Danger,
        rank: 0,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "is system-critical (priority 2000000000 or more, or scheduler.alpha.kubernetes.io/critical-pod)",
        find: evidence::critical,
    }
    /// It has data on its node that go with it.
    LocalData {
        code: "local-data",
        severity: Notice,
        rank: 120,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "has emptyDir volumes, whose data is deleted with it",
        find: evidence::local_data,
    }
    /// It may take long to stop.
    LongGrace {
        code: "long-grace",
        severity: Notice,
        rank: 130,
        of: EvictedRunning,
        reads: [Pods],
        meaning: "has a grace period of more than 10s, and may keep the device that long",
        find: evidence::long_grace,
    }
    /// It uses the device through an extended resource.
    ExtendedResource {
        code: "extended-resource",
        severity: Notice,
        rank: 190,
        of: All,
        reads: [Pods],
        meaning: "uses the device through an extended resource; Kubernetes up to 1.37.1 does not evict such pods",
        find: evidence::extended_resource,
    }
    /// Others stay on the hardware that it leaves.
    SiblingInUse {
        code: "sibling-in-use",
        severity: Notice,
        rank: 170,
        of: Evicted,
        reads: [Holders],
        meaning: "other pods keep using the same hardware, through partitions or shares",
        find: HazardEvidence::sibling_in_use,
    }
    /// It has ended, and still holds the device.
    TerminalStillReserved {
        code: "terminal-still-reserved",
        severity: Notice,
        rank: 180,
        of: All,
        reads: [Pods],
        meaning: "has ended, but is evicted like a running pod while its claim holds the device",
        find: evidence::terminal_still_reserved,
    }
    /// It tolerates the taint for the scheduler, and evictions not at all or for a limited time only.
    ToleratesScheduleOnly {
        code: "tolerates-schedule-only",
        severity: Warning,
        rank: 110,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "replacements can get tainted devices, because their tolerations allow it, and are then evicted, too",
        find: HazardEvidence::tolerates_schedule_only,
    }
    /// Its claim stays allocated to the device, so that its replacement is scheduled there.
    ClaimStaysAllocated {
        code: "claim-stays-allocated",
        severity: Warning,
        rank: 112,
        of: EvictedRunning,
        reads: [Workloads],
        meaning: "replacements are evicted again: they use the same claim, which stays allocated",
        find: HazardEvidence::claim_stays_allocated,
    }
    /// Something else evicts it too.
    ForeignTaint {
        code: "foreign-taint",
        severity: Notice,
        rank: 160,
        of: All,
        reads: [Taints],
        meaning: "is also evicted by an existing rule or by a driver's taint",
        find: evidence::foreign_taint,
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

    /// Rank of the hazard: the lowest is shown first.
    pub const fn rank(self) -> u8 {
        self.row().rank
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
    fn no_two_hazards_are_equally_bad_and_a_worse_severity_ranks_first() {
        let mut all = Hazard::ALL.to_vec();
        all.sort_by_key(|hazard| hazard.rank());
        for pair in all.windows(2) {
            let [worse, better] = pair else { continue };
            assert!(worse.rank() < better.rank(), "{worse:?} {better:?}");
            assert!(
                worse.severity() >= better.severity(),
                "{worse:?} {better:?}"
            );
        }
        assert_eq!(all[0], Hazard::Critical);
        assert!(all.iter().all(|hazard| hazard.severity() > Severity::Ok));
    }
}
