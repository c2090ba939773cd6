//! What is asked about one pod?

use crate::assess::Basis;
use crate::engine::ConsideredTaint;
use crate::engine::explain::inquiry::taints_of;
use crate::engine::explain::{Chain, Fate, Inquiry, neighbourhood};
use crate::model::{Pod, Snapshot};

/// What is asked about one pod: what is around it, and which taints there are.
pub(super) struct Around {
    snapshot: Snapshot,
    taints: Vec<ConsideredTaint>,
    supposed: usize,
}

impl Around {
    /// What is around `pod`: as things are, or with the taints that are asked about.
    pub(super) fn new(pod: &Pod, supposed: &[ConsideredTaint], basis: &Basis<'_>) -> Self {
        let snapshot = neighbourhood(&basis.reading.snapshot, pod);
        Self {
            taints: taints_of(&snapshot, supposed, basis.now),
            supposed: supposed.len(),
            snapshot,
        }
    }

    /// The question about it.
    pub(super) fn inquiry<'a>(&'a self, basis: &Basis<'a>) -> Inquiry<'a> {
        Inquiry {
            snapshot: &self.snapshot,
            supposed: self.supposed,
            taints: &self.taints,
            now: basis.now,
            semantics: basis.semantics,
        }
    }
}

/// What becomes of a pod, by the taints that are asked about or else by all that are there.
pub(super) fn fate_of(pod: &Pod, supposed: &[ConsideredTaint], basis: &Basis<'_>) -> Fate {
    let around = Around::new(pod, supposed, basis);
    let inquiry = around.inquiry(basis);
    inquiry.fate(pod, &Chain::new(pod, &inquiry))
}
