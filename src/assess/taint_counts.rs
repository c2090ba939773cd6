//! Counts of the eviction controller for one taint, as far as they are known.

use super::completeness::{CountSubject, ReportCompleteness};
use crate::engine::RuleImpact;
use crate::model::Count;

/// Counts of the eviction controller for one taint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaintCounts {
    /// Selected devices in the newest generation of each pool.
    pub published_devices: Count,
    /// Selected devices in allocated claims; a shared device counts once per share.
    pub allocated_devices: Count,
    /// Pods that would be evicted, now or later; pods that are already terminating are not counted.
    pub pods: Count,
    /// Namespaces of the pods that would be evicted.
    pub namespaces: Count,
}

impl TaintCounts {
    /// Counts for a considered taint. One that never evicts evicts no pod, whichever pods exist.
    pub fn of(rule: &RuleImpact<'_>, completeness: &ReportCompleteness<'_>) -> Self {
        let counts = &rule.counts;
        let evicted = |number| {
            if rule.proposed.taint.effect.evicts() {
                completeness.count(CountSubject::Pods, number)
            } else {
                Count::known(number)
            }
        };
        Self {
            published_devices: completeness
                .count(CountSubject::Published, counts.published_devices),
            allocated_devices: completeness
                .count(CountSubject::Allocated, counts.allocated_devices),
            pods: evicted(counts.pods),
            namespaces: evicted(counts.namespaces),
        }
    }

    /// True if each of them is known.
    pub fn is_exact(&self) -> bool {
        let all = [
            self.published_devices,
            self.allocated_devices,
            self.pods,
            self.namespaces,
        ];
        all.into_iter().all(|count| count.exact().is_some())
    }
}
