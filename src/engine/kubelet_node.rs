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
//! | the user's word | `--confirm-node` |
//!
//! A node without pods is shown by the last three.

use std::collections::BTreeSet;
use std::fmt;

use super::inventory::devices;
use super::semantics::Semantics;
use crate::model::{
    Containers, DeviceId, InUse, NamespacedName, NodeName, Phase, PreparedClaim, Snapshot,
};

/// What shows of which node a kubelet is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeProof {
    /// A pod that it lists.
    Pod(NamespacedName),
    /// A device that it has given to a container or prepared.
    Device(DeviceId),
    /// Its certificate.
    Certificate,
    /// It was asked by a pod that was made on the node.
    AskedThere,
    /// The name of the machine.
    Machine,
    /// The user's word.
    Confirmed,
}

impl fmt::Display for NodeProof {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(pod) => write!(formatter, "it runs pod {pod}"),
            Self::Device(device) => write!(formatter, "it has prepared device {device}"),
            Self::Certificate => formatter.write_str("its client certificate names the node"),
            Self::AskedThere => formatter.write_str("a pod on that node queried it"),
            Self::Machine => formatter.write_str("the hostname is that of the node"),
            Self::Confirmed => formatter.write_str("confirmed by --confirm-node"),
        }
    }
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
    /// What the machine is called; nothing where another machine may have been asked.
    pub machine: Option<&'a str>,
}

/// Of which node a kubelet is, as far as that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubeletNode {
    /// Of this one.
    Shown(NodeName, NodeProof),
    /// Nothing shows it.
    NotShown,
}

/// Of which node the kubelet is; where one is `wanted`, evidence for another one counts more than evidence for
/// that.
#[must_use]
pub fn kubelet_node(evidence: &Evidence<'_>, wanted: Option<&NodeName>) -> KubeletNode {
    let strong = evidence.strong();
    let other = wanted.and_then(|wanted| strong.iter().find(|(node, _)| node != wanted));
    if let Some((node, proof)) = other.or(strong.first()) {
        return KubeletNode::Shown(node.clone(), proof.clone());
    }
    let by_name = wanted.filter(|wanted| {
        let machine = evidence.machine;
        // A kubelet writes the host name in lower case when it makes the node's name of it.
        machine.is_some_and(|machine| machine.eq_ignore_ascii_case(wanted.as_str()))
    });
    match by_name {
        Some(node) => KubeletNode::Shown(node.clone(), NodeProof::Machine),
        None => KubeletNode::NotShown,
    }
}

impl Evidence<'_> {
    /// A pod whose containers run on `wanted` by the API and that the kubelet does not list: the kubelet is that of
    /// another node, or the API is behind.
    #[must_use]
    pub fn unlisted(&self, wanted: &NodeName) -> Option<&NamespacedName> {
        let is_listed =
            |name: &NamespacedName| self.in_use.pods.iter().any(|pod| pod.name == *name);
        let mut pods = self.snapshot.pods.iter();
        let unlisted = pods.find(|pod| {
            pod.node.as_ref() == Some(wanted)
                && pod.phase == Phase::Running
                && pod.containers == Containers::Running
                && !is_listed(&pod.name)
        });
        unlisted.map(|pod| &pod.name)
    }

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
        let inventory = devices(self.snapshot, self.semantics).devices;
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
