//! A literal report for tests.

use super::impact::view::ImpactReport;
use crate::assess::{Basis, ImpactFacts, Limits};
use crate::engine::{
    Cause, ClaimUse, Counts, DeviceImpact, DeviceTaint, Impact, NotEvicted, Origin, PodImpact,
    ProposedTaint, RuleImpact, Verdict,
};
use crate::model::{Deletion, ObjectName, Reading, ReplicaSet, ResourceClaim, Taint};
use crate::report::taint::ObjectReference;

pub use crate::engine::testing::*;

/// A question and its answer in which every verdict and both sources of foreign taints occur.
pub struct Example {
    pub proposed: ProposedTaint,
    pub reading: Reading,
    pub pods: [Pod; 6],
    pub claims: [ResourceClaim; 6],
    other_rule: ObjectName,
    slice: ObjectName,
    driver_taint: Taint,
}

impl Example {
    pub fn new() -> Self {
        let mut pods = [
            ("team-b", "bare-0"),
            ("team-a", "train-1"),
            ("team-a", "train-0"),
            ("team-a", "infer-0"),
            ("team-a", "old-0"),
            ("team-a", "queued-0"),
        ]
        .map(|(namespace, name)| pod(namespace, name));
        pods[0].controller = None;
        pods[0].grace_period_seconds = 3_600;
        pods[0].qos_class = None;
        pods[4].deletion = Some(Deletion {
            at: after(-600),
            grace_period_seconds: Some(30),
            finalizers: Vec::new(),
        });
        pods[5].node = None;
        let claims = std::array::from_fn(|index| claim(&pods[index]));
        let mut reading = reading();
        reading.snapshot.replica_sets = vec![ReplicaSet(workload("train-6d", 5))];
        reading.snapshot.nodes = vec![node("node-7")];
        Self {
            proposed: proposed(None),
            reading,
            pods,
            claims,
            other_rule: "drain-node-7".into(),
            slice: "node-7-gpu-x".into(),
            driver_taint: Taint {
                key: "gpu.example.com/ecc".to_owned(),
                value: "high".to_owned(),
                ..TAINT.clone()
            },
        }
    }

    /// With all pods in one namespace.
    pub fn in_one_namespace(mut self) -> Self {
        for pod in &mut self.pods {
            pod.name.namespace = "team-a".into();
        }
        self
    }

    pub fn report(&self) -> ImpactReport {
        self.report_within(&Limits::default())
    }

    pub fn report_within(&self, limits: &Limits<'_>) -> ImpactReport {
        let semantics = semantics(37);
        let basis = Basis::new(&self.reading, &semantics, now());
        ImpactReport::new(&self.impact(), &basis, limits)
    }

    /// The impact as decisions see it.
    pub fn facts(&self) -> ImpactFacts {
        self.report().assessment.facts
    }

    pub fn impact(&self) -> Impact<'_> {
        Impact {
            rules: vec![RuleImpact {
                proposed: &self.proposed,
                counts: Counts {
                    published_devices: 1,
                    allocated_devices: 6,
                    pods: 3,
                    namespaces: 2,
                },
                terminating: 1,
                staying: 0,
            }],
            devices: vec![DeviceImpact {
                id: DEVICE.clone(),
                node: self.pods[0].node.as_ref(),
                published: true,
                claims: self.claims.iter().collect(),
                taints: vec![DeviceTaint {
                    origin: Origin::ResourceSlice(&self.slice),
                    taint: &self.driver_taint,
                }],
            }],
            pods: self.pod_impacts(),
            warnings: Vec::new(),
        }
    }

    fn pod_impacts(&self) -> Vec<PodImpact<'_>> {
        let by_rule = cause(Origin::Rule(&self.other_rule), 600);
        let by_driver = Cause {
            taint: &self.driver_taint,
            ..cause(Origin::ResourceSlice(&self.slice), 7_200)
        };
        let [bare, later, now, infer, old, queued] = &self.pods;
        let mut impacts = vec![
            evicted(bare, 9_000),
            evicted(later, 300),
            evicted(now, 0),
            with_verdict(infer, Verdict::Tolerates),
            with_verdict(old, Verdict::Terminating),
            with_verdict(queued, Verdict::NotEvicted(NotEvicted::NotScheduled)),
        ];
        impacts[1].causes.push(by_rule);
        impacts[3].causes.push(by_driver);
        for (impact, claim) in impacts.iter_mut().zip(&self.claims) {
            let results = claim.allocation.iter().flat_map(|found| &found.results);
            impact.claims = vec![ClaimUse {
                claim: &claim.name,
                results: results.collect(),
            }];
        }
        impacts
    }
}

/// The object of that name, written NAMESPACE/NAME, whose UID is not known.
pub(crate) fn reference(text: &str) -> ObjectReference {
    (&full_name(text)).into()
}
