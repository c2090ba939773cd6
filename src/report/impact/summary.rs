//! What is counted of an answer, as reports write it.

use super::view::{Severities, Summary};
use crate::assess::Totals;
use crate::report::bounds::Bounds;
use crate::report::time::Time;

impl From<&Totals> for Summary {
    fn from(totals: &Totals) -> Self {
        Self {
            devices: totals.devices.counted(),
            claims: totals.claims.counted(),
            pods: totals.pods.counted(),
            pods_now: totals.pods_now.counted(),
            pods_later: totals.pods_later.counted(),
            pods_tolerating: totals.pods_tolerating.counted(),
            pods_terminating: totals.pods_terminating.counted(),
            pods_not_evicted: totals.pods_not_evicted.counted(),
            pods_critical: totals.pods_critical.counted(),
            pods_unmanaged: totals.pods_unmanaged.counted(),
            namespaces: totals.namespaces.counted(),
            nodes: totals.nodes.counted(),
            workloads: totals.workloads.counted(),
            budgets_violated: totals.budgets_violated.counted(),
            workloads_down: totals.workloads_down.counted(),
            severities: Severities {
                ok: totals.severities.ok,
                notice: totals.severities.notice,
                warning: totals.severities.warning,
                danger: totals.pods_in_danger.counted(),
            },
            claims_unplaceable: totals.claims_unplaceable.counted(),
            devices_available: totals.devices_available.counted(),
            devices_of_class: totals.devices_of_class.counted(),
            first_eviction: totals.first_eviction.map(Time),
            last_eviction: totals.last_eviction.map(Time),
            bounds: bounds(totals),
        }
    }
}

/// What is known of the counts whose number is not.
fn bounds(totals: &Totals) -> Vec<Bounds> {
    Bounds::of(&[
        ("devices", totals.devices),
        ("claims", totals.claims),
        ("pods", totals.pods),
        ("podsNow", totals.pods_now),
        ("podsLater", totals.pods_later),
        ("podsTolerating", totals.pods_tolerating),
        ("podsTerminating", totals.pods_terminating),
        ("podsNotEvicted", totals.pods_not_evicted),
        ("namespaces", totals.namespaces),
        ("nodes", totals.nodes),
        ("workloads", totals.workloads),
        ("budgetsViolated", totals.budgets_violated),
        ("workloadsDown", totals.workloads_down),
        ("podsCritical", totals.pods_critical),
        ("podsUnmanaged", totals.pods_unmanaged),
        ("severities.danger", totals.pods_in_danger),
        ("claimsUnplaceable", totals.claims_unplaceable),
        ("devicesAvailable", totals.devices_available),
        ("devicesOfClass", totals.devices_of_class),
    ])
}
