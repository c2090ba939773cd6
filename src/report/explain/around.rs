//! What is asked about one pod?

use crate::assess::Basis;
use crate::engine::ProposedTaint;
use crate::engine::explain::explain_input::taints_of;
use crate::engine::explain::{Chain, ExplainInput, PodVerdict, related_objects};
use crate::model::{Pod, Snapshot};

/// What is asked about one pod: what is around it, and which taints there are.
pub(super) struct Around {
    snapshot: Snapshot,
    taints: Vec<ProposedTaint>,
    supposed: usize,
}

impl Around {
    /// What is around `pod`: as things are, or with the taints that are asked about.
    pub(super) fn new(pod: &Pod, supposed: &[ProposedTaint], basis: &Basis<'_>) -> Self {
        let snapshot = related_objects(&basis.reading.snapshot, pod);
        Self {
            taints: taints_of(&snapshot, supposed, basis.now),
            supposed: supposed.len(),
            snapshot,
        }
    }

    /// The question about it.
    pub(super) fn input<'a>(&'a self, basis: &Basis<'a>) -> ExplainInput<'a> {
        ExplainInput {
            snapshot: &self.snapshot,
            assumed: self.supposed,
            taints: &self.taints,
            now: basis.now,
            semantics: basis.semantics,
        }
    }
}

/// What becomes of a pod, by the taints that are asked about or else by all that are there.
pub(super) fn fate_of(pod: &Pod, supposed: &[ProposedTaint], basis: &Basis<'_>) -> PodVerdict {
    let around = Around::new(pod, supposed, basis);
    let input = around.input(basis);
    input.verdict(pod, &Chain::new(pod, &input))
}
