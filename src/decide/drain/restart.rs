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
            Self::OtherKind(kind) => format!("controlled by a {kind}"),
            Self::OwnerUnknown => "the Deployment could not be read or is gone".to_owned(),
            Self::Recreate => "strategy Recreate removes old pods first".to_owned(),
            Self::UnknownStrategy(strategy) => format!("strategy {strategy} is unknown"),
            Self::NoSurge => "maxSurge is 0".to_owned(),
            Self::UnknownSurge => "maxSurge or maxUnavailable is not understood".to_owned(),
            Self::Paused => "the Deployment is paused".to_owned(),
            Self::LastingClaim(claim) => format!("new pods would use claim {claim} too"),
            Self::AlreadyRestarted => "the Deployment was already restarted".to_owned(),
            Self::BudgetsUnread => "PodDisruptionBudgets could not be read".to_owned(),
            Self::BudgetUnknown(budget) => {
                format!("what PodDisruptionBudget {budget} allows is unknown")
            }
            Self::BudgetShared(budget) => {
                format!("PodDisruptionBudget {budget} also covers other pods")
            }
            Self::BudgetViolated(budget, unavailable) => {
                format!("PodDisruptionBudget {budget} does not allow maxUnavailable {unavailable}")
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
            RestartProgress::Ongoing { updated, available } => Some(format!(
                "{}: restarted, {updated} of {} pods updated, {available} available",
                self.describe(),
                self.replicas
            )),
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
        },
        Some(_) | None => RestartProgress::NotBegun,
    };
    let blocker = max_unavailable(rollout, replicas)
        .and_then(|unavailable| {
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
    if unavailable > 0 && !is_enough {
        let budget = budget.name.clone();
        return Err(RestartBlocker::BudgetViolated(budget, unavailable));
    }
    Ok(())
}
