//! Claims, their allocations and tolerations.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ids::{DeviceId, NamespacedName, NodeName, ObjectName, Uid};
use super::request::ClaimSpec;
use super::toleration::Toleration;

/// A `ResourceClaim`. Once devices are allocated the spec plays no part for them, but for their replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceClaimTemplate {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Spec of each claim.
    pub spec: Arc<ClaimSpec>,
}
