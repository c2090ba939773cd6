//! Filters of listed devices.

use std::collections::BTreeSet;

use super::choice::ShownDevices;
use crate::assess::DeviceBasis;
use crate::engine::DeviceState;
use crate::engine::hardware_use::HardwareUse;
use crate::model::DeviceId;

/// The devices that were named, as far as flags do not narrow that.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// Those that were named.
    pub shown: ShownDevices,
    /// `--node`
    pub node: Option<String>,
    /// Those that were chosen by what they are, where that was asked for.
    pub filtered: Option<BTreeSet<DeviceId>>,
    /// `--tainted`
    pub tainted: bool,
    /// `--free`
    pub free: bool,
    /// `--namespace`
    pub namespace: Option<String>,
}

/// Whether all claims were read, so that a device that none holds is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageKnowledge {
    /// They were.
    Known,
    /// Some may be missing.
    Unknown,
}

impl UsageKnowledge {
    /// What is known of what was read.
    #[must_use]
    pub fn of(basis: &DeviceBasis<'_>) -> Self {
        if basis.knows_usage() {
            Self::Known
        } else {
            Self::Unknown
        }
    }
}

impl ListFilter {
    /// Whether a device is listed. One whose use is not known is not free.
    #[must_use]
    pub fn wants(&self, state: &DeviceState<'_>, usage: UsageKnowledge) -> bool {
        let node = self.node.as_ref();
        let local = node.is_none_or(|node| state.node.is_some_and(|found| found.as_str() == node));
        let tainted = !self.tainted || !state.taints.is_empty();
        // Without all claims, a device without one may be in use.
        let free = !self.free || (usage == UsageKnowledge::Known && state.is_free());
        let held = self.namespace.as_ref().is_none_or(|namespace| {
            let mut claims = state.claims.iter();
            claims.any(|claim| claim.name.namespace.as_str() == namespace)
        });
        // What was picked was picked of what was named, and may mean more: all parts of it.
        let named = match &self.filtered {
            Some(filtered) => filtered.contains(&state.id),
            None => self.shown.contains(&state.id),
        };
        named && local && tainted && free && held
    }

    /// Whether a node may have devices that are not listed. `--node` alone lists all devices of the node.
    #[must_use]
    pub fn is_selection(&self) -> bool {
        self.tainted
            || self.free
            || self.namespace.is_some()
            || self.filtered.is_some()
            || !self.shown.names().is_empty()
    }

    /// Keeps those of the `devices` that are listed. One that nobody holds is not free if the allocator would
    /// give it to nobody, since other parts of the same hardware are in use, or if the hardware is in use under
    /// the name of another driver, or may be.
    pub fn keep(&self, devices: &mut Vec<DeviceState<'_>>, basis: &DeviceBasis<'_>) {
        let usage = UsageKnowledge::of(basis);
        let mut in_use = BTreeSet::new();
        if self.free {
            let snapshot = &basis.reading.snapshot;
            let all = devices.iter().map(|state| &state.id).collect();
            // The devices themselves have no claim, but their hardware is in use, or may be.
            let hardware = HardwareUse::of(snapshot, &all);
            let may_be_in_use = all.into_iter().filter(|id| hardware.may_be_in_use(id));
            in_use = may_be_in_use.cloned().collect();
        }
        devices.retain(|state| self.wants(state, usage) && !in_use.contains(&state.id));
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::model::{CounterSet, NodeName, Reading, SliceTerms};
    use crate::report::testing;

    fn state(node: &NodeName, allocations: usize, administrative: usize) -> DeviceState<'_> {
        DeviceState {
            node: Some(node),
            allocations,
            administrative,
            ..testing::device_state(testing::device("gpu-0"))
        }
    }

    #[test]
    fn free_is_what_is_known_to_be_held_by_nobody() {
        let node = NodeName::from("node-7");
        let list_filter = ListFilter {
            free: true,
            ..ListFilter::default()
        };
        let free = |allocations, administrative, usage| {
            list_filter.wants(&state(&node, allocations, administrative), usage)
        };
        assert!(free(0, 0, UsageKnowledge::Known));
        assert!(
            free(1, 1, UsageKnowledge::Known),
            "a monitor takes it from nobody"
        );
        assert!(!free(1, 0, UsageKnowledge::Known));
        assert!(!free(2, 1, UsageKnowledge::Known));
        assert!(!free(0, 0, UsageKnowledge::Unknown), "nobody knows");
    }

    #[test]
    fn every_flag_narrows() {
        let node = NodeName::from("node-7");
        let state = state(&node, 0, 0);
        let wants = |list_filter: ListFilter| list_filter.wants(&state, UsageKnowledge::Known);
        assert!(wants(ListFilter::default()));
        for (on, wanted) in [("node-7", true), ("node-8", false)] {
            let list_filter = ListFilter {
                node: Some(on.to_owned()),
                ..ListFilter::default()
            };
            assert_eq!(wants(list_filter), wanted, "{on}");
        }
        assert!(!wants(ListFilter {
            tainted: true,
            ..ListFilter::default()
        }));
        assert!(!wants(ListFilter {
            namespace: Some("ml".to_owned()),
            ..ListFilter::default()
        }));
    }

    #[test]
    fn parts_of_what_was_named_are_listed_where_all_of_it_is_meant() {
        let node = NodeName::from("node-7");
        let shown = ShownDevices::parse(&["gpu.example.com/node-7/gpu-9".to_owned()]);
        let state = state(&node, 0, 0);
        let wants = |filtered: Option<&[&DeviceId]>| {
            let list_filter = ListFilter {
                shown: shown.as_ref().unwrap().clone(),
                filtered: filtered.map(|ids| ids.iter().map(|id| (*id).clone()).collect()),
                ..ListFilter::default()
            };
            list_filter.wants(&state, UsageKnowledge::Known)
        };
        assert!(!wants(None), "it has another name");
        assert!(!wants(Some(&[])));
        assert!(wants(Some(&[&state.id])));
    }

    #[test]
    fn what_other_parts_in_use_leave_nothing_for_is_not_free() {
        let counters = CounterSet {
            name: "card".into(),
            counters: [("memory".into(), "80Gi".into())].into_iter().collect(),
        };
        let mut slice = testing::slice(vec![
            testing::drawing("gpu-0", "80Gi"),
            testing::drawing("whole", "80Gi"),
        ]);
        slice.terms = Some(Box::new(SliceTerms {
            counters: vec![counters],
            ..SliceTerms::default()
        }));
        let slices = vec![slice];
        let listed = |free: bool, is_held: bool| {
            let mut reading = testing::reading();
            reading.snapshot.slices = slices.clone();
            if is_held {
                reading.snapshot.claims = vec![testing::claim(&testing::pod("ml", "train"))];
            }
            super::tests::listed(&reading, free)
        };
        assert_eq!(listed(true, false), 2);
        assert_eq!(listed(true, true), 0);
        assert_eq!(listed(false, true), 2);
    }

    /// How many devices are listed, or how many of them are free.
    fn listed(reading: &Reading, free: bool) -> usize {
        let semantics = testing::semantics(37);
        let basis = DeviceBasis {
            reading,
            semantics: &semantics,
            now: testing::now(),
        };
        let mut devices = crate::engine::devices(&reading.snapshot, &semantics);
        let list_filter = ListFilter {
            free,
            ..ListFilter::default()
        };
        list_filter.keep(&mut devices, &basis);
        devices.len()
    }
}
