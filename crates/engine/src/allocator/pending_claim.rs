//! A claim that waits for devices, and whether it can be allocated now.

use super::allocation_session::AllocationSession;
use super::candidate_devices::{Candidacy, is_free, pools_in_reach, reached};
use super::cluster_state::ClusterState;
use super::counters::{Holdings, Usage};
use super::demand::Choice;
use super::pod_nodes::{NodeFacts, selects};
use super::pool::{IncompletePool, Range, SearchBasis, Unknown};
use crate::closed_nodes::{ClosedNode, opens_when_uncordoned, other_nodes};
use crate::impact::Impact;
use crate::model::{NodeName, NodeSelector, Pod, RequestTerms, ResourceClaim, Snapshot};
use crate::select::ProposedTaint;
use foldhash::{HashMap, HashMapExt};
use std::collections::BTreeSet;

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

/// Devices that could replace those that are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The claims whose pods are evicted, by namespace and name.
    pub claims: Vec<ClaimReallocation<'a>>,
    /// Devices of the same classes that stay allocatable; absent where that is not known at all.
    pub available: Option<Available>,
    /// Pools of the drivers of selected devices that the allocator passes over for now.
    pub incomplete_pools: BTreeSet<IncompletePool>,
}

/// Reallocation of one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimReallocation<'a> {
    /// The claim.
    pub claim: &'a ResourceClaim,
    /// Placement with all other allocations kept, or with those of all evicted pods gone.
    pub placeability: Placeability,
    /// Requests, each with the number of devices that could serve it; alternatives one by one.
    pub requests: Vec<RequestCandidates>,
}

/// Possible placement of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeability {
    /// On some node.
    Placeable,
    /// On none.
    Unplaceable,
    /// Unknown, for these reasons.
    Unknown(BTreeSet<Unknown>),
}

/// Number of devices that could serve a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCandidates {
    /// The request, as REQUEST or REQUEST/ALTERNATIVE.
    pub request: String,
    /// Number of needed devices; absent where it wants all of a node.
    pub needs: Option<i64>,
    /// Devices that fit, that no taint keeps from it, and that no other claim has, on nodes on which a pod of the claim
    /// can be scheduled.
    pub devices: Range,
    /// Number of such devices that there may be on other nodes.
    pub elsewhere: usize,
}

/// Devices of the classes of the selected devices that stay allocatable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// The classes that a selected device is of, by name.
    pub classes: Vec<String>,
    /// Devices of these classes that claims without tolerations can get, shareable ones with capacity left included.
    pub devices: Range,
    /// All devices of these classes.
    pub whole: Range,
}

/// Devices of the classes of the devices of `impact` that stay allocatable; absent where the inputs were not read.
pub(super) fn available<'a>(
    impact: &Impact<'_>,
    state: &ClusterState<'a>,
    all: &Holdings<'a>,
) -> Option<Available> {
    let selected: BTreeSet<u32> = impact
        .devices
        .iter()
        .filter_map(|device| state.identity(&device.id))
        .collect();
    let Members {
        classes,
        by_identity,
    } = members(&selected, state, all)?;
    let mut found = Available {
        classes,
        devices: by_identity
            .values()
            .map(|(_, is_left)| range(*is_left))
            .sum(),
        whole: by_identity
            .values()
            .map(|(is_member, _)| range(*is_member))
            .sum(),
    };
    if !is_sure(state) {
        // Something that was not read may hold or taint every one of them; the upper bound stays true.
        found.devices.least = 0;
    }
    Some(found)
}

/// True if everything was read that may hold or taint a device.
fn is_sure(state: &ClusterState<'_>) -> bool {
    let completeness = state.completeness;
    completeness.claims && completeness.rules && completeness.nodes
}

/// The devices of some classes.
struct Members {
    /// The classes, by name.
    classes: Vec<String>,
    /// Of each device, whether it is of one of the classes, and whether it is left.
    by_identity: HashMap<u32, (Candidacy, Candidacy)>,
}

/// The devices of the classes that the `selected` ones are of, by their identities; absent where classes or slices
/// were not read.
fn members<'a>(
    selected: &BTreeSet<u32>,
    state: &ClusterState<'a>,
    all: &Holdings<'a>,
) -> Option<Members> {
    if !state.completeness.classes || !state.completeness.slices {
        return None;
    }
    let pools = pools_in_reach(state);
    let places = || {
        pools
            .iter()
            .flat_map(|pool| pool.devices.iter().map(move |place| (pool, *place)))
    };
    let mut classes = Vec::new();
    let mut members: HashMap<u32, (Candidacy, Candidacy)> = HashMap::new();
    let nothing = Holdings::default();
    let usage = Usage { all, own: &nothing };
    for class in state.classes() {
        // One device of the class, without more.
        let terms = RequestTerms {
            class: class.name.clone(),
            ..RequestTerms::default()
        };
        let choice = Choice::of_class(class, &terms, state);
        let is_of = |place| match choice.fits(place, state) {
            Ok(true) => Candidacy::Yes,
            Ok(false) => Candidacy::No,
            Err(_) => Candidacy::Perhaps,
        };
        let selected = places().filter(|(_, place)| selected.contains(&state.at(*place).identity));
        let is_meant = selected
            .map(|(_, place)| is_of(place))
            .max()
            .unwrap_or(Candidacy::No);
        if is_meant == Candidacy::No {
            continue;
        }
        classes.push(class.name.to_string());
        for (pool, place) in places() {
            let is_member = is_of(place).min(is_meant).min(reached(place, state));
            if is_member == Candidacy::No {
                continue;
            }
            let is_left = if state.is_blocked(place, &[]) {
                Candidacy::No
            } else {
                is_free(&choice, pool, place, usage, state).min(is_member)
            };
            // A device of several classes counts once, and as one that can be had if a claim of any of them can
            // have it.
            let known = members
                .entry(state.at(place).identity)
                .or_insert((Candidacy::No, Candidacy::No));
            *known = (known.0.max(is_member), known.1.max(is_left));
        }
    }
    Some(Members {
        classes,
        by_identity: members,
    })
}

fn range(answer: Candidacy) -> Range {
    match answer {
        Candidacy::Yes => Range::exactly(1),
        Candidacy::Perhaps => Range::up_to(1),
        Candidacy::No => Range::exactly(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Semantics;
    use crate::allocator::Completeness;
    use crate::allocator::tests::{asks, name, node, slice, terms, world};
    use crate::closed_nodes::closed_nodes;
    use crate::model::NodeTaint;
    use std::sync::Arc;

    #[test]
    fn a_cordoned_node_is_the_only_obstacle_if_it_has_all_devices_and_no_other_taint() {
        let semantics = Semantics::assumed();
        let mut pod = crate::testing::pod("ml", "waiting");
        pod.scheduling = Some(Default::default());
        let taint = NodeTaint {
            key: "reserved".to_owned(),
            effect: "NoSchedule".to_owned(),
            ..NodeTaint::default()
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
                spec: Some(Arc::new(asks(terms(count)))),
                ..ResourceClaim::default()
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
