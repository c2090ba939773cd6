//! Effects of evictions on budgets, workloads and other pods, and replacements for the evicted ones.

use std::collections::BTreeMap;

use super::basis::Basis;
use super::replacements::Replacements;
use super::siblings::Sibling;
use crate::engine::disruption::Disruption;
use crate::engine::job_fate::{JobFate, job_fates};
use crate::engine::workloads::{Recovering, recovering};
use crate::engine::{self, Impact, Workloads};
use crate::model::{Gap, Kind, Reading, Uid};

/// Facts beyond a pod itself that show the harm of its eviction.
pub struct DisruptionFacts<'a> {
    /// Effect on budgets.
    pub disruption: Disruption<'a>,
    /// Effect on workloads.
    pub workloads: Workloads<'a>,
    /// Effect on the Jobs of lost pods, by pod.
    pub jobs: BTreeMap<&'a Uid, JobFate>,
    /// Workloads that have not recovered from something else, and lose pods.
    pub recovering: Recovering,
    /// Replacements for claims that lose their devices.
    pub replacements: Replacements,
    /// Pods that stay on the same hardware, by device.
    pub siblings: Vec<Sibling>,
    /// Gaps of these facts, budgets and workloads aside.
    pub gaps: Vec<Gap>,
}

impl<'a> DisruptionFacts<'a> {
    /// Of an answer.
    pub fn of(impact: &Impact<'a>, basis: &Basis<'a>) -> Self {
        let reading = basis.reading;
        let (replacements, unplaced) = Replacements::of(impact, basis);
        Self {
            disruption: engine::disruption(impact, &reading.snapshot.budgets, basis.now),
            workloads: engine::workloads(impact, reading),
            jobs: job_fates(impact, reading),
            recovering: recovering(impact, reading),
            siblings: Sibling::of(impact, basis),
            gaps: unread(impact, reading)
                .into_iter()
                .chain(unplaced)
                .collect(),
            replacements,
        }
    }

    /// Everything that is not known of it.
    pub(super) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        let known = self.disruption.gaps.iter().chain(&self.workloads.gaps);
        known.chain(&self.gaps)
    }
}

/// Gaps of an answer about evictions whose budgets and nodes were not read; empty where they were read, or
/// where the reason is among the gaps already.
fn unread(impact: &Impact<'_>, reading: &Reading) -> Vec<Gap> {
    let mut evicted = impact.pods.iter().filter(|pod| pod.is_evicted()).peekable();
    if evicted.peek().is_none() {
        return Vec::new();
    }
    let has_node = evicted.any(|pod| pod.pod.node.is_some());
    let kinds = [Kind::PodDisruptionBudget]
        .into_iter()
        .chain(has_node.then_some(Kind::Node));
    // A gap that was noted has the reason; the general one would repeat it without.
    let is_told = |kind: Kind| reading.gaps.iter().any(|gap| gap.kind() == Some(kind));
    kinds
        .filter(|kind| !is_told(*kind))
        .filter_map(|kind| reading.without(kind))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{PodImpact, Verdict};
    use crate::report::testing::{evicted, impact, pod, reading, with_verdict};

    #[test]
    fn budgets_and_nodes_that_were_not_read_are_missing_where_pods_are_evicted() {
        let mut reading = reading();
        reading.known.remove(&Kind::PodDisruptionBudget);
        reading.known.remove(&Kind::Node);
        let running = pod("team-a", "train-0");
        let mut queued = pod("team-a", "train-1");
        queued.node = None;
        let kinds = |pods: Vec<PodImpact<'_>>, reading: &Reading| -> Vec<Option<Kind>> {
            let gaps = unread(&impact(pods), reading);
            gaps.iter().map(Gap::kind).collect()
        };
        let staying = || with_verdict(&running, Verdict::Tolerates);
        let (budgets, nodes) = (Some(Kind::PodDisruptionBudget), Some(Kind::Node));
        assert_eq!(kinds(vec![staying()], &reading), []);
        assert_eq!(
            kinds(vec![evicted(&queued, 0), staying()], &reading),
            [budgets]
        );
        let both = || vec![evicted(&queued, 0), evicted(&running, 0)];
        assert_eq!(kinds(both(), &reading), [budgets, nodes]);
        // A gap with a reason is not repeated without it.
        reading.gaps = vec![Gap::of(Kind::Node, "denied")];
        assert_eq!(kinds(both(), &reading), [budgets]);
    }
}
