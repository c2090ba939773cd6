//! Identification of a kubelet's node.
//!
//! A kubelet does not report its own name over its socket, and its answer is valid for its node alone. Evidence, the
//! strongest first; all of the first three must agree:
//!
//! | evidence | source |
//! |---|---|
//! | a pod that it lists, also a static one | the API has the pod's node |
//! | a device that it has given to a container or prepared | slices have the node to which the device is local |
//! | its client certificate, beside its socket | it is issued to `system:node:NAME` |
//! | the hostname | the default name of a kubelet's Node object |
//!
//! A node without pods is identified by the last two.

use std::collections::BTreeSet;

use super::inventory::{DeviceState, devices};
use super::semantics::Semantics;
use crate::model::{DeviceId, InUse, NamespacedName, NodeName, PreparedClaim, Snapshot};

/// Evidence for a kubelet's node that cannot be mistaken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeProof {
    /// A pod that the kubelet lists.
    Pod(NamespacedName),
    /// A device that it has given to a container or prepared.
    Device(DeviceId),
    /// Its certificate.
    Certificate,
}

/// Facts about a kubelet that may identify its node.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The objects of the API.
    pub snapshot: &'a Snapshot,
    /// Behaviour of that version of Kubernetes.
    pub semantics: &'a Semantics,
    /// The kubelet's list.
    pub in_use: &'a InUse,
    /// Claims in the kubelet's checkpoint.
    pub prepared: &'a [PreparedClaim],
    /// Pods of its list that were requested from the API one by one, with their nodes.
    pub located: &'a [(NamespacedName, NodeName)],
    /// The node of its certificate, if that could be read.
    pub certificate: Option<&'a NodeName>,
    /// The hostname; empty if unknown.
    pub hostname: &'a str,
}

/// The node of a kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubeletNode {
    /// This node.
    Verified(NodeName),
    /// The node that was named, without any evidence.
    Unverified(NodeName),
    /// Another node than the expected one: the one that was named, or the one of stronger evidence.
    Other {
        /// The expected node.
        expected: NodeName,
        /// The node of the evidence.
        node: NodeName,
        /// The evidence.
        proof: NodeProof,
    },
    /// No node was named, and there is no evidence.
    Unknown,
}

/// Identifies the node of a kubelet, which is the `named` one, if a node was named: evidence for another one refutes it.
pub fn kubelet_node(evidence: &Evidence<'_>, named: Option<&NodeName>) -> KubeletNode {
    let inventory = devices(evidence.snapshot, evidence.semantics);
    let strong = evidence.strong(&inventory);
    let first = strong.first().map(|(node, _)| node);
    let by_hostname = || evidence.hostname_among_nodes(&inventory);
    let Some(expected) = named.or(first).cloned().or_else(by_hostname) else {
        return KubeletNode::Unknown;
    };
    if let Some((node, proof)) = strong.iter().find(|(node, _)| *node != expected) {
        return KubeletNode::Other {
            expected,
            node: node.clone(),
            proof: proof.clone(),
        };
    }
    // A kubelet converts the hostname to lower case when it makes the node's name of it.
    let is_hostname = evidence.hostname.eq_ignore_ascii_case(expected.as_str());
    if strong.is_empty() && !is_hostname {
        KubeletNode::Unverified(expected)
    } else {
        KubeletNode::Verified(expected)
    }
}

impl Evidence<'_> {
    /// Evidence that cannot be mistaken, the strongest first.
    fn strong(&self, inventory: &[DeviceState<'_>]) -> Vec<(NodeName, NodeProof)> {
        let listed: BTreeSet<&NamespacedName> =
            self.in_use.pods.iter().map(|pod| &pod.name).collect();
        let known = self
            .snapshot
            .pods
            .iter()
            .filter(|pod| listed.contains(&pod.name))
            .filter_map(|pod| Some((pod.node.clone()?, NodeProof::Pod(pod.name.clone()))));
        let located = self.located.iter();
        let located = located.map(|(pod, node)| (node.clone(), NodeProof::Pod(pod.clone())));
        let mut held: BTreeSet<&DeviceId> = BTreeSet::new();
        held.extend(self.in_use.devices().map(|used| used.device));
        held.extend(self.prepared.iter().flat_map(|claim| &claim.devices));
        let local = inventory
            .iter()
            .filter(|state| held.contains(&state.id))
            // The node of a device that is not published comes from claims: the scheduler's decision, and no evidence.
            .filter(|state| state.published)
            .filter_map(|state| Some((state.node?.clone(), NodeProof::Device(state.id.clone()))));
        let certificate = self.certificate.cloned();
        let certificate = certificate.map(|node| (node, NodeProof::Certificate));
        known
            .chain(located)
            .chain(local)
            .chain(certificate)
            .collect()
    }

    /// The node that has the name of the machine, among the nodes of devices and pods.
    fn hostname_among_nodes(&self, inventory: &[DeviceState<'_>]) -> Option<NodeName> {
        let of_pods = self
            .snapshot
            .pods
            .iter()
            .filter_map(|pod| pod.node.as_ref());
        let of_devices = inventory.iter().filter_map(|state| state.node);
        let mut nodes = of_devices.chain(of_pods);
        let found = nodes.find(|node| self.hostname.eq_ignore_ascii_case(node.as_str()));
        found.cloned()
    }
}
