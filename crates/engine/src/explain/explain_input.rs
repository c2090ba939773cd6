//! Input of explanations: a snapshot, existing and assumed taints, and a time.

use jiff::Timestamp;

use crate::impact::ProposedTaint;
use crate::model::Snapshot;
use crate::semantics::Semantics;

/// Input of an explanation.
#[derive(Clone, Debug)]
pub struct ExplainInput<'a> {
    /// The cluster, at least around the pods that are asked about.
    pub snapshot: &'a Snapshot,
    /// Number of the taints that were asked about; they come first. Zero where things are asked about as they are.
    pub assumed: usize,
    /// The taints that were asked about, then those of all other rules, as they are.
    pub taints: &'a [ProposedTaint],
    /// For which moment.
    pub now: Timestamp,
    /// Behaviour of that version of Kubernetes.
    pub semantics: &'a Semantics,
}

/// The taints of a question: those that are asked about, then those of the rules that none of them
/// stands for, by name and as they are.
pub fn taints_of(
    snapshot: &Snapshot,
    assumed: &[ProposedTaint],
    now: Timestamp,
) -> Vec<ProposedTaint> {
    let is_meant = |name| assumed.iter().any(|one| one.rule.as_ref() == Some(name));
    let mut others: Vec<_> = snapshot
        .rules
        .iter()
        .filter(|rule| !is_meant(&rule.name))
        .collect();
    others.sort_by_key(|rule| &rule.name);
    let others = others
        .into_iter()
        .map(|rule| ProposedTaint::of_changed_rule(rule, &rule.taint.effect, now));
    assumed.iter().cloned().chain(others).collect()
}

impl<'a> ExplainInput<'a> {
    /// The taints that were asked about.
    pub fn assumed(&self) -> &'a [ProposedTaint] {
        self.taints.get(..self.assumed).unwrap_or_default()
    }
}
