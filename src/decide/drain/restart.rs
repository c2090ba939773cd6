//! Restarts of Deployments: which bring new pods up before they remove old ones, and how far a restart is.
//!
//! A restart replaces all pods of a Deployment, and asks no budget: what its rollout may take away at a time is compared
//! with what budgets need before it begins. Facts that could not be read are a reason not to restart.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::means::Means;
use crate::engine::workloads::Owners;
use crate::model::{
    DeviceTaintRule, Kind, NamespacedName, Pod, PodDisruptionBudget, Reading, Rollout,
    RolloutStrategy, Uid, Workload,
};
use crate::naming::phrase::counted;

/// A Deployment whose pods a drain could have replaced by a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartState {
    /// Its namespace and name.
    pub owner: NamespacedName,
    /// Which state of it this is; opaque.
    pub resource_version: String,
    /// How many pods it wants.
    pub replicas: i32,
    /// Why it cannot be restarted, or not safely now.
    pub blocker: Option<RestartBlocker>,
    /// How far its restart is.
    pub progress: RestartProgress,
}

/// How far the restart of a Deployment is that was made after the taints of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartProgress {
    /// It was not restarted since.
    NotBegun,
    /// Pods are being replaced.
    Ongoing {
        /// How many pods are of the new template.
        updated: i32,
        /// How many of any template are available.
        available: i32,
        /// How many are of an older template.
        old: usize,
    },
    /// All pods are new and available.
    Complete,
}

/// Why an owner of pods is not restarted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestartBlocker {
    /// The pod has no controller.
    NoController,
    /// The topmost controller is of this kind.
    OtherKind(String),
    /// An owner could not be read, or is gone.
    OwnerUnknown,
    /// Old pods go first.
    Recreate,
    /// The strategy is of a newer API.
    UnknownStrategy(String),
    /// No new pod comes up before an old one goes.
    NoSurge,
    /// Numbers of its strategy are not understood.
    UnknownSurge,
    /// A change of the template is not rolled out.
    Paused,
    /// A claim outlives its pod, so that the new pod uses the same devices.
    LastingClaim(NamespacedName),
    /// It was restarted by this drain, and the pod is there all the same.
    AlreadyRestarted,
    /// Which budgets there are is unknown.
    BudgetsUnread,
    /// What this budget needs is unknown.
    BudgetUnknown(NamespacedName),
    /// This budget covers pods of others, whose evictions would count on pods that the rollout takes away again.
    BudgetShared(NamespacedName),
    /// The rollout may take away more pods than this budget allows.
    BudgetViolated(NamespacedName, i32),
    /// Other devices may not be available for all its pods.
    Unplaceable,
    /// Pods are not available, or a rollout is in progress.
    Unsettled,
}

impl RestartBlocker {
    /// Whether it keeps only a drain from restarting that may evict instead. What a user asks for explicitly is judged
    /// by what a budget or the Deployment itself rules out; where claims find no device, a drain does not begin anyway.
    #[must_use]
    pub fn is_preference(&self) -> bool {
        match self {
            Self::Unplaceable | Self::Unsettled => true,
            Self::NoController
            | Self::OtherKind(_)
            | Self::OwnerUnknown
            | Self::Recreate
            | Self::UnknownStrategy(_)
            | Self::NoSurge
            | Self::UnknownSurge
            | Self::Paused
            | Self::LastingClaim(_)
            | Self::AlreadyRestarted
            | Self::BudgetsUnread
            | Self::BudgetUnknown(_)
            | Self::BudgetShared(_)
            | Self::BudgetViolated(..) => false,
        }
    }

    /// Whether it keeps a drain from restarting that lets pods leave by these means.
    #[must_use]
    pub fn applies(&self, means: Means) -> bool {
        match means {
            Means::Restart => !self.is_preference(),
            Means::Auto | Means::Eviction | Means::Taint => true,
        }
    }

    /// In words, about the owner.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::NoController => "no controller".to_owned(),
            Self::OtherKind(kind) => format!("controlled by {kind}"),
            Self::OwnerUnknown => "the Deployment could not be read or is gone".to_owned(),
            Self::Recreate => "strategy Recreate removes old pods first".to_owned(),
            Self::UnknownStrategy(strategy) => format!("strategy {strategy} is unknown"),
            Self::NoSurge => "maxSurge is 0".to_owned(),
            Self::UnknownSurge => "maxSurge or maxUnavailable cannot be parsed".to_owned(),
            Self::Paused => "the Deployment is paused".to_owned(),
            Self::LastingClaim(claim) => format!("new pods would use claim {claim} too"),
            Self::AlreadyRestarted => "the Deployment was already restarted".to_owned(),
            Self::BudgetsUnread => "PodDisruptionBudgets could not be read".to_owned(),
            Self::BudgetUnknown(budget) => {
                format!("it is unknown whether PodDisruptionBudget {budget} allows the restart")
            }
            Self::BudgetShared(budget) => {
                format!("PodDisruptionBudget {budget} also covers other pods")
            }
            Self::BudgetViolated(budget, unavailable) => {
                format!(
                    "PodDisruptionBudget {budget} does not allow the Deployment's maxUnavailable of {unavailable}"
                )
            }
            Self::Unplaceable => "other devices may not be available".to_owned(),
            Self::Unsettled => "pods are unavailable or a rollout is in progress".to_owned(),
        }
    }
}

impl RestartState {
    /// Its kind, namespace and name.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{} {}", Kind::Deployment, self.owner)
    }

    /// How far its restart is, in words; nothing where none is going on.
    #[must_use]
    pub fn ongoing(&self) -> Option<String> {
        match self.progress {
            RestartProgress::Ongoing {
                updated,
                available,
                old,
            } => {
                let rest = match old {
                    0 => String::new(),
                    old => format!(", {} left", counted(old, "old pod")),
                };
                Some(format!(
                    "{}: restarted, {updated} of {} pods updated, {available} available{rest}",
                    self.describe(),
                    self.replicas
                ))
            }
            RestartProgress::NotBegun | RestartProgress::Complete => None,
        }
    }
}

/// Since when all of `rules` are there; absent where there are none, or the server does not say. A Deployment that is
/// restarted later has no new pod on their devices.
#[must_use]
pub fn tainted_since(rules: &[DeviceTaintRule]) -> Option<Timestamp> {
    let created: Option<Vec<Timestamp>> = rules.iter().map(|rule| rule.metadata.created).collect();
    created?.into_iter().max()
}

/// The Deployments at the top of `pods`, by the UID of their workloads, with what may keep them from being restarted.
/// A restart counts as one of the drain where it was made `since` its taints.
#[must_use]
pub fn restart_states(
    pods: &[Pod],
    reading: &Reading,
    since: Option<Timestamp>,
) -> BTreeMap<Uid, RestartState> {
    let owners = Owners::new(reading);
    let mut by_owner: BTreeMap<&Uid, (&Workload, Vec<&Pod>)> = BTreeMap::new();
    for pod in pods {
        // Only the topmost owner decides: one above the Deployment may take a change of its template back.
        if let Ok(deployment) = deployment_of(pod, &owners) {
            let entry = by_owner.entry(&deployment.uid);
            entry.or_insert((deployment, Vec::new())).1.push(pod);
        }
    }
    let states = by_owner.into_iter().filter_map(|(uid, (workload, pods))| {
        Some((uid.clone(), state(workload, &pods, reading, since)?))
    });
    states.collect()
}

/// The Deployment at the top of the pod's owners.
///
/// # Errors
///
/// Why it is none.
pub(super) fn deployment_of<'a>(
    pod: &'a Pod,
    owners: &Owners<'a>,
) -> Result<&'a Workload, RestartBlocker> {
    let top = owners.top(pod).ok_or(RestartBlocker::NoController)?;
    match top.workload {
        Some((Kind::Deployment, workload)) if workload.rollout.is_some() => Ok(workload),
        Some((Kind::Deployment, _)) => Err(RestartBlocker::OwnerUnknown),
        // A Deployment that is gone or unread has no rollout to look at; its kind alone is no reason to
        // restart it.
        None if top.gap.is_some() || &*top.owner.kind == Kind::Deployment.as_str() => {
            Err(RestartBlocker::OwnerUnknown)
        }
        Some(_) | None => Err(RestartBlocker::OtherKind(top.owner.kind.to_string())),
    }
}

fn state(
    workload: &Workload,
    pods: &[&Pod],
    reading: &Reading,
    since: Option<Timestamp>,
) -> Option<RestartState> {
    let (rollout, replicas) = (workload.rollout.as_ref()?, workload.replicas?);
    let is_later = |at: Timestamp| since.is_some_and(|since| at >= since);
    let is_complete = rollout.is_complete(replicas);
    let progress = match rollout.restarted {
        Some(at) if is_later(at) && is_complete => RestartProgress::Complete,
        Some(at) if is_later(at) => RestartProgress::Ongoing {
            updated: rollout.updated,
            available: rollout.available,
            old: usize::try_from(rollout.total.saturating_sub(rollout.updated)).unwrap_or(0),
        },
        Some(_) | None => RestartProgress::NotBegun,
    };
    let blocker = max_unavailable(rollout, replicas)
        .and_then(|unavailable| {
            // Budgets come first: a rollout that they do not allow stays forbidden once it has settled.
            allowed_by_budgets(pods, reading, replicas, unavailable)?;
            if is_complete {
                Ok(())
            } else {
                Err(RestartBlocker::Unsettled)
            }
        })
        .err();
    Some(RestartState {
        owner: workload.name.clone(),
        resource_version: rollout.resource_version.clone(),
        replicas,
        blocker,
        progress,
    })
}

/// How many pods the rollout of a Deployment that wants `replicas` may take away before new ones are available.
///
/// # Errors
///
/// Why it does not bring new pods up first.
///
/// Upstream: `ResolveFenceposts` in `pkg/controller/deployment/util/deployment_util.go`, and `defaultObjectRestarter`
/// of kubectl, which refuses what is paused.
fn max_unavailable(rollout: &Rollout, replicas: i32) -> Result<i32, RestartBlocker> {
    if rollout.is_paused {
        return Err(RestartBlocker::Paused);
    }
    let (max_surge, max_unavailable) = match &rollout.strategy {
        RolloutStrategy::Recreate => return Err(RestartBlocker::Recreate),
        RolloutStrategy::Unknown(strategy) => {
            return Err(RestartBlocker::UnknownStrategy(strategy.clone()));
        }
        RolloutStrategy::RollingUpdate {
            max_surge,
            max_unavailable,
        } => (max_surge, max_unavailable),
    };
    let surge = max_surge.rounded_up(replicas);
    let unavailable = max_unavailable.rounded_down(replicas);
    match (surge, unavailable) {
        (Some(surge), Some(_)) if surge < 1 => Err(RestartBlocker::NoSurge),
        (Some(_), Some(unavailable)) => Ok(unavailable),
        (None, _) | (_, None) => Err(RestartBlocker::UnknownSurge),
    }
}

/// Whether every budget of the pods still has enough ready ones while a rollout of `replicas` has taken `unavailable`
/// away.
fn allowed_by_budgets(
    pods: &[&Pod],
    reading: &Reading,
    replicas: i32,
    unavailable: i32,
) -> Result<(), RestartBlocker> {
    if !reading.known.contains(&Kind::PodDisruptionBudget) {
        return Err(RestartBlocker::BudgetsUnread);
    }
    for budget in &reading.snapshot.budgets {
        let covers: Vec<Option<bool>> = pods.iter().map(|pod| budget.covers(pod)).collect();
        if covers.contains(&None) {
            return Err(RestartBlocker::BudgetUnknown(budget.name.clone()));
        }
        if covers.contains(&Some(true)) {
            allowed_by(budget, replicas, unavailable)?;
        }
    }
    Ok(())
}

fn allowed_by(
    budget: &PodDisruptionBudget,
    replicas: i32,
    unavailable: i32,
) -> Result<(), RestartBlocker> {
    let status = &budget.status;
    if !budget.is_counted() || status.failure.is_some() {
        return Err(RestartBlocker::BudgetUnknown(budget.name.clone()));
    }
    // While a rollout surges, the budget allows evictions of other pods by as much, and it would be violated when the
    // rollout takes its old pods away.
    if status.expected_pods > replicas {
        return Err(RestartBlocker::BudgetShared(budget.name.clone()));
    }
    // Pods beyond those that are wanted go again.
    let healthy = status.current_healthy.min(replicas);
    let is_enough = healthy.saturating_sub(unavailable) >= status.desired_healthy;
    // A rollout that takes away no ready pod violates no budget, also one that is violated already.
    if unavailable > 0 && !is_enough {
        let budget = budget.name.clone();
        return Err(RestartBlocker::BudgetViolated(budget, unavailable));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, budget, owned, rolling};
    use crate::model::{Amount, Gap, LabelOperator, LabelRequirement, LabelSelector};
    use crate::report::testing::{controller, name, now};

    fn web() -> Cluster {
        let mut cluster = Cluster::default();
        cluster.deployment("web", 4);
        cluster
    }

    fn pod() -> Pod {
        owned("web-1", Some(("ReplicaSet", "web-6d")))
    }

    fn found(cluster: &Cluster) -> RestartState {
        let states = restart_states(&[pod()], &cluster.reading, Some(now()));
        let mut states = states.into_iter();
        let (uid, state) = states.next().expect("a Deployment");
        assert_eq!((uid, states.next()), (Uid::from("uid-of-web"), None));
        state
    }

    fn blocker(change: impl FnOnce(&mut Rollout)) -> Option<RestartBlocker> {
        let mut cluster = web();
        cluster.roll(change);
        found(&cluster).blocker
    }

    fn part(text: &str) -> Amount {
        Amount::Part(text.to_owned())
    }

    #[test]
    fn a_deployment_that_brings_new_pods_up_first_can_be_restarted() {
        let state = found(&web());
        assert_eq!(state.blocker, None);
        assert_eq!(state.progress, RestartProgress::NotBegun);
        assert_eq!(state.describe(), "Deployment team-a/web");
        assert_eq!((state.replicas, state.resource_version.as_str()), (4, "7"));
        for (strategy, expected) in [
            (RolloutStrategy::Recreate, Some(RestartBlocker::Recreate)),
            (
                RolloutStrategy::Unknown("Canary".to_owned()),
                Some(RestartBlocker::UnknownStrategy("Canary".to_owned())),
            ),
            (
                rolling(Amount::Pods(0), Amount::Pods(1)),
                Some(RestartBlocker::NoSurge),
            ),
            (
                rolling(part("0%"), part("25%")),
                Some(RestartBlocker::NoSurge),
            ),
            (rolling(part("1%"), Amount::Pods(0)), None),
            (
                rolling(part("some"), Amount::Pods(0)),
                Some(RestartBlocker::UnknownSurge),
            ),
            (
                rolling(Amount::Pods(1), part("some")),
                Some(RestartBlocker::UnknownSurge),
            ),
        ] {
            let found = blocker(|rollout| rollout.strategy = strategy.clone());
            assert_eq!(found, expected, "{strategy:?}");
        }
        assert_eq!(
            blocker(|rollout| rollout.is_paused = true),
            Some(RestartBlocker::Paused)
        );
        assert_eq!(
            blocker(|rollout| rollout.available = 3),
            Some(RestartBlocker::Unsettled)
        );
    }

    #[test]
    fn a_rollout_takes_no_pod_away_that_a_budget_needs() {
        let name = || name("team-a", "budget");
        let violated = |pods| Some(RestartBlocker::BudgetViolated(name(), pods));
        let shared = Some(RestartBlocker::BudgetShared(name()));
        for (unavailable, needed, ready, expected_pods, expected) in [
            (Amount::Pods(1), 3, 4, 4, None),
            (Amount::Pods(1), 4, 4, 4, violated(1)),
            (Amount::Pods(2), 3, 4, 4, violated(2)),
            // Rounded down to none, or to one.
            (part("24%"), 4, 4, 4, None),
            (part("25%"), 4, 4, 4, violated(1)),
            (part("25%"), 3, 4, 4, None),
            // What never lacks a pod violates nothing, and what is beyond the wanted pods goes again.
            (Amount::Pods(0), 5, 4, 4, None),
            (Amount::Pods(1), 4, 5, 4, violated(1)),
            (Amount::Pods(0), 3, 5, 5, shared),
        ] {
            let mut cluster = web();
            cluster.roll(|it| it.strategy = rolling(Amount::Pods(1), unavailable.clone()));
            let budget = budget(needed, ready, expected_pods);
            cluster.reading.snapshot.budgets = vec![budget];
            assert_eq!(
                found(&cluster).blocker,
                expected,
                "{unavailable:?} of {ready} of which {needed} are needed"
            );
        }
    }

    #[test]
    fn what_is_not_known_of_budgets_keeps_a_deployment_from_being_restarted() {
        let unknown = Some(RestartBlocker::BudgetUnknown(name("team-a", "budget")));
        let with = |change: fn(&mut PodDisruptionBudget)| {
            let mut cluster = web();
            let mut budget = budget(3, 4, 4);
            change(&mut budget);
            cluster.reading.snapshot.budgets = vec![budget];
            found(&cluster).blocker
        };
        assert_eq!(with(|_| {}), None);
        assert_eq!(with(|budget| budget.generation = 2), unknown);
        let failed = with(|budget| budget.status.failure = Some("x".to_owned()));
        assert_eq!(failed, unknown);
        let odd = with(|budget| {
            budget.selector = Some(LabelSelector {
                expressions: vec![LabelRequirement {
                    key: "app".to_owned(),
                    operator: LabelOperator::Unknown("Sounds".to_owned()),
                    values: Vec::new(),
                }],
                ..LabelSelector::default()
            });
        });
        assert_eq!(odd, unknown);
        // One that covers other pods only says nothing.
        let other = |budget: &mut PodDisruptionBudget| {
            budget.generation = 2;
            budget.name = name("team-b", "budget");
        };
        assert_eq!(with(other), None);
        let mut unread = web();
        let known = &mut unread.reading.known;
        known.remove(&Kind::PodDisruptionBudget);
        assert_eq!(found(&unread).blocker, Some(RestartBlocker::BudgetsUnread));
    }

    #[test]
    fn a_restart_since_the_taints_counts_as_one_of_the_drain() {
        let before = now() - jiff::SignedDuration::from_secs(1);
        let after = now() + jiff::SignedDuration::from_secs(1);
        let ongoing = RestartProgress::Ongoing {
            updated: 2,
            available: 4,
            old: 2,
        };
        for (restarted, updated, expected) in [
            (None, 2, RestartProgress::NotBegun),
            (Some(before), 2, RestartProgress::NotBegun),
            (Some(now()), 2, ongoing),
            (Some(after), 2, ongoing),
            (Some(after), 4, RestartProgress::Complete),
        ] {
            let mut cluster = web();
            cluster.roll(|rollout| (rollout.restarted, rollout.updated) = (restarted, updated));
            let state = found(&cluster);
            assert_eq!(state.progress, expected, "{restarted:?}");
            let line = "Deployment team-a/web: restarted, 2 of 4 pods updated, 4 available, 2 old pods left";
            let line = (expected == ongoing).then(|| line.to_owned());
            assert_eq!(state.ongoing(), line);
        }
        let mut cluster = web();
        cluster.roll(|rollout| rollout.restarted = Some(after));
        let states = restart_states(&[pod()], &cluster.reading, None);
        let state = &states[&Uid::from("uid-of-web")];
        assert_eq!(state.progress, RestartProgress::NotBegun, "no taints yet");
    }

    #[test]
    fn the_taints_are_there_since_the_last_rule_and_unknown_where_one_does_not_say() {
        let rule = |seconds: Option<i64>| {
            let mut rule = crate::decide::testing::named("a", "NoSchedule");
            rule.metadata.created =
                seconds.map(|seconds| now() + jiff::SignedDuration::from_secs(seconds));
            rule
        };
        let later = now() + jiff::SignedDuration::from_secs(5);
        assert_eq!(tainted_since(&[rule(Some(5)), rule(Some(0))]), Some(later));
        assert_eq!(tainted_since(&[rule(Some(5)), rule(None)]), None);
        assert_eq!(tainted_since(&[]), None);
    }

    #[test]
    fn only_a_deployment_at_the_top_can_be_restarted_so() {
        let mut cluster = web();
        cluster.replica_set("alone", 2, 2);
        cluster.stateful_set("db", 2, 2);
        let why = |owner, cluster: &Cluster| {
            let pod = owned("x", owner);
            let owners = Owners::new(&cluster.reading);
            let found = deployment_of(&pod, &owners);
            found.map(|it| it.name.to_string())
        };
        let other = |kind: &str| Err(RestartBlocker::OtherKind(kind.to_owned()));
        for (owner, expected) in [
            (Some(("ReplicaSet", "web-6d")), Ok("team-a/web".to_owned())),
            (Some(("ReplicaSet", "alone")), other("ReplicaSet")),
            (Some(("StatefulSet", "db")), other("StatefulSet")),
            (Some(("Job", "train")), other("Job")),
            (
                Some(("Deployment", "gone")),
                Err(RestartBlocker::OwnerUnknown),
            ),
            (None, Err(RestartBlocker::NoController)),
        ] {
            assert_eq!(why(owner, &cluster), expected, "{owner:?}");
        }
        let states = restart_states(
            &[owned("x", Some(("StatefulSet", "db")))],
            &cluster.reading,
            None,
        );
        assert!(states.is_empty());
        // What is above it may take the change back.
        let above = &mut cluster.reading.snapshot.deployments[0].0.controller;
        *above = Some(controller("Model", "llm"));
        let web = Some(("ReplicaSet", "web-6d"));
        assert_eq!(why(web, &cluster), other("Model"));
        let mut unread = web_without_deployments();
        assert_eq!(why(web, &unread), Err(RestartBlocker::OwnerUnknown));
        unread.reading.gaps = vec![Gap::of(Kind::Deployment, "denied")];
        assert_eq!(why(web, &unread), Err(RestartBlocker::OwnerUnknown));
        let mut named = super::tests::web();
        named.reading.snapshot.deployments[0].0.rollout = None;
        assert_eq!(why(web, &named), Err(RestartBlocker::OwnerUnknown));
    }

    fn web_without_deployments() -> Cluster {
        let mut cluster = web();
        cluster.reading.snapshot.deployments.clear();
        cluster.reading.known.remove(&Kind::Deployment);
        cluster
    }

    #[test]
    fn who_asks_for_restarts_gets_them_unless_a_budget_or_the_deployment_rules_them_out() {
        for (blocker, is_preference) in [
            (RestartBlocker::Unplaceable, true),
            (RestartBlocker::Unsettled, true),
            (RestartBlocker::NoSurge, false),
            (RestartBlocker::BudgetsUnread, false),
            (RestartBlocker::AlreadyRestarted, false),
        ] {
            assert!(blocker.applies(Means::Auto), "{blocker:?}");
            assert_eq!(blocker.applies(Means::Restart), !is_preference);
        }
    }
}
