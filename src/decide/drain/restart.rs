//! Restarts of Deployments that bring new pods up before they remove old ones, and the progress of a restart.
//!
//! A restart replaces all pods of its Deployment, also those whose devices are not drained.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::engine::Impact;
use crate::engine::workloads::Owners;
use crate::model::{DeviceTaintRule, Kind, NamespacedName, Pod, Reading, Rollout, Uid, Workload};
use crate::naming::phrase::counted;

/// A Deployment that starts new pods before old ones stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartState {
    /// Its namespace and name.
    pub owner: NamespacedName,
    /// Which state of it this is; opaque.
    pub resource_version: String,
    /// How many pods it wants.
    pub replicas: i32,
    /// How far its restart is.
    pub progress: RestartProgress,
}

/// Progress of the restart of a Deployment that was made after the taints of a drain.
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

impl RestartState {
    /// Its kind, namespace and name.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{} {}", Kind::Deployment, self.owner)
    }

    /// Progress of its restart, in words; absent if none is going on.
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

/// The Deployments at the top of `pods` that start new pods first, by UID. A restart counts as one of the drain where it
/// was made `since` its taints.
#[must_use]
pub fn restart_states(
    pods: &[Pod],
    reading: &Reading,
    since: Option<Timestamp>,
) -> BTreeMap<Uid, RestartState> {
    let owners = Owners::new(reading);
    let deployments = pods.iter().filter_map(|pod| deployment_of(pod, &owners));
    deployments
        .filter_map(|workload| Some((workload.uid.clone(), state(workload, since)?)))
        .collect()
}

/// The Deployment at the top of the pod's owners. Only the topmost owner decides: one above the Deployment may take a
/// change of its template back.
fn deployment_of<'a>(pod: &'a Pod, owners: &Owners<'a>) -> Option<&'a Workload> {
    match owners.top(pod)?.workload {
        Some((Kind::Deployment, workload)) => Some(workload),
        Some(_) | None => None,
    }
}

fn state(workload: &Workload, since: Option<Timestamp>) -> Option<RestartState> {
    let (rollout, replicas) = (workload.rollout.as_ref()?, workload.replicas?);
    if !surges(rollout, replicas) {
        return None;
    }
    let is_later = |at: Timestamp| since.is_some_and(|since| at >= since);
    let progress = match rollout.restarted {
        Some(at) if is_later(at) && rollout.is_complete(replicas) => RestartProgress::Complete,
        Some(at) if is_later(at) => RestartProgress::Ongoing {
            updated: rollout.updated,
            available: rollout.available,
            old: usize::try_from(rollout.total.saturating_sub(rollout.updated)).unwrap_or(0),
        },
        Some(_) | None => RestartProgress::NotBegun,
    };
    Some(RestartState {
        owner: workload.name.clone(),
        resource_version: rollout.resource_version.clone(),
        replicas,
        progress,
    })
}

/// Whether the rollout of a Deployment that wants `replicas` starts new pods before old ones stop.
///
/// Upstream: `ResolveFenceposts` in `pkg/controller/deployment/util/deployment_util.go`, and `defaultObjectRestarter`
/// of kubectl, which refuses what is paused.
fn surges(rollout: &Rollout, replicas: i32) -> bool {
    let surge = rollout.max_surge.as_ref();
    let surge = surge.and_then(|surge| surge.rounded_up(replicas));
    !rollout.is_paused && surge.is_some_and(|surge| surge > 0)
}

/// Owners that a drain is going to restart.
#[derive(Clone, Debug, Default)]
pub struct RestartPlan {
    /// The owners by UID.
    pub owners: BTreeMap<Uid, PlannedRestart>,
}

/// An owner that is going to be restarted.
#[derive(Clone, Debug)]
pub struct PlannedRestart {
    /// How it is now.
    pub state: RestartState,
    /// Its pods that have to leave.
    pub pods: BTreeSet<Uid>,
}

impl RestartPlan {
    /// The owners of the pods of `impact`, which leave, that were not restarted since the `rules` of the drain were made.
    #[must_use]
    pub fn of(impact: &Impact<'_>, reading: &Reading, rules: &[DeviceTaintRule]) -> Self {
        let restarts = restarting(impact, reading, rules);
        let owners = restarts
            .into_iter()
            .filter(|(_, restart)| restart.state.progress == RestartProgress::NotBegun);
        Self {
            owners: owners.collect(),
        }
    }

    /// How many pods the restarts replace, on these devices and on others.
    #[must_use]
    pub fn replaced(&self) -> usize {
        let owners = self.owners.values();
        owners.map(PlannedRestart::replicas).sum()
    }

    /// Whether the pod leaves by a restart.
    #[must_use]
    pub fn restarts(&self, pod: &Uid) -> bool {
        let mut owners = self.owners.values();
        owners.any(|restart| restart.pods.contains(pod))
    }

    /// A line for each owner that is going to be restarted.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let owners = self.owners.values();
        let mut lines: Vec<String> = owners.map(PlannedRestart::line).collect();
        lines.sort();
        lines
    }
}

impl PlannedRestart {
    fn replicas(&self) -> usize {
        usize::try_from(self.state.replicas).unwrap_or_default()
    }

    fn line(&self) -> String {
        let replicas = self.replicas();
        let others = match replicas.saturating_sub(self.pods.len()) {
            0 => String::new(),
            elsewhere => format!(", {elsewhere} of them on other devices"),
        };
        format!(
            "restarts {} ({}{others})",
            self.state.describe(),
            counted(replicas, "pod")
        )
    }
}

/// The Deployments at the top of the pods of `impact`, by UID.
fn restarting(
    impact: &Impact<'_>,
    reading: &Reading,
    rules: &[DeviceTaintRule],
) -> BTreeMap<Uid, PlannedRestart> {
    let owners = Owners::new(reading);
    let since = tainted_since(rules);
    let mut found: BTreeMap<Uid, PlannedRestart> = BTreeMap::new();
    for pod in impact.pods.iter().map(|impact| impact.pod) {
        if let Some(deployment) = deployment_of(pod, &owners)
            && let Some(state) = state(deployment, since)
        {
            let restart = found.entry(deployment.uid.clone());
            let restart = restart.or_insert(PlannedRestart {
                state,
                pods: BTreeSet::new(),
            });
            restart.pods.insert(pod.uid.clone());
        }
    }
    found
}

/// `impact` without the pods that need no other device: a restart since the `rules` were made is bringing up their
/// replacements, which have devices or wait for them already. Of the pods of such an owner, as many as are not updated yet
/// still need one.
#[must_use]
pub fn still_to_place<'a>(
    impact: &Impact<'a>,
    reading: &Reading,
    rules: &[DeviceTaintRule],
) -> Impact<'a> {
    let restarts = restarting(impact, reading, rules).into_values();
    let replaced = restarts.flat_map(|PlannedRestart { state, pods }| {
        let missing = match state.progress {
            RestartProgress::Ongoing { updated, .. } => {
                usize::try_from(state.replicas.saturating_sub(updated)).unwrap_or_default()
            }
            RestartProgress::NotBegun | RestartProgress::Complete => pods.len(),
        };
        let surplus = pods.len().saturating_sub(missing);
        // Which of them is arbitrary: what counts is how many still need devices.
        pods.into_iter().take(surplus)
    });
    let replaced: BTreeSet<Uid> = replaced.collect();
    let pods = impact.pods.iter();
    let pods = pods.filter(|pod| !replaced.contains(&pod.pod.uid));
    Impact {
        pods: pods.cloned().collect(),
        ..impact.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, owned};
    use crate::engine::Verdict;
    use crate::model::Amount;
    use crate::report::testing::{controller, impact, now, with_verdict};

    fn web() -> Cluster {
        let mut cluster = Cluster::default();
        cluster.deployment("web", 4);
        cluster
    }

    fn pod() -> Pod {
        owned("web-1", Some(("ReplicaSet", "web-6d")))
    }

    fn found(cluster: &Cluster) -> Option<RestartState> {
        let mut states = restart_states(&[pod()], &cluster.reading, Some(now()));
        states.remove(&Uid::from("uid-of-web"))
    }

    fn rule(seconds: i64) -> DeviceTaintRule {
        let mut rule = crate::decide::testing::named("a", "NoSchedule");
        rule.metadata.created = Some(now() + jiff::SignedDuration::from_secs(seconds));
        rule
    }

    /// What `read` gives of two of the four pods of a Deployment and one of a StatefulSet.
    fn of_pods<T>(read: impl FnOnce(&Impact<'_>) -> T) -> T {
        let web = Some(("ReplicaSet", "web-6d"));
        let db = Some(("StatefulSet", "db"));
        let pods = [owned("web-1", web), owned("web-2", web), owned("db-0", db)];
        let impacts = pods.iter();
        let impacts = impacts.map(|pod| with_verdict(pod, Verdict::Evicted { at: now() }));
        read(&impact(impacts.collect()))
    }

    #[test]
    fn a_deployment_that_brings_new_pods_up_first_can_be_restarted() {
        let state = found(&web()).expect("a Deployment");
        assert_eq!(state.progress, RestartProgress::NotBegun);
        assert_eq!((state.replicas, state.resource_version.as_str()), (4, "7"));
        let part = |text: &str| Amount::Part(text.to_owned());
        let can_restart = |change: &dyn Fn(&mut Rollout)| {
            let mut cluster = web();
            cluster.roll(|rollout| change(rollout));
            found(&cluster).is_some()
        };
        for (max_surge, expected) in [
            (None, false),
            (Some(Amount::Pods(0)), false),
            (Some(part("0%")), false),
            (Some(part("some")), false),
            (Some(part("1%")), true),
        ] {
            let found = can_restart(&|rollout| rollout.max_surge.clone_from(&max_surge));
            assert_eq!(found, expected, "{max_surge:?}");
        }
        assert!(!can_restart(&|rollout| rollout.is_paused = true));
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
            let state = found(&cluster).expect("a Deployment");
            assert_eq!(state.progress, expected, "{restarted:?}");
            assert_eq!(state.ongoing().is_some(), expected == ongoing);
        }
        let mut cluster = web();
        cluster.roll(|rollout| rollout.restarted = Some(after));
        let states = restart_states(&[pod()], &cluster.reading, None);
        let state = &states[&Uid::from("uid-of-web")];
        assert_eq!(state.progress, RestartProgress::NotBegun, "no taints yet");
    }

    #[test]
    fn the_taints_are_there_since_the_last_rule_and_unknown_where_one_does_not_say() {
        let mut silent = rule(0);
        silent.metadata.created = None;
        let later = now() + jiff::SignedDuration::from_secs(5);
        assert_eq!(tainted_since(&[rule(5), rule(0)]), Some(later));
        assert_eq!(tainted_since(&[rule(5), silent]), None);
        assert_eq!(tainted_since(&[]), None);
    }

    #[test]
    fn only_a_deployment_at_the_top_can_be_restarted() {
        let mut cluster = web();
        cluster.replica_set("alone", 2, 2);
        cluster.stateful_set("db", 2, 2);
        let can_restart = |owner, cluster: &Cluster| {
            let pods = [owned("x", owner)];
            !restart_states(&pods, &cluster.reading, None).is_empty()
        };
        let web = Some(("ReplicaSet", "web-6d"));
        assert!(can_restart(web, &cluster));
        for owner in [
            Some(("ReplicaSet", "alone")),
            Some(("StatefulSet", "db")),
            Some(("Job", "train")),
            Some(("Deployment", "gone")),
            None,
        ] {
            assert!(!can_restart(owner, &cluster), "{owner:?}");
        }
        let above = &mut cluster.reading.snapshot.deployments[0].0.controller;
        *above = Some(controller("Model", "llm"));
        assert!(!can_restart(web, &cluster), "its owner may take it back");
        let mut unread = self::web();
        unread.reading.snapshot.deployments.clear();
        unread.reading.known.remove(&Kind::Deployment);
        assert!(!can_restart(web, &unread));
    }

    #[test]
    fn owners_are_restarted_once_and_named_with_all_their_pods() {
        let mut cluster = web();
        cluster.stateful_set("db", 2, 2);
        let plan = |cluster: &Cluster| {
            let rules = [rule(0)];
            of_pods(|impact| RestartPlan::of(impact, &cluster.reading, &rules))
        };
        let found = plan(&cluster);
        assert_eq!(
            found.lines(),
            ["restarts Deployment team-a/web (4 pods, 2 of them on other devices)"]
        );
        assert_eq!(found.replaced(), 4);
        cluster.roll(|rollout| rollout.restarted = Some(now()));
        assert!(plan(&cluster).owners.is_empty(), "it was restarted");
    }

    #[test]
    fn pods_whose_replacements_were_made_by_an_earlier_run_need_no_other_device() {
        for (updated, since, expected) in [(0, 0, 3), (2, 0, 3), (3, 0, 2), (4, 0, 1), (3, 9, 3)] {
            let mut cluster = web();
            cluster.roll(|rollout| {
                rollout.restarted = Some(now());
                (rollout.total, rollout.updated) = (5, updated);
            });
            let rest = of_pods(|impact| {
                let rest = still_to_place(impact, &cluster.reading, &[rule(since)]);
                rest.pods.len()
            });
            assert_eq!(rest, expected, "{updated} since {since}");
        }
    }
}
