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
