//! Counts of an answer, as reports write them.

use super::view::{Severities, Summary};
use crate::assess::Totals;
use crate::report::metadata::Bounds;
use crate::report::taint::Time;

impl From<&Totals> for Summary {
    fn from(totals: &Totals) -> Self {
        Self {
            device_count: totals.devices.counted(),
            claim_count: totals.claims.counted(),
            evicted_pod_count: totals.pods.counted(),
            evicted_now_pod_count: totals.pods_now.counted(),
            evicted_later_pod_count: totals.pods_later.counted(),
            tolerating_pod_count: totals.pods_tolerating.counted(),
            terminating_pod_count: totals.pods_terminating.counted(),
            not_evicted_pod_count: totals.pods_not_evicted.counted(),
            critical_pod_count: totals.pods_critical.counted(),
            unmanaged_pod_count: totals.pods_unmanaged.counted(),
            namespace_count: totals.namespaces.counted(),
            node_count: totals.nodes.counted(),
            workload_count: totals.workloads.counted(),
            violated_budget_count: totals.budgets_violated.counted(),
            down_workload_count: totals.workloads_down.counted(),
            severities: Severities {
                ok_pod_count: totals.severities.ok.counted(),
                notice_pod_count: totals.severities.notice.counted(),
                warning_pod_count: totals.severities.warning.counted(),
                // Not from `severities`: guards count those in danger, so that they are a total of their own.
                danger_pod_count: totals.pods_in_danger.counted(),
            },
            unplaceable_claim_count: totals.claims_unplaceable.counted(),
            available_device_count: totals.devices_available.counted(),
            class_device_count: totals.devices_of_class.counted(),
            first_eviction_time: totals.first_eviction.map(Time),
            last_eviction_time: totals.last_eviction.map(Time),
            bounds: bounds(totals),
        }
    }
}

/// Bounds of the counts whose number is not known.
fn bounds(totals: &Totals) -> Vec<Bounds> {
    Bounds::of(&[
        ("deviceCount", totals.devices),
        ("claimCount", totals.claims),
        ("evictedPodCount", totals.pods),
        ("evictedNowPodCount", totals.pods_now),
        ("evictedLaterPodCount", totals.pods_later),
        ("toleratingPodCount", totals.pods_tolerating),
        ("terminatingPodCount", totals.pods_terminating),
        ("notEvictedPodCount", totals.pods_not_evicted),
        ("namespaceCount", totals.namespaces),
        ("nodeCount", totals.nodes),
        ("workloadCount", totals.workloads),
        ("violatedBudgetCount", totals.budgets_violated),
        ("downWorkloadCount", totals.workloads_down),
        ("criticalPodCount", totals.pods_critical),
        ("unmanagedPodCount", totals.pods_unmanaged),
        ("severities.okPodCount", totals.severities.ok),
        ("severities.noticePodCount", totals.severities.notice),
        ("severities.warningPodCount", totals.severities.warning),
        ("severities.dangerPodCount", totals.pods_in_danger),
        ("unplaceableClaimCount", totals.claims_unplaceable),
        ("availableDeviceCount", totals.devices_available),
        ("classDeviceCount", totals.devices_of_class),
    ])
}
