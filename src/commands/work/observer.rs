//! Repeated reads during a wait, at low cost: rules, pods, claims, and the nodes of pods that should have ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::cluster_view::ClusterView;
use super::connect::{Live, failed};
use super::mutation_context::by_name;
use crate::cluster::{ClusterError, Rules, Watched, node_health, slices_of_nodes};
use crate::commands::context::Clock;
use crate::decide::pending_evictions::{
    EvictionEvidence, EvictionTaints, Evictors, RunningWait, awaited_devices,
};
use crate::engine::holders::UnevictedPod;
use crate::engine::rule_lifecycle::{EvictionObstacle, PendingEviction, TerminationFacts};
use crate::engine::settle::{Freshness, Goal, Observation, Settle, WaitFacts, WaitStep};
use crate::engine::termination_blocker::Publishers;
use crate::engine::{self, Semantics};
use crate::error::Failure;
use crate::model::{
    Affects, DeviceId, DeviceTaintRule, Gap, Kind, Node, NodeHealth, NodeName, Reading,
    ResourceClaim, Snapshot, Warning,
};
use crate::report::wait::WaitProgress;

/// Interval of reading what cannot be watched.
const INTERVAL: Duration = Duration::from_secs(1);
/// Interval of evaluating although nothing has changed, since times pass.
const TICK: Duration = Duration::from_secs(5);
/// Changes of pods within this time are evaluated together, and reported in one line.
const GATHER: Duration = INTERVAL;

/// Observed rules, pods and claims.
pub(crate) struct RuleObserver {
    live: Live,
    rules: Rules,
    names: Vec<String>,
    /// The first view, to read again; absent where only rules are observed.
    pods: Option<ClusterView>,
    watched: Watched,
    /// True if the rules are watched, false if they are read by name.
    rules_are_watched: bool,
    clock: Clock,
    nodes: Nodes,
    evictors: Evictors,
    goal: Goal,
    /// Devices that shared counters with the awaited ones at any look, where idle devices are waited for.
    beside: BTreeSet<DeviceId>,
}

impl RuleObserver {
    /// Observes these rules, however they change, and the pods that they evict, beginning with `view`.
    pub(crate) fn on_pods(
        view: ClusterView,
        rules: &[DeviceTaintRule],
        goal: Goal,
    ) -> Result<Self, Failure> {
        let Some(live) = view.live().cloned() else {
            return Err(Failure::usage(
                "saved files do not change, so there is nothing to wait for",
            ));
        };
        // Taken and not copied: the snapshot is most of a wait's memory, and the view only needs the rest.
        let mut view = view;
        let reading = Reading {
            snapshot: std::mem::take(&mut view.reading.snapshot),
            ..view.reading.clone()
        };
        let rules_are_watched = is_read(&reading, Kind::DeviceTaintRule);
        let mut evictors = Evictors::new(goal);
        // Before the first look, by which rules that evict now may be gone.
        evictors.see(rules, view.now);
        let names = rules.iter().map(|rule| rule.name.to_string()).collect();
        let watched = watching(&live, reading);
        Ok(Self {
            evictors,
            clock: Clock::set(view.now),
            pods: Some(view),
            ..Self::new(live, names, goal, watched, rules_are_watched)?
        })
    }

    /// Observes the rules of these names, and nothing else.
    pub(crate) async fn on_rules(
        live: Live,
        names: Vec<String>,
        goal: Goal,
    ) -> Result<Self, Failure> {
        // Before the watch: where rules are not served, this failure says what to switch on.
        live.rules()?;
        let (watched, is_watched) = match Watched::rules(&live.client, &live.served).await {
            Ok(watched) => (watched, true),
            // A user who may not watch rules may still get them by name.
            Err(ClusterError::Forbidden { .. }) => {
                (Watched::nothing(&live.client, &live.served), false)
            }
            Err(error) => return Err(failed(error)),
        };
        Self::new(live, names, goal, watched, is_watched)
    }

    fn new(
        live: Live,
        names: Vec<String>,
        goal: Goal,
        watched: Watched,
        rules_are_watched: bool,
    ) -> Result<Self, Failure> {
        Ok(Self {
            rules: live.rules()?,
            names,
            pods: None,
            watched,
            rules_are_watched,
            clock: Clock::set(live.client.server_time().unwrap_or_default()),
            nodes: Nodes::default(),
            evictors: Evictors::new(goal),
            goal,
            beside: BTreeSet::new(),
            live,
        })
    }

    /// True if the end of some pods cannot be seen, so that force deletions are not detected.
    pub(crate) fn misses_force_deletions(&self) -> bool {
        self.watched.misses_force_deletions()
    }

    /// Warnings about objects read beside the reading.
    pub(crate) fn oddities(&self) -> &[Warning] {
        &self.nodes.known().warnings
    }

    /// Looks once, and tells `settle`, which waits since `began`.
    pub(crate) async fn view(
        &mut self,
        freshness: Freshness,
        settle: &mut Settle,
        began: Instant,
    ) -> Result<WaitProgress, Failure> {
        let (rules, freshness_of_rules) = self.rules_now(freshness).await?;
        let Some(view) = &self.pods else {
            let facts = WaitFacts {
                rules: &rules,
                left: &[],
                pods: &[],
                claims: &[],
                holders: &[],
                staying: &[],
                departed: &[],
                unread: &[],
                freshness: freshness_of_rules,
            };
            let seen = settle.observe(&facts, began.elapsed());
            return Ok(WaitProgress::of_rules(seen, facts, self.clock.now()));
        };
        let mut again = match freshness {
            Freshness::Kept => None,
            Freshness::Read => Some(view.again().await?),
        };
        let now = again.as_ref().map_or(self.clock.now(), |view| view.now);
        let semantics = again.as_ref().unwrap_or(view).semantics;
        let taints = self.evictors.see(&rules, now);
        let kept = self.watched.reading();
        let snapshot = &again.as_ref().map_or(kept, |view| &view.reading).snapshot;
        // Includes evictions of rules that were lowered since: these pods are still terminating.
        let selected = devices_of(self.goal, &mut self.beside, &taints, snapshot, &semantics);
        let mut read = None;
        match again.take() {
            None => {
                let kept = self.watched.keep_pods(|id| selected.contains(id)).await;
                kept.map_err(failed)?;
            }
            Some(view) => {
                let view = view.with_pods(|id| selected.contains(id)).await?;
                // A full read gets the server's time again, from which this machine's clock may have drifted.
                self.clock = Clock::set(now);
                read = Some(view.reading);
            }
        }
        let departed = self.watched.take_departed();
        let evidence = EvictionEvidence {
            reading: read.as_ref().unwrap_or_else(|| self.watched.reading()),
            rules: &rules,
            taints: &taints,
            semantics: &semantics,
            goal: self.goal,
            beside: &self.beside,
            departed: &departed,
            freshness,
            now,
        };
        let progress = evaluated(&evidence, settle, began, &mut self.nodes, &self.live).await;
        // The kept objects are replaced, unless it was the last read.
        match (&progress.step, read) {
            (WaitStep::WaitUntil(_) | WaitStep::ReadAgain, Some(reading)) => {
                self.watched = watching(&self.live, reading);
            }
            (
                WaitStep::WaitUntil(_)
                | WaitStep::ReadAgain
                | WaitStep::Met
                | WaitStep::TimedOut
                | WaitStep::NotSeenReleased
                | WaitStep::Never(_),
                _,
            ) => {}
        }
        Ok(progress)
    }

    /// Waits for a change, at most for `rest`.
    pub(crate) async fn rest(&mut self, rest: Duration) -> Result<(), Failure> {
        // Reads by name have no watch to wake this wait, so it ends earlier.
        let polled = !self.rules_are_watched || self.watched.asks_by_name();
        let tick = if polled { INTERVAL } else { TICK };
        let gather = self.pods.as_ref().map_or(Duration::ZERO, |_| GATHER);
        let mut rest = rest.min(tick);
        loop {
            let asleep = Instant::now();
            match tokio::time::timeout(rest, self.watched.changed()).await {
                Err(_) => return Ok(()),
                Ok(changed) => changed.map_err(failed)?,
            }
            // Changes at the same time, such as the ends of a thousand pods, are evaluated once.
            rest = rest.saturating_sub(asleep.elapsed()).min(gather);
            if rest.is_zero() {
                return Ok(());
            }
        }
    }

    /// The rules that are waited for, and how sure that is.
    async fn rules_now(
        &self,
        freshness: Freshness,
    ) -> Result<(Vec<DeviceTaintRule>, Freshness), Failure> {
        let is_kept = match freshness {
            Freshness::Kept => self.rules_are_watched,
            Freshness::Read => false,
        };
        if is_kept {
            let rules = self.watched.reading().snapshot.rules.iter();
            let named =
                rules.filter(|rule| self.names.iter().any(|name| name == rule.name.as_str()));
            return Ok((named.cloned().collect(), Freshness::Kept));
        }
        let rules = by_name(&self.names, &self.rules).await.map_err(failed)?;
        Ok((rules, Freshness::Read))
    }
}

/// The devices of the taints, and where idle ones are waited for, those that share counters with them, now or at an
/// earlier look, which are `beside`.
fn devices_of(
    goal: Goal,
    beside: &mut BTreeSet<DeviceId>,
    taints: &EvictionTaints,
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> BTreeSet<DeviceId> {
    let taints = taints.all();
    match goal {
        Goal::Idle(_) => {
            beside.extend(awaited_devices(snapshot, &taints, semantics));
            beside.clone()
        }
        Goal::Evicted | Goal::Observed | Goal::Deleted => {
            engine::selection(snapshot, &taints, semantics).devices
        }
    }
}

/// Evaluates the evidence, once the nodes of the remaining pods were read: without them, a pod that has not
/// ended still remains.
async fn evaluated(
    evidence: &EvictionEvidence<'_>,
    settle: &mut Settle,
    began: Instant,
    nodes: &mut Nodes,
    live: &Live,
) -> WaitProgress {
    let impacts = evidence.impacts();
    let claims = &evidence.reading.snapshot.claims;
    let unknown = NodesKnown::default();
    let unknown = unknown.around(claims);
    let mut left = impacts.left(&unknown, evidence.now);
    left.extend(evidence.leaving(&unknown));
    // Only after the first evaluation: it shows which pods are overdue, and their nodes alone are read.
    nodes.ask(&left, live, evidence.now).await;
    let around = nodes.known().around(claims);
    let told = |seen: Observation<'_>, facts: WaitFacts<'_>, staying: &[UnevictedPod<'_>]| {
        WaitProgress::new(seen, facts, evidence.now).with_staying(staying)
    };
    let wait = RunningWait {
        settle,
        waited: began.elapsed(),
    };
    evidence.evaluate(&impacts, &around, wait, told)
}

/// Keeps the reading current: without the slices, in which the controller does not look for rules.
fn watching(live: &Live, reading: Reading) -> Watched {
    let kinds = [Kind::ResourceClaim, Kind::DeviceTaintRule];
    Watched::keep(&live.client, &live.served, reading).watching(&kinds)
}

fn is_read(reading: &Reading, kind: Kind) -> bool {
    reading.resource_versions.contains_key(kind.plural())
}

/// Number of nodes read at a time; lines about a pod of an unread node are true, and say less.
const FEW: usize = 16;
/// Time for which a node's conditions are reused.
const BELIEVED: Duration = Duration::from_secs(10);

/// Facts about nodes, and their age.
#[derive(Debug, Default)]
struct Nodes {
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
    async fn ask(&mut self, left: &[PendingEviction<'_>], live: &Live, now: Timestamp) {
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
    fn known(&self) -> &NodesKnown {
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
