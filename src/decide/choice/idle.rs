//! Named nodes that exist and have no devices.

use crate::error::{ExitStatus, Failure};
use crate::model::Snapshot;

/// A node that was named and has no devices, as far as slices and claims say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleNode(String);

impl IdleNode {
    /// The node of that name, if no device is local to it.
    #[must_use]
    pub fn of(name: &str, snapshot: &Snapshot) -> Option<Self> {
        let mut slices = snapshot.slices.iter();
        let has_devices = slices.any(|slice| {
            let mut devices = slice.devices.iter();
            devices.any(|device| {
                let node = slice.node_of(device);
                node.is_some_and(|node| node.as_str() == name)
            })
        });
        // Those whose driver is away are known from the claims that hold them.
        let mut allocations = snapshot
            .claims
            .iter()
            .filter_map(|claim| claim.allocation.as_ref());
        let holds_devices = allocations.any(|found| {
            let node = found.node.as_ref();
            node.is_some_and(|node| node.as_str() == name) && !found.results.is_empty()
        });
        (!has_devices && !holds_devices).then(|| Self(name.to_owned()))
    }

    /// Whether it is among what was read.
    #[must_use]
    pub fn is_there(&self, snapshot: &Snapshot) -> bool {
        let mut nodes = snapshot.nodes.iter();
        nodes.any(|node| node.name.as_str() == self.0)
    }

    /// That it is there, and has no devices.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("node {} exists, but no device is local to it", self.0)
    }

    /// That it is there, and has no devices, where some are needed.
    #[must_use]
    pub fn failure(&self) -> Failure {
        Failure::new(ExitStatus::Failed, self.describe())
            .hint("list the devices with `kubectl devicetaint devices`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    #[test]
    fn a_node_without_devices_is_there_or_mistyped() {
        let snapshot = Snapshot {
            slices: vec![testing::slice(vec![testing::published("gpu-0", &[])])],
            nodes: vec![testing::node("node-7"), testing::node("node-8")],
            ..Snapshot::default()
        };
        let is_there = |name: &str| {
            let idle = IdleNode::of(name, &snapshot)?;
            Some(idle.is_there(&snapshot))
        };
        assert_eq!(is_there("node-7"), None);
        assert_eq!(is_there("node-8"), Some(true));
        assert_eq!(is_there("node-9"), Some(false));
    }
}
