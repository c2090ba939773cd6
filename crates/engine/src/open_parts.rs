//! Partitions on which pods can still be scheduled although the whole device is tainted.

use std::collections::{BTreeMap, BTreeSet};

use super::allocator::parts_by_device;
use super::inventory::{devices, taints_on};
use super::rule_lifecycle::is_blocked;
use super::semantics::Semantics;
use crate::model::{DeviceId, Snapshot};

/// The partitions of each of the `selected` devices that are not selected themselves, and that neither a rule nor the
/// driver keeps from being allocated; devices without such partitions are left out.
pub fn open_parts(
    snapshot: &Snapshot,
    selected: &BTreeSet<&DeviceId>,
    semantics: &Semantics,
) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let mut parts = parts_by_device(snapshot, selected);
    // Few devices have any, and without one the inventory is not needed.
    if parts.is_empty() {
        return parts;
    }
    let all: BTreeSet<DeviceId> = parts.values().flatten().cloned().collect();
    let inventory = devices(snapshot, semantics);
    let taints = taints_on(&all, &inventory, snapshot, semantics);
    let is_open = |part: &DeviceId| !taints.get(part).is_some_and(|taints| is_blocked(taints));
    for parts in parts.values_mut() {
        parts.retain(is_open);
    }
    parts.retain(|_, parts| !parts.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, Taint};
    use crate::testing::{TAINT, device, drawing, semantics, slice};

    /// The open partitions of the card and of a half of it, where taints have this effect on the other half.
    fn open(selected: &[&str], effect: Effect) -> Vec<(String, usize)> {
        let mut other = drawing("half-1", "40Gi");
        other.taints = vec![Taint {
            effect,
            ..TAINT.clone()
        }];
        let devices = vec![drawing("card", "80Gi"), drawing("half-0", "40Gi"), other];
        let snapshot = Snapshot {
            slices: vec![slice(devices)],
            ..Snapshot::default()
        };
        let selected: Vec<DeviceId> = selected.iter().map(|name| device(name)).collect();
        let found = open_parts(&snapshot, &selected.iter().collect(), &semantics(37));
        let found = found.into_iter();
        found
            .map(|(whole, parts)| (whole.device.to_string(), parts.len()))
            .collect()
    }

    #[test]
    fn partitions_are_open_that_neither_the_question_nor_another_taint_closes() {
        let card = |parts| vec![("card".to_owned(), parts)];
        assert_eq!(open(&["card"], Effect::NoSchedule), card(1));
        assert_eq!(open(&["card"], Effect::NoExecute), card(1));
        assert_eq!(open(&["card"], Effect::None), card(2));
        assert_eq!(open(&["card", "half-0"], Effect::NoExecute), []);
        assert_eq!(open(&["card", "half-0"], Effect::None), card(1));
        assert_eq!(open(&["half-0"], Effect::None), []);
    }
}
