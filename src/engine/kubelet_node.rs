//! Identification of a kubelet's node.
//!
//! A kubelet does not say its own name over its socket, and what it says counts for its node alone. What shows the
//! node, the strongest first; one of the first three that shows another node is a contradiction:
//!
//! | evidence | where from |
//! |---|---|
//! | a pod that it lists, also a static one | the API says on which node that pod is |
//! | a device that it has given to a container or prepared | slices say to which node the device is local |
//! | its client certificate, beside its socket | it is made out to `system:node:NAME` |
//! | the name of the machine | what a kubelet calls its node unless it is told another name |
//!
//! A node without pods is shown by the last two.

use std::collections::BTreeSet;

use super::inventory::devices;
use super::semantics::Semantics;
use crate::model::{DeviceId, InUse, NamespacedName, NodeName, PreparedClaim, Snapshot};

/// What shows of which node a kubelet is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeProof {
    /// A pod that it lists.
    Pod(NamespacedName),
    /// A device that it has given to a container or prepared.
    Device(DeviceId),
    /// Its certificate.
    Certificate,
}

/// What is known of a kubelet that may show its node.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What the API has.
    pub snapshot: &'a Snapshot,
    /// How that version of Kubernetes behaves.
    pub semantics: &'a Semantics,
    /// What the kubelet lists.
    pub in_use: &'a InUse,
    /// What the kubelet has noted.
    pub prepared: &'a [PreparedClaim],
    /// Pods that it lists and the API was asked for, with their nodes.
    pub asked: &'a [(NamespacedName, NodeName)],
    /// To which node its certificate is made out, where that could be read.
    pub certificate: Option<&'a NodeName>,
    /// What the machine is called; empty where that is not known.
    pub machine: &'a str,
}

/// Whether a kubelet is that of the node that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubeletNode {
    /// It is.
    Wanted,
    /// It is that of another one.
    Other(NodeName, NodeProof),
    /// Nothing shows it.
    NotShown,
}

/// Whether the kubelet is that of the node that is `wanted`; evidence for another one counts more than evidence for that.
#[must_use]
pub fn kubelet_node(evidence: &Evidence<'_>, wanted: &NodeName) -> KubeletNode {
    let strong = evidence.strong();
    if let Some((node, proof)) = strong.iter().find(|(node, _)| node != wanted) {
        return KubeletNode::Other(node.clone(), proof.clone());
    }
    // A kubelet writes the host name in lower case when it makes the node's name of it.
    let is_machine = evidence.machine.eq_ignore_ascii_case(wanted.as_str());
    if strong.is_empty() && !is_machine {
        KubeletNode::NotShown
    } else {
        KubeletNode::Wanted
    }
}

impl Evidence<'_> {
    /// What cannot be mistaken, the strongest first.
    fn strong(&self) -> Vec<(NodeName, NodeProof)> {
        let listed: BTreeSet<&NamespacedName> =
            self.in_use.pods.iter().map(|pod| &pod.name).collect();
        let known = self
            .snapshot
            .pods
            .iter()
            .filter(|pod| listed.contains(&pod.name))
            .filter_map(|pod| Some((pod.node.clone()?, NodeProof::Pod(pod.name.clone()))));
        let asked = self
            .asked
            .iter()
            .map(|(pod, node)| (node.clone(), NodeProof::Pod(pod.clone())));
        let mut held: BTreeSet<&DeviceId> = BTreeSet::new();
        held.extend(self.in_use.devices().map(|used| &used.device.device));
        held.extend(self.prepared.iter().flat_map(|claim| &claim.devices));
        let inventory = devices(self.snapshot, self.semantics);
        let local = inventory
            .iter()
            .filter(|state| held.contains(&state.id))
            // The node of a device that is not published comes from claims: what the scheduler decided, and no
            // evidence.
            .filter(|state| state.published)
            .filter_map(|state| Some((state.node?.clone(), NodeProof::Device(state.id.clone()))));
        let certificate = self
            .certificate
            .cloned()
            .map(|node| (node, NodeProof::Certificate));
        known.chain(asked).chain(local).chain(certificate).collect()
    }
}
