//! What does an impact report count?

use std::collections::BTreeSet;

use super::budgets::Budget;
use super::replacements::Replacements;
use super::view::{Device, ImpactReport, Outcome, Pod, Severities, Summary, TaintImpact, Workload};
use crate::report::count::{Bounds, Count};
use crate::report::hazard::Hazard;
use crate::report::knowledge::{Knowledge, Subject};
use crate::report::severity::Severity;

/// What is counted.
pub(super) struct Parts<'a> {
    pub(super) pods: &'a [Pod],
    pub(super) devices: &'a [Device],
    pub(super) budgets: &'a [Budget],
    pub(super) workloads: &'a [Workload],
    pub(super) replacements: &'a Replacements,
}

impl<'a> Parts<'a> {
    /// Those of a report.
    pub(super) fn of(report: &'a ImpactReport) -> Self {
        Self {
            pods: &report.pods,
            devices: &report.devices,
            budgets: &report.budgets,
            workloads: &report.workloads,
            replacements: &report.replacements,
        }
    }
}

/// Counts every thing once, however many taints, claims or devices lead to it.
pub(super) fn summary(parts: &Parts<'_>) -> Summary {
    let Parts {
        pods,
        devices,
        budgets,
        workloads,
        replacements,
    } = parts;
    let with = |outcome| pods.iter().filter(|pod| pod.outcome == outcome).count();
    let evicted = || pods.iter().filter(|pod| pod.outcome.is_evicted());
    let with_hazard = |hazard: Hazard| {
        let is = |pod: &&Pod| pod.hazards.iter().any(|code| code == hazard.code());
        evicted().filter(is).count()
    };
    let times = || evicted().filter_map(|pod| pod.evict_at);
    Summary {
        devices: devices.len(),
        claims: distinct(devices.iter().flat_map(|device| &device.claims)),
        pods: evicted().count(),
        pods_now: with(Outcome::EvictedNow),
        pods_later: with(Outcome::EvictedLater),
        pods_tolerating: with(Outcome::Tolerates),
        pods_terminating: with(Outcome::Terminating),
        pods_not_evicted: with(Outcome::NotEvicted),
        pods_critical: with_hazard(Hazard::Critical),
        pods_unmanaged: with_hazard(Hazard::Unmanaged),
        namespaces: distinct(evicted().map(|pod| &pod.namespace)),
        nodes: distinct(evicted().filter_map(|pod| pod.node.as_ref())),
        workloads: distinct(evicted().map(top_owner)),
        budgets_violated: budgets.iter().filter(|budget| budget.is_violated()).count(),
        workloads_down: workloads
            .iter()
            .filter(|workload| workload.left == Some(0))
            .count(),
        claims_unplaceable: replacements.unplaceable().least(),
        devices_available: replacements.available().least(),
        devices_of_class: replacements.of_class().least(),
        severities: severities(evicted()),
        first_eviction: times().min(),
        last_eviction: times().max(),
        bounds: Vec::new(),
    }
}

fn severities<'p>(pods: impl Iterator<Item = &'p Pod>) -> Severities {
    let mut counts = Severities::default();
    for pod in pods {
        let count = match pod.severity {
            Severity::Ok => &mut counts.ok,
            Severity::Notice => &mut counts.notice,
            Severity::Warning => &mut counts.warning,
            Severity::Danger => &mut counts.danger,
        };
        *count = count.saturating_add(1);
    }
    counts
}

/// What is known of the counts of `summary`, whose taints are `taints`; of the workloads so many are
/// known to be hit, and not how badly.
pub(super) fn bounds(
    summary: &Summary,
    (taints, replacements): (&[TaintImpact], &Replacements),
    knowledge: &Knowledge<'_>,
    undecided: usize,
) -> Vec<Bounds> {
    let using = |number| knowledge.count(Subject::Pods, number);
    // What never evicts evicts nobody, whoever is there.
    let evicts = taints.iter().any(|impact| impact.taint.evicts());
    let evicted = |number| {
        if evicts {
            using(number)
        } else {
            Count::known(number)
        }
    };
    let pods = evicted(summary.pods);
    let (now, later) = if knowledge.is_complete(Subject::Times) || summary.pods_later == 0 {
        (evicted(summary.pods_now), evicted(summary.pods_later))
    } else {
        // Taints that are not known may drive the later ones off at once, and never the reverse.
        let now = evicted(summary.pods_now).least();
        match pods.most() {
            Some(most) => (
                Count::between(now, most),
                Count::between(0, summary.pods_later),
            ),
            None => (Count::at_least(now), Count::at_least(0)),
        }
    };
    let violated = if evicts {
        knowledge.count(Subject::Budgets, summary.budgets_violated)
    } else {
        Count::known(summary.budgets_violated)
    };
    let down = match undecided {
        0 if evicts => knowledge.count(Subject::Workloads, summary.workloads_down),
        0 => Count::known(summary.workloads_down),
        _ => Count::at_least(summary.workloads_down),
    };
    // Claims of pods that are not known are not known either.
    let unplaceable = match (replacements.unplaceable(), pods.exact()) {
        (known, Some(_)) => known,
        (known, None) => Count::at_least(known.least()),
    };
    // Every kind that is missing may hold a reason why it is worse.
    let is_severity_known = !evicts
        || [Subject::Pods, Subject::Budgets, Subject::Workloads]
            .into_iter()
            .all(|subject| knowledge.is_complete(subject));
    let danger = if is_severity_known {
        Count::known(summary.severities.danger)
    } else {
        match pods.most() {
            Some(most) => Count::between(summary.severities.danger, most),
            None => Count::at_least(summary.severities.danger),
        }
    };
    Bounds::of(&[
        (
            "devices",
            knowledge.count(Subject::Selected, summary.devices),
        ),
        (
            "claims",
            knowledge.count(Subject::Allocated, summary.claims),
        ),
        ("pods", pods),
        ("podsNow", now),
        ("podsLater", later),
        ("podsTolerating", using(summary.pods_tolerating)),
        ("podsTerminating", using(summary.pods_terminating)),
        ("podsNotEvicted", using(summary.pods_not_evicted)),
        ("namespaces", evicted(summary.namespaces)),
        ("nodes", evicted(summary.nodes)),
        ("workloads", evicted(summary.workloads)),
        ("budgetsViolated", violated),
        ("workloadsDown", down),
        ("podsCritical", evicted(summary.pods_critical)),
        ("podsUnmanaged", evicted(summary.pods_unmanaged)),
        ("severities.danger", danger),
        ("claimsUnplaceable", unplaceable),
        ("devicesAvailable", replacements.available()),
        ("devicesOfClass", replacements.of_class()),
    ])
}

impl Summary {
    /// The devices that are selected.
    #[must_use]
    pub fn selected_devices(&self) -> Count {
        Bounds::count(&self.bounds, "devices", self.devices)
    }

    /// The pods that would be evicted, now or later.
    #[must_use]
    pub fn evicted(&self) -> Count {
        Bounds::count(&self.bounds, "pods", self.pods)
    }

    /// The pods that would be evicted at once.
    #[must_use]
    pub fn evicted_now(&self) -> Count {
        Bounds::count(&self.bounds, "podsNow", self.pods_now)
    }

    /// The pods that would be evicted, and that the system needs.
    #[must_use]
    pub fn critical(&self) -> Count {
        Bounds::count(&self.bounds, "podsCritical", self.pods_critical)
    }

    /// The pods that would be evicted, and that nothing creates again.
    #[must_use]
    pub fn unmanaged(&self) -> Count {
        Bounds::count(&self.bounds, "podsUnmanaged", self.pods_unmanaged)
    }

    /// The owners of the pods that would be evicted.
    #[must_use]
    pub fn affected_workloads(&self) -> Count {
        Bounds::count(&self.bounds, "workloads", self.workloads)
    }

    /// The disruption budgets that the evictions would overdraw.
    #[must_use]
    pub fn violated_budgets(&self) -> Count {
        Bounds::count(&self.bounds, "budgetsViolated", self.budgets_violated)
    }

    /// The workloads of which no ready pod would be left.
    #[must_use]
    pub fn lost_workloads(&self) -> Count {
        Bounds::count(&self.bounds, "workloadsDown", self.workloads_down)
    }

    /// The pods whose eviction breaks something for others.
    #[must_use]
    pub fn in_danger(&self) -> Count {
        Bounds::count(&self.bounds, "severities.danger", self.severities.danger)
    }

    /// The claims that could not be placed again even alone.
    #[must_use]
    pub fn unplaceable_claims(&self) -> Count {
        Bounds::count(&self.bounds, "claimsUnplaceable", self.claims_unplaceable)
    }

    /// The devices that stay allocatable of the classes of the selected ones.
    #[must_use]
    pub fn available_devices(&self) -> Count {
        Bounds::count(&self.bounds, "devicesAvailable", self.devices_available)
    }

    /// All devices of these classes.
    #[must_use]
    pub fn devices_of_class(&self) -> Count {
        Bounds::count(&self.bounds, "devicesOfClass", self.devices_of_class)
    }

    /// The pods that use selected devices and stay, for another reason than their tolerations.
    #[must_use]
    pub fn not_evicted(&self) -> Count {
        Bounds::count(&self.bounds, "podsNotEvicted", self.pods_not_evicted)
    }

    /// The namespaces of the pods that would be evicted.
    #[must_use]
    pub fn affected_namespaces(&self) -> Count {
        Bounds::count(&self.bounds, "namespaces", self.namespaces)
    }
}

fn distinct<T: Ord>(things: impl Iterator<Item = T>) -> usize {
    things.collect::<BTreeSet<_>>().len()
}

/// Namespace, kind and name of what would create the pod again, or of the pod itself.
fn top_owner(pod: &Pod) -> (&str, &str, &str) {
    let (kind, name) = match pod.top_owner() {
        Some(owner) => (owner.kind.as_str(), owner.name.as_str()),
        None => ("Pod", pod.name.as_str()),
    };
    (&pod.namespace, kind, name)
}
