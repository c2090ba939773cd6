//! Restarts of Deployments that bring new pods up before they remove old ones.
//!
//! A restart replaces all pods of its Deployment, also those whose devices are not drained.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::engine::workloads::Owners;
use crate::model::{DeviceTaintRule, Kind, NamespacedName, Pod, Reading, Rollout, Uid, Workload};
use crate::naming::phrase::counted;

/// A Deployment that starts new pods before old ones stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartState {
    /// Its namespace and name.
    pub owner: NamespacedName,
    /// Opaque version of the object.
    pub resource_version: String,
    /// Desired pods.
    pub replicas: i32,
    /// Its pods on the devices.
    pub pods: BTreeSet<Uid>,
    /// Progress of its restart.
    pub progress: RestartProgress,
}

/// Progress of the restart of a Deployment that was made after the taints of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartProgress {
    /// It was not restarted since.
    NotBegun,
    /// Pods are being replaced.
    Ongoing,
    /// All pods are new and available.
    Complete,
}

impl RestartState {
    /// Its kind, namespace and name.
    pub fn describe(&self) -> String {
        format!("{} {}", Kind::Deployment, self.owner)
    }

    /// The Deployment with its pods here and elsewhere, for the question.
    pub fn line(&self) -> String {
        let replicas = usize::try_from(self.replicas).unwrap_or_default();
        let others = match replicas.saturating_sub(self.pods.len()) {
            0 => String::new(),
            elsewhere => format!(", {elsewhere} of them on other devices"),
        };
        format!(
            "restart {} ({}{others})",
            self.describe(),
            counted(replicas, "pod")
        )
    }
}

/// Time at which the last of `rules` was created; absent if the server does not say. A Deployment that is restarted later
/// has no new pod on their devices.
pub fn tainted_since(rules: &[DeviceTaintRule]) -> Option<Timestamp> {
    let created: Option<Vec<Timestamp>> = rules.iter().map(|rule| rule.metadata.created).collect();
    created?.into_iter().max()
}

/// The Deployments at the top of `pods` that start new pods first, by UID. A restart counts as one of the drain if it was
/// made `since` its taints.
pub fn restart_states<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    reading: &'a Reading,
    since: Option<Timestamp>,
) -> BTreeMap<Uid, RestartState> {
    let owners = Owners::new(reading);
    let mut states: BTreeMap<Uid, RestartState> = BTreeMap::new();
    for pod in pods {
        // Only the topmost owner decides: one above a Deployment may take a change of its template back.
        if let Some((Kind::Deployment, workload)) = owners.top(pod).and_then(|top| top.workload)
            && let Some(state) = state(workload, since)
        {
            let state = states.entry(workload.uid.clone()).or_insert(state);
            state.pods.insert(pod.uid.clone());
        }
    }
    states
}

fn state(workload: &Workload, since: Option<Timestamp>) -> Option<RestartState> {
    let (rollout, replicas) = (workload.rollout.as_ref()?, workload.replicas?);
    if !surges(rollout, replicas) {
        return None;
    }
    let is_ours = rollout
        .restarted
        .is_some_and(|at| since.is_some_and(|since| at >= since));
    Some(RestartState {
        owner: workload.name.clone(),
        resource_version: rollout.resource_version.clone(),
        replicas,
        pods: BTreeSet::new(),
        progress: match (is_ours, rollout.is_complete(replicas)) {
            (false, _) => RestartProgress::NotBegun,
            (true, false) => RestartProgress::Ongoing,
            (true, true) => RestartProgress::Complete,
        },
    })
}

/// True if the rollout of a Deployment that wants `replicas` starts new pods before old ones stop.
///
/// Upstream: `ResolveFenceposts` in `pkg/controller/deployment/util/deployment_util.go`, and `defaultObjectRestarter`
/// of kubectl, which refuses what is paused.
fn surges(rollout: &Rollout, replicas: i32) -> bool {
    let surge = rollout.max_surge.as_ref();
    let surge = surge.and_then(|surge| surge.rounded_up(replicas));
    !rollout.is_paused && surge.is_some_and(|surge| surge > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, owned};
    use crate::engine::testing::{after, now};
    use crate::model::Amount;

    fn states(change: impl FnOnce(&mut Rollout)) -> BTreeMap<Uid, RestartState> {
        let mut cluster = Cluster::default();
        cluster.deployment("web", 4);
        cluster.roll(change);
        let pods = ["web-1", "web-2"].map(|name| owned(name, Some(("ReplicaSet", "web-6d"))));
        restart_states(&pods, &cluster.reading, Some(now()))
    }

    #[test]
    fn only_a_deployment_that_starts_new_pods_first_can_be_restarted() {
        let found = states(|_| {}).into_values().next().expect("a Deployment");
        assert_eq!((found.pods.len(), found.replicas), (2, 4));
        assert_eq!(found.progress, RestartProgress::NotBegun);
        assert!(states(|rollout| rollout.is_paused = true).is_empty());
        assert!(states(|rollout| rollout.max_surge = None).is_empty());
        assert!(states(|rollout| rollout.max_surge = Some(Amount::Pods(0))).is_empty());
    }

    #[test]
    fn a_restart_after_the_taints_is_that_of_the_drain() {
        let progress = |change: &dyn Fn(&mut Rollout)| {
            let found = states(|rollout| change(rollout)).into_values().next();
            found.expect("a Deployment").progress
        };
        let before = |rollout: &mut Rollout| rollout.restarted = Some(after(-60));
        assert_eq!(progress(&before), RestartProgress::NotBegun);
        let complete = |rollout: &mut Rollout| rollout.restarted = Some(now());
        assert_eq!(progress(&complete), RestartProgress::Complete);
        let ongoing = |rollout: &mut Rollout| {
            rollout.restarted = Some(after(5));
            rollout.updated = 1;
        };
        assert_eq!(progress(&ongoing), RestartProgress::Ongoing);
    }
}
