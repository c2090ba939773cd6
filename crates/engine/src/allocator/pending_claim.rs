//! A claim that waits for devices, and whether it can be allocated now.

use super::allocation_session::AllocationSession;
use super::cluster_state::ClusterState;
use super::completeness::SearchBasis;
use super::nodes::{NodeFacts, selects};
use super::replacement::Placeability;
use super::usage::Holdings;
use crate::closed_nodes::{ClosedNode, opens_when_uncordoned, other_nodes};
use crate::impact::ProposedTaint;
use crate::model::{NodeName, NodeSelector, Pod, ResourceClaim, Snapshot};

/// So many cordoned nodes are tried: each trial is a search for devices on all nodes.
const TRIED: usize = 8;

/// A claim that waits for devices.
#[derive(Clone, Copy, Debug)]
pub struct PendingClaim<'a> {
    /// The cluster.
    pub snapshot: &'a Snapshot,
    /// The claim; it holds nothing. Several claims of one pod can be written as one.
    pub claim: &'a ResourceClaim,
    /// Nodes that all have to be the one on which it is placed, since something else is there already.
    pub nodes: &'a [NodeName],
    /// Nodes that the claim's pod insists on; all selectors have to hold.
    pub selectors: &'a [NodeSelector],
    /// Taints that are asked about, beside those that are there.
    pub proposed: &'a [ProposedTaint],
    /// Behaviour of that version of Kubernetes, and completeness of inputs.
    pub basis: SearchBasis<'a>,
}

/// True if a node is known to have all that the claim needs.
pub fn is_placeable(waiting: &PendingClaim<'_>) -> bool {
    let state = waiting.state();
    let all = Holdings::of(&waiting.snapshot.claims, &state);
    placeability(waiting, &state, &all) == Placeability::Placeable
}

/// The cordoned nodes of which each, if it alone were uncordoned, would have all that the claim needs, for its `pod`, which
/// is not scheduled on the `closed` nodes. `waiting` is about all nodes that the pod insists on, closed ones too.
pub fn sufficient_uncordons(
    pod: &Pod,
    waiting: &PendingClaim<'_>,
    closed: &[ClosedNode],
) -> Vec<NodeName> {
    let opens = |name: &NodeName| {
        let mut nodes = waiting.snapshot.nodes.iter();
        nodes.any(|node| node.name == *name && opens_when_uncordoned(pod, node))
    };
    let is_enough = |name: &&NodeName| {
        let others: Vec<ClosedNode> = closed
            .iter()
            .filter(|node| node.name != **name)
            .cloned()
            .collect();
        let selectors: Vec<NodeSelector> = waiting
            .selectors
            .iter()
            .cloned()
            .chain(other_nodes(&others))
            .collect();
        is_placeable(&PendingClaim {
            selectors: &selectors,
            ..*waiting
        })
    };
    let cordoned = closed
        .iter()
        .map(|node| &node.name)
        .filter(|name| opens(name));
    cordoned.take(TRIED).filter(is_enough).cloned().collect()
}

impl<'a> PendingClaim<'a> {
    /// Seen from the nodes on which the claim may be placed.
    pub(super) fn state(&self) -> ClusterState<'a> {
        // A node of which that is not known may be one of them.
        let insists_on = |node: NodeFacts<'a>| {
            self.selectors
                .iter()
                .all(|selector| selects(selector, node) != Some(false))
        };
        let is_meant = |node: &NodeFacts<'a>| self.is_meant(node.name) && insists_on(*node);
        ClusterState::among(self.snapshot, self.proposed, self.basis, is_meant)
    }

    fn is_meant(&self, name: Option<&str>) -> bool {
        // A node without a name stands for all that no slice names, and may be any of them.
        self.nodes
            .iter()
            .all(|node| name.is_none_or(|name| name == node.as_str()))
    }
}

/// Placeability of the claim in the current state.
pub(super) fn placeability<'a>(
    waiting: &PendingClaim<'a>,
    state: &ClusterState<'a>,
    all: &Holdings<'a>,
) -> Placeability {
    let mut session = AllocationSession::new(state, all, all);
    session.reallocation(waiting.claim).placeability
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Semantics;
    use crate::allocator::Completeness;
    use crate::allocator::tests::{asks, name, node, slice, terms, world};
    use crate::closed_nodes::closed_nodes;
    use crate::model::NodeTaint;

    #[test]
    fn a_cordoned_node_is_the_only_obstacle_if_it_has_all_devices_and_no_other_taint() {
        let semantics = Semantics::assumed();
        let mut pod = crate::testing::pod("ml", "waiting");
        pod.scheduling = Some(Default::default());
        let taint = NodeTaint {
            key: "reserved".to_owned(),
            value: String::new(),
            effect: "NoSchedule".to_owned(),
            time_added: None,
        };
        // `c` has one device; `a` has two.
        let mut world = world();
        world.nodes.push(node("c"));
        world.slices.push(slice("c", &["3"]));
        let found = |count: i64, cordoned: &[&str], tainted: &[&str]| {
            let mut snapshot = world.clone();
            for node in &mut snapshot.nodes {
                node.unschedulable = cordoned.contains(&node.name.as_str());
                let is_tainted = tainted.contains(&node.name.as_str());
                node.taints = is_tainted.then(|| taint.clone()).into_iter().collect();
            }
            let claim = ResourceClaim {
                name: name("waiting"),
                uid: "waiting".into(),
                controller: None,
                spec: Some(Arc::new(asks(terms(count)))),
                allocation: None,
                reserved_for: Vec::new(),
            };
            let waiting = PendingClaim {
                snapshot: &snapshot,
                claim: &claim,
                nodes: &[],
                selectors: &[],
                proposed: &[],
                basis: SearchBasis {
                    semantics: &semantics,
                    completeness: Completeness::COMPLETE,
                },
            };
            let closed = closed_nodes(&pod, &snapshot);
            let nodes = sufficient_uncordons(&pod, &waiting, &closed);
            nodes.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found(2, &["a", "c"], &["b"]), ["a"]);
        assert_eq!(found(1, &["a", "c"], &["b"]), ["a", "c"]);
        assert_eq!(found(2, &["a", "c"], &["a"]), [""; 0]);
        assert_eq!(found(2, &["b"], &["a", "c"]), [""; 0]);
        assert_eq!(found(2, &[], &["a", "b", "c"]), [""; 0]);
    }
}
