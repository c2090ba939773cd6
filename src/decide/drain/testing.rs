//! Clusters and pods for tests.

use std::time::Duration;

use super::facts::{Harm, PodClass, UnitPod};
use super::run::DrainLimits;
use super::unit::unit_hash;
use crate::decide::testing::named;
use crate::engine::testing::{controller, failure_policy, pod, reading, workload};
use crate::model::{
    Amount, Deployment, DeviceTaintRule, Job, Pod, Reading, ReplicaSet, Rollout, StatefulSet,
};
use crate::naming::keys;

/// A drain by evictions, without any further flag.
pub fn limits() -> DrainLimits {
    DrainLimits {
        restart: false,
        include: Vec::new(),
        force: false,
        grace: Duration::from_secs(300),
        timeout: Duration::from_secs(60),
        accept_unplaceable: false,
    }
}

/// A rule of the drain `fw`, of that unit and with that effect.
pub fn drain_rule(name: &str, unit: &str, effect: &str) -> DeviceTaintRule {
    let mut rule = named(name, effect);
    let labels = [
        (keys::DRAIN.to_owned(), "fw".to_owned()),
        (keys::DRAIN_UNIT.to_owned(), unit_hash(unit)),
    ];
    rule.metadata.labels.extend(labels);
    let note = (keys::DRAIN_UNIT.to_owned(), unit.to_owned());
    rule.metadata.annotations.extend([note]);
    rule
}

/// Data that was read of a cluster.
pub struct Cluster {
    pub reading: Reading,
}

impl Default for Cluster {
    fn default() -> Self {
        Self { reading: reading() }
    }
}

impl Cluster {
    pub fn replica_set(&mut self, name: &str, wanted: i32, ready: i32) {
        let mut made = workload(name, ready);
        made.replicas = Some(wanted);
        self.reading.snapshot.replica_sets.push(ReplicaSet(made));
    }

    pub fn stateful_set(&mut self, name: &str, wanted: i32, ready: i32) {
        let mut made = workload(name, ready);
        made.replicas = Some(wanted);
        self.reading.snapshot.stateful_sets.push(StatefulSet(made));
    }

    /// A Deployment and its ReplicaSet, of which all pods are ready; it brings one new pod up at a time.
    pub fn deployment(&mut self, name: &str, wanted: i32) {
        self.replica_set(&format!("{name}-6d"), wanted, wanted);
        let set = self.reading.snapshot.replica_sets.last_mut();
        set.expect("a ReplicaSet").0.controller = Some(controller("Deployment", name));
        let mut made = workload(name, wanted);
        made.rollout = Some(rollout(wanted));
        self.reading.snapshot.deployments.push(Deployment(made));
    }

    /// Changes the rollout of the last Deployment.
    pub fn roll(&mut self, change: impl FnOnce(&mut Rollout)) {
        let deployment = self.reading.snapshot.deployments.last_mut();
        let rollout = &mut deployment.expect("a Deployment").0.rollout;
        change(rollout.as_mut().expect("a rollout"));
    }

    pub fn job(&mut self, name: &str, ready: i32) {
        let mut made = workload(name, ready);
        made.failure = Some(failure_policy(1));
        self.reading.snapshot.jobs.push(Job(made));
    }
}

/// One pod more, and none less, of so many that are all there.
pub fn rollout(wanted: i32) -> Rollout {
    Rollout {
        resource_version: "7".to_owned(),
        max_surge: Some(Amount::Pods(1)),
        is_paused: false,
        generation: 1,
        observed_generation: 1,
        total: wanted,
        updated: wanted,
        available: wanted,
        restarted: None,
    }
}

/// A pod of that class on the devices of a unit, which no budget keeps and which is not terminating.
pub fn unit_pod(pod: &Pod, class: PodClass) -> UnitPod {
    UnitPod {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        class,
        harm: Harm::of(pod, class, &[]),
        is_terminating: false,
        is_evicted_by_taint: class != PodClass::Tolerant,
        is_evicted_again: false,
        budgets: Vec::new(),
        workload: None,
    }
}

/// A pod of team-a with an owner of that kind and name.
pub fn owned(name: &str, owner: Option<(&str, &str)>) -> Pod {
    Pod {
        controller: owner.map(|(kind, name)| {
            let mut owner = controller(kind, name);
            if kind == "Job" {
                owner.api_version = "batch/v1".into();
            }
            owner
        }),
        ..pod("team-a", name)
    }
}
