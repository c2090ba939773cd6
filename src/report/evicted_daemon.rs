//! Outcomes of evicted pods of a DaemonSet, which are replaced by pods on the same nodes.
//!
//! Events do not record the node of a pod that is gone. It can have been on any node of the rule's devices on which the
//! DaemonSet's pod is younger than the eviction, or missing; where these nodes differ, the outcome is unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::evicted::EvictedPod;
use super::evicted_workload::{EvictedWorkload, is_older, outcome_of_replacement};
use crate::assess::EvictedOutcome;
use crate::model::{Kind, NodeName, Uid};
use crate::naming::phrase::few;

/// Outcomes of pods, first to last.
pub(super) struct DaemonOutcomes<'a> {
    pub(super) outcomes: Vec<EvictedOutcome>,
    /// The pods that may replace one of them.
    pub(super) replacements: BTreeSet<&'a Uid>,
}

/// A node on which an evicted pod may have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    /// That of the live pod at this place.
    Live(usize),
    /// One of those on which the pod is missing.
    Missing,
}

/// The nodes on which one evicted pod may have been.
struct Slots {
    slots: Vec<Slot>,
    /// How many nodes they are.
    nodes: usize,
}

/// What became of these evicted pods of the DaemonSet, if the rule evicted them; `rule_nodes` are the nodes of its
/// devices, where they are known.
pub(super) fn outcomes<'a>(
    pods: &[&EvictedPod],
    of: &EvictedWorkload<'a>,
    rule_nodes: Option<&BTreeSet<NodeName>>,
) -> DaemonOutcomes<'a> {
    let nodes: Vec<Option<NodeName>> = of.live.iter().map(|pod| pod.only_node()).collect();
    let possible: Vec<Slots> = pods
        .iter()
        .map(|pod| Slots::of(pod, of, &nodes, rule_nodes))
        .collect();
    let mut all: BTreeMap<Slot, usize> = BTreeMap::new();
    for slot in possible.iter().flat_map(|slots| &slots.slots) {
        let count = all.entry(*slot).or_default();
        *count = count.saturating_add(1);
    }
    let mut later: BTreeMap<Slot, Later> = BTreeMap::new();
    let mut outcomes = Vec::with_capacity(pods.len());
    // From the last to the first: what was evicted after a pod decides.
    for (pod, slots) in pods.iter().zip(&possible).rev() {
        let is_open = |slot: &&Slot| {
            let later = later.get(*slot).copied().unwrap_or_default();
            !later.certain && later.possible < slots.nodes
        };
        let open: Vec<Slot> = slots.slots.iter().filter(is_open).copied().collect();
        outcomes.push(if !pod.after_eviction.is_of_a_workload_that_goes_on() {
            pod.after_eviction
        } else if slots.slots.is_empty() {
            EvictedOutcome::ScaledDown
        } else if open.is_empty() {
            EvictedOutcome::EvictedAgain
        } else if open.len() == slots.slots.len()
            || open.iter().all(|slot| all.get(slot) <= Some(&open.len()))
        {
            agreed(open.into_iter().map(|slot| slot.outcome(of)))
        } else {
            EvictedOutcome::Unknown
        });
        for slot in &slots.slots {
            let later = later.entry(*slot).or_default();
            later.possible = later.possible.saturating_add(1);
            later.certain |= slots.nodes == 1;
        }
    }
    outcomes.reverse();
    let live = all.keys().filter_map(|slot| match slot {
        Slot::Live(place) => of.live.get(*place).map(|pod| &pod.uid),
        Slot::Missing => None,
    });
    DaemonOutcomes {
        outcomes,
        replacements: live.collect(),
    }
}

/// That events leave open which pod of DaemonSets replaced which, where the outcome of a pod depends on it.
pub(super) fn unknown_nodes(evicted: &[EvictedPod]) -> Option<String> {
    let daemons: BTreeSet<String> = evicted
        .iter()
        .filter(|pod| pod.after_eviction == EvictedOutcome::Unknown)
        .filter_map(|pod| {
            let owner = pod.workload.as_ref()?;
            let is_daemon = owner.kind == Kind::DaemonSet.as_str();
            is_daemon.then(|| format!("{owner} in {}", pod.namespace))
        })
        .collect();
    let daemons: Vec<String> = daemons.into_iter().collect();
    (!daemons.is_empty()).then(|| {
        format!(
            "the replacement of each evicted pod of {}, because events do not record the nodes of evicted pods",
            few(&daemons)
        )
    })
}

/// The pods of a node that were evicted after another one.
#[derive(Clone, Copy, Default)]
struct Later {
    /// How many may have been on the node.
    possible: usize,
    /// Whether one of them certainly was.
    certain: bool,
}

impl Slot {
    fn outcome(self, of: &EvictedWorkload<'_>) -> EvictedOutcome {
        match self {
            Self::Live(place) => of
                .live
                .get(place)
                .map_or(EvictedOutcome::Unknown, |pod| outcome_of_replacement(pod)),
            Self::Missing => EvictedOutcome::Missing,
        }
    }
}

impl Slots {
    fn of(
        pod: &EvictedPod,
        of: &EvictedWorkload<'_>,
        nodes: &[Option<NodeName>],
        rule_nodes: Option<&BTreeSet<NodeName>>,
    ) -> Self {
        if let Some(node) = &pod.node {
            let is_there =
                |it: &Option<NodeName>| it.as_ref().is_some_and(|it| it.as_str() == node);
            let slot = nodes.iter().position(is_there).map(Slot::Live);
            return Self {
                slots: vec![slot.unwrap_or(Slot::Missing)],
                nodes: 1,
            };
        }
        let of_rule = rule_nodes.map(|rule_nodes| Self::on(Some(rule_nodes), pod, of, nodes));
        match of_rule {
            Some(slots) if slots.nodes > 0 => slots,
            // Another taint has evicted it.
            Some(_) | None => Self::on(None, pod, of, nodes),
        }
    }

    /// Those of these nodes, or of all.
    fn on(
        only: Option<&BTreeSet<NodeName>>,
        pod: &EvictedPod,
        of: &EvictedWorkload<'_>,
        nodes: &[Option<NodeName>],
    ) -> Self {
        let live = of.live.iter().zip(nodes).enumerate();
        let live = live.filter(|(_, (live, node))| {
            // A pod whose node is not known may be on any.
            let is_on = only
                .zip(node.as_ref())
                .is_none_or(|(only, it)| only.contains(it));
            is_on && !is_older(live, pod.eviction_time)
        });
        let mut slots: Vec<Slot> = live.map(|(place, _)| Slot::Live(place)).collect();
        let wanted = of.wanted().unwrap_or_default();
        let missing = wanted.saturating_sub(of.live.len());
        let without_pod = only.map_or(missing, |only| {
            let is_without = |node: &&NodeName| !nodes.iter().flatten().any(|it| it == *node);
            only.iter().filter(is_without).count()
        });
        let missing = missing.min(without_pod);
        let nodes = slots.len().saturating_add(missing);
        if missing > 0 {
            slots.push(Slot::Missing);
        }
        Self { slots, nodes }
    }
}

/// What all of them are, if they are the same.
fn agreed(mut outcomes: impl Iterator<Item = EvictedOutcome>) -> EvictedOutcome {
    match outcomes.next() {
        Some(first) if outcomes.all(|outcome| outcome == first) => first,
        Some(_) | None => EvictedOutcome::Unknown,
    }
}
