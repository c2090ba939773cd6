//! Filters of listed devices.

use std::collections::BTreeSet;

use crate::assess::DeviceBasis;
use crate::engine::DeviceState;
use crate::engine::allocator::blocked_partitions;
use crate::model::DeviceId;

/// The devices that were named, as far as flags do not narrow that.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// The selected devices; `None` for all.
    pub selected: Option<BTreeSet<DeviceId>>,
    /// Whether a node may have devices that are not selected.
    pub is_narrowed: bool,
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
        let tainted = !self.tainted || !state.taints.is_empty();
        // Without all claims, a device without one may be in use.
        let free = !self.free || (usage == UsageKnowledge::Known && state.is_free());
        let held = self.namespace.as_ref().is_none_or(|namespace| {
            let mut claims = state.claims.iter();
            claims.any(|claim| claim.name.namespace.as_str() == namespace)
        });
        let selected = self.selected.as_ref();
        let selected = selected.is_none_or(|selected| selected.contains(&state.id));
        selected && tainted && free && held
    }

    /// Whether a node may have devices that are not listed.
    #[must_use]
    pub fn is_selection(&self) -> bool {
        self.tainted || self.free || self.namespace.is_some() || self.is_narrowed
    }

    /// Keeps those of the `devices` that are listed. One that nobody holds is not free if the allocator would
    /// give it to nobody, since other parts of the same hardware are in use.
    pub fn keep(&self, devices: &mut Vec<DeviceState<'_>>, basis: &DeviceBasis<'_>) {
        let usage = UsageKnowledge::of(basis);
        let mut in_use = BTreeSet::new();
        if self.free {
            in_use = blocked_partitions(&basis.reading.snapshot);
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
        for (device, wanted) in [("gpu-0", true), ("gpu-1", false)] {
            let list_filter = ListFilter {
                selected: Some([testing::device(device)].into()),
                ..ListFilter::default()
            };
            assert_eq!(wants(list_filter), wanted, "{device}");
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
