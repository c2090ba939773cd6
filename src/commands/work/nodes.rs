//! How the nodes are of pods that should have ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::connect::Live;
use crate::cluster::{ClusterError, node_health};
use crate::engine::life::{Obstacle, Remaining};
use crate::model::{Affects, Gap, Kind, Node, NodeHealth, NodeName, Reading};

/// So many nodes are asked for at a time; what is said of a pod whose node is not known is true of it
/// too, and less.
const FEW: usize = 16;
/// Whatever a node said is believed for so long.
const BELIEVED: Duration = Duration::from_secs(10);

/// What is known of nodes, and since when.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    known: BTreeMap<NodeName, NodeHealth>,
    asked: Option<Instant>,
}

impl Nodes {
    /// Asks for the nodes of a few pods that should have ended, now and then.
    pub(crate) async fn ask(&mut self, left: &[Remaining<'_>], live: &Live) {
        let recent = self.asked.is_some_and(|at| at.elapsed() < BELIEVED);
        let mut overdue = left.iter().filter(|left| is_overdue(left)).peekable();
        if recent || overdue.peek().is_none() {
            return;
        }
        let few: Vec<Remaining<'_>> = overdue.take(FEW).cloned().collect();
        let (known, _) = nodes_of(&few, live).await;
        self.known = known;
        self.asked = Some(Instant::now());
    }

    /// Those that have said how they are.
    pub(crate) fn known(&self) -> &BTreeMap<NodeName, NodeHealth> {
        &self.known
    }
}

/// How the nodes are of pods that should have ended, as far as that can be read, and why not of all.
pub(crate) async fn nodes_of(
    left: &[Remaining<'_>],
    live: &Live,
) -> (BTreeMap<NodeName, NodeHealth>, Option<Gap>) {
    let Live { client, served } = live;
    match node_health(client, served, &names_of(left)).await {
        Ok(nodes) => (nodes, None),
        Err(error) => (BTreeMap::new(), Some(gap_of("nodes", &error))),
    }
}

/// How the nodes were of pods that should have ended, as far as saved files tell, and why not of all.
pub(crate) fn nodes_in(
    reading: &Reading,
    left: &[Remaining<'_>],
) -> (BTreeMap<NodeName, NodeHealth>, Option<Gap>) {
    let names = names_of(left);
    match reading.without(Kind::Node) {
        Some(gap) if !names.is_empty() => (BTreeMap::new(), Some(gap)),
        Some(_) => (BTreeMap::new(), None),
        None => (Node::health_of(&reading.snapshot.nodes, &names), None),
    }
}

/// The nodes of pods that should have ended.
fn names_of(left: &[Remaining<'_>]) -> BTreeSet<NodeName> {
    let overdue = left.iter().filter(|left| is_overdue(left));
    overdue.filter_map(|left| left.pod.node.clone()).collect()
}

/// Whether the pod should have ended, so that its node matters.
fn is_overdue(left: &Remaining<'_>) -> bool {
    match left.obstacle {
        Obstacle::Kubelet { .. } | Obstacle::Node(_) => true,
        Obstacle::Controller { .. }
        | Obstacle::Tolerates { .. }
        | Obstacle::GracePeriod { .. }
        | Obstacle::Finalizers(_) => false,
    }
}

/// What is not known since it cannot be read.
pub(crate) fn gap_of(what: &str, error: &ClusterError) -> Gap {
    Gap {
        affects: Affects::Details,
        what: what.to_owned(),
        why: error.to_string(),
    }
}
