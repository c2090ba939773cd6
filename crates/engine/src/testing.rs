//! Literal objects and verdicts for tests.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};

use super::impact::{Cause, Impact, Origin, PodImpact, Verdict};
use super::inventory::DeviceState;
use super::select::ProposedTaint;
use super::semantics::Semantics;
use crate::model::{
    Allocation, AllocationResult, AttributeValue, BudgetStatus, ClaimSource, ClaimSpec,
    ConsumerReference, Containers, Controller, CounterSet, CounterUse, Deletion, Device,
    DeviceClass, DeviceId, DeviceRequest, DeviceSelector, DeviceTerms, Effect, FailurePolicy, Kind,
    LabelSelector, Minor, NamespacedName, Node, NodeCondition, Phase, PodClaim,
    PodDisruptionBudget, Pool, QosClass, Reading, RequestKind, RequestTerms, ResourceClaim,
    ResourceSlice, Sandbox, SliceNodes, SliceTerms, Taint, Toleration, Workload,
};

pub use crate::model::Pod;

/// True if long properties are tried as often as they can be: the second tier asks for it, with WHOLE in the
/// environment in which they are built.
pub fn is_whole() -> bool {
    option_env!("WHOLE").is_some()
}

/// Number of tries, of `all`, that a property gets: a tenth in the first tier, which has to be quick.
pub fn tries(all: u64) -> u64 {
    if is_whole() { all } else { all.div_ceil(10) }
}

/// `KEY[=VALUE]:EFFECT[@SECOND]`; added at `NOW` unless said.
pub fn taint(text: &str) -> Taint {
    let (text, second) = text.split_once('@').unwrap_or((text, "1000"));
    let (key, effect) = text.rsplit_once(':').expect("an effect");
    let (key, value) = key.split_once('=').unwrap_or((key, ""));
    Taint {
        key: key.into(),
        value: value.into(),
        effect: effect.into(),
        time_added: Some(
            Timestamp::from_second(second.parse().expect("a number")).expect("in range"),
        ),
    }
}

/// `[KEY[=VALUE]]:EFFECT[@SECONDS]`; operator `Exists` unless there is a value.
pub fn toleration(text: &str) -> Toleration {
    let (text, seconds) = match text.split_once('@') {
        Some((text, seconds)) => (text, Some(seconds.parse().expect("a number"))),
        None => (text, None),
    };
    let (key, effect) = text.rsplit_once(':').expect("an effect");
    let (key, value) = match key.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (key, None),
    };
    Toleration {
        key: key.into(),
        operator: if value.is_some() { "Equal" } else { "Exists" }.into(),
        value: value.unwrap_or_default().into(),
        effect: (!effect.is_empty()).then(|| effect.into()),
        seconds,
    }
}

/// Numbers that look random, and are the same for a seed.
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self, limit: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    pub fn below(&mut self, limit: u64) -> usize {
        usize::try_from(self.number(limit)).unwrap()
    }

    pub fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

pub fn semantics(minor: u32) -> Semantics {
    Semantics::of(Minor { minor, patch: None }).unwrap()
}

pub static DEVICE: LazyLock<DeviceId> = LazyLock::new(|| device("gpu-0"));

pub static TAINT: LazyLock<Taint> = LazyLock::new(|| Taint {
    key: "example.com/maintenance".to_owned(),
    value: String::new(),
    effect: Effect::NoExecute,
    time_added: Some(now()),
});

pub fn now() -> Timestamp {
    "2026-11-21T01:00:34Z".parse().unwrap()
}

pub fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

pub fn device(name: &str) -> DeviceId {
    DeviceId {
        driver: "gpu.example.com".into(),
        pool: "node-7".into(),
        device: name.into(),
    }
}

pub fn name(namespace: &str, name: &str) -> NamespacedName {
    NamespacedName {
        namespace: namespace.into(),
        name: name.into(),
    }
}

/// A deletion that ends at that time, with nothing that holds the object.
pub fn deletion(at: Timestamp, grace_period_seconds: Option<i64>) -> Deletion {
    Deletion {
        at,
        grace_period_seconds,
        finalizers: Vec::new(),
    }
}

/// A taint that no server has seen, written `KEY[=VALUE]:EFFECT`.
pub fn untimed(text: &str) -> Taint {
    Taint {
        time_added: None,
        ..taint(text)
    }
}

/// An allocated device.
pub fn result(device: DeviceId) -> AllocationResult {
    AllocationResult {
        request: "gpu".into(),
        device,
        ..AllocationResult::default()
    }
}

/// Terms of a request for one device of a class.
pub fn terms(class: &str, tolerations: Vec<Toleration>) -> RequestTerms {
    RequestTerms {
        class: class.into(),
        tolerations,
        ..RequestTerms::default()
    }
}

/// A reservation for a pod.
pub fn consumer(name: &str, uid: &str) -> ConsumerReference {
    ConsumerReference {
        api_group: "".into(),
        resource: "pods".into(),
        name: name.into(),
        uid: uid.into(),
    }
}

/// A pod as the owner of something.
pub fn owner(pod: &Pod) -> Controller {
    Controller {
        api_version: "v1".into(),
        uid: pod.uid.clone(),
        ..controller("Pod", pod.name.name.as_str())
    }
}

pub fn job(name: &str) -> Controller {
    Controller {
        api_version: "batch/v1".into(),
        ..controller("Job", name)
    }
}

pub fn controller(kind: &str, name: &str) -> Controller {
    Controller {
        api_version: "apps/v1".into(),
        kind: kind.into(),
        name: name.into(),
        uid: format!("uid-of-{name}").as_str().into(),
    }
}

/// A budget of all pods of a namespace: so many of the `expected` ones have to be ready, and are.
pub fn budget(namespace: &str, desired: i32, healthy: i32, expected: i32) -> PodDisruptionBudget {
    PodDisruptionBudget {
        name: name(namespace, "budget"),
        generation: 1,
        selector: Some(LabelSelector::default()),
        status: BudgetStatus {
            disruptions_allowed: (healthy - desired).max(0),
            current_healthy: healthy,
            desired_healthy: desired,
            expected_pods: expected,
            observed_generation: 1,
            ..BudgetStatus::default()
        },
        ..PodDisruptionBudget::default()
    }
}

pub fn pod(namespace: &str, pod: &str) -> Pod {
    Pod {
        name: name(namespace, pod),
        uid: format!("uid-of-{pod}").as_str().into(),
        node: Some("node-7".into()),
        phase: Phase::Running,
        is_ready: true,
        containers: Containers::Running,
        sandbox: Sandbox::Up,
        controller: Some(controller("ReplicaSet", "train-6d")),
        qos_class: Some(QosClass::Burstable),
        grace_period_seconds: 30,
        ..Pod::default()
    }
}

pub fn proposed(rule: Option<&str>) -> ProposedTaint {
    ProposedTaint {
        rule: rule.map(Into::into),
        selector: Some(DeviceSelector {
            driver: Some("gpu.example.com".into()),
            pool: Some("node-7".into()),
            device: Some("gpu-0".into()),
            ..DeviceSelector::default()
        }),
        taint: TAINT.clone(),
    }
}

pub fn cause(origin: Origin<'_>, seconds: i64) -> Cause<'_> {
    Cause {
        origin,
        device: &DEVICE,
        taint: &TAINT,
        at: after(seconds),
    }
}

pub fn with_verdict(pod: &Pod, verdict: Verdict) -> PodImpact<'_> {
    PodImpact {
        pod,
        verdict,
        causes: Vec::new(),
        claims: Vec::new(),
        tolerates_schedule_only: false,
        tolerates_no_schedule: false,
        replacement_stays: false,
    }
}

pub fn evicted(pod: &Pod, seconds: i64) -> PodImpact<'_> {
    PodImpact {
        causes: vec![cause(Origin::Proposed(0), seconds)],
        ..with_verdict(pod, Verdict::Evicted { at: after(seconds) })
    }
}

/// Policy of a Job that tolerates so many failures, and has had none.
pub fn failure_policy(limit: i32) -> FailurePolicy {
    FailurePolicy {
        backoff_limit: limit,
        ..FailurePolicy::default()
    }
}

/// A workload of team-a with so many ready pods.
pub fn workload(workload: &str, ready: i32) -> Workload {
    Workload {
        name: name("team-a", workload),
        uid: format!("uid-of-{workload}").as_str().into(),
        replicas: Some(ready),
        ready: Some(ready),
        ..Workload::default()
    }
}

/// A device that its driver publishes with these texts.
pub fn published(name: &str, attributes: &[(&str, &str)]) -> Device {
    let attributes = attributes.iter();
    let attributes =
        attributes.map(|(name, value)| ((*name).into(), AttributeValue::String((*value).into())));
    Device {
        name: name.into(),
        attributes: attributes.collect(),
        ..Device::default()
    }
}

/// A published device that nothing holds and nothing taints.
pub fn device_state(id: DeviceId) -> DeviceState<'static> {
    DeviceState {
        id,
        published: true,
        ..DeviceState::default()
    }
}

/// A device that takes so much of the memory of its card.
pub fn drawing(name: &str, amount: &str) -> Device {
    Device {
        terms: Some(Box::new(DeviceTerms {
            consumes: vec![CounterUse {
                set: "card".into(),
                counters: [("memory".into(), amount.into())].into(),
                has_groups: false,
            }],
            ..DeviceTerms::default()
        })),
        ..published(name, &[])
    }
}

/// So much memory of the card of which [`drawing`] devices take.
pub fn card(amount: &str) -> Option<Box<SliceTerms>> {
    Some(Box::new(SliceTerms {
        counters: vec![CounterSet {
            name: "card".into(),
            counters: [("memory".into(), amount.into())].into(),
        }],
        ..SliceTerms::default()
    }))
}

/// The class of all devices of [`slice`].
pub fn gpu_class() -> DeviceClass {
    DeviceClass {
        name: "gpu".into(),
        expressions: vec!["device.driver == 'gpu.example.com'".to_owned()],
        extended_resource: None,
    }
}

/// A specification of one request.
pub fn asks(terms: RequestTerms) -> ClaimSpec {
    ClaimSpec {
        requests: vec![DeviceRequest {
            name: "gpu".into(),
            kind: RequestKind::Exactly(terms),
        }],
        constraints: Vec::new(),
    }
}

/// The claims of a pod that uses the one of this name.
pub fn uses(claim: &str) -> Vec<PodClaim> {
    vec![PodClaim {
        name: "gpu".into(),
        source: ClaimSource::Claim(claim.into()),
    }]
}

/// The claims of a pod for which this one was generated.
pub fn generated(claim: &ResourceClaim) -> Vec<PodClaim> {
    vec![PodClaim {
        name: "gpu".into(),
        source: ClaimSource::Template {
            template: "gpu".into(),
            generated: Some(claim.name.name.clone()),
        },
    }]
}

/// The slice of another driver that is the whole of its pool node-7.
pub fn slice_of(driver: &str, devices: Vec<Device>) -> ResourceSlice {
    ResourceSlice {
        name: driver.into(),
        driver: driver.into(),
        ..slice(devices)
    }
}

/// The slice that is the whole pool node-7.
pub fn slice(devices: Vec<Device>) -> ResourceSlice {
    ResourceSlice {
        name: "slice".into(),
        driver: "gpu.example.com".into(),
        pool: Pool {
            name: "node-7".into(),
            generation: 1,
            slice_count: 1,
        },
        nodes: SliceNodes::One("node-7".into()),
        devices,
        terms: None,
    }
}

/// A node that is ready.
pub fn node(name: &str) -> Node {
    Node {
        name: name.into(),
        is_whole: true,
        conditions: vec![NodeCondition {
            kind: "Ready".to_owned(),
            status: "True".to_owned(),
            reason: "KubeletReady".to_owned(),
            last_transition: Some(after(-3_600)),
        }],
        ..Node::default()
    }
}

pub fn impact(pods: Vec<PodImpact<'_>>) -> Impact<'_> {
    Impact {
        pods,
        ..Impact::default()
    }
}

pub fn reading() -> Reading {
    Reading {
        observed_at: Some(now()),
        known: Kind::ALL.into(),
        resource_versions: [("pods".to_owned(), "220".to_owned())].into(),
        ..Reading::default()
    }
}

pub fn claim(pod: &Pod) -> ResourceClaim {
    ResourceClaim {
        name: NamespacedName {
            namespace: pod.name.namespace.clone(),
            name: format!("{}-gpu", pod.name.name).as_str().into(),
        },
        uid: format!("uid-of-{}-gpu", pod.name.name).as_str().into(),
        allocation: Some(Allocation {
            node: None,
            results: vec![result(DEVICE.clone())],
        }),
        ..ResourceClaim::default()
    }
}

/// The claim of a pod, which is reserved for it.
pub fn claim_in_use(pod: &Pod) -> ResourceClaim {
    let consumer = consumer(pod.name.name.as_str(), pod.uid.as_str());
    ResourceClaim {
        reserved_for: vec![consumer],
        ..claim(pod)
    }
}

/// The name that is written NAMESPACE/NAME.
pub fn full_name(text: &str) -> NamespacedName {
    let (namespace, name) = text.split_once('/').unwrap();
    self::name(namespace, name)
}
