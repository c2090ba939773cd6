//! Which of the devices are listed?

use std::collections::BTreeSet;

use super::choice::Shown;
use crate::engine::{DeviceState, Inventory};
use crate::model::DeviceId;
use crate::naming::nearest::nearest;
use crate::report::Basis;

/// The devices that were named, as far as flags do not narrow that.
#[derive(Clone, Debug, Default)]
pub struct Narrowing {
    /// Those that were named.
    pub shown: Shown,
    /// `--node`
    pub node: Option<String>,
    /// Those that were chosen by what they are, where that was asked for.
    pub picked: Option<BTreeSet<DeviceId>>,
    /// `--tainted`
    pub tainted: bool,
    /// `--free`
    pub free: bool,
    /// `--allocated`
    pub allocated: bool,
    /// `--namespace`
    pub namespace: Option<String>,
}

/// Whether all claims were read, so that a device that none holds is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// They were.
    Known,
    /// Some may be missing.
    Unknown,
}

impl Usage {
    /// What is known of what was read.
    #[must_use]
    pub fn of(basis: &Basis<'_>) -> Self {
        if basis.knows_usage() {
            Self::Known
        } else {
            Self::Unknown
        }
    }
}

impl Narrowing {
    /// Whether a device is listed. One whose use is not known is not free.
    #[must_use]
    pub fn wants(&self, state: &DeviceState<'_>, usage: Usage) -> bool {
        let node = self.node.as_ref();
        let local = node.is_none_or(|node| state.node.is_some_and(|found| found.as_str() == node));
        let tainted = !self.tainted || !state.taints.is_empty();
        let free = !self.free || (usage == Usage::Known && state.is_free());
        // What a claim is known to hold is allocated, whatever else is not known.
        let allocated = !self.allocated || !state.is_free();
        let held = self.namespace.as_ref().is_none_or(|namespace| {
            let mut claims = state.claims.iter();
            claims.any(|claim| claim.name.namespace.as_str() == namespace)
        });
        let picked = self.picked.as_ref();
        let picked = picked.is_none_or(|picked| picked.contains(&state.id));
        self.shown.contains(&state.id) && picked && local && tainted && free && allocated && held
    }

    /// A node that was probably meant, where no device is local to the one that was asked for.
    #[must_use]
    pub fn nearest_node(&self, inventory: &Inventory<'_>) -> Option<String> {
        let node = self.node.as_ref()?;
        let nodes = inventory.devices.iter().filter_map(|state| state.node);
        let known: BTreeSet<String> = nodes.map(ToString::to_string).collect();
        if known.contains(node) {
            return None;
        }
        let similar = nearest(node, known);
        let similar = similar.first()?;
        Some(format!(
            "no device is local to {node:?}, did you mean {similar}?"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NodeName;

    fn state(node: &NodeName, allocations: usize, administrative: usize) -> DeviceState<'_> {
        DeviceState {
            id: DeviceId {
                driver: "gpu.example.com".into(),
                pool: "node-7".into(),
                device: "gpu-0".into(),
            },
            node: Some(node),
            published: true,
            device: None,
            allocations,
            administrative,
            taints: Vec::new(),
            claims: Vec::new(),
            admin_claims: Vec::new(),
            consumers: Vec::new(),
        }
    }

    #[test]
    fn free_is_what_is_known_to_be_held_by_nobody() {
        let node = NodeName::from("node-7");
        let narrowing = Narrowing {
            free: true,
            ..Narrowing::default()
        };
        let free = |allocations, administrative, usage| {
            narrowing.wants(&state(&node, allocations, administrative), usage)
        };
        assert!(free(0, 0, Usage::Known));
        assert!(free(1, 1, Usage::Known), "a monitor takes it from nobody");
        assert!(!free(1, 0, Usage::Known));
        assert!(!free(2, 1, Usage::Known));
        assert!(!free(0, 0, Usage::Unknown), "nobody knows");
    }

    #[test]
    fn allocated_is_what_somebody_works_with() {
        let node = NodeName::from("node-7");
        let narrowing = Narrowing {
            allocated: true,
            ..Narrowing::default()
        };
        for usage in [Usage::Known, Usage::Unknown] {
            assert!(narrowing.wants(&state(&node, 2, 1), usage));
            assert!(
                !narrowing.wants(&state(&node, 1, 1), usage),
                "only a monitor"
            );
            assert!(!narrowing.wants(&state(&node, 0, 0), usage));
        }
    }

    #[test]
    fn every_flag_narrows() {
        let node = NodeName::from("node-7");
        let state = state(&node, 0, 0);
        let wants = |narrowing: Narrowing| narrowing.wants(&state, Usage::Known);
        assert!(wants(Narrowing::default()));
        for (on, wanted) in [("node-7", true), ("node-8", false)] {
            let narrowing = Narrowing {
                node: Some(on.to_owned()),
                ..Narrowing::default()
            };
            assert_eq!(wants(narrowing), wanted, "{on}");
        }
        assert!(!wants(Narrowing {
            tainted: true,
            ..Narrowing::default()
        }));
        assert!(!wants(Narrowing {
            namespace: Some("ml".to_owned()),
            ..Narrowing::default()
        }));
    }

    #[test]
    fn a_node_that_has_no_device_is_told_with_one_that_has() {
        let node = NodeName::from("node-7");
        let inventory = Inventory {
            devices: vec![state(&node, 0, 0)],
            ..Inventory::default()
        };
        let hint = |node: &str| {
            let narrowing = Narrowing {
                node: Some(node.to_owned()),
                ..Narrowing::default()
            };
            narrowing.nearest_node(&inventory)
        };
        assert_eq!(hint("node-7"), None);
        assert!(hint("nod-7").is_some_and(|hint| hint.ends_with("did you mean node-7?")));
    }
}
