//! Input of the explanation of one pod.

use crate::assess::Basis;
use crate::engine::ProposedTaint;
use crate::engine::explain::explain_input::taints_of;
use crate::engine::explain::{Chain, ExplainInput, PodVerdict, related_objects};
use crate::model::{Pod, Snapshot};

/// What is asked about one pod: what is around it, and which taints there are.
pub(super) struct PodContext {
    snapshot: Snapshot,
    taints: Vec<ProposedTaint>,
    assumed: usize,
}

impl PodContext {
    /// What is around `pod`: as things are, or with the taints that are asked about.
    pub(super) fn new(pod: &Pod, assumed: &[ProposedTaint], basis: &Basis<'_>) -> Self {
        // Only what concerns the pod, since the snapshot is copied for each change that is tried as a fix.
        let snapshot = related_objects(&basis.reading.snapshot, pod);
        Self {
            taints: taints_of(&snapshot, assumed, basis.now),
            assumed: assumed.len(),
            snapshot,
        }
    }

    /// The question about it.
    pub(super) fn input<'a>(&'a self, basis: &Basis<'a>) -> ExplainInput<'a> {
        ExplainInput {
            snapshot: &self.snapshot,
            assumed: self.assumed,
            taints: &self.taints,
            now: basis.now,
            semantics: basis.semantics,
        }
    }
}

/// What becomes of a pod, by the taints that are asked about or else by all that are there.
pub(super) fn verdict_of(pod: &Pod, assumed: &[ProposedTaint], basis: &Basis<'_>) -> PodVerdict {
    let context = PodContext::new(pod, assumed, basis);
    let input = context.input(basis);
    input.verdict(pod, &Chain::new(pod, &input))
}
