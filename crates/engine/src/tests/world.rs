//! Small clusters in a few lines.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

use crate::model::{
    Allocation, AllocationResult, ClaimSource, ClaimSpec, ConsumerReference, Containers,
    Controller, Device, DeviceClass, DeviceId, DeviceSelector, DeviceTaintRule, NamespacedName,
    NodeHealth, NodeName, Phase, Pod, PodClaim, Pool, ResourceClaim, ResourceClaimTemplate,
    ResourceSlice, Sandbox, SliceNodes, Snapshot,
};
use crate::rule_lifecycle::TerminationFacts;
use crate::termination_blocker::Publishers;
use crate::testing;
pub use crate::testing::{full_name as name, semantics, taint, toleration};
use crate::{Impact, ProposedTaint, Semantics, Verdict, preview};

/// The moment at which questions are asked.
pub const NOW: i64 = 1_000;

pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

/// `DRIVER/POOL/DEVICE`
pub fn device_id(text: &str) -> DeviceId {
    DeviceId::parse(text).expect("three parts")
}

/// `DRIVER/POOL/DEVICE` with `*` for any; `nil` for none at all.
pub fn selector(text: &str) -> Option<DeviceSelector> {
    if text == "nil" {
        return None;
    }
    let parts: Vec<&str> = text.split('/').collect();
    let part = |place: usize| (parts[place] != "*").then(|| parts[place]);
    Some(DeviceSelector {
        driver: part(0).map(Into::into),
        pool: part(1).map(Into::into),
        device: part(2).map(Into::into),
        ..DeviceSelector::default()
    })
}

pub fn proposed(selects: &str, text: &str) -> ProposedTaint {
    ProposedTaint {
        rule: None,
        selector: selector(selects),
        taint: taint(text),
    }
}

/// A cluster under construction.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub snapshot: Snapshot,
}

impl World {
    /// A pool's only slice, of generation 1.
    pub fn slice(self, driver_and_pool: &str, devices: &[(&str, &[&str])]) -> Self {
        self.slice_of(driver_and_pool, 1, devices)
    }

    pub fn slice_of(
        mut self,
        driver_and_pool: &str,
        generation: i64,
        devices: &[(&str, &[&str])],
    ) -> Self {
        let (driver, pool) = driver_and_pool.split_once('/').expect("two parts");
        let number = self.snapshot.slices.len();
        self.snapshot.slices.push(ResourceSlice {
            name: format!("slice-{number}").as_str().into(),
            driver: driver.into(),
            pool: Pool {
                name: pool.into(),
                generation,
                slice_count: 1,
            },
            nodes: SliceNodes::One(pool.into()),
            terms: None,
            devices: devices
                .iter()
                .map(|(name, taints)| Device {
                    name: (*name).into(),
                    taints: taints.iter().map(|text| taint(text)).collect(),
                    ..Device::default()
                })
                .collect(),
        });
        self
    }

    pub fn rule(mut self, rule: &str, selects: &str, text: &str) -> Self {
        self.snapshot.rules.push(DeviceTaintRule {
            name: rule.into(),
            uid: format!("uid-{rule}").as_str().into(),
            resource_version: "1".into(),
            generation: 1,
            selector: selector(selects),
            taint: taint(text),
            ..DeviceTaintRule::default()
        });
        self
    }

    pub fn claim(self, claim: &str, devices: &[&str], tolerations: &[&str]) -> Self {
        let results = devices.iter().map(|device| AllocationResult {
            tolerations: tolerations.iter().map(|text| toleration(text)).collect(),
            ..testing::result(device_id(device))
        });
        let allocation = Some(Allocation {
            node: None,
            results: results.collect(),
        });
        self.claim_of(claim, allocation)
    }

    pub fn claim_of(mut self, claim: &str, allocation: Option<Allocation>) -> Self {
        self.snapshot.claims.push(ResourceClaim {
            name: name(claim),
            uid: format!("uid-{claim}").as_str().into(),
            allocation,
            ..ResourceClaim::default()
        });
        self
    }

    /// A running pod that has reserved each of `claims`, all of which exist.
    pub fn pod(mut self, pod: &str, claims: &[&str]) -> Self {
        let pod_name = name(pod);
        for claim in claims {
            let known = self.claim_mut(&format!("{}/{claim}", pod_name.namespace));
            known
                .reserved_for
                .push(reservation(&pod_name, &format!("uid-{pod}")));
        }
        self.pod_without_reservation(pod, claims)
    }

    pub fn pod_without_reservation(mut self, pod: &str, claims: &[&str]) -> Self {
        self.snapshot.pods.push(Pod {
            name: name(pod),
            uid: format!("uid-{pod}").as_str().into(),
            node: Some("node-a".into()),
            phase: Phase::Running,
            is_ready: true,
            containers: Containers::Running,
            sandbox: Sandbox::Up,
            claims: claims
                .iter()
                .map(|claim| PodClaim {
                    name: (*claim).into(),
                    source: ClaimSource::Claim((*claim).into()),
                })
                .collect(),
            grace_period_seconds: 30,
            ..Pod::default()
        });
        self
    }

    /// Changes the pod that was added last.
    pub fn but_pod(mut self, change: impl FnOnce(&mut Pod)) -> Self {
        change(self.snapshot.pods.last_mut().expect("a pod"));
        self
    }

    /// Changes the claim that was added last.
    pub fn but_claim(mut self, change: impl FnOnce(&mut ResourceClaim)) -> Self {
        change(self.snapshot.claims.last_mut().expect("a claim"));
        self
    }

    pub fn claim_mut(&mut self, claim: &str) -> &mut ResourceClaim {
        let wanted = name(claim);
        let mut claims = self.snapshot.claims.iter_mut();
        claims
            .find(|known| known.name == wanted)
            .expect("a claim of that name")
    }

    pub fn preview<'a>(&'a self, proposed: &'a [ProposedTaint]) -> Impact<'a> {
        self.preview_as(proposed, &Semantics::assumed())
    }

    pub fn preview_as<'a>(
        &'a self,
        proposed: &'a [ProposedTaint],
        semantics: &Semantics,
    ) -> Impact<'a> {
        preview(&self.snapshot, proposed, at(NOW), semantics)
    }

    /// Verdict about the only listed pod when `text` is put on the devices that `selects` names.
    pub fn verdict(&self, selects: &str, text: &str) -> Verdict {
        self.verdict_as(selects, text, &Semantics::assumed())
    }

    pub fn verdict_as(&self, selects: &str, text: &str, semantics: &Semantics) -> Verdict {
        let proposed = [proposed(selects, text)];
        let impact = self.preview_as(&proposed, semantics);
        assert_eq!(impact.pods.len(), 1, "{:?}", impact.pods);
        impact.pods[0].verdict.clone()
    }
}

pub fn reservation(pod: &NamespacedName, uid: &str) -> ConsumerReference {
    testing::consumer(pod.name.as_str(), uid)
}

pub fn group_reservation(group: &str) -> ConsumerReference {
    ConsumerReference {
        api_group: "scheduling.k8s.io".into(),
        resource: "podgroups".into(),
        name: group.into(),
        uid: "uid-of-the-group".into(),
    }
}

pub fn controller(api_version: &str, kind: &str, name: &str, uid: &str) -> Controller {
    Controller {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        uid: uid.into(),
    }
}

/// One GPU of `node-a`, held by one claim of one running pod.
/// Facts around the pods of `snapshot`, of which no driver is known to be there or gone.
pub fn facts<'s>(
    snapshot: &'s Snapshot,
    nodes: &'s BTreeMap<NodeName, NodeHealth>,
) -> TerminationFacts<'s> {
    static NONE: LazyLock<Publishers> = LazyLock::new(Publishers::default);
    TerminationFacts {
        claims: &snapshot.claims,
        nodes,
        publishers: &NONE,
    }
}

pub fn one_pod() -> World {
    World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[]), ("gpu-1", &[])])
        .claim("team/claim", &["gpu.example.com/node-a/gpu-0"], &[])
        .pod("team/pod", &["claim"])
}

pub const GPU_0: &str = "gpu.example.com/node-a/gpu-0";

/// A claim for one device of a class.
pub fn spec(class: &str, tolerations: &[&str]) -> Arc<ClaimSpec> {
    let terms = testing::terms(
        class,
        tolerations.iter().map(|text| toleration(text)).collect(),
    );
    Arc::new(testing::asks(terms))
}

/// A class for each driver, and a template with this spec.
pub fn with_template(mut world: World, spec: Arc<ClaimSpec>) -> World {
    let class = |driver: &str| DeviceClass {
        name: driver.into(),
        expressions: vec![format!("device.driver == {driver:?}")],
        extended_resource: None,
    };
    world.snapshot.classes = vec![class("gpu.example.com"), class("nic.example.com")];
    world.snapshot.templates.push(ResourceClaimTemplate {
        name: name("ml/of-deployment"),
        spec,
    });
    world
}
