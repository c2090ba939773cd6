//! What can a guard look at?

use std::fmt;

use crate::report::knowledge::Subject;

/// What a guard looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Pods that would be evicted, now or later.
    PodsEvicted,
    /// Pods that would be evicted at once.
    PodsEvictedNow,
    /// Pods that would be evicted, and that the system needs.
    PodsCritical,
    /// Pods that would be evicted, and that nothing creates again.
    PodsUnmanaged,
    /// Pods that would be evicted, and whose eviction breaks something for others.
    PodsSeverityDanger,
    /// Owners of the pods that would be evicted.
    WorkloadsAffected,
    /// Workloads of which no ready pod would be left.
    WorkloadsDown,
    /// Namespaces of the pods that would be evicted.
    NamespacesAffected,
    /// Devices that the taints select.
    DevicesSelected,
    /// Disruption budgets that the evictions would overdraw.
    BudgetsViolated,
    /// Claims that could not be placed again.
    ClaimsUnplaceable,
    /// Devices of the same classes that stay allocatable.
    DevicesAvailable,
}

impl Signal {
    /// Every signal.
    pub const ALL: [Self; 12] = [
        Self::PodsEvicted,
        Self::PodsEvictedNow,
        Self::PodsCritical,
        Self::PodsUnmanaged,
        Self::PodsSeverityDanger,
        Self::WorkloadsAffected,
        Self::WorkloadsDown,
        Self::NamespacesAffected,
        Self::DevicesSelected,
        Self::BudgetsViolated,
        Self::ClaimsUnplaceable,
        Self::DevicesAvailable,
    ];

    /// The signal as it is written in a guard.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PodsEvicted => "pods.evicted",
            Self::PodsEvictedNow => "pods.evicted.now",
            Self::PodsCritical => "pods.critical",
            Self::PodsUnmanaged => "pods.unmanaged",
            Self::PodsSeverityDanger => "pods.severity.danger",
            Self::WorkloadsAffected => "workloads.affected",
            Self::WorkloadsDown => "workloads.down",
            Self::NamespacesAffected => "namespaces.affected",
            Self::DevicesSelected => "devices.selected",
            Self::BudgetsViolated => "budgets.violated",
            Self::ClaimsUnplaceable => "claims.unplaceable",
            Self::DevicesAvailable => "devices.available",
        }
    }

    /// What the signal counts, in one line for `help guards`.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::PodsEvicted => {
                "pods evicted now or later; % of the pods that use devices of the same drivers and are not terminating already"
            }
            Self::PodsEvictedNow => "pods evicted at once; % of the same pods",
            Self::PodsCritical => "evicted pods that the system needs; % of the same pods",
            Self::PodsUnmanaged => "evicted pods that nothing creates again; % of the same pods",
            Self::PodsSeverityDanger => "evicted pods of severity danger; % of the same pods",
            Self::WorkloadsAffected => "owners of the evicted pods; a pod without one is its own",
            Self::WorkloadsDown => "workloads of which no ready pod would be left",
            Self::NamespacesAffected => "namespaces of the evicted pods",
            Self::DevicesSelected => "devices selected; % of the devices of the same drivers",
            Self::BudgetsViolated => "disruption budgets that the evictions would overdraw",
            Self::ClaimsUnplaceable => {
                "claims of evicted pods that could not be placed again, even alone"
            }
            Self::DevicesAvailable => {
                "devices that stay allocatable of the classes of those selected; % of all of these classes"
            }
        }
    }

    /// The signal of that name, if there is one.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }

    /// The known signal that `name` resembles most, if it resembles one at all.
    pub(super) fn nearest(name: &str) -> Option<Self> {
        let similarity = |signal: &Self| strsim::jaro_winkler(signal.name(), name);
        Self::ALL
            .into_iter()
            .filter(|signal| similarity(signal) > 0.7)
            .max_by(|left, right| similarity(left).total_cmp(&similarity(right)))
    }

    /// What it is counted from.
    pub(super) fn subjects(self) -> &'static [Subject] {
        match self {
            Self::PodsEvicted
            | Self::PodsCritical
            | Self::PodsUnmanaged
            | Self::WorkloadsAffected
            | Self::NamespacesAffected => &[Subject::Pods],
            Self::PodsEvictedNow => &[Subject::Pods, Subject::Times],
            Self::PodsSeverityDanger => &[Subject::Pods, Subject::Budgets, Subject::Workloads],
            Self::WorkloadsDown => &[Subject::Workloads],
            Self::DevicesSelected => &[Subject::Selected],
            Self::BudgetsViolated => &[Subject::Budgets],
            Self::ClaimsUnplaceable => &[Subject::Pods, Subject::Replacements],
            Self::DevicesAvailable => &[Subject::Replacements],
        }
    }

    /// What is missing where everything was read that it is counted from, and its value is not known
    /// all the same.
    pub(super) fn unsaid(self) -> &'static str {
        match self {
            Self::WorkloadsDown => "replicas of workloads",
            Self::ClaimsUnplaceable | Self::DevicesAvailable => {
                "device classes, nodes, or what expressions say"
            }
            Self::PodsEvicted
            | Self::PodsEvictedNow
            | Self::PodsCritical
            | Self::PodsUnmanaged
            | Self::PodsSeverityDanger
            | Self::WorkloadsAffected
            | Self::NamespacesAffected
            | Self::DevicesSelected
            | Self::BudgetsViolated => "some of it",
        }
    }

    /// What the whole of its percentages is counted from.
    pub(super) fn subject(self) -> Subject {
        match self {
            Self::PodsEvicted
            | Self::PodsEvictedNow
            | Self::PodsCritical
            | Self::PodsUnmanaged
            | Self::PodsSeverityDanger
            | Self::WorkloadsAffected
            | Self::NamespacesAffected => Subject::Pods,
            Self::WorkloadsDown => Subject::Workloads,
            Self::DevicesSelected => Subject::Selected,
            Self::BudgetsViolated => Subject::Budgets,
            Self::ClaimsUnplaceable | Self::DevicesAvailable => Subject::Replacements,
        }
    }

    pub(super) fn whole(self) -> Option<Whole> {
        match self {
            Self::PodsEvicted
            | Self::PodsEvictedNow
            | Self::PodsCritical
            | Self::PodsUnmanaged
            | Self::PodsSeverityDanger => Some(Whole::Pods),
            Self::DevicesSelected => Some(Whole::Devices),
            Self::DevicesAvailable => Some(Whole::Class),
            Self::WorkloadsAffected
            | Self::WorkloadsDown
            | Self::NamespacesAffected
            | Self::BudgetsViolated
            | Self::ClaimsUnplaceable => None,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What a percentage is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    Pods,
    Devices,
    Class,
}
