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

mod budget;
mod claim;
mod count;
mod device;
mod ids;
pub mod kind;
mod node;
mod pod;
mod rule;
mod snapshot;
pub mod three_valued;
mod workload;

pub use budget::{
    Amount, BudgetStatus, LabelOperator, LabelRequirement, LabelSelector, PodDisruptionBudget,
    UnhealthyPodEvictionPolicy,
};
pub use claim::{
    Allocation, AllocationResult, ClaimInUse, ClaimSpec, ConstraintRule, ConsumerReference,
    ContainerInUse, Controller, DeviceAmount, DeviceConstraint, DeviceRequest, InUse,
    PluginDevices, PodInUse, PreparedClaim, RequestKind, RequestTerms, ResourceClaim,
    ResourceClaimTemplate, UsedDevice,
};
pub use count::{Count, UNKNOWN};
pub use device::{
    AttributeValue, CapacityPolicy, CapacityRange, CounterSet, CounterUse, Device, DeviceTerms,
    Lazy, NodeRequirement, NodeSelector, NodeTerm, Pool, ResourceSlice, SliceNodes, SliceTerms,
};
pub use ids::{
    DeviceId, DeviceName, DriverName, Namespace, NamespacedName, NodeName, ObjectName, PoolName,
    Uid,
};
pub use kind::{Counted, Encoding, Kind, Need, PodRoles, Saving, Scope, Serving};
pub use node::{Node, NodeCondition, NodeTaint};
pub use pod::{
    ClaimHealth, ClaimSource, Containers, Deletion, DeviceHealth, NodeHealth, Phase, Pod, PodClaim,
    QosClass, Sandbox, Scheduled, Scheduling,
};
pub use rule::{
    DeviceClass, DeviceSelector, DeviceTaintRule, Effect, EvictionCondition, FieldManager,
    ManagerOperation, Operator, RuleMetadata, Taint, Toleration,
};
pub use snapshot::{Affects, Gap, Minor, Reading, Snapshot, Source, Warning};
pub use workload::kinds::*;
pub use workload::{
    ClusterObject, DisruptionAction, Event, EventSubject, FailurePolicy, JobEnd,
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, NamespaceObject, Rollout,
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, Workload,
};
