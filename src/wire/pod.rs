//! `Pod`, as far as its claims go.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::error::FieldError;
use super::message::message;
use super::meta::ObjectMeta;
use super::object::{Context, Object, ToObject};
use super::rule::DeviceToleration;
use super::slice::NodeSelector;
use super::time::{Quantity, Time};
use super::unambiguous::unique;
use crate::model::{self, ClaimSource, Containers, PodClaim};

/// Default of the server for a pod without a grace period.
const DEFAULT_GRACE_PERIOD_SECONDS: i64 = 30;

message! {
    /// Something that runs on a node and may use devices.
    pub struct Pod {
        /// Metadata.
        metadata: optional ObjectMeta = 1,
        /// Desired state.
        spec: optional PodSpec = 2,
        /// Actual state.
        status: optional PodStatus = 3,
    }

    /// Desired state of a pod.
    pub struct PodSpec {
        /// Volumes.
        volumes: repeated Volume = 1,
        /// The containers, as far as they request extended resources.
        containers: repeated Container = 2,
        /// Time that it gets to stop.
        termination_grace_period_seconds: optional int64 = 4,
        /// Labels that its node has to have.
        #[prost(btree_map = "string, string", tag = "7")]
        #[serde(default, deserialize_with = "unique")]
        pub node_selector: BTreeMap<String, String>,
        /// Node on which it runs.
        node_name: optional string = 10,
        /// Affinity for nodes and pods.
        affinity: optional Affinity = 18,
        /// Taints of nodes that it tolerates: written as those of devices.
        tolerations: repeated DeviceToleration = 22,
        /// Of its priority.
        priority_class_name: optional string = 24,
        /// Filled in by the server.
        priority: optional int32 = 25,
        /// Gates that delay its scheduling.
        scheduling_gates: repeated PodSchedulingGate = 38,
        /// Claims that it uses.
        resource_claims: repeated PodResourceClaim = 39,
        /// Scheduling group; since 1.36, behind a feature gate.
        scheduling_group: optional PodSchedulingGroup = 43,
    }

    /// A container.
    pub struct Container {
        /// The resources that it requests.
        resources: optional ContainerResources = 8,
    }

    /// Resources of a container; the API server sets requests of extended resources to their limits.
    pub struct ContainerResources {
        /// The amounts, by resource.
        #[prost(btree_map = "string, message", tag = "2")]
        #[serde(default, deserialize_with = "unique")]
        pub requests: BTreeMap<String, Quantity>,
    }

    /// Affinity of a pod for nodes; that for pods is not needed.
    pub struct Affinity {
        /// By what the nodes are.
        node_affinity: optional NodeAffinity = 1,
    }

    /// Required nodes of a pod.
    pub struct NodeAffinity {
        /// Required nodes.
        required_during_scheduling_ignored_during_execution: optional NodeSelector = 1,
    }

    /// Gate that delays the scheduling of a pod.
    pub struct PodSchedulingGate {
        /// Its name.
        name: optional string = 1,
    }

    /// Volume of a pod, as far as its data are on the node.
    pub struct Volume {
        /// JSON has the fields of this message where the message would be.
        #[prost(message, optional, tag = "2")]
        #[serde(default, rename = "emptyDir", deserialize_with = "empty_dir")]
        #[cfg_attr(test, serde(serialize_with = "super::testing::empty_dir"))]
        pub source: Option<VolumeSource>,
    }
}

/// Source of a volume.
#[derive(Clone, PartialEq, prost::Message)]
pub struct VolumeSource {
    /// A folder that is gone with the pod.
    #[prost(message, optional, tag = "2")]
    pub empty_dir: Option<EmptyDir>,
}

/// A folder that is gone with the pod.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EmptyDir {}

fn empty_dir<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<VolumeSource>, D::Error> {
    let found = Option::<serde::de::IgnoredAny>::deserialize(from)?;
    Ok(found.map(|_| VolumeSource {
        empty_dir: Some(EmptyDir {}),
    }))
}

message! {
    /// Claim that a pod uses: one of the two names is set.
    pub struct PodResourceClaim {
        /// Unique within the pod.
        name: optional string = 1,
        /// An existing claim.
        resource_claim_name: optional string = 3,
        /// Template of the claim.
        resource_claim_template_name: optional string = 4,
    }

    /// Scheduling group of a pod.
    pub struct PodSchedulingGroup {
        /// In the pod's namespace.
        pod_group_name: optional string = 1,
    }

    /// Actual state of a pod.
    pub struct PodStatus {
        /// Phase.
        phase: optional string = 1,
        /// Conditions.
        conditions: repeated PodCondition = 2,
        /// Statuses of containers.
        container_statuses: repeated ContainerStatus = 8,
        /// Quality of service.
        qos_class: optional string = 9,
        /// Statuses of init containers and sidecars.
        init_container_statuses: repeated ContainerStatus = 10,
        /// Node on which the scheduler has evicted pods for it.
        nominated_node_name: optional string = 11,
        /// Statuses of ephemeral containers.
        ephemeral_container_statuses: repeated ContainerStatus = 13,
        /// Names of generated claims.
        resource_claim_statuses: repeated PodResourceClaimStatus = 15,
        /// The claim that stands in for extended resources; since 1.34.
        extended_resource_claim_status: optional PodExtendedResourceClaimStatus = 18,
    }

    /// One thing that is said of a pod.
    pub struct PodCondition {
        /// Type, such as `Ready`.
        #[prost(string, optional, tag = "1")]
        pub r#type: Option<String>,
        /// `True`, `False` or `Unknown`.
        #[prost(string, optional, tag = "2")]
        pub status: Option<String>,
        /// Time of its last change.
        last_transition_time: optional Time = 4,
        /// Reason, in one word.
        reason: optional string = 5,
        /// Message, in a sentence.
        message: optional string = 6,
    }

    /// Name of a generated claim.
    pub struct PodResourceClaimStatus {
        /// Name of its entry in the spec.
        name: optional string = 1,
        /// Absent when no claim was needed.
        resource_claim_name: optional string = 2,
    }

    /// The claim that stands in for extended resources.
    pub struct PodExtendedResourceClaimStatus {
        /// In the pod's namespace.
        resource_claim_name: optional string = 2,
    }
}

impl ToObject for Pod {
    fn metadata(&self) -> Option<&ObjectMeta> {
        self.metadata.as_ref()
    }

    /// Nothing for a pod that uses no claim at all: most pods of most clusters.
    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let (Some(spec), status) = (&self.spec, self.status.as_ref()) else {
            return Ok(None);
        };
        let extended = status.and_then(|status| status.extended_resource_claim_status.as_ref());
        let extended_resources = extended_resources(spec, context);
        // A pod without `resourceClaims` may still hold devices, or wait for some: since 1.34 the
        // scheduler creates a claim for its extended resources (`DRAExtendedResource`).
        if spec.resource_claims.is_empty() && extended.is_none() && extended_resources.is_empty() {
            return Ok(None);
        }
        let extended = extended.and_then(|extended| extended.resource_claim_name.as_deref());
        let group = spec
            .scheduling_group
            .as_ref()
            .and_then(|group| group.pod_group_name.as_deref());
        Ok(Some(Object::Pod(model::Pod {
            name: metadata.namespaced_name(context)?,
            uid: metadata.required_uid()?,
            // Empty, and not absent, until the pod is bound: Go writes empty strings into protobuf.
            node: context.optional(spec.node_name.as_deref()),
            labels: labels(metadata, context),
            annotations: annotations(metadata, context),
            phase: phase(status, context),
            is_ready: is_ready(status),
            scheduling: Some(scheduling(spec, status, context)),
            containers: status.map_or(model::Containers::Unknown, PodStatus::containers),
            sandbox: sandbox(status),
            health: health(status, context),
            deletion: metadata.deletion(context),
            claims: self.claims(context),
            extended_resource_claim: context.optional(extended),
            extended_resources,
            pod_group: context.optional(group),
            controller: metadata.controller(context),
            qos_class: qos_class(status, context),
            // Upstream: `corev1helpers.PodPriority`, which takes an absent priority as zero.
            priority: spec.priority.unwrap_or_default(),
            priority_class_name: context.intern(spec.priority_class_name()),
            grace_period_seconds: spec
                .termination_grace_period_seconds
                .unwrap_or(DEFAULT_GRACE_PERIOD_SECONDS),
            // The volumes for which `kubectl drain` demands --delete-emptydir-data.
            has_local_data: spec.volumes.iter().any(|volume| {
                let source = volume.source.as_ref();
                source.is_some_and(|source| source.empty_dir.is_some())
            }),
        })))
    }
}

impl PodStatus {
    fn containers(&self) -> model::Containers {
        containers([
            &self.container_statuses,
            &self.init_container_statuses,
            &self.ephemeral_container_statuses,
        ])
    }
}

impl Pod {
    fn claims(&self, context: &mut Context) -> Vec<PodClaim> {
        let wanted = self
            .spec
            .as_ref()
            .map_or(&[][..], |spec| &spec.resource_claims);
        wanted
            .iter()
            .map(|claim| PodClaim {
                name: context.intern(claim.name()),
                source: self.source(claim, context),
            })
            .collect()
    }

    /// Upstream: `resourceclaim.Name`, which looks for an existing claim first.
    fn source(&self, claim: &PodResourceClaim, context: &mut Context) -> ClaimSource {
        if let Some(name) = &claim.resource_claim_name {
            return ClaimSource::Claim(context.intern(name));
        }
        let Some(template) = &claim.resource_claim_template_name else {
            let what = "in spec.resourceClaims, without a claim or template, the entry";
            context.unknown("unknown-claim-source", what, claim.name());
            return ClaimSource::Unknown;
        };
        let statuses = self
            .status
            .as_ref()
            .map_or(&[][..], |status| &status.resource_claim_statuses);
        let generated = statuses
            .iter()
            .find(|status| status.name == claim.name)
            .and_then(|status| status.resource_claim_name.as_deref());
        ClaimSource::Template {
            template: context.intern(template),
            generated: generated.map(|name| context.intern(name)),
        }
    }
}

/// True if a resource of this name is an extended one.
///
/// Upstream: `IsDRAExtendedResourceName` in `pkg/scheduler/util/utils.go`.
pub(super) fn is_extended(name: &str) -> bool {
    name.starts_with("deviceclass.resource.kubernetes.io/")
        || (name.contains('/')
            && !name.contains("kubernetes.io/")
            && !name.starts_with("requests."))
}

/// The extended resources that the containers of a pod without a node request, in their order.
fn extended_resources(spec: &PodSpec, context: &mut Context) -> Vec<(Arc<str>, i64)> {
    if spec
        .node_name
        .as_deref()
        .is_some_and(|node| !node.is_empty())
    {
        return Vec::new();
    }
    let resources = spec
        .containers
        .iter()
        .filter_map(|it| it.resources.as_ref());
    let requests = resources.flat_map(|resources| &resources.requests);
    let extended = requests.filter(|(name, _)| is_extended(name));
    extended
        // Extended resources are whole numbers; upstream ignores zero.
        .filter_map(|(name, amount)| Some((name, amount.as_written().parse().ok()?)))
        .filter(|(_, count)| *count > 0_i64)
        .map(|(name, count)| (context.intern(name), count))
        .collect()
}

fn labels(metadata: &ObjectMeta, context: &mut Context) -> Vec<(Arc<str>, Arc<str>)> {
    let labels = metadata.labels.iter();
    labels
        .map(|(key, value)| (context.intern(key), context.intern(value)))
        .collect()
}

fn annotations(metadata: &ObjectMeta, context: &mut Context) -> Vec<(Arc<str>, Arc<str>)> {
    let annotations = metadata.annotations.iter();
    annotations
        // Others can take kilobytes per pod, such as kubectl's last-applied-configuration.
        .filter(|(key, _)| model::Pod::ANNOTATIONS.contains(&key.as_str()))
        .map(|(key, value)| (context.intern(key), context.intern(value)))
        .collect()
}

/// Scheduling condition and constraints: for a pod that waits, and for one that is created again after its
/// eviction.
fn scheduling(
    spec: &PodSpec,
    status: Option<&PodStatus>,
    context: &mut Context,
) -> Box<model::Scheduling> {
    let said = condition(status, "PodScheduled").map(|said| model::Scheduled {
        is_scheduled: said.status.as_deref() == Some("True"),
        since: Time::instant(said.last_transition_time),
        reason: context.intern(said.reason()),
        message: said.message().into(),
    });
    let required = spec
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|affinity| {
            affinity
                .required_during_scheduling_ignored_during_execution
                .as_ref()
        })
        .map(|required| required.to_model(context));
    let labels = labels_of_nodes(&spec.node_selector, context);
    let gates = spec
        .scheduling_gates
        .iter()
        .map(|gate| context.intern(gate.name()));
    let gates = gates.collect();
    let mut tolerations = Vec::new();
    let mut telling = spec
        .tolerations
        .iter()
        .filter(|it| !is_default(it))
        .peekable();
    if telling.peek().is_some() {
        // An operator or effect of a newer version tolerates nothing here.
        let mut unheard = Context::default();
        tolerations.extend(telling.map(|it| it.to_model(&mut unheard)));
    }
    let nominated = status.and_then(|status| status.nominated_node_name.as_deref());
    Box::new(model::Scheduling {
        said,
        nominated: context.optional(nominated),
        gates,
        tolerations,
        // Upstream: `nodeaffinity.GetRequiredNodeAffinity`, which requires both.
        nodes: labels.into_iter().chain(required).collect(),
    })
}

/// True if the toleration is one of the two that nearly all pods have. It opens no node: a node with these taints
/// has them with effect NoSchedule, too.
///
/// Upstream: the admission plugin `DefaultTolerationSeconds`; `TaintNodesByCondition` for the taints.
fn is_default(toleration: &DeviceToleration) -> bool {
    let key = toleration.key.as_deref();
    toleration.toleration_seconds.is_some()
        && toleration.effect.as_deref() == Some("NoExecute")
        && matches!(
            key,
            Some("node.kubernetes.io/not-ready" | "node.kubernetes.io/unreachable")
        )
}

/// A `nodeSelector` as the requirement of labels that it is.
fn labels_of_nodes(
    labels: &BTreeMap<String, String>,
    context: &mut Context,
) -> Option<model::NodeSelector> {
    let labels: Vec<_> = labels
        .iter()
        .map(|(key, value)| model::NodeRequirement {
            key: context.intern(key),
            operator: context.intern("In"),
            values: vec![context.intern(value)],
        })
        .collect();
    (!labels.is_empty()).then(|| model::NodeSelector {
        terms: vec![model::NodeTerm {
            labels,
            fields: Vec::new(),
        }],
    })
}

/// Upstream: `podutil.IsPodReady`.
fn is_ready(status: Option<&PodStatus>) -> bool {
    let ready = condition(status, "Ready");
    ready.is_some_and(|condition| condition.status.as_deref() == Some("True"))
}

/// Upstream: `status.GeneratePodReadyToStartContainersCondition`.
fn sandbox(status: Option<&PodStatus>) -> model::Sandbox {
    // Unknown, not down: a sandbox that is down is evidence that only the driver holds up the pod's end.
    let Some(condition) = condition(status, "PodReadyToStartContainers") else {
        return model::Sandbox::Unknown;
    };
    match condition.status.as_deref() {
        Some("True") => model::Sandbox::Up,
        Some("False") => model::Sandbox::Down {
            since: Time::instant(condition.last_transition_time),
        },
        Some(_) | None => model::Sandbox::Unknown,
    }
}

/// Upstream: `UpdateAllocatedResourcesStatus` in `pkg/kubelet/cm/dra/manager.go`, which reports claims as `claim:CLAIM` or
/// `claim:CLAIM/REQUEST`; device plugins report other names.
fn health(status: Option<&PodStatus>, context: &mut Context) -> Vec<model::ClaimHealth> {
    let containers = status.map_or(&[][..], |status| &status.container_statuses);
    let reported = containers
        .iter()
        .flat_map(|container| &container.allocated_resources_status);
    let of_claim = |reported: &ResourceStatus| {
        let name = reported.name().strip_prefix("claim:")?;
        let (claim, request) = match name.split_once('/') {
            Some((claim, request)) => (claim, Some(request)),
            None => (name, None),
        };
        let resources = reported.resources.iter().map(|resource| {
            let health = match resource.health() {
                "Healthy" => model::DeviceHealth::Healthy,
                "Unhealthy" => model::DeviceHealth::Unhealthy,
                _ => model::DeviceHealth::Unknown,
            };
            (context.intern(resource.resource_id()), health)
        });
        Some(model::ClaimHealth {
            resources: resources.collect(),
            claim: context.intern(claim),
            request: request.map(|request| context.intern(request)),
        })
    };
    reported.filter_map(of_claim).collect()
}

fn condition<'a>(status: Option<&'a PodStatus>, kind: &str) -> Option<&'a PodCondition> {
    let mut conditions = status?.conditions.iter();
    conditions.find(|condition| condition.r#type.as_deref() == Some(kind))
}

fn phase(status: Option<&PodStatus>, context: &mut Context) -> model::Phase {
    let text = status.and_then(|status| status.phase.as_deref());
    let phase = model::Phase::from(text.unwrap_or_default());
    if let model::Phase::Unknown(text) = &phase {
        // `Unknown` is a phase of its own, and a pod that was never stored has none.
        if !["", "Unknown"].contains(&text.as_str()) {
            context.unknown("unknown-phase", "the unknown phase", text);
        }
    }
    phase
}

fn qos_class(status: Option<&PodStatus>, context: &mut Context) -> Option<model::QosClass> {
    let text = status.and_then(|status| status.qos_class.as_deref())?;
    if text.is_empty() {
        return None;
    }
    let class = model::QosClass::from(text);
    if let model::QosClass::Unknown(text) = &class {
        context.unknown("unknown-qos-class", "the unknown QoS class", text);
    }
    Some(class)
}

message! {
    /// Status of one container; its name is not needed.
    pub struct ContainerStatus {
        /// Now; earlier runs are not needed.
        state: optional ContainerState = 2,
        /// Health of the resources that it was allocated.
        allocated_resources_status: repeated ResourceStatus = 14,
    }

    /// Health of the devices of one claim, or of one resource of a device plugin.
    pub struct ResourceStatus {
        /// `claim:CLAIM`, `claim:CLAIM/REQUEST`, or the name of a resource.
        name: optional string = 1,
        /// Each device.
        resources: repeated ResourceHealth = 2,
    }

    /// Health of one device.
    pub struct ResourceHealth {
        /// A CDI device ID, or the device's name.
        #[prost(string, optional, tag = "1")]
        #[serde(rename = "resourceID")]
        pub resource_id: Option<String>,
        /// `Healthy`, `Unhealthy` or `Unknown`.
        health: optional string = 2,
    }

    /// One of these is set; none of them means that it waits.
    pub struct ContainerState {
        /// It runs.
        running: optional Running = 2,
        /// It has ended.
        terminated: optional Terminated = 3,
    }
}

/// A container that runs; since when is not needed.
#[derive(Clone, Copy, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Running {}

/// A container that has ended; why is not needed.
#[derive(Clone, Copy, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct Terminated {
    /// When.
    #[prost(message, optional, tag = "6")]
    pub finished_at: Option<Time>,
}

/// State of all containers of a pod, as the kubelet reports them: ordinary, init, and ephemeral ones.
///
/// One that was never started has not ended: the kubelet says so of those too when it ends a pod.
pub(super) fn containers(all: [&[ContainerStatus]; 3]) -> Containers {
    let states = || all.into_iter().flatten().map(|one| one.state.as_ref());
    // One running container keeps the pod on its devices, however many have ended.
    if states().any(|state| state.is_some_and(|state| state.running.is_some())) {
        return Containers::Running;
    }
    let ended = |state: Option<&ContainerState>| state.and_then(|state| state.terminated);
    // Without statuses of the pod's own containers nothing is known, and `all` of an empty list is true.
    if all[0].is_empty() || !states().all(|state| ended(state).is_some()) {
        return Containers::Unknown;
    }
    // The last end is unknown as long as one of them has none.
    let ends: Option<Vec<_>> = states()
        .filter_map(ended)
        .map(|ended| Time::instant(ended.finished_at))
        .collect();
    Containers::Ended {
        at: ends.and_then(|ends| ends.into_iter().max()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(status: &serde_json::Value) -> Containers {
        let of = |field: &str| -> Vec<ContainerStatus> {
            let statuses = status.get(field).cloned();
            statuses.map_or_else(Vec::new, |all| serde_json::from_value(all).unwrap())
        };
        containers([
            &of("containerStatuses"),
            &of("initContainerStatuses"),
            &of("ephemeralContainerStatuses"),
        ])
    }

    #[test]
    fn containers_have_ended_when_all_of_every_kind_have() {
        let ended = |at: &str| json!({"name": "a", "state": {"terminated": {"exitCode": 0, "finishedAt": at}}});
        let (early, late) = ("2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z");
        let running = json!({"state": {"running": {"startedAt": early}}});
        let waiting = json!({"state": {"waiting": {"reason": "ContainerCreating"}}});
        let main = |containers: &[&serde_json::Value]| json!({"containerStatuses": containers});
        let beside = |kind: &str, other: &serde_json::Value| {
            let mut status = main(&[&ended(late)]);
            status[kind] = json!([other]);
            status
        };
        let (first, last) = (ended(early), ended(late));
        let untimed = json!({"state": {"terminated": {"exitCode": 1}}});
        let silent = json!({"initContainerStatuses": [first]});
        let (unknown, at) = (Containers::Unknown, late.parse().unwrap());
        let all = Containers::Ended { at: Some(at) };
        let sometime = Containers::Ended { at: None };
        for (name, status, expected) in [
            ("nothing", json!({}), unknown),
            ("all", beside("initContainerStatuses", &first), all),
            ("no time", main(&[&untimed]), sometime),
            ("no time of one", main(&[&first, &untimed]), sometime),
            ("one runs", main(&[&last, &running]), Containers::Running),
            (
                "one beside it runs",
                beside("initContainerStatuses", &running),
                Containers::Running,
            ),
            (
                "one that debugs runs",
                beside("ephemeralContainerStatuses", &running),
                Containers::Running,
            ),
            ("one waits", main(&[&last, &waiting]), unknown),
            ("no word of one", main(&[&last, &json!({})]), unknown),
            ("only the init container was started", silent, unknown),
        ] {
            assert_eq!(said(&status), expected, "{name}");
        }
    }

    #[test]
    fn health_is_read_of_claims_and_not_of_device_plugins() {
        let resource = |health: &str| json!({"resourceID": "example.com/gpu=0", "health": health});
        let status: PodStatus = serde_json::from_value(json!({"containerStatuses": [{
            "allocatedResourcesStatus": [
                {"name": "claim:device", "resources": [resource("Unhealthy"), resource("Odd")]},
                {"name": "claim:device/gpu", "resources": [resource("Healthy")]},
                {"name": "example.com/gpu", "resources": [resource("Unhealthy")]},
            ],
        }]}))
        .unwrap();
        let found = health(Some(&status), &mut Context::default());
        let shown: Vec<_> = found
            .iter()
            .map(|it| {
                let healths: Vec<_> = it.resources.iter().map(|(_, health)| *health).collect();
                (&*it.claim, it.request.as_deref(), healths)
            })
            .collect();
        let (healthy, unhealthy) = (model::DeviceHealth::Healthy, model::DeviceHealth::Unhealthy);
        let odd = model::DeviceHealth::Unknown;
        assert_eq!(
            shown,
            [
                ("device", None, vec![unhealthy, odd]),
                ("device", Some("gpu"), vec![healthy]),
            ]
        );
    }
}
