//! The facts: what a cluster says about devices, taints, claims and pods.
//!
//! Plain values without behaviour of the control plane. Built by `wire`, read by `engine`. Knows no
//! file format, no clock and no network. Values that a newer Kubernetes may add (effects, operators,
//! selector fields) are kept as they are, never dropped.
//!
//! ```text
//! DeviceTaintRule ─selects─▶ device ◀─publishes─ ResourceSlice
//!                               ▲
//!                 ResourceClaim ┘ (allocation result)  ◀─reserved for─ Pod
//! ```

mod affects;
mod budget;
mod claim;
mod cluster_object;
mod count;
mod device;
mod event;
mod group;
mod ids;
mod in_use;
pub mod kind;
mod lazy;
mod manager;
mod minor;
mod node;
mod pod;
mod request;
mod rollout;
mod rule;
mod snapshot;
mod taint;
mod terms;
pub mod three_valued;
mod toleration;
mod workload;

pub use affects::Affects;
pub use budget::{
    Amount, BudgetStatus, LabelOperator, LabelRequirement, LabelSelector, PodDisruptionBudget,
    UnhealthyPodEvictionPolicy,
};
pub use claim::{
    Allocation, AllocationResult, ConsumerReference, Controller, ResourceClaim,
    ResourceClaimTemplate,
};
pub use cluster_object::{
    ClusterObject, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, NamespaceObject,
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
pub use count::{Count, UNKNOWN};
pub use device::{AttributeValue, Device, Pool, ResourceSlice, SliceNodes};
pub use event::{Event, EventSubject};
pub use group::API_VERSION;
pub use group::in_group;
pub use ids::{
    DeviceId, DeviceName, DriverName, Namespace, NamespacedName, NodeName, ObjectName, PoolName,
    Uid,
};
pub use in_use::{
    ClaimInUse, ContainerInUse, InUse, PluginDevices, PodInUse, PreparedClaim, UsedDevice,
};
pub use kind::{Counted, Encoding, Kind, Need, PodRoles, Saving, Scope, Serving};
pub use lazy::Lazy;
pub use manager::{FieldManager, ManagerOperation};
pub use minor::Minor;
pub use node::{Node, NodeCondition, NodeTaint};
pub use pod::{
    ClaimSource, Containers, Deletion, NodeHealth, Phase, Pod, PodClaim, QosClass, Sandbox,
    Scheduled, Scheduling,
};
pub use request::{
    ClaimSpec, ConstraintRule, DeviceAmount, DeviceConstraint, DeviceRequest, REDACTED,
    RequestKind, RequestTerms,
};
pub use rollout::Rollout;
pub use rule::{DeviceClass, DeviceSelector, DeviceTaintRule, EvictionCondition, RuleMetadata};
pub use snapshot::{Gap, Reading, Snapshot, Source, Warning};
pub use taint::{Effect, Taint};
pub use terms::{
    CapacityPolicy, CapacityRange, CounterSet, CounterUse, DeviceTerms, NodeRequirement,
    NodeSelector, NodeTerm, SliceTerms,
};
pub use toleration::{Operator, Toleration};
pub use workload::kinds::*;
pub use workload::{DisruptionAction, FailurePolicy, JobEnd, Workload};
