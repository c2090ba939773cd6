//! Claims, their allocations and tolerations.

use super::ids::{DeviceId, DriverName, NamespacedName, NodeName, ObjectName, Uid};
use super::rule::Toleration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A `ResourceClaim`. Once devices are allocated the spec plays no part for them, but for their replacement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceClaim {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Distinguishes it from a later claim of the same name.
    pub uid: Uid,
    /// The owner that manages the claim: the pod that a claim was generated for, or a PodGroup.
    pub controller: Option<Controller>,
    /// Requests of the claim, shared by claims of one template; absent where they were not read.
    pub spec: Option<Arc<ClaimSpec>>,
    /// The devices, once allocated.
    pub allocation: Option<Allocation>,
    /// Consumers that may use the claim now, in the API's order.
    //
    // Up to 1.35 the controller stops at the first outdated entry, so that the order decides who is evicted.
    pub reserved_for: Vec<ConsumerReference>,
}

impl ResourceClaim {
    /// The devices that it holds and keeps from other claims: those with admin access are left aside.
    pub fn exclusive_results(&self) -> impl Iterator<Item = &AllocationResult> {
        let results = self.allocation.iter().flat_map(|found| &found.results);
        results.filter(|result| !result.admin_access)
    }

    /// True if it is reserved for a PodGroup.
    pub fn is_reserved_for_group(&self) -> bool {
        self.reserved_for.iter().any(ConsumerReference::is_group)
    }

    /// The pods that it is reserved for.
    pub fn reserving_pods(&self) -> impl Iterator<Item = NamespacedName> {
        let pods = self
            .reserved_for
            .iter()
            .filter(|one| &*one.resource == "pods");
        pods.map(|pod| NamespacedName {
            namespace: self.name.namespace.clone(),
            name: pod.name.clone(),
        })
    }
}

/// Devices that were allocated for a claim; never changes until the claim is deallocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// One entry per allocated device or share of one.
    pub results: Vec<AllocationResult>,
    /// The node that can use the devices, where there is only one: known also while their driver publishes nothing.
    pub node: Option<NodeName>,
}

/// One device, or share of one, that a claim holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocationResult {
    /// Name of the request (or `request/subrequest`) that it satisfies.
    pub request: Arc<str>,
    /// The device; it need not be published any more.
    pub device: DeviceId,
    /// True if it was allocated for administration, beside other users of the device.
    pub admin_access: bool,
    /// Share of a device that allows several allocations.
    pub share_id: Option<String>,
    /// Tolerations copied from the request when it was allocated (since 1.35).
    pub tolerations: Vec<Toleration>,
    /// Capacities of a shared device that it consumes, as the quantities are written.
    pub consumed_capacity: Option<Box<BTreeMap<Arc<str>, Arc<str>>>>,
}

/// An entry of `status.reservedFor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerReference {
    /// Empty for the core group.
    pub api_group: Arc<str>,
    /// Plural, such as `pods` or `podgroups`.
    pub resource: Arc<str>,
    /// Name of the consumer, in the claim's namespace.
    pub name: ObjectName,
    /// The consumer's identity.
    pub uid: Uid,
}

impl ConsumerReference {
    /// True if the consumer is a PodGroup.
    pub fn is_group(&self) -> bool {
        &*self.api_group == "scheduling.k8s.io" && &*self.resource == "podgroups"
    }
}

/// The owner reference with `controller: true`: what manages an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Controller {
    /// API version, such as `apps/v1`.
    pub api_version: Arc<str>,
    /// Kind, such as `ReplicaSet`.
    pub kind: Arc<str>,
    /// The owner's name.
    pub name: ObjectName,
    /// The owner's identity.
    pub uid: Uid,
}

/// A `ResourceClaimTemplate`: what the claims of pods ask for that are still to come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceClaimTemplate {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Spec of each claim.
    pub spec: Arc<ClaimSpec>,
}

/// The spec of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClaimSpec {
    /// All have to be served, in the order of the claim.
    pub requests: Vec<DeviceRequest>,
    /// Constraints between the devices.
    pub constraints: Vec<DeviceConstraint>,
}

/// Something that a claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceRequest {
    /// Unique within the claim.
    pub name: Arc<str>,
    /// Kind of the request.
    pub kind: RequestKind,
}

/// Kind of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Exactly this.
    Exactly(RequestTerms),
    /// The first of these that can be had, each with a name that is unique within the request.
    FirstAvailable(Vec<(Arc<str>, RequestTerms)>),
    /// Something that this crate does not know.
    #[default]
    Unknown,
}

/// Terms of a request: its devices, and their number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestTerms {
    /// The class that they have to be of; empty where none is named.
    pub class: ObjectName,
    /// Expressions that all have to hold.
    pub expressions: Vec<Arc<str>>,
    /// Number of devices.
    pub amount: DeviceAmount,
    /// True if for administration, beside other users of the device.
    pub admin_access: bool,
    /// Tolerations.
    pub tolerations: Vec<Toleration>,
    /// Requested capacities, as the quantities are written.
    pub capacity: BTreeMap<Arc<str>, Arc<str>>,
    /// True if it has fields that this crate does not know.
    pub is_more: bool,
}

/// Number of requested devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceAmount {
    /// Exact number.
    Exactly(i64),
    /// All devices on the node.
    All,
    /// A mode from a newer API.
    Unknown(Arc<str>),
}

impl Default for DeviceAmount {
    /// One, as in the API.
    fn default() -> Self {
        Self::Exactly(1)
    }
}

/// Constraint between the devices of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceConstraint {
    /// For which requests, as REQUEST or REQUEST/SUBREQUEST; all where none is named.
    pub requests: Vec<Arc<str>>,
    /// Rule of the constraint.
    pub rule: ConstraintRule,
}

/// Rule of a constraint: attributes that have to be equal or distinct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstraintRule {
    /// The attribute has to be the same everywhere.
    Same(Arc<str>),
    /// The attribute has to be another everywhere.
    Distinct(Arc<str>),
    /// Something from a newer API.
    Unknown,
}

/// Pods and devices as a kubelet lists them, whatever the API has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    /// The pods that the kubelet counts as active, by namespace and name.
    pub pods: Vec<PodInUse>,
}

/// A pod on the node, and its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodInUse {
    /// Namespace and name; the kubelet does not list the UID.
    pub name: NamespacedName,
    /// Its containers, without init containers that have ended.
    pub containers: Vec<ContainerInUse>,
}

/// A container, and its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerInUse {
    /// Its name in the pod.
    pub name: String,
    /// Devices of device plugins.
    pub plugin_devices: Vec<PluginDevices>,
    /// Claims that it uses. Also empty if the kubelet could not look them up, which it does not show.
    pub claims: Vec<ClaimInUse>,
}

/// Devices of one resource of a device plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginDevices {
    /// Resource name, such as `example.com/gpu`.
    pub resource: String,
    /// IDs of the plugin.
    pub ids: Vec<String>,
}

/// A claim that a container uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimInUse {
    /// Namespace and name.
    pub name: NamespacedName,
    /// The devices that drivers have prepared for it.
    pub devices: Vec<DeviceId>,
}

impl InUse {
    /// Every DRA device in use; a device that several containers share occurs once for each.
    pub fn devices(&self) -> impl Iterator<Item = UsedDevice<'_>> {
        self.pods.iter().flat_map(|pod| {
            pod.containers.iter().flat_map(move |container| {
                container.claims.iter().flat_map(move |claim| {
                    claim.devices.iter().map(move |device| UsedDevice {
                        device,
                        pod,
                        container,
                        claim,
                    })
                })
            })
        })
    }
}

/// A DRA device and a container that uses it.
#[derive(Clone, Copy, Debug)]
pub struct UsedDevice<'a> {
    /// The device.
    pub device: &'a DeviceId,
    /// The pod.
    pub pod: &'a PodInUse,
    /// The pod's container.
    pub container: &'a ContainerInUse,
    /// The claim of the device.
    pub claim: &'a ClaimInUse,
}

/// A prepared claim in a kubelet's checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreparedClaim {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Distinguishes it from a later claim of the same name.
    pub uid: Uid,
    /// The pods for which it was prepared.
    pub pods: Vec<Uid>,
    /// Its devices, as far as drivers have named them.
    pub devices: Vec<DeviceId>,
    /// The drivers that have not named a device yet: they may hold any of their devices for it.
    pub silent_drivers: Vec<DriverName>,
}
