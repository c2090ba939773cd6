//! Waiting claims that a device fits.

use std::cell::Cell;

use super::allocation_session::AllocationSession;
use super::cluster_state::{ClusterState, IgnoredTaints};
use super::completeness::SearchBasis;
use super::demand::{Demand, SearchStop, demands};
use super::exclusions::{Exclusion, ExclusionFinder};
use super::nodes::{NodeFacts, selects};
use super::search::{self, RequiredDevice, SearchTask};
use super::usage::{Holdings, Usage};
use crate::engine::closed_nodes::{ClosedReason, closed_reason};
use crate::engine::devices::current_slices;
use crate::engine::impact::ProposedTaint;
use crate::engine::usage::claim_names;
use crate::model::{ClaimSpec, DeviceId, Pod, ResourceClaim, Snapshot};

/// Search budget for all claims; one that exceeds it is listed, since it may fit.
//
// Listing a claim too many costs a reader a line, and leaving one out hides who gets the device.
const STEPS: u64 = 1_000_000;

/// A claim that could get a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateClaim<'a> {
    /// The claim, which holds nothing yet.
    pub claim: &'a ResourceClaim,
    /// Which of its requests the device would serve, by its place.
    pub request: usize,
    /// Which alternative of it, where it has some.
    pub alternative: Option<usize>,
    /// What speaks against it for now.
    pub exclusions: Vec<Exclusion>,
}

/// The claims that wait and that the device fits, those first that could have it at once.
///
/// It fits where the allocator could choose it for the request if nothing were tainted, and nobody held
/// anything or everybody what they hold.
#[must_use]
pub fn candidate_claims<'a>(
    snapshot: &'a Snapshot,
    device: &DeviceId,
    proposed: &[ProposedTaint],
    basis: SearchBasis<'_>,
) -> Vec<CandidateClaim<'a>> {
    let mut state = ClusterState::new(snapshot, proposed, basis);
    let waiting = snapshot
        .claims
        .iter()
        .filter(|claim| claim.allocation.is_none());
    let asking: Vec<_> = waiting
        .filter_map(|claim| {
            let spec = claim.spec.as_deref()?;
            Some((claim, spec, demands(spec, &state).ok()?))
        })
        .collect();
    let mut found: Vec<(CandidateClaim<'a>, DeviceFit<'_, 'a>)> = Vec::new();
    let finder = ExclusionFinder::new(snapshot, &state);
    let Some(place) = finder.find(device) else {
        return Vec::new();
    };
    for (claim, spec, demands) in &asking {
        for (request, demand) in demands.iter().enumerate() {
            for (number, choice) in demand.choices.iter().enumerate() {
                let exclusions = finder.exclusions(choice, place);
                if exclusions.iter().any(Exclusion::is_lasting) {
                    continue;
                }
                let candidate = CandidateClaim {
                    claim,
                    request,
                    alternative: choice.alternative.map(|_| number),
                    exclusions,
                };
                let required = RequiredDevice {
                    request,
                    choice: number,
                    device: place,
                };
                found.push((
                    candidate,
                    DeviceFit {
                        spec,
                        demands,
                        required,
                    },
                ));
            }
        }
    }
    let steps = Cell::new(STEPS);
    let nothing = Holdings::default();
    let all = Holdings::of(&snapshot.claims, &state);
    // Taints come and go; the question here is whether the device could ever serve the claim. Those that keep it
    // away now are exclusions.
    state.ignored = IgnoredTaints::Everything;
    // A further share of a device in use may be had that nobody could have first.
    found.retain(|(_, question)| {
        let mut held = [&nothing, &all].into_iter();
        held.any(|held| question.fits(&state, held, &steps))
    });
    state.ignored = IgnoredTaints::NOTHING;
    let mut session = AllocationSession::new(&state, &all, &all);
    let mut candidates: Vec<_> = found
        .into_iter()
        .map(|(mut candidate, question)| {
            let failures = session.failures(candidate.claim).into_iter();
            let failing = failures.map(|why| Exclusion::Failing(why.to_string()));
            candidate.exclusions.extend(failing);
            candidate
                .exclusions
                .extend(scheduling_exclusion(snapshot, candidate.claim, device));
            if candidate.exclusions.is_empty() && !question.fits(&state, &all, &steps) {
                candidate.exclusions.push(Exclusion::OtherDevices);
            }
            candidate
        })
        .collect();
    candidates.sort_by_key(|candidate| (!candidate.exclusions.is_empty(), &candidate.claim.name));
    candidates
}

/// What keeps every pod of a claim that waits from the device's node, where something does that is evaluated
/// here: gates, the nodes on which the pod insists, and taints of the node.
fn scheduling_exclusion(
    snapshot: &Snapshot,
    claim: &ResourceClaim,
    device: &DeviceId,
) -> Option<Exclusion> {
    let uses = |pod: &&Pod| {
        pod.name.namespace == claim.name.namespace
            && claim_names(pod).any(|name| name == claim.name.name.as_str())
    };
    let mut why = None;
    for pod in snapshot.pods.iter().filter(uses) {
        // One pod that may go to the node is enough for the claim, whatever keeps the others away.
        why = Some(pod_exclusion(snapshot, pod, device)?);
    }
    why.map(Exclusion::PodUnschedulable)
}

fn pod_exclusion(snapshot: &Snapshot, pod: &Pod, device: &DeviceId) -> Option<String> {
    let scheduling = pod.scheduling.as_ref()?;
    if !scheduling.gates.is_empty() {
        let noun = if scheduling.gates.len() == 1 {
            "gate"
        } else {
            "gates"
        };
        let gates = scheduling.gates.join(", ");
        return Some(format!("its pod waits for scheduling {noun} {gates}"));
    }
    let current = current_slices(&snapshot.slices);
    let node = current.iter().find_map(|slice| {
        let is_its = slice.driver == device.driver && slice.pool.name == device.pool;
        let device = slice
            .devices
            .iter()
            .filter(|_| is_its)
            .find(|found| found.name == device.device)?;
        slice.node_of(device)
    })?;
    let known = snapshot.nodes.iter().find(|known| known.name == *node);
    if let Some(reason) = known.and_then(|known| closed_reason(pod, known)) {
        return Some(match reason {
            ClosedReason::Cordoned => format!("node {node} is cordoned"),
            ClosedReason::Tainted(taint) => {
                format!("its pod does not tolerate taint {taint} of node {node}")
            }
        });
    }
    let node = NodeFacts {
        name: Some(node.as_str()),
        labels: known.map(|known| &known.labels),
    };
    let mut selectors = scheduling.nodes.iter();
    selectors
        // Labels that were not read must not exclude the node.
        .any(|selector| selects(selector, node) == Some(false))
        .then(|| "its pod's node selector or affinity excludes the node".to_owned())
}

/// Can the claim be placed somewhere with the device for one of its requests?
struct DeviceFit<'q, 'a> {
    spec: &'a ClaimSpec,
    demands: &'q [Demand<'a>],
    required: RequiredDevice,
}

impl<'a> DeviceFit<'_, 'a> {
    /// Whether it can, or nobody knows, where claims hold `all`.
    fn fits(&self, state: &ClusterState<'a>, all: &Holdings<'a>, steps: &Cell<u64>) -> bool {
        let nothing = Holdings::default();
        let mut views = state.views.iter().filter(|view| {
            view.pools
                .iter()
                .any(|pool| pool.devices.contains(&self.required.device))
        });
        views.any(|view| {
            let answer = search::is_placeable(SearchTask {
                state,
                view,
                usage: Usage { all, own: &nothing },
                spec: self.spec,
                demands: self.demands,
                steps,
                required: Some(self.required),
            });
            match answer {
                Ok(true) | Err(SearchStop::Unknown(_)) => true,
                Ok(false)
                | Err(
                    SearchStop::No | SearchStop::Conflict | SearchStop::Node | SearchStop::TooMany,
                ) => {
                    // Which slices such a node has is not known, and a slice too many may be what the search fails
                    // on.
                    view.is_doubtful
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::allocator::Completeness;
    use crate::engine::allocator::tests::{asks, id, name, overdrawn, terms, world};
    use crate::engine::semantics::Semantics;
    use crate::model::{
        DeviceSelector, NodeRequirement, NodeSelector, NodeTaint, NodeTerm, RequestTerms,
        Scheduling, Taint,
    };

    fn with_waiting(mut snapshot: Snapshot, terms: RequestTerms) -> Snapshot {
        snapshot.claims.push(ResourceClaim {
            name: name("waiting"),
            uid: "waiting".into(),
            controller: None,
            spec: Some(Arc::new(asks(terms))),
            allocation: None,
            reserved_for: Vec::new(),
        });
        snapshot
    }

    /// What speaks against the device for those who fit it.
    fn against(
        snapshot: &Snapshot,
        device: &str,
        proposed: &[ProposedTaint],
    ) -> Vec<Vec<Exclusion>> {
        let semantics = Semantics::assumed();
        let basis = SearchBasis {
            semantics: &semantics,
            completeness: Completeness::COMPLETE,
        };
        let found = candidate_claims(snapshot, &id(device), proposed, basis);
        found.into_iter().map(|one| one.exclusions).collect()
    }

    #[test]
    fn those_who_wait_for_a_device_are_found_and_what_speaks_against_them() {
        let snapshot = with_waiting(world(), terms(1));
        let taint = Taint {
            key: "drain".to_owned(),
            value: String::new(),
            effect: "NoSchedule".into(),
            time_added: None,
        };
        let proposed = [ProposedTaint {
            rule: None,
            selector: Some(DeviceSelector {
                pool: Some("a".into()),
                ..DeviceSelector::default()
            }),
            taint,
        }];
        assert_eq!(against(&snapshot, "2", &proposed), [vec![]]);
        let tainted = against(&snapshot, "0", &proposed);
        assert!(matches!(tainted[0].as_slice(), [Exclusion::Tainted(_, _)]));
    }

    #[test]
    fn who_cannot_fit_a_device_in_the_end_does_not_wait_for_it() {
        let mut failing = terms(1);
        let fails = "device.attributes['gpu.example.com'].model == 'a'";
        failing.expressions.push(fails.into());
        let mut large = terms(1);
        large.capacity.insert("memory".into(), "10Gi".into());
        for (why, terms, fits) in [
            ("it asks for one", terms(1), true),
            ("its node has one, and it asks for two", terms(2), false),
            ("the scheduler fails on it", failing, false),
            ("it has no such capacity", large, false),
        ] {
            let found = against(&with_waiting(world(), terms), "2", &[]);
            assert_eq!(!found.is_empty(), fits, "{why}");
        }
        let mut nowhere = with_waiting(world(), terms(1));
        nowhere.nodes.retain(|node| node.name.as_str() != "b");
        assert!(against(&nowhere, "2", &[]).is_empty(), "its node is gone");
    }

    #[test]
    fn a_further_share_of_a_device_in_use_fits_that_nobody_could_have_first() {
        let snapshot = with_waiting(overdrawn(), terms(1));
        assert_eq!(against(&snapshot, "0", &[]), [vec![]]);
        assert!(against(&snapshot, "1", &[]).is_empty());
    }

    #[test]
    fn nobody_could_have_a_device_now_for_whom_the_scheduler_fails_at_another() {
        let mut snapshot = world();
        let model = crate::model::AttributeValue::String("a".into());
        snapshot.slices[1].devices[0].attributes = [("model".into(), model)].into_iter().collect();
        let mut failing = terms(1);
        let fails = "device.attributes['gpu.example.com'].model == 'a'";
        failing.expressions.push(fails.into());
        let found = against(&with_waiting(snapshot, failing), "2", &[]);
        assert!(
            matches!(found[0].as_slice(), [Exclusion::Failing(_)]),
            "{found:?}"
        );
    }

    #[test]
    fn a_device_is_not_to_be_had_now_while_what_else_is_needed_is_not_free() {
        let held = world().with_claim("held", &["1"], asks(terms(1)));
        let snapshot = with_waiting(held, terms(2));
        assert_eq!(
            against(&snapshot, "0", &[]),
            [vec![Exclusion::OtherDevices]]
        );
        let holders = Exclusion::Held(vec![name("held")]);
        assert_eq!(against(&snapshot, "1", &[]), [vec![holders]]);
        let free = with_waiting(world(), terms(2));
        assert_eq!(against(&free, "0", &[]), [vec![]]);
    }

    /// The world with a claim that waits, and its pod.
    fn with_pod(scheduling: Scheduling) -> Snapshot {
        let mut snapshot = with_waiting(world(), terms(1));
        let held = world().with_claim("waiting", &["0"], asks(terms(1)));
        let mut pod = held.pods[0].clone();
        pod.node = None;
        pod.scheduling = Some(Box::new(scheduling));
        snapshot.pods.push(pod);
        snapshot
    }

    #[test]
    fn who_is_kept_from_the_node_by_something_else_could_not_get_its_device_now() {
        let gated = Scheduling {
            gates: vec!["quota".into()],
            ..Scheduling::default()
        };
        let found = against(&with_pod(gated), "2", &[]);
        assert!(
            matches!(found[0].as_slice(), [Exclusion::PodUnschedulable(why)] if why.contains("quota")),
            "{found:?}"
        );
        let pinned = |node: &str| Scheduling {
            nodes: vec![NodeSelector {
                terms: vec![NodeTerm {
                    labels: Vec::new(),
                    fields: vec![NodeRequirement {
                        key: "metadata.name".into(),
                        operator: "In".into(),
                        values: vec![node.into()],
                    }],
                }],
            }],
            ..Scheduling::default()
        };
        let found = against(&with_pod(pinned("a")), "2", &[]);
        assert!(matches!(
            found[0].as_slice(),
            [Exclusion::PodUnschedulable(_)]
        ));
        assert_eq!(against(&with_pod(pinned("b")), "2", &[]), [vec![]]);
    }

    #[test]
    fn a_pod_that_does_not_tolerate_the_taint_of_the_node_could_not_get_its_device_now() {
        let tainted = |is_whole| {
            let mut snapshot = with_pod(Scheduling::default());
            let node = snapshot
                .nodes
                .iter_mut()
                .find(|node| node.name.as_str() == "b");
            let node = node.expect("the node of the device");
            node.is_whole = is_whole;
            node.taints = vec![NodeTaint {
                key: "reserved".to_owned(),
                value: String::new(),
                effect: "NoSchedule".to_owned(),
                time_added: None,
            }];
            snapshot
        };
        let found = against(&tainted(true), "2", &[]);
        let why = "its pod does not tolerate taint reserved:NoSchedule of node b";
        assert_eq!(found, [vec![Exclusion::PodUnschedulable(why.to_owned())]]);
        assert_eq!(against(&tainted(true), "0", &[]), [vec![]], "another node");
    }
}
