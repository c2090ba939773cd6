//! Deployments of a simulated cluster: their rollouts, and what a drain sees of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{FAULTS_UNTIL, Simulation, State, key, second};
use crate::decide::drain::pod_class::PodClass;
use crate::decide::drain::restart::{RestartState, restart_states};
use crate::decide::drain::restart_run::RestartReply;
use crate::model::{Amount, Controller, Deployment, Pod, ReplicaSet, Rollout, Uid, Workload};
use crate::report::testing::{
    controller, name as name_of, pod as running, workload as workload_of,
};

#[derive(Clone, Debug)]
pub(super) struct SimulatedRollout {
    pub(super) surge: usize,
    unavailable: usize,
    /// The template of new pods.
    pub(super) revision: u64,
    observed: u64,
    restarted: Option<u64>,
    /// How often the drain has restarted it.
    pub(super) restarts: u64,
}

impl Simulation {
    /// Makes a Deployment of the workload.
    pub(super) fn deploy(&mut self, number: usize) {
        let surge = usize::try_from(self.random.below(3)).unwrap();
        let workload = &mut self.workloads[number];
        workload.class = PodClass::Replicated;
        workload.rollout = Some(SimulatedRollout {
            surge,
            // A rollout that takes ready pods away does not respect budgets.
            unavailable: usize::from(surge == 0),
            revision: 0,
            observed: 0,
            restarted: self.random.one_in(2).then_some(0),
            restarts: 0,
        });
        self.describe(number);
    }

    /// Writes down what does not change of the Deployment.
    fn describe(&mut self, number: usize) {
        let workload = &self.workloads[number];
        let namespace = format!("team-{number}");
        let set = controller("ReplicaSet", &format!("set-{number}"));
        let deployment = Controller {
            uid: key(number),
            ..controller("Deployment", &format!("web-{number}"))
        };
        let made = |name: &str| Workload {
            name: name_of(&namespace, name),
            ..workload_of(name, 0)
        };
        let pods = |count: usize| i32::try_from(count).unwrap();
        let snapshot = &mut self.reading.snapshot;
        snapshot.replica_sets.push(ReplicaSet(Workload {
            uid: set.uid.clone(),
            controller: Some(deployment.clone()),
            ..made(&set.name.to_string())
        }));
        snapshot.deployments.push(Deployment(Workload {
            uid: deployment.uid.clone(),
            replicas: Some(pods(workload.replicas)),
            ..made(&deployment.name.to_string())
        }));
        self.owned.push(Pod {
            controller: Some(set),
            ..running(&namespace, &format!("pod-{number}"))
        });
        self.deployed.push(number);
    }

    /// What a Deployment does with pods of an older template.
    ///
    /// Upstream: `reconcileOldReplicaSets` in `pkg/controller/deployment/rolling.go`.
    pub(super) fn remove_old(&mut self, number: usize) {
        let workload = self.workloads[number].clone();
        let Some(rollout) = workload.rollout else {
            return;
        };
        if let Some(rollout) = &mut self.workloads[number].rollout {
            rollout.observed = rollout.revision;
        }
        let alive = self.alive(number);
        let is_old = |place: &usize| self.pods[*place].revision != rollout.revision;
        let is_ready = |place: &usize| self.pods[*place].state == State::Ready;
        let (old, new): (Vec<usize>, Vec<usize>) = alive.iter().partition(|place| is_old(place));
        let new_unavailable = new.iter().filter(|place| !is_ready(place)).count();
        let needed = workload.replicas.saturating_sub(rollout.unavailable);
        let room = alive.len().saturating_sub(needed + new_unavailable);
        let (ready, unready): (Vec<usize>, Vec<usize>) =
            old.into_iter().partition(|place| is_ready(place));
        let spare = self.ready(number).saturating_sub(needed);
        let unready = unready.into_iter().take(room).collect::<Vec<_>>();
        let ready = ready.into_iter().take(if room == 0 { 0 } else { spare });
        for place in unready.into_iter().chain(ready) {
            self.delete(place);
        }
    }

    /// What the API server does with the patch of a Deployment.
    pub(super) fn restart(&mut self, owner: &Uid) -> RestartReply {
        let is_faulty = self.now < FAULTS_UNTIL;
        if is_faulty && self.random.one_in(10) {
            return if self.random.one_in(2) {
                RestartReply::Changed
            } else {
                RestartReply::Refused
            };
        }
        let is_lost = is_faulty && self.random.one_in(10);
        if !is_lost || self.random.one_in(2) {
            let now = self.now;
            let number = (0..self.workloads.len()).find(|number| key(*number) == *owner);
            let workload = &mut self.workloads[number.expect("a workload")];
            let rollout = workload.rollout.as_mut().expect("a Deployment");
            rollout.revision += 1;
            rollout.restarts += 1;
            rollout.restarted = Some(now);
        }
        if is_lost {
            RestartReply::Unknown
        } else {
            RestartReply::Accepted
        }
    }

    /// The Deployments, as their facts show them.
    pub(super) fn restarts(&mut self) -> BTreeMap<Uid, RestartState> {
        let deployed = self.deployed.clone();
        for (place, number) in deployed.into_iter().enumerate() {
            let ready = i32::try_from(self.ready(number)).unwrap();
            let rollout = self.rollout(number);
            let snapshot = &mut self.reading.snapshot;
            let deployment = &mut snapshot.deployments[place].0;
            (deployment.ready, deployment.rollout) = (Some(ready), Some(rollout));
        }
        let since = Some(second(self.tainted_at));
        restart_states(&self.owned, &self.reading, since)
    }

    fn rollout(&self, number: usize) -> Rollout {
        let rollout = self.workloads[number].rollout.as_ref().unwrap();
        let pods = |count: usize| i32::try_from(count).unwrap();
        let alive = self.alive(number);
        let is_new = |place: &&usize| self.pods[**place].revision == rollout.revision;
        Rollout {
            resource_version: String::new(),
            max_surge: Some(Amount::Pods(pods(rollout.surge))),
            is_paused: false,
            generation: i64::try_from(rollout.revision).unwrap(),
            observed_generation: i64::try_from(rollout.observed).unwrap(),
            total: pods(alive.len()),
            updated: pods(alive.iter().filter(is_new).count()),
            available: pods(self.ready(number)),
            restarted: rollout.restarted.map(second),
        }
    }

    /// The Deployments that a drain announces to restart: with enough devices, and sometimes without.
    pub(super) fn planned(&self, seed: u64) -> BTreeSet<Uid> {
        let drained = self.units * self.size;
        let used: Vec<usize> = self.pods.iter().filter_map(|pod| pod.device).collect();
        let leaving = used.iter().filter(|device| **device < drained).count();
        let spare = self.devices - drained - (used.len() - leaving);
        let deployments = self.workloads.iter().enumerate();
        let deployments = deployments.filter(|(_, workload)| workload.rollout.is_some());
        let are_placeable = spare > leaving || seed.is_multiple_of(3);
        deployments
            .filter(|_| are_placeable)
            .map(|(number, _)| key(number))
            .collect()
    }
}
