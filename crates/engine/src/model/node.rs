//! Nodes, as far as ending pods goes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::ids::NodeName;
use super::pod::NodeHealth;

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// For selecting.
    pub labels: BTreeMap<String, String>,
    /// True if more than its metadata was read; otherwise nothing is known of the fields below.
    pub is_whole: bool,
    /// True if it is cordoned.
    pub unschedulable: bool,
    /// Conditions by type.
    pub conditions: Vec<NodeCondition>,
    /// Taints.
    pub taints: Vec<NodeTaint>,
    /// Names of the extended resources that pods on it can use: those of device plugins.
    pub extended_resources: Vec<String>,
}

/// One thing that is said of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCondition {
    /// Type, such as `Ready`.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Time of its last change.
    pub last_transition: Option<Timestamp>,
}

/// A taint of a node; unlike a device's, it keeps away pods and not claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTaint {
    /// A label key.
    pub key: String,
    /// A label value; may be empty.
    pub value: String,
    /// Effect, such as `NoSchedule`.
    pub effect: String,
    /// Time when it was added, where that is known.
    pub time_added: Option<Timestamp>,
}

impl Node {
    /// Health of the nodes in `names`; `nodes` are all nodes of the cluster.
    pub fn health_of(nodes: &[Self], names: &BTreeSet<NodeName>) -> BTreeMap<NodeName, NodeHealth> {
        let known: BTreeMap<&NodeName, NodeHealth> = nodes
            .iter()
            .map(|node| (&node.name, node.health()))
            .collect();
        let health = |name| known.get(name).copied().unwrap_or(NodeHealth::Gone);
        names
            .iter()
            .map(|name| (name.clone(), health(name)))
            .collect()
    }

    /// The condition `Ready`; absent while the kubelet has not said anything yet.
    pub fn ready(&self) -> Option<&NodeCondition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == "Ready")
    }

    /// Health: whether its kubelet can end pods; a node without conditions cannot.
    pub fn health(&self) -> NodeHealth {
        match self.ready() {
            Some(ready) if ready.status == "True" => NodeHealth::Ready,
            // Status `Unknown` as well: the kubelet has stopped reporting, so it does not stop pods either.
            Some(_) | None => NodeHealth::NotReady,
        }
    }
}
