//! What makes the eviction of a pod worse than most?

use super::severity::Severity;

/// A grace period above this many seconds makes a pod `long-grace`, as in the Rescheduler's tiers.
pub const LONG_GRACE_SECONDS: i64 = 10;

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
    /// None of its workload's pods would be left.
    LastReplica,
    /// Its group cannot do without it.
    Gang,
    /// No other devices fit its claim.
    NoReplacement,
    /// Its Job counts it as a failure, or fails.
    JobRestart,
    /// Its owner asked that it be left alone.
    DoNotDisrupt,
    /// Its node cannot end it.
    NodeNotReady,
    /// The driver of its device is away from its node.
    DriverDown,
    /// Its node is on its way out already.
    NodeMaintenance,
    /// It has no controller.
    Unmanaged,
    /// A DaemonSet manages it.
    DaemonSet,
    /// Its priority is that of the system.
    Critical,
    /// It has data on its node that go with it.
    LocalData,
    /// It may take long to stop.
    LongGrace,
    /// It uses the device through an extended resource.
    ExtendedResource,
    /// Others stay on the hardware that it leaves.
    SiblingInUse,
    /// It has ended, and still holds the device.
    TerminalStillReserved,
    /// It tolerates the taint for the scheduler only.
    ToleratesScheduleOnly,
    /// Something else evicts it too.
    ForeignTaint,
}

impl Hazard {
    /// Every hazard, in the order in which they are shown.
    pub const ALL: [Self; 20] = [
        Self::PdbViolated,
        Self::PdbAmbiguous,
        Self::LastReplica,
        Self::Gang,
        Self::NoReplacement,
        Self::JobRestart,
        Self::DoNotDisrupt,
        Self::NodeNotReady,
        Self::DriverDown,
        Self::NodeMaintenance,
        Self::Unmanaged,
        Self::DaemonSet,
        Self::Critical,
        Self::LocalData,
        Self::LongGrace,
        Self::ExtendedResource,
        Self::SiblingInUse,
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
            Self::LastReplica => "last-replica",
            Self::Gang => "gang",
            Self::NoReplacement => "no-replacement",
            Self::JobRestart => "job-restart",
            Self::DoNotDisrupt => "do-not-disrupt",
            Self::NodeNotReady => "node-not-ready",
            Self::DriverDown => "driver-down",
            Self::NodeMaintenance => "node-maintenance",
            Self::Unmanaged => "unmanaged",
            Self::DaemonSet => "daemonset",
            Self::Critical => "critical",
            Self::LocalData => "local-data",
            Self::LongGrace => "long-grace",
            Self::ExtendedResource => "extended-resource",
            Self::SiblingInUse => "sibling-in-use",
            Self::TerminalStillReserved => "terminal-still-reserved",
            Self::ToleratesScheduleOnly => "tolerates-schedule-only",
            Self::ForeignTaint => "foreign-taint",
        }
    }

    /// How bad it is. The measures are those of the Rescheduler's design (budgets first, pods that
    /// nobody makes again, long grace periods) and of the kubelet's evictions (critical pods, pods of
    /// DaemonSets come right back).
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::Critical
            | Self::PdbViolated
            | Self::PdbAmbiguous
            | Self::LastReplica
            | Self::Gang => Severity::Danger,
            Self::NoReplacement
            | Self::Unmanaged
            | Self::JobRestart
            | Self::DoNotDisrupt
            | Self::NodeNotReady
            | Self::DriverDown
            | Self::ToleratesScheduleOnly => Severity::Warning,
            Self::LocalData
            | Self::LongGrace
            | Self::NodeMaintenance
            | Self::DaemonSet
            | Self::ForeignTaint
            | Self::SiblingInUse
            | Self::TerminalStillReserved
            | Self::ExtendedResource => Severity::Notice,
        }
    }

    /// Which of two hazards of one severity is told first, the worst first: what the cluster needs, what
    /// its owners asked to keep, what finds no other place, what nobody makes again, what goes on for long or for ever, what others
    /// do to the pod too, and what is only worth knowing.
    #[must_use]
    pub fn rank(self) -> u8 {
        match self {
            Self::Critical => 0,
            Self::PdbViolated => 1,
            Self::PdbAmbiguous => 2,
            Self::LastReplica => 3,
            Self::Gang => 4,
            Self::NoReplacement => 5,
            Self::Unmanaged => 6,
            Self::JobRestart => 7,
            Self::DoNotDisrupt => 8,
            Self::NodeNotReady => 9,
            Self::DriverDown => 10,
            Self::ToleratesScheduleOnly => 11,
            Self::LocalData => 12,
            Self::LongGrace => 13,
            Self::NodeMaintenance => 14,
            Self::DaemonSet => 15,
            Self::ForeignTaint => 16,
            Self::SiblingInUse => 17,
            Self::TerminalStillReserved => 18,
            Self::ExtendedResource => 19,
        }
    }

    /// Whether it is told of pods whose containers have ended too: of those nothing is lost but the
    /// object, and only what keeps that, or others, counts.
    #[must_use]
    pub fn is_of_ended_pods(self) -> bool {
        match self {
            Self::TerminalStillReserved
            | Self::ExtendedResource
            | Self::ForeignTaint
            | Self::SiblingInUse
            | Self::NodeNotReady
            | Self::DriverDown
            | Self::NodeMaintenance => true,
            Self::PdbViolated
            | Self::PdbAmbiguous
            | Self::LastReplica
            | Self::Gang
            | Self::NoReplacement
            | Self::JobRestart
            | Self::DoNotDisrupt
            | Self::Unmanaged
            | Self::DaemonSet
            | Self::Critical
            | Self::LocalData
            | Self::LongGrace
            | Self::ToleratesScheduleOnly => false,
        }
    }

    /// Whether it is told of pods that would not be evicted too.
    #[must_use]
    pub fn is_of_those_that_stay(self) -> bool {
        match self {
            Self::ExtendedResource | Self::TerminalStillReserved | Self::ForeignTaint => true,
            Self::PdbViolated
            | Self::PdbAmbiguous
            | Self::LastReplica
            | Self::Gang
            | Self::NoReplacement
            | Self::SiblingInUse
            | Self::JobRestart
            | Self::DoNotDisrupt
            | Self::NodeNotReady
            | Self::DriverDown
            | Self::NodeMaintenance
            | Self::Unmanaged
            | Self::DaemonSet
            | Self::Critical
            | Self::LocalData
            | Self::LongGrace
            | Self::ToleratesScheduleOnly => false,
        }
    }

    /// The hazard of that code, if there is one.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hazard| hazard.code() == code)
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
            Self::LastReplica => "the last ready pod of its workload, or one of the last",
            Self::Gang => "its group of pods is of no use without it, or starts again as a whole",
            Self::NoReplacement => {
                "a claim of it could not be placed again: no other devices fit it"
            }
            Self::JobRestart => "its Job counts it as a failure, starts it again, or fails",
            Self::DoNotDisrupt => "its owner asked by an annotation that it be left alone",
            Self::NodeNotReady => "its node cannot end it: it would hang in Terminating",
            Self::DriverDown => "its device's driver is away: it would hang in Terminating",
            Self::NodeMaintenance => "its node is cordoned, or a maintenance of it is under way",
            Self::Unmanaged => "has no controller: nothing creates it again",
            Self::DaemonSet => "its DaemonSet creates it again on the same node",
            Self::Critical => "is critical to the system: priority 2000000000 or more",
            Self::LocalData => "has data in emptyDir volumes, which are gone with it",
            Self::LongGrace => "has more than 10s to stop, and holds the device meanwhile",
            Self::ExtendedResource => {
                "uses the device through an extended resource: not evicted up to 1.37.1"
            }
            Self::SiblingInUse => {
                "others stay on the hardware that it leaves: partitions or shares of it"
            }
            Self::TerminalStillReserved => "has ended already, and still holds the device",
            Self::ToleratesScheduleOnly => {
                "its toleration is good for the scheduler alone: scheduled and evicted, forever"
            }
            Self::ForeignTaint => "is also evicted by another rule or by a taint of the driver",
        }
    }
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
            assert_eq!(Hazard::of_code(hazard.code()), Some(hazard));
        }
        assert_eq!(Hazard::of_code("weather"), None);
    }
}
