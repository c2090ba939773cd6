//! Clusters and pods for tests.

use crate::engine::ClaimUse;
use crate::model::{AllocationResult, Job, NamespacedName, Pod, Reading, ReplicaSet, StatefulSet};
use crate::report::testing::{claim, controller, failure_policy, name, pod, reading, workload};

/// What was read of a cluster.
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

    pub fn job(&mut self, name: &str, ready: i32) {
        let mut made = workload(name, ready);
        made.failure = Some(failure_policy(1));
        self.reading.snapshot.jobs.push(Job(made));
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

/// The device of a claim, as a pod uses it.
pub struct Used {
    claim: NamespacedName,
    result: AllocationResult,
}

/// One device.
pub fn used() -> Used {
    let claim = claim(&pod("team-a", "x"));
    let mut results = claim.allocation.expect("an allocation").results;
    Used {
        claim: name("team-a", "x-gpu"),
        result: results.remove(0),
    }
}

impl Used {
    pub fn claim_use(&self) -> ClaimUse<'_> {
        ClaimUse {
            claim: &self.claim,
            results: vec![&self.result],
        }
    }
}
