//! Nodes on which the scheduler does not place the pod, whichever pods leave their devices.
//!
//! Takes the nodes with their taints, and the pod's tolerations. CPU, memory and affinity to other pods are not
//! evaluated, nor are nodes of which only the metadata was read.
//!
//! Upstream: `Filter` of the plugins `nodeunschedulable` and `tainttoleration`.

use super::inventory::{DeviceState, devices};
use super::semantics::Semantics;
use super::tolerate::tolerates;
use crate::model::{
    DeviceId, Effect, InUse, NamespacedName, Node, NodeName, NodeRequirement, NodeSelector,
    NodeTerm, Pod, PreparedClaim, Snapshot, Taint,
};
use std::collections::BTreeSet;

/// The taint that a pod has to tolerate on a cordoned node.
///
/// Upstream: `TaintNodeUnschedulable` in `k8s.io/api/core/v1`.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// A node on which the pod is not scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedNode {
    /// Its name.
    pub name: NodeName,
    /// Why.
    pub reason: ClosedReason,
    /// True if devices are local to it.
    pub has_devices: bool,
}

/// Why the pod is not scheduled on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClosedReason {
    /// The node is cordoned.
    Cordoned,
    /// It has this taint, which the pod does not tolerate.
    Tainted(Taint),
}

/// The nodes on which the pod is not scheduled, by name.
pub fn closed_nodes(pod: &Pod, snapshot: &Snapshot) -> Vec<ClosedNode> {
    let with_devices = nodes_with_devices(snapshot);
    let nodes = snapshot.nodes.iter();
    let mut closed: Vec<ClosedNode> = nodes
        .filter_map(|node| {
            closed_reason(pod, node).map(|reason| ClosedNode {
                name: node.name.clone(),
                has_devices: with_devices.contains(&node.name),
                reason,
            })
        })
        .collect();
    closed.sort_by(|left, right| left.name.cmp(&right.name));
    closed
}

/// The nodes to which devices are local.
pub fn nodes_with_devices(snapshot: &Snapshot) -> BTreeSet<&NodeName> {
    let slices = snapshot.slices.iter();
    let nodes = slices.flat_map(|slice| slice.devices.iter().filter_map(|it| slice.node_of(it)));
    nodes.collect()
}

/// True if all of a node that would keep pods away is known.
pub fn are_known(snapshot: &Snapshot) -> bool {
    snapshot.nodes.iter().all(|node| node.is_whole)
}

/// Why the pod is not scheduled on the node; absent where nothing is known to keep it away.
pub fn closed_reason(pod: &Pod, node: &Node) -> Option<ClosedReason> {
    let tolerations: Vec<_> = pod
        .scheduling
        .iter()
        .flat_map(|it| &it.tolerations)
        .collect();
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|one| tolerates(one, taint));
    if node.unschedulable && !is_tolerated(&taint(UNSCHEDULABLE, "", Effect::NoSchedule)) {
        return Some(ClosedReason::Cordoned);
    }
    // One taint is enough to close the node, and enough to explain it.
    let mut hindering = hindering_taints(node).filter(|taint| !is_tolerated(taint));
    hindering.next().map(ClosedReason::Tainted)
}

/// True if the node would be open to the pod if it were not cordoned.
pub fn opens_when_uncordoned(pod: &Pod, node: &Node) -> bool {
    // The node lifecycle controller adds the taint of a cordoned node, and removes it with the cordon.
    let uncordoned = Node {
        unschedulable: false,
        taints: node
            .taints
            .iter()
            .filter(|taint| taint.key != UNSCHEDULABLE)
            .cloned()
            .collect(),
        ..node.clone()
    };
    node.unschedulable && closed_reason(pod, &uncordoned).is_none()
}

/// The taints of the node that keep pods away which do not tolerate them.
pub(super) fn hindering_taints(node: &Node) -> impl Iterator<Item = Taint> {
    node.taints.iter().filter_map(|found| {
        let effect = match Effect::from(found.effect.as_str()) {
            effect @ (Effect::NoSchedule | Effect::NoExecute) => effect,
            // PreferNoSchedule keeps no pod away.
            Effect::None | Effect::Unknown(_) => return None,
        };
        Some(taint(&found.key, &found.value, effect))
    })
}

fn taint(key: &str, value: &str, effect: Effect) -> Taint {
    Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect,
        time_added: None,
    }
}

/// The requirement that the node is another one; nothing where none is closed.
pub fn other_nodes(closed: &[ClosedNode]) -> Option<NodeSelector> {
    let names = closed.iter().map(|node| node.name.as_str().into());
    let requirement = NodeRequirement {
        key: "metadata.name".into(),
        operator: "NotIn".into(),
        values: names.collect(),
    };
    (!closed.is_empty()).then(|| NodeSelector {
        terms: vec![NodeTerm {
            labels: Vec::new(),
            fields: vec![requirement],
        }],
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NodeTaint, Operator, Scheduling, Toleration};
    use crate::testing::pod;

    fn waiting(tolerations: Vec<Toleration>) -> Pod {
        let mut pod = pod("team-a", "critical");
        pod.node = None;
        pod.scheduling = Some(Box::new(Scheduling {
            tolerations,
            ..Scheduling::default()
        }));
        pod
    }

    fn tolerating(key: &str, effect: Option<Effect>) -> Toleration {
        Toleration {
            key: key.to_owned(),
            operator: Operator::Exists,
            effect,
            ..Toleration::default()
        }
    }

    fn node(unschedulable: bool, taints: &[(&str, &str)]) -> Node {
        let taints = taints.iter().map(|(key, effect)| NodeTaint {
            key: (*key).to_owned(),
            effect: (*effect).to_owned(),
            ..NodeTaint::default()
        });
        Node {
            name: "node-7".into(),
            is_whole: true,
            unschedulable,
            taints: taints.collect(),
            ..Node::default()
        }
    }

    #[test]
    fn uncordoning_opens_a_node_without_other_taints() {
        let cordon = (UNSCHEDULABLE, "NoSchedule");
        let reserved = ("example.com/reserved", "NoSchedule");
        for (name, node, opens) in [
            ("cordoned", node(true, &[cordon]), true),
            ("cordoned, not tainted yet", node(true, &[]), true),
            ("cordoned, reserved", node(true, &[cordon, reserved]), false),
            ("open", node(false, &[]), false),
        ] {
            assert_eq!(
                opens_when_uncordoned(&waiting(vec![]), &node),
                opens,
                "{name}"
            );
        }
    }

    #[test]
    fn a_node_is_closed_by_a_taint_that_the_pod_does_not_tolerate() {
        let reserved = ("example.com/reserved", "NoSchedule");
        let gone = ("node.kubernetes.io/not-ready", "NoExecute");
        let soft = ("example.com/soft", "PreferNoSchedule");
        let no_schedule = Some(Effect::NoSchedule);
        let tolerated = vec![tolerating(reserved.0, no_schedule.clone())];
        let otherwise = vec![tolerating(gone.0, no_schedule.clone())];
        let one = vec![tolerating(reserved.0, None)];
        let cordon = vec![tolerating(UNSCHEDULABLE, no_schedule)];
        let (both, cordoned) = (node(false, &[reserved, gone]), || node(true, &[]));
        for (name, node, tolerations, is_closed) in [
            ("no taint", node(false, &[]), vec![], false),
            ("NoSchedule", node(false, &[reserved]), vec![], true),
            ("NoExecute", node(false, &[gone]), vec![], true),
            ("PreferNoSchedule", node(false, &[soft]), vec![], false),
            ("tolerated", node(false, &[reserved]), tolerated, false),
            ("another effect", node(false, &[gone]), otherwise, true),
            ("one of two tolerated", both, one, true),
            ("cordoned", cordoned(), vec![], true),
            ("cordoned and tolerated", cordoned(), cordon, false),
        ] {
            let found = closed_reason(&waiting(tolerations), &node);
            assert_eq!(found.is_some(), is_closed, "{name}: {found:?}");
        }
    }

    #[test]
    fn closed_nodes_are_excluded_by_name() {
        let node_7 = node(true, &[]);
        let node_8 = Node {
            name: "node-8".into(),
            ..node(false, &[])
        };
        let unread = Node {
            name: "node-9".into(),
            is_whole: false,
            ..node(false, &[])
        };
        let mut snapshot = Snapshot {
            nodes: vec![node_7, node_8],
            ..Snapshot::default()
        };
        let closed = closed_nodes(&waiting(vec![]), &snapshot);
        let [only] = closed.as_slice() else {
            panic!("{closed:?}");
        };
        assert!(!only.has_devices && only.reason == ClosedReason::Cordoned);
        let others = other_nodes(&closed).expect("a requirement");
        let requirement = &others.terms[0].fields[0];
        let names: Vec<&str> = requirement.values.iter().map(|it| &**it).collect();
        assert_eq!(names, ["node-7"]);
        assert_eq!(&*requirement.operator, "NotIn");
        assert_eq!(other_nodes(&[]), None);
        assert!(are_known(&snapshot));
        snapshot.nodes.push(unread);
        assert!(!are_known(&snapshot));
    }
}
