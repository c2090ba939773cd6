//! Named nodes and pods that exist and have no devices.

use crate::engine::DeviceCondition;
use crate::error::{ExitStatus, Failure};
use crate::model::{NamespacedName, Snapshot};

/// A node or a pod that was named and has no devices, as far as slices and claims say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdleName {
    /// A node of this name.
    Node(String),
    /// A pod of this name.
    Pod(NamespacedName),
}

/// What one of the `conditions` names and what has no devices: it may be there all the same, or be
/// mistyped.
#[must_use]
pub fn idle(conditions: &[DeviceCondition], snapshot: &Snapshot) -> Option<IdleName> {
    conditions.iter().find_map(|condition| match condition {
        DeviceCondition::Node(node) => IdleName::node(node, snapshot),
        DeviceCondition::Pod(pod) => {
            (!uses_devices(pod, snapshot)).then(|| IdleName::Pod(pod.clone()))
        }
        DeviceCondition::Claim(_)
        | DeviceCondition::Named(_)
        | DeviceCondition::Attribute(_)
        | DeviceCondition::Expression(_) => None,
    })
}

impl IdleName {
    /// The node of that name, if no device is local to it.
    #[must_use]
    pub fn node(name: &str, snapshot: &Snapshot) -> Option<Self> {
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
        (!has_devices && !holds_devices).then(|| Self::Node(name.to_owned()))
    }

    /// Whether it is among what was read.
    #[must_use]
    pub fn is_there(&self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Node(name) => {
                let mut nodes = snapshot.nodes.iter();
                nodes.any(|node| node.name.as_str() == name)
            }
            Self::Pod(name) => snapshot.pods.iter().any(|pod| pod.name == *name),
        }
    }

    /// That it is there, and has no devices.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Node(name) => format!("node {name} exists, but no device is local to it"),
            Self::Pod(name) => format!("pod {name} exists, but uses no device"),
        }
    }

    /// That it is there, and has no devices, where some are needed.
    #[must_use]
    pub fn failure(&self) -> Failure {
        Failure::new(ExitStatus::Failed, self.describe())
            .hint("list the devices with `kubectl devicetaint devices`")
    }
}

fn uses_devices(pod: &NamespacedName, snapshot: &Snapshot) -> bool {
    let mut claims = snapshot.claims.iter();
    claims.any(|claim| {
        let mut consumers = claim.reserved_for.iter();
        claim.name.namespace == pod.namespace
            && claim
                .allocation
                .as_ref()
                .is_some_and(|found| !found.results.is_empty())
            && consumers.any(|found| &*found.resource == "pods" && found.name == pod.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    /// One device on node-7, which train-0 uses, and a node and a pod without.
    fn snapshot() -> Snapshot {
        let pod = testing::pod("team-a", "train-0");
        let claim = testing::claim_in_use(&pod);
        Snapshot {
            slices: vec![testing::slice(vec![testing::published("gpu-0", &[])])],
            claims: vec![claim],
            nodes: vec![testing::node("node-7"), testing::node("node-8")],
            pods: vec![testing::pod("team-a", "idle-0")],
            ..Snapshot::default()
        }
    }

    #[test]
    fn who_has_no_devices_is_there_or_mistyped() {
        let snapshot = snapshot();
        let idle = |node: Option<&str>, pod: Option<&str>| {
            let mut conditions = Vec::new();
            conditions.extend(node.map(|node| DeviceCondition::Node(node.to_owned())));
            conditions.extend(pod.map(|pod| {
                let (namespace, name) = pod.split_once('/').unwrap();
                DeviceCondition::Pod(testing::name(namespace, name))
            }));
            let idle = super::idle(&conditions, &snapshot)?;
            Some((idle.describe(), idle.is_there(&snapshot)))
        };
        assert_eq!(idle(Some("node-7"), Some("team-a/train-0")), None);
        let node = |name: &str| format!("node {name} exists, but no device is local to it");
        assert_eq!(idle(Some("node-8"), None), Some((node("node-8"), true)));
        assert_eq!(idle(Some("node-9"), None), Some((node("node-9"), false)));
        let pod = |name: &str| format!("pod {name} exists, but uses no device");
        for (name, is_there) in [("team-a/idle-0", true), ("team-b/train-0", false)] {
            assert_eq!(
                idle(Some("node-7"), Some(name)),
                Some((pod(name), is_there))
            );
        }
        // Who is mentioned, and holds nothing.
        let mut unallocated = snapshot.clone();
        unallocated.claims[0].allocation = None;
        let name = testing::name("team-a", "train-0");
        assert!(!uses_devices(&name, &unallocated));
    }
}
