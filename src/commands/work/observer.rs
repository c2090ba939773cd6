//! Repeated reads during a wait, at low cost.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::cluster_view::ClusterView;
use super::connect::{Live, failed};
use super::mutation_context::by_name;
use super::nodes::{Nodes, NodesKnown};
use crate::cluster::{ClusterError, Rules, Watched};
use crate::commands::clock::Clock;
use crate::decide::pending_evictions::{
    EvictionEvidence, EvictionTaints, Evictors, RunningWait, awaited_devices,
};
use crate::engine::holders::UnevictedPod;
use crate::engine::settle::{Freshness, Goal, Observation, Settle, WaitFacts, WaitStep};
use crate::engine::{self, Semantics};
use crate::error::Failure;
use crate::model::{DeviceId, DeviceTaintRule, Kind, Reading, Snapshot, Warning};
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
        Ok(Self {
            rules: live.rules()?,
            names: rules.iter().map(|rule| rule.name.to_string()).collect(),
            watched: watching(&live, reading),
            rules_are_watched,
            clock: Clock::set(view.now),
            nodes: Nodes::default(),
            evictors,
            goal,
            beside: BTreeSet::new(),
            pods: Some(view),
            live,
        })
    }

    /// Observes the rules of these names, and nothing else.
    pub(crate) async fn on_rules(
        live: Live,
        names: Vec<String>,
        goal: Goal,
    ) -> Result<Self, Failure> {
        let rules = live.rules()?;
        let watched = Watched::rules(&live.client, &live.served).await;
        let (watched, rules_are_watched) = match watched {
            Ok(watched) => (watched, true),
            // A user who may not watch rules may still get them by name.
            Err(ClusterError::Forbidden { .. }) => {
                (Watched::nothing(&live.client, &live.served), false)
            }
            Err(error) => return Err(failed(error)),
        };
        Ok(Self {
            rules,
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
        if self.pods.is_none() {
            return self.observe_rules(freshness, settle, began).await;
        }
        match freshness {
            Freshness::Kept => self.observe_watched(settle, began).await,
            Freshness::Read => self.observe_again(settle, began).await,
        }
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

    async fn observe_rules(
        &mut self,
        freshness: Freshness,
        settle: &mut Settle,
        began: Instant,
    ) -> Result<WaitProgress, Failure> {
        let (rules, freshness) = self.rules_now(freshness).await?;
        let facts = WaitFacts {
            rules: &rules,
            left: &[],
            pods: &[],
            claims: &[],
            holders: &[],
            staying: &[],
            departed: &[],
            unread: &[],
            freshness,
        };
        let now = self.clock.now();
        let seen = settle.observe(&facts, began.elapsed());
        Ok(WaitProgress::of_rules(seen, facts, now))
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

    async fn observe_watched(
        &mut self,
        settle: &mut Settle,
        began: Instant,
    ) -> Result<WaitProgress, Failure> {
        let (rules, _) = self.rules_now(Freshness::Kept).await?;
        let Some(semantics) = self.pods.as_ref().map(|view| view.semantics) else {
            return self.observe_rules(Freshness::Kept, settle, began).await;
        };
        let taints = self.evictors.see(&rules, self.clock.now());
        let snapshot = &self.watched.reading().snapshot;
        // Includes evictions of rules that were lowered since: these pods are still terminating.
        let selected = devices_of(self.goal, &mut self.beside, &taints, snapshot, &semantics);
        let kept = self.watched.keep_pods(|id| selected.contains(id)).await;
        kept.map_err(failed)?;
        let departed = self.watched.take_departed();
        let evidence = EvictionEvidence {
            reading: self.watched.reading(),
            rules: &rules,
            taints: &taints,
            semantics: &semantics,
            goal: self.goal,
            beside: &self.beside,
            departed: &departed,
            freshness: Freshness::Kept,
            now: self.clock.now(),
        };
        Ok(evaluated(&evidence, settle, began, &mut self.nodes, &self.live).await)
    }

    /// Reads everything again; the kept objects are replaced, unless it was the last read.
    async fn observe_again(
        &mut self,
        settle: &mut Settle,
        began: Instant,
    ) -> Result<WaitProgress, Failure> {
        let (rules, _) = self.rules_now(Freshness::Read).await?;
        let Some(view) = &self.pods else {
            return self.observe_rules(Freshness::Read, settle, began).await;
        };
        let view = view.again().await?;
        let taints = self.evictors.see(&rules, view.now);
        let (beside, semantics) = (&mut self.beside, view.semantics);
        let selected = devices_of(self.goal, beside, &taints, view.snapshot(), &semantics);
        let view = view.with_pods(|id| selected.contains(id)).await?;
        // A full read gets the server's time again, from which this machine's clock may have drifted.
        self.clock = Clock::set(view.now);
        let departed = self.watched.take_departed();
        let evidence = EvictionEvidence {
            reading: &view.reading,
            rules: &rules,
            taints: &taints,
            semantics: &semantics,
            goal: self.goal,
            beside: &self.beside,
            departed: &departed,
            freshness: Freshness::Read,
            now: view.now,
        };
        let progress = evaluated(&evidence, settle, began, &mut self.nodes, &self.live).await;
        match progress.step {
            WaitStep::WaitUntil(_) | WaitStep::ReadAgain => {
                self.watched = watching(&self.live, view.reading);
            }
            WaitStep::Met | WaitStep::TimedOut | WaitStep::NotSeenReleased | WaitStep::Never(_) => {
            }
        }
        Ok(progress)
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
