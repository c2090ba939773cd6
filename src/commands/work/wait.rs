//! Waiting for what a rule does, with a look at what it still waits for.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::connect::{failed, server_time};
use super::look::Look;
use super::scene::Scene;
use crate::cluster::{ApiClient, ClusterError, Rules, StoredRule, node_health};
use crate::commands::context::Context;
use crate::engine::life::{Evicting, Obstacle, Remaining, remaining};
use crate::engine::{self, ConsideredTaint};
use crate::error::{ExitStatus, Failure};
use crate::model::{Affects, DeviceTaintRule, Effect, Gap, NodeHealth, NodeName};
use crate::output::Account;
use crate::report::life::{few, progress_line, remaining_line, slowest};

/// How often is looked.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long to wait, and for how long it has to stay so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) timeout: Duration,
    pub(crate) settle: Duration,
}

/// How a wait ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// What was waited for is the case.
    Met,
    /// The time is over; what remains, one line each.
    TimedOut(Vec<String>),
}

/// Looks again and again until `look` has nothing left to name, or the time is over.
pub(crate) async fn until(
    timeout: Duration,
    context: &Context,
    mut look: impl AsyncFnMut() -> Result<Vec<String>, Failure>,
) -> Result<Ending, Failure> {
    let end = Instant::now() + timeout;
    loop {
        let left = look().await?;
        if left.is_empty() {
            return Ok(Ending::Met);
        }
        context.ledger.left(&few(&left));
        if Instant::now() >= end {
            return Ok(Ending::TimedOut(left));
        }
        tokio::time::sleep(INTERVAL.min(end - Instant::now())).await;
    }
}

/// Those of the rules whose current state the controller has not judged yet.
pub(crate) async fn not_observed(rules: &Rules, names: &[String]) -> Result<Vec<String>, Failure> {
    let mut left = Vec::new();
    for name in names {
        let rule = present(rules, name).await?;
        let observed = rule
            .condition
            .as_ref()
            .map(|found| found.observed_generation);
        if observed != Some(rule.generation) {
            left.push(match observed {
                None => format!("rule {name} has no condition yet"),
                Some(old) => format!(
                    "rule {name} is at generation {}, its condition at {old}",
                    rule.generation
                ),
            });
        }
    }
    Ok(left)
}

/// Those of the rules that are still there.
pub(crate) async fn not_deleted(rules: &Rules, names: &[String]) -> Result<Vec<String>, Failure> {
    let mut left = Vec::new();
    for name in names {
        if let Some(found) = rules.get(name).await.map_err(failed)? {
            left.push(match finalizers(&found) {
                None => format!("rule {name} is still there"),
                Some(names) => format!("rule {name} is still there, waits for finalizer {names}"),
            });
        }
    }
    Ok(left)
}

/// Who has to agree before the rule can go.
fn finalizers(found: &StoredRule) -> Option<String> {
    let names = found.object["metadata"]["finalizers"].as_array()?;
    let names: Vec<&str> = names.iter().filter_map(|name| name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

async fn present(rules: &Rules, name: &str) -> Result<DeviceTaintRule, Failure> {
    match rules.get(name).await.map_err(failed)? {
        Some(found) => Ok(found.rule),
        None => Err(Failure::new(
            ExitStatus::Failed,
            format!("there is no rule {name}, or no longer"),
        )),
    }
}

/// Refuses to wait for a rule that evicts nobody, or no longer.
pub(crate) fn refuse_harmless(rule: &DeviceTaintRule) -> Result<(), Failure> {
    if rule.taint.effect == Effect::NoExecute {
        return Ok(());
    }
    Err(Failure::new(
        ExitStatus::Failed,
        format!(
            "rule {} has effect {}, which evicts nobody",
            rule.name, rule.taint.effect
        ),
    ))
}

/// Waits until the rules have evicted everybody whom they evict: the controller says so about their
/// current state, no such pod is left, not even a terminating one, and it stays so for a while, in
/// which the scheduler may still place pods that it chose a device for before it knew the taint.
pub(crate) async fn evicted(
    scene: &Scene,
    names: &[String],
    patience: Patience,
    context: &Context,
) -> Result<Ending, Failure> {
    let end = Instant::now() + patience.timeout;
    let mut progress = Account::new(&context.printer);
    let mut devices = scene.look.clone();
    let mut fresh = false;
    let mut all = 0;
    let mut quiet_since = None;
    loop {
        let look = Glance::take(scene, &devices, names, all).await?;
        all = look.all;
        progress.say(&look.counts, &look.line());
        context.ledger.left(&look.line());
        if !look.open.is_empty() {
            quiet_since = None;
        } else if fresh {
            let since = *quiet_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= patience.settle {
                return Ok(Ending::Met);
            }
        } else {
            // Nobody is left of those who were known: is there anybody new?
            devices = scene.look.again().await?;
            fresh = true;
            continue;
        }
        if Instant::now() >= end {
            return Ok(Ending::TimedOut(look.into_open(patience)));
        }
        let pause = if quiet_since.is_some() {
            INTERVAL.max(patience.settle / 4).min(patience.settle)
        } else {
            INTERVAL
        };
        tokio::time::sleep(pause.min(end - Instant::now())).await;
        fresh = false;
    }
}

/// What is the case at one moment.
struct Glance {
    /// What keeps the rules from being done, one line each.
    open: Vec<String>,
    /// How many pods were to go, as far as was ever seen.
    all: usize,
    counts: String,
    /// What the pod waits for that will take longest.
    slowest: Option<String>,
}

impl Glance {
    /// Reads the rules and the pods that use the devices as they were in `devices`.
    /// At least `all` pods were to go.
    async fn take(
        scene: &Scene,
        devices: &Look,
        names: &[String],
        all: usize,
    ) -> Result<Self, Failure> {
        let mut rules = Vec::new();
        for name in names {
            let rule = present(&scene.rules, name).await?;
            // Whoever pulls the brake meanwhile has to be told apart from a slow eviction.
            refuse_harmless(&rule)?;
            rules.push(rule);
        }
        let now = server_time(&scene.live)?;
        let considered: Vec<ConsideredTaint> = rules
            .iter()
            .map(|rule| ConsideredTaint::of_changed_rule(rule, &rule.taint.effect, now))
            .collect();
        let devices = devices.clone().with_pods_of(&considered).await?;
        let reading = &devices.reading;
        let semantics = &scene.look.semantics;
        let impact = engine::preview(&reading.snapshot, &considered, now, semantics);
        let left = remaining(&impact, &BTreeMap::new(), now);
        // Without the nodes, a pod that has not ended is still one that is left.
        let (nodes, _) = nodes_of(&left, &scene.live.client).await;
        let left = remaining(&impact, &nodes, now);

        let mut open: Vec<String> = left.iter().map(|pod| remaining_line(pod, now)).collect();
        for rule in &rules {
            open.extend(unsettled(rule, left.len(), scene));
        }
        open.extend(
            reading
                .gaps
                .iter()
                .map(|gap| format!("{}: {}", gap.what, gap.why)),
        );
        let all = all.max(left.len());
        Ok(Self {
            open,
            all,
            counts: progress_line(&left, all),
            slowest: slowest(&left).map(|pod| remaining_line(pod, now)),
        })
    }

    fn line(&self) -> String {
        let counts = &self.counts;
        match (&self.slowest, self.open.first()) {
            (Some(slowest), _) => format!("{counts}; slowest: {slowest}"),
            (None, Some(open)) => format!("{counts}; {open}"),
            (None, None) => counts.clone(),
        }
    }

    fn into_open(self, patience: Patience) -> Vec<String> {
        if self.open.is_empty() {
            let settle = patience.settle.as_secs();
            return vec![format!("nobody is left, but not for {settle}s yet")];
        }
        self.open
    }
}

/// Why the controller's word about a rule is not "done".
fn unsettled(rule: &DeviceTaintRule, pods_left: usize, scene: &Scene) -> Option<String> {
    if !scene.look.semantics.has_condition {
        return None;
    }
    let name = &rule.name;
    match Evicting::of(rule, pods_left) {
        Evicting::No => None,
        Evicting::Yes => Some(format!(
            "rule {name}: the controller says that evictions are pending"
        )),
        Evicting::Unknown => Some(format!(
            "rule {name}: the controller has not said anything yet"
        )),
        Evicting::Outdated => Some(format!(
            "rule {name}: the controller has not looked at its current state yet"
        )),
        Evicting::Leftover => Some(format!(
            "rule {name}: the controller says that evictions are pending, although no pod is left; that may be stale"
        )),
    }
}

/// How the nodes are of pods that should have ended, as far as that can be read, and why not of all.
pub(crate) async fn nodes_of(
    left: &[Remaining<'_>],
    client: &ApiClient,
) -> (BTreeMap<NodeName, NodeHealth>, Option<Gap>) {
    let mut nodes = BTreeMap::new();
    let mut gap = None;
    for pod in left {
        let overdue = match pod.obstacle {
            Obstacle::Kubelet { .. } | Obstacle::Node(_) => true,
            Obstacle::Controller { .. }
            | Obstacle::Tolerates { .. }
            | Obstacle::GracePeriod { .. }
            | Obstacle::Finalizers(_) => false,
        };
        if let Some(node) = pod.pod.node.as_ref().filter(|_| overdue)
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

/// What is not known since it cannot be read.
pub(crate) fn gap_of(what: &str, error: &ClusterError) -> Gap {
    Gap {
        affects: Affects::Details,
        what: what.to_owned(),
        why: error.to_string(),
    }
}

/// The time is over, and this is left.
pub(crate) fn timed_out(timeout: Duration, left: Vec<String>) -> Failure {
    let failure = Failure::new(
        ExitStatus::TimedOut,
        format!("timed out after {}s", timeout.as_secs_f64()),
    );
    left.into_iter().fold(failure, |failure, line| {
        failure.hint(format!("left: {line}"))
    })
}
