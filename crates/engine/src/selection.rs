//! Devices that proposed taints select.
//!
//! Knows no pods and no time: a command asks this before it reads pods, and only for those that
//! matter.

use std::collections::BTreeSet;

use super::devices::DeviceTable;
use super::impact::ProposedTaint;
use super::proposed_rules::proposed_rules;
use super::select::RuleIndex;
use super::semantics::Semantics;
use crate::model::{DeviceId, Snapshot};

/// The devices that some taints select.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The devices, published or allocated, each once.
    pub devices: BTreeSet<DeviceId>,
    /// Number of devices that each taint selects, in the order of the question.
    pub counts: Vec<usize>,
}

/// Those of `devices` that each of the `proposed` taints selects, in the order of the question.
pub fn selected_of(
    snapshot: &Snapshot,
    proposed: &[ProposedTaint],
    semantics: &Semantics,
    devices: &BTreeSet<&DeviceId>,
) -> Vec<BTreeSet<DeviceId>> {
    let wanted = proposed_rules(proposed).collect();
    let index = RuleIndex::new(wanted, semantics);
    let table = DeviceTable::of_selected_pools(&snapshot.slices, &snapshot.claims, &index);
    let mut selected = vec![BTreeSet::new(); proposed.len()];
    for entry in &table.entries {
        let id = entry.id();
        for place in entry.rules.iter().filter(|_| devices.contains(&id)) {
            selected[*place as usize].insert(id.clone());
        }
    }
    selected
}

/// The devices of `snapshot` that any of the `proposed` taints selects.
///
/// Costs O(considered + devices + claims).
pub fn selection(
    snapshot: &Snapshot,
    proposed: &[ProposedTaint],
    semantics: &Semantics,
) -> Selection {
    let wanted = proposed_rules(proposed).collect();
    let index = RuleIndex::new(wanted, semantics);
    let table = DeviceTable::of_selected_pools(&snapshot.slices, &snapshot.claims, &index);
    let mut counts = vec![0; proposed.len()];
    for place in table.entries.iter().flat_map(|entry| &entry.rules) {
        let count: &mut usize = &mut counts[*place as usize];
        *count = count.saturating_add(1);
    }
    let selected = table.entries.iter().filter(|entry| !entry.rules.is_empty());
    Selection {
        devices: selected.map(|entry| entry.id()).collect(),
        counts,
    }
}
