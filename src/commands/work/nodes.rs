//! Nodes of pods that should have ended, and the drivers that run there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::connect::Live;
use crate::cluster::{ClusterError, node_health, slices_of_nodes};
use crate::engine::rule_lifecycle::{EvictionObstacle, PendingEviction, TerminationFacts};
use crate::engine::termination_blocker::Publishers;
use crate::model::{
    Affects, Gap, Kind, Node, NodeHealth, NodeName, Reading, ResourceClaim, Warning,
};

/// Number of nodes read at a time; lines about a pod of an unread node are true, and say less.
const FEW: usize = 16;
/// Time for which a node's conditions are reused.
const BELIEVED: Duration = Duration::from_secs(10);

/// Facts about nodes, and their age.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    known: NodesKnown,
    asked: Option<Instant>,
}

/// Conditions of nodes, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct NodesKnown {
    /// Conditions of the nodes that have reported them.
    pub(crate) health: BTreeMap<NodeName, NodeHealth>,
    /// Drivers that run there.
    pub(crate) publishers: Publishers,
    /// Why not all of them are known.
    pub(crate) gap: Option<Gap>,
    /// Warnings about them.
    pub(crate) warnings: Vec<Warning>,
}

impl NodesKnown {
    /// Facts around pods, of whose claims `claims` are all.
    pub(crate) fn around<'s>(&'s self, claims: &'s [ResourceClaim]) -> TerminationFacts<'s> {
        TerminationFacts {
            claims,
            nodes: &self.health,
            publishers: &self.publishers,
        }
    }
}

impl Nodes {
    /// Asks for the nodes of a few pods that should have ended, now and then.
    pub(crate) async fn ask(&mut self, left: &[PendingEviction<'_>], live: &Live, now: Timestamp) {
        let overdue = left.iter().filter(|left| is_overdue(left));
        let few: Vec<PendingEviction<'_>> = overdue.take(FEW).cloned().collect();
        if !self.is_time_for(few.len()) {
            return;
        }
        let mut known = nodes_of(&few, live).await;
        known.publishers = drivers_of(&few, live)
            .await
            .after(&self.known.publishers, now);
        self.known = known;
        self.asked = Some(Instant::now());
    }

    /// True if the nodes of so many pods should be read now.
    fn is_time_for(&mut self, overdue: usize) -> bool {
        if overdue == 0 {
            // A node that was not ready when earlier pods were overdue may be ready when the next ones terminate.
            *self = Self::default();
            return false;
        }
        self.asked.is_none_or(|at| at.elapsed() >= BELIEVED)
    }

    /// Facts read so far.
    pub(crate) fn known(&self) -> &NodesKnown {
        &self.known
    }
}

/// Nodes of pods that should have ended, as far as they can be read.
pub(crate) async fn nodes_of(left: &[PendingEviction<'_>], live: &Live) -> NodesKnown {
    let Live { client, served } = live;
    match node_health(client, served, &names_of(left)).await {
        Ok(told) => NodesKnown {
            health: told.facts,
            warnings: told.warnings,
            ..NodesKnown::default()
        },
        Err(error) => NodesKnown {
            gap: Some(gap_of("nodes", &error)),
            ..NodesKnown::default()
        },
    }
}

/// Drivers that run on the nodes of pods that should have ended; none, without a warning, where they cannot be read.
async fn drivers_of(left: &[PendingEviction<'_>], live: &Live) -> Publishers {
    let names = names_of(left);
    let slices = slices_of_nodes(&live.client, &live.served, &names).await;
    slices.map_or_else(
        // Publishers only make an explanation more precise, so a failed read is no error.
        |_| Publishers::default(),
        |slices| Publishers::new(&slices, &names),
    )
}

/// Nodes of pods that should have ended, as far as saved files hold them.
pub(crate) fn nodes_in(reading: &Reading, left: &[PendingEviction<'_>]) -> NodesKnown {
    let names = names_of(left);
    let gap = reading.without(Kind::Node);
    let health = match gap {
        Some(_) => BTreeMap::new(),
        None => Node::health_of(&reading.snapshot.nodes, &names),
    };
    NodesKnown {
        health,
        publishers: Publishers::of(reading, &names),
        gap: gap.filter(|_| !names.is_empty()),
        // Warnings about files are among those of the reading.
        warnings: Vec::new(),
    }
}

/// The nodes of pods that should have ended.
pub(crate) fn names_of(left: &[PendingEviction<'_>]) -> BTreeSet<NodeName> {
    let overdue = left.iter().filter(|left| is_overdue(left));
    overdue.filter_map(|left| left.pod.node.clone()).collect()
}

/// True if the pod should have ended, so that its node matters.
fn is_overdue(left: &PendingEviction<'_>) -> bool {
    match left.obstacle {
        EvictionObstacle::Kubelet { .. }
        | EvictionObstacle::Node(_)
        | EvictionObstacle::Stuck(_) => true,
        EvictionObstacle::Controller { .. }
        | EvictionObstacle::Tolerates { .. }
        | EvictionObstacle::GracePeriod { .. }
        | EvictionObstacle::Finalizers(_) => false,
    }
}

/// Gap left by a failed read.
pub(crate) fn gap_of(what: &str, error: &ClusterError) -> Gap {
    Gap {
        affects: Affects::Details,
        what: what.to_owned(),
        why: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_said_of_earlier_pods_is_not_said_of_later_ones() {
        let mut nodes = Nodes::default();
        assert!(nodes.is_time_for(1));
        let health = [("node-7".into(), NodeHealth::NotReady)].into();
        nodes.known.health = health;
        nodes.asked = Some(Instant::now());
        assert!(!nodes.is_time_for(1));
        assert_eq!(nodes.known().health.len(), 1);
        assert!(!nodes.is_time_for(0));
        assert!(nodes.known().health.is_empty() && nodes.is_time_for(1));
    }
}
