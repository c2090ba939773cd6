//! How the nodes are of pods that should have ended.

// Times and counts are what users and servers say: no arithmetic on them may panic.
#![deny(clippy::arithmetic_side_effects)]

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::cluster::{ApiClient, ClusterError, node_health};
use crate::engine::life::{Obstacle, Remaining};
use crate::model::{Affects, Gap, NodeHealth, NodeName};

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
    pub(crate) async fn ask(&mut self, left: &[Remaining<'_>], client: &ApiClient) {
        let recent = self.asked.is_some_and(|at| at.elapsed() < BELIEVED);
        let mut overdue = left.iter().filter(|left| is_overdue(left)).peekable();
        if recent || overdue.peek().is_none() {
            return;
        }
        let few: Vec<Remaining<'_>> = overdue.take(FEW).cloned().collect();
        let (known, _) = nodes_of(&few, client).await;
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
    client: &ApiClient,
) -> (BTreeMap<NodeName, NodeHealth>, Option<Gap>) {
    let mut nodes = BTreeMap::new();
    let mut gap = None;
    for pod in left.iter().filter(|left| is_overdue(left)) {
        if let Some(node) = &pod.pod.node
            && !nodes.contains_key(node)
        {
            match node_health(client, node).await {
                Ok(health) => {
                    nodes.insert(node.clone(), health);
                }
                Err(error) => gap = Some(gap_of("nodes", &error)),
            }
        }
    }
    (nodes, gap)
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
