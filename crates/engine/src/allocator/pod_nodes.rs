//! Nodes on which the pods of a claim can be scheduled.
//!
//! A controller creates an evicted pod again with the node selector, the node affinity and the tolerations that it had.
//! CPU, memory and affinity to other pods are not evaluated.
//!
//! Upstream: `Filter` of the plugins `nodeaffinity`, `nodeunschedulable` and `tainttoleration`.

use super::cluster_state::ClusterState;
use crate::closed_nodes::{ClosedReason, closed_reason};
use crate::impact::Impact;
use crate::model::{
    NamespacedName, Node, NodeRequirement, NodeSelector, NodeTerm, Pod, ResourceClaim, Snapshot,
    Toleration, three_valued,
};
use std::collections::{BTreeMap, BTreeSet};

/// Facts that exclude nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeFilter {
    /// The node selector and the required node affinity of the pod, and that the node is cordoned.
    Cordoned,
    /// Also that the node has a taint that the pod does not tolerate; nodes have to be read whole.
    Tainted,
}

/// A view of nodes on which a pod can be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AllowedView {
    /// Its place among the views of the cluster.
    pub(super) view: usize,
    /// True if that is certain; it is not where labels of nodes were not read.
    pub(super) is_certain: bool,
}

/// The views of nodes on which the evicted pods of each claim can be scheduled.
pub(super) struct PodNodes<'a> {
    /// Place in `allowed` by claim; a claim of which a pod can be scheduled on every node is left out.
    by_claim: BTreeMap<&'a NamespacedName, usize>,
    allowed: Vec<Vec<AllowedView>>,
}

/// Terms that decide for a pod; pods of one controller have them in common.
#[derive(Clone, Copy, PartialEq)]
struct PodTerms<'a> {
    nodes: &'a [NodeSelector],
    tolerations: &'a [Toleration],
}

impl<'a> PodNodes<'a> {
    /// Those of the pods that `impact` evicts.
    pub(super) fn new(
        snapshot: &Snapshot,
        state: &ClusterState<'_>,
        impact: &Impact<'a>,
        filter: NodeFilter,
    ) -> Self {
        let nodes = snapshot.nodes.iter();
        let closed = ClosedNodes {
            nodes: nodes.map(|node| (node.name.as_str(), node)).collect(),
            filter,
        };
        let mut terms: Vec<PodTerms<'a>> = Vec::new();
        let mut allowed: Vec<Vec<AllowedView>> = Vec::new();
        let mut of_claims: BTreeMap<&'a NamespacedName, BTreeSet<usize>> = BTreeMap::new();
        for evicted in impact.pods.iter().filter(|pod| pod.is_evicted()) {
            let of_pod = PodTerms::of(evicted.pod);
            let known = terms.iter().position(|known| *known == of_pod);
            let place = known.unwrap_or_else(|| {
                terms.push(of_pod);
                allowed.push(allowed_views(evicted.pod, state, &closed));
                terms.len().saturating_sub(1)
            });
            for used in &evicted.claims {
                of_claims.entry(used.claim).or_default().insert(place);
            }
        }
        let mut by_claim = BTreeMap::new();
        for (claim, places) in of_claims {
            let place = match (places.first(), places.len()) {
                (Some(only), 1) => *only,
                _ => {
                    // One pod that can be scheduled is enough for a claim that several share.
                    let of_claim = places.iter().map(|place| allowed[*place].as_slice());
                    let either = union(of_claim);
                    allowed.push(either);
                    allowed.len().saturating_sub(1)
                }
            };
            let views = &allowed[place];
            if views.len() < state.views.len() || views.iter().any(|view| !view.is_certain) {
                by_claim.insert(claim, place);
            }
        }
        Self { by_claim, allowed }
    }

    /// The views for a claim, in their order; absent where a pod of it can be scheduled on every node.
    pub(super) fn of(&self, claim: &ResourceClaim) -> Option<&[AllowedView]> {
        let place = self.by_claim.get(&claim.name)?;
        Some(&self.allowed[*place])
    }
}

impl<'a> PodTerms<'a> {
    fn of(pod: &'a Pod) -> Self {
        let scheduling = pod.scheduling.as_deref();
        Self {
            nodes: scheduling.map_or(&[], |it| &it.nodes),
            tolerations: scheduling.map_or(&[], |it| &it.tolerations),
        }
    }
}

/// The nodes by name, with what closes them.
struct ClosedNodes<'a> {
    nodes: BTreeMap<&'a str, &'a Node>,
    filter: NodeFilter,
}

impl ClosedNodes<'_> {
    /// True if the node is closed to the pod.
    fn has(&self, name: &str, pod: &Pod) -> bool {
        let Some(node) = self.nodes.get(name) else {
            return false;
        };
        match closed_reason(pod, node) {
            Some(ClosedReason::Cordoned) => true,
            Some(ClosedReason::Tainted(_)) => self.filter == NodeFilter::Tainted,
            None => false,
        }
    }
}

/// The views of nodes on which the pod can be scheduled, in their order.
fn allowed_views(
    pod: &Pod,
    state: &ClusterState<'_>,
    closed: &ClosedNodes<'_>,
) -> Vec<AllowedView> {
    let views = state.views.iter().enumerate();
    let allowed = views.filter_map(|(place, view)| {
        let nodes = [&view.node].into_iter().chain(&view.alike);
        let answer = three_valued::any(nodes.map(|node| can_be_scheduled(pod, *node, closed)));
        (answer != Some(false)).then_some(AllowedView {
            view: place,
            is_certain: answer.is_some(),
        })
    });
    allowed.collect()
}

/// The views that one of several has, in their order.
fn union<'v>(several: impl Iterator<Item = &'v [AllowedView]>) -> Vec<AllowedView> {
    let mut certain: BTreeMap<usize, bool> = BTreeMap::new();
    for allowed in several.flatten() {
        *certain.entry(allowed.view).or_default() |= allowed.is_certain;
    }
    let views = certain.into_iter();
    views
        .map(|(view, is_certain)| AllowedView { view, is_certain })
        .collect()
}

/// True if the pod can be scheduled on the node.
fn can_be_scheduled(pod: &Pod, node: NodeFacts<'_>, closed: &ClosedNodes<'_>) -> Option<bool> {
    if node.name.is_some_and(|name| closed.has(name, pod)) {
        return Some(false);
    }
    let selectors = pod.scheduling.iter().flat_map(|it| &it.nodes);
    three_valued::all(selectors.map(|it| selects(it, node)))
}

/// A node on which claims could be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFacts<'a> {
    /// Its name; absent for one that stands for all nodes of which nothing is known.
    pub(super) name: Option<&'a str>,
    /// Its labels, where they are known.
    pub(super) labels: Option<&'a BTreeMap<String, String>>,
}

/// True if `selector` selects the node; `None` where the node's labels are not known, or the selector asks for
/// something that this crate does not know.
///
/// Upstream: `nodeaffinity.NodeSelector.Match`.
pub(super) fn selects(selector: &NodeSelector, node: NodeFacts<'_>) -> Option<bool> {
    three_valued::any(selector.terms.iter().map(|term| holds(term, node)))
}

fn holds(term: &NodeTerm, node: NodeFacts<'_>) -> Option<bool> {
    // An empty term matches no node, unlike an empty label selector.
    if term.labels.is_empty() && term.fields.is_empty() {
        return Some(false);
    }
    let labels = term.labels.iter().map(|requirement| {
        let value = node.labels?.get(&*requirement.key);
        meets(requirement, value.map(String::as_str))
    });
    let fields = term.fields.iter().map(|requirement| {
        // The API has no other field. One of a newer version is unknown here, and so is its answer.
        let is_name = &*requirement.key == "metadata.name";
        let name = node.name.filter(|_| is_name)?;
        meets(requirement, Some(name))
    });
    three_valued::all(labels.chain(fields))
}

fn meets(requirement: &NodeRequirement, value: Option<&str>) -> Option<bool> {
    let is_among =
        || value.is_some_and(|value| requirement.values.iter().any(|one| **one == *value));
    let compared = |wanted: fn(i64, i64) -> bool| match (value, requirement.values.as_slice()) {
        (Some(value), [limit]) => {
            let limit: i64 = limit.parse().ok()?;
            // A label that is no integer is neither greater nor less, as in upstream's
            // `labels.Requirement.Matches`.
            Some(value.parse().is_ok_and(|value| wanted(value, limit)))
        }
        (None, [limit]) => limit.parse::<i64>().ok().map(|_| false),
        _ => None,
    };
    match &*requirement.operator {
        "In" => Some(is_among()),
        // A node without the label meets this, as upstream.
        "NotIn" => Some(!is_among()),
        "Exists" => Some(value.is_some()),
        "DoesNotExist" => Some(value.is_none()),
        "Gt" => compared(|value, limit| value > limit),
        "Lt" => compared(|value, limit| value < limit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{asks, node, terms, world};
    use super::*;
    use crate::allocator::{Completeness, Placeability, Replacement, SearchBasis, replacement};
    use crate::model::{
        DeviceSelector, NodeRequirement, NodeTaint, NodeTerm, Scheduling, SliceNodes, SliceTerms,
    };
    use crate::{ProposedTaint, Semantics, preview};

    /// Two claims for one device each, on node `a`, which has no other; node `b` has one, and is in zone `b`.
    fn two_claims() -> Snapshot {
        let mut snapshot = world().with_claim("c0", &["0"], asks(terms(1))).with_claim(
            "c1",
            &["1"],
            asks(terms(1)),
        );
        for node in &mut snapshot.nodes {
            let zone = node.name.as_str().to_owned();
            node.labels.insert("zone".to_owned(), zone);
        }
        snapshot
    }

    fn in_zone(zone: &str) -> Vec<NodeSelector> {
        vec![NodeSelector {
            terms: vec![NodeTerm {
                labels: vec![NodeRequirement {
                    key: "zone".into(),
                    operator: "In".into(),
                    values: vec![zone.into()],
                }],
                fields: Vec::new(),
            }],
        }]
    }

    /// A selector with an operator that is not known here.
    fn of_newer_operator() -> Vec<NodeSelector> {
        let mut newer = in_zone("b");
        newer[0].terms[0].labels[0].operator = "Near".into();
        newer
    }

    /// [`two_claims`], the first of which both pods use, that select these nodes.
    fn shared(first: Vec<NodeSelector>, second: Vec<NodeSelector>) -> Snapshot {
        let mut shared = with_terms(two_claims(), 0, first, Vec::new());
        shared = with_terms(shared, 1, second, Vec::new());
        let consumer = shared.claims[1].reserved_for[0].clone();
        shared.claims[0].reserved_for.push(consumer);
        let claims = shared.pods[0].claims.clone();
        shared.pods[1].claims.extend(claims);
        shared
    }

    /// Toleration of the taint of [`tainted`].
    fn tolerating() -> Vec<Toleration> {
        vec![crate::testing::toleration("reserved:NoSchedule")]
    }

    fn tainted(mut snapshot: Snapshot) -> Snapshot {
        snapshot.nodes[1].taints = vec![NodeTaint {
            key: "reserved".to_owned(),
            effect: "NoSchedule".to_owned(),
            ..NodeTaint::default()
        }];
        snapshot
    }

    fn with_terms(
        mut snapshot: Snapshot,
        pod: usize,
        nodes: Vec<NodeSelector>,
        tolerations: Vec<Toleration>,
    ) -> Snapshot {
        snapshot.pods[pod].scheduling = Some(Box::new(Scheduling {
            nodes,
            tolerations,
            ..Scheduling::default()
        }));
        snapshot
    }

    /// Placement of the claims when both devices of node `a` are tainted.
    fn found<'a>(
        snapshot: &'a Snapshot,
        filter: NodeFilter,
        completeness: Completeness,
    ) -> Replacement<'a> {
        let proposed = ["0", "1"].map(|device| {
            let selector = DeviceSelector {
                device: Some(device.into()),
                ..DeviceSelector::default()
            };
            let taint = crate::testing::untimed("example.com/drain:NoExecute");
            ProposedTaint::hypothetical(selector, taint, jiff::Timestamp::UNIX_EPOCH)
        });
        let semantics = Semantics::assumed();
        let now = jiff::Timestamp::UNIX_EPOCH;
        let impact = preview(snapshot, &proposed, now, &semantics);
        let basis = SearchBasis {
            semantics: &semantics,
            completeness,
        };
        replacement(snapshot, &proposed, &impact, filter, basis)
    }

    fn words(replacement: &Replacement<'_>) -> Vec<&'static str> {
        let claims = replacement.claims.iter();
        let words = claims.map(|claim| match claim.placeability {
            Placeability::Placeable => "placeable",
            Placeability::Unplaceable => "unplaceable",
            Placeability::Unknown(_) => "unknown",
        });
        words.collect()
    }

    fn words_of(snapshot: &Snapshot, filter: NodeFilter) -> Vec<&'static str> {
        words(&found(snapshot, filter, Completeness::COMPLETE))
    }

    #[test]
    fn taints_of_nodes_count_where_they_are_asked_for() {
        let tainted = tainted(two_claims());
        assert_eq!(
            words_of(&tainted, NodeFilter::Cordoned),
            ["placeable", "placeable"]
        );
        assert_eq!(
            words_of(&tainted, NodeFilter::Tainted),
            ["unplaceable", "unplaceable"]
        );
        let tolerated = with_terms(tainted, 1, Vec::new(), tolerating());
        assert_eq!(
            words_of(&tolerated, NodeFilter::Tainted),
            ["unplaceable", "placeable"]
        );
    }

    #[test]
    fn labels_that_were_not_read_make_it_unknown() {
        let zoned = with_terms(two_claims(), 0, in_zone("a"), Vec::new());
        let without_nodes = Completeness {
            nodes: false,
            ..Completeness::COMPLETE
        };
        let found_without = found(&zoned, NodeFilter::Cordoned, without_nodes);
        assert_eq!(words(&found_without), ["unknown", "unknown"]);
        // An operator that is not known here may select the node.
        let newer = with_terms(two_claims(), 0, of_newer_operator(), Vec::new());
        assert_eq!(
            words_of(&newer, NodeFilter::Cordoned),
            ["unknown", "placeable"]
        );
    }

    #[test]
    fn where_one_of_several_pods_can_certainly_be_scheduled_their_claim_is_placed() {
        assert_eq!(
            words_of(
                &shared(in_zone("b"), of_newer_operator()),
                NodeFilter::Cordoned
            ),
            ["placeable", "unknown"]
        );
    }

    #[test]
    fn nodes_that_see_the_same_devices_are_told_apart_by_their_labels() {
        let mut snapshot = two_claims();
        // Devices of all nodes, and two nodes that have no others.
        snapshot.slices[1].nodes = SliceNodes::Several;
        snapshot.slices[1].terms = Some(Box::new(SliceTerms {
            all_nodes: true,
            ..SliceTerms::default()
        }));
        let mut other = node("c");
        other.labels.insert("zone".to_owned(), "c".to_owned());
        snapshot.nodes.push(other);
        for (zone, expected) in [("b", "placeable"), ("c", "placeable"), ("d", "unplaceable")] {
            let zoned = with_terms(snapshot.clone(), 0, in_zone(zone), Vec::new());
            assert_eq!(
                words_of(&zoned, NodeFilter::Cordoned)[0],
                expected,
                "{zone}"
            );
        }
    }

    fn requirement(key: &str, operator: &str, values: &[&str]) -> NodeRequirement {
        NodeRequirement {
            key: key.into(),
            operator: operator.into(),
            values: values.iter().map(|value| (*value).into()).collect(),
        }
    }

    fn by_labels(requirements: &[NodeRequirement]) -> NodeSelector {
        NodeSelector {
            terms: vec![NodeTerm {
                labels: requirements.to_vec(),
                fields: Vec::new(),
            }],
        }
    }

    #[test]
    fn nodes_are_selected_as_the_scheduler_does() {
        let labels = BTreeMap::from([
            ("zone".to_owned(), "a".to_owned()),
            ("slots".to_owned(), "8".to_owned()),
        ]);
        let node = NodeFacts {
            name: Some("node-1"),
            labels: Some(&labels),
        };
        for (operator, key, values, expected) in [
            ("In", "zone", &["b", "a"][..], Some(true)),
            ("In", "zone", &["b"], Some(false)),
            ("In", "rack", &["b"], Some(false)),
            ("NotIn", "zone", &["a"], Some(false)),
            ("NotIn", "rack", &["a"], Some(true)),
            ("Exists", "zone", &[], Some(true)),
            ("Exists", "rack", &[], Some(false)),
            ("DoesNotExist", "rack", &[], Some(true)),
            ("Gt", "slots", &["7"], Some(true)),
            ("Gt", "slots", &["8"], Some(false)),
            ("Lt", "slots", &["9"], Some(true)),
            ("Lt", "rack", &["9"], Some(false)),
            ("Gt", "zone", &["9"], Some(false)),
            ("Gt", "slots", &["many"], None),
            ("Gt", "slots", &["1", "2"], None),
            ("Near", "zone", &["a"], None),
        ] {
            let selector = by_labels(&[requirement(key, operator, values)]);
            assert_eq!(
                selects(&selector, node),
                expected,
                "{key} {operator} {values:?}"
            );
        }
    }

    #[test]
    fn labels_that_nobody_has_read_are_no_answer() {
        let node = NodeFacts {
            name: Some("node-1"),
            labels: None,
        };
        let selector = by_labels(&[requirement("zone", "DoesNotExist", &[])]);
        assert_eq!(selects(&selector, node), None);
    }
}
