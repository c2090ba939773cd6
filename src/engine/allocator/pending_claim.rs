//! A claim that waits for devices, and whether it can be allocated now.

use super::allocation_session::AllocationSession;
use super::cluster_state::{ClusterState, IgnoredTaints};
use super::completeness::SearchBasis;
use super::nodes::{NodeFacts, selects};
use super::replacement::Placeability;
use super::usage::Holdings;
use crate::engine::impact::ProposedTaint;
use crate::model::{NodeName, NodeSelector, ResourceClaim, Snapshot};

/// A claim that waits for devices.
#[derive(Clone, Copy, Debug)]
pub struct PendingClaim<'a> {
    /// What is there.
    pub snapshot: &'a Snapshot,
    /// The claim; it holds nothing. Several claims of one pod can be written as one.
    pub claim: &'a ResourceClaim,
    /// Nodes that all have to be the one on which it is placed, since something else is there already.
    pub nodes: &'a [NodeName],
    /// Which nodes the claim's pod insists on, all of which have to hold.
    pub selectors: &'a [NodeSelector],
    /// Taints that are asked about, beside those that are there.
    pub proposed: &'a [ProposedTaint],
    /// How that version of Kubernetes behaves, and what was read.
    pub basis: SearchBasis<'a>,
}

/// Whether there is a node with all that the claim needs; where nobody knows, there is none that is known.
#[must_use]
pub fn is_placeable(waiting: &PendingClaim<'_>) -> bool {
    is_placeable_without(IgnoredTaints::NOTHING, waiting)
}

/// As [`is_placeable`], if those taints were not there.
pub(super) fn is_placeable_without<'a>(ignored: IgnoredTaints, waiting: &PendingClaim<'a>) -> bool {
    let mut state = waiting.state();
    state.ignored = ignored;
    let all = Holdings::of(&waiting.snapshot.claims, |id| state.identity(id));
    placeability(waiting, &state, &all) == Placeability::Placeable
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

/// What becomes of the claim as the scene is.
pub(super) fn placeability<'a>(
    waiting: &PendingClaim<'a>,
    state: &ClusterState<'a>,
    all: &Holdings<'a>,
) -> Placeability {
    let mut session = AllocationSession::new(state, all, all);
    session.reallocation(waiting.claim).placeability
}
