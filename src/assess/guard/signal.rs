//! Signals of guards: a row each.
//!
//! A row is all that a signal needs. `help guards`, the documentation, completion, the messages about guards
//! that cannot be read and the guards themselves take it from here.

use std::fmt;

use crate::assess::completeness::CountSubject;
use crate::assess::totals::{Tally, Totals};
use crate::model::Count;

/// Base of a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// The pods that use the drivers of the selected devices.
    Pods,
    /// The devices of the same drivers.
    Devices,
    /// The devices of the same classes.
    Class,
}

/// Facts about a signal.
struct Row {
    name: &'static str,
    /// Base of its percentages; absent where it has none.
    whole: Option<Whole>,
    /// Subjects that it is counted from; the one of the base of its percentages comes first.
    reads: &'static [CountSubject],
    /// Data that is missing where all of that was read, and its value is not known all the same.
    unsaid: &'static str,
    meaning: &'static str,
    count: fn(&Tally<'_, '_>, &Totals) -> Count,
}

/// The enum of all signals, and the row of each.
macro_rules! signals {
    ($(
        $(#[$doc:meta])*
        $signal:ident {
            name: $name:literal,
            whole: $whole:expr,
            reads: [$($subject:ident),+],
            unsaid: $unsaid:literal,
            meaning: $meaning:literal,
            count: $count:expr,
        }
    )+) => {
        /// Signal that a guard compares.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Signal {
            $($(#[$doc])* $signal,)+
        }

        impl Signal {
            /// Every signal.
            pub const ALL: [Self; [$(stringify!($signal)),+].len()] = [$(Self::$signal),+];

            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$signal => &Row {
                        name: $name,
                        whole: $whole,
                        reads: &[$(CountSubject::$subject),+],
                        unsaid: $unsaid,
                        meaning: $meaning,
                        count: $count,
                    },)+
                }
            }
        }
    };
}

signals! {
    /// Pods that would be evicted, now or later.
    PodsEvicted {
        name: "pods.evicted",
        whole: Some(Whole::Pods),
        reads: [Pods],
        unsaid: "part of the data",
        meaning: "pods evicted now or later; % of all non-terminating pods that use the drivers of the selected devices",
        count: |_, totals| totals.pods,
    }
    /// Pods that would be evicted at once.
    PodsEvictedNow {
        name: "pods.evicted.now",
        whole: Some(Whole::Pods),
        reads: [Pods, Times],
        unsaid: "part of the data",
        meaning: "pods evicted now; % of all non-terminating pods that use the drivers of the selected devices",
        count: |_, totals| totals.pods_now,
    }
    /// Pods that would be evicted, and that the system needs.
    PodsCritical {
        name: "pods.critical",
        whole: Some(Whole::Pods),
        reads: [Pods],
        unsaid: "part of the data",
        meaning: "evicted system-critical pods; % of all non-terminating pods that use the drivers of the selected devices",
        count: |_, totals| totals.pods_critical,
    }
    /// Pods that would be evicted, and that nothing creates again.
    PodsUnmanaged {
        name: "pods.unmanaged",
        whole: Some(Whole::Pods),
        reads: [Pods, Workloads],
        unsaid: "part of the data",
        meaning: "evicted pods without a controller, or whose controller was deleted; % of all non-terminating pods \
            that use the drivers of the selected devices",
        count: |_, totals| totals.pods_unmanaged,
    }
    /// Jobs that fail for good since pods of them would be evicted.
    JobsFailed {
        name: "jobs.failed",
        whole: None,
        reads: [Workloads],
        unsaid: "how Jobs react to lost pods",
        meaning: "Jobs that fail permanently because their pods are evicted",
        count: |tally, _| tally.jobs_failed(),
    }
    /// Pods that would be evicted, and whose eviction breaks something for others.
    PodsSeverityDanger {
        name: "pods.severity.danger",
        whole: Some(Whole::Pods),
        reads: [Pods, Budgets, Workloads],
        unsaid: "part of the data",
        meaning: "evicted pods whose worst hazard has severity danger (see `help hazards`); % of all non-terminating \
            pods that use the drivers of the selected devices",
        count: |_, totals| totals.pods_in_danger,
    }
    /// Owners of the pods that would be evicted.
    WorkloadsAffected {
        name: "workloads.affected",
        whole: None,
        reads: [Pods],
        unsaid: "part of the data",
        meaning: "workloads of the evicted pods; a pod without an owner counts as a workload",
        count: |_, totals| totals.workloads,
    }
    /// Workloads of which no ready pod would be left.
    WorkloadsDown {
        name: "workloads.down",
        whole: None,
        reads: [Workloads],
        unsaid: "replicas of workloads",
        meaning: "workloads left without a ready pod",
        count: |_, totals| totals.workloads_down,
    }
    /// Workloads that would lose pods while they recover.
    WorkloadsRecovering {
        name: "workloads.recovering",
        whole: None,
        reads: [Workloads],
        unsaid: "replicas of workloads",
        meaning: "workloads that lose pods and already lack ready pods",
        count: |tally, _| tally.workloads_recovering(),
    }
    /// Namespaces of the pods that would be evicted.
    NamespacesAffected {
        name: "namespaces.affected",
        whole: None,
        reads: [Pods],
        unsaid: "part of the data",
        meaning: "namespaces of the evicted pods",
        count: |_, totals| totals.namespaces,
    }
    /// Devices that the taints select.
    DevicesSelected {
        name: "devices.selected",
        whole: Some(Whole::Devices),
        reads: [Selected],
        unsaid: "part of the data",
        meaning: "selected devices; % of all devices of their drivers",
        count: |_, totals| totals.devices,
    }
    /// Disruption budgets that the evictions would overdraw.
    BudgetsViolated {
        name: "budgets.violated",
        whole: None,
        reads: [Budgets],
        unsaid: "part of the data",
        meaning: "PodDisruptionBudgets that the evictions would violate",
        count: |_, totals| totals.budgets_violated,
    }
    /// Claims that cannot be reallocated.
    ClaimsUnplaceable {
        name: "claims.unplaceable",
        whole: None,
        reads: [Pods, Replacements],
        unsaid: "device classes, nodes, or results of expressions",
        meaning: "claims that cannot be reallocated when their pods are evicted; each claim is checked by itself",
        count: |_, totals| totals.claims_unplaceable,
    }
    /// Devices of the same classes that stay allocatable.
    DevicesAvailable {
        name: "devices.available",
        whole: Some(Whole::Class),
        reads: [Replacements],
        unsaid: "device classes, nodes, or results of expressions",
        meaning: "devices that stay available in the DeviceClasses of the selected devices; available means: free or \
            with capacity left, and without a NoSchedule or NoExecute taint; % of all devices of these classes",
        count: |_, totals| totals.devices_available,
    }
}

impl Signal {
    /// The signal as it is written in a guard.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Meaning in one line, for `help guards`.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// Count of the signal.
    pub fn count(self, tally: &Tally<'_, '_>, totals: &Totals) -> Count {
        (self.row().count)(tally, totals)
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

    /// Subjects that it is counted from.
    pub(super) const fn reads(self) -> &'static [CountSubject] {
        self.row().reads
    }

    /// Data that is missing where everything was read that it is counted from, and its value is not known all
    /// the same.
    pub(super) const fn unsaid(self) -> &'static str {
        self.row().unsaid
    }

    /// Base of its percentages; absent where it has none.
    pub(super) const fn whole(self) -> Option<Whole> {
        self.row().whole
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
