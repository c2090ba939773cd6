//! The kinds of object that are read, as data: the one table of them.
//!
//! Everything that depends on the kind alone is a column here, and everything that lists the kinds is
//! made from the rows: [`Kind`], [`Snapshot`](super::Snapshot), and in `wire` the table of API versions
//! and the enums over all kinds. Discovery, reading, saving and files ask the table. How to add a row is
//! a recipe in CONTRIBUTING.md.

use std::fmt;

use super::snapshot::Affects;

/// Hands the table to the macro `$with`: one row per kind, in the order in which kinds depend on each
/// other. It is a macro since enums and structs are made from it, which no constant can do.
///
/// A row is the kind, the field of the snapshot that holds its facts, and these columns:
///
/// - `versions`: the newest first: group and version as in objects; the first minor version of
///   Kubernetes that has it; and the first that has it no longer, where that is known
/// - `workload`, of kinds that make or group pods alone: the function of `wire` that reads how many pods there are,
///   and [`PodRoles`]
/// - `spelled`: the kind, as it is spelled in objects
/// - `plural`: the resource, as it is spelled in URLs and permissions, with its group where another group
///   has one of the same name
/// - `group`: the API group; empty for the core group
/// - `scope`: [`Scope`]
/// - `need`: [`Need`]
/// - `affects`: [`Affects`], how far an answer about evictions depends on it
/// - `without`: what its absence means, to follow a reason and a colon
/// - `read`: [`Encoding`] of live reads
/// - `saved`: [`Saving`]
/// - `served`: [`Serving`], how its API is enabled
/// - `counted`: [`Counted`], which counts of an answer depend on it
///
/// Upstream of the versions: `zz_generated.prerelease-lifecycle.go` of each.
#[macro_export]
macro_rules! for_each_kind {
    ($with:ident) => {
        $with! {
            /// All slices, of every pool generation.
            ResourceSlice in slices {
                versions: [
                    "resource.k8s.io/v1", 34, None;
                    "resource.k8s.io/v1beta2", 33, Some(39);
                ],
                spelled: "ResourceSlice", plural: "resourceslices", group: "resource.k8s.io", scope: Cluster,
                // Since 1.35 a rule reaches what claims hold without any slice; for versions before see
                // `Semantics::affects` in `engine`.
                need: Always, affects: Details, read: Protobuf, saved: Always,
                served: Devices, counted: Slices,
                without: "running drivers, unallocated devices, and taints set by drivers are unknown",
            }
            /// All claims, allocated or not.
            ResourceClaim in claims {
                versions: [
                    "resource.k8s.io/v1", 34, None;
                    "resource.k8s.io/v1beta2", 33, Some(39);
                ],
                spelled: "ResourceClaim", plural: "resourceclaims", group: "resource.k8s.io", scope: Namespace,
                need: Always, affects: Evictions, read: Protobuf, saved: Always,
                served: Devices, counted: Claims,
                without: "allocated devices and the pods that use them are unknown",
            }
            /// All rules.
            DeviceTaintRule in rules {
                versions: [
                    "resource.k8s.io/v1", 37, None;
                    "resource.k8s.io/v1beta2", 36, Some(42);
                    "resource.k8s.io/v1alpha3", 33, Some(39);
                ],
                spelled: "DeviceTaintRule", plural: "devicetaintrules", group: "resource.k8s.io", scope: Cluster,
                // No server before 1.37 serves rules by default, and one that does not has none.
                need: WhereServed, affects: Details, read: Json, saved: Always,
                served: Rules, counted: Rules,
                without: "taints of existing rules are not counted",
            }
            /// The pods that use a claim.
            Pod in pods {
                versions: [ "v1", 0, None; ],
                spelled: "Pod", plural: "pods", group: "", scope: Namespace,
                need: Always, affects: Evictions, read: Protobuf, saved: Always,
                served: Always, counted: Pods,
                without: "the pods that would be evicted are not all known",
            }
            /// All device classes.
            DeviceClass in classes {
                versions: [
                    "resource.k8s.io/v1", 34, None;
                    "resource.k8s.io/v1beta2", 33, Some(39);
                ],
                spelled: "DeviceClass", plural: "deviceclasses", group: "resource.k8s.io", scope: Cluster,
                need: Optional, affects: Details, read: Protobuf, saved: Always,
                served: Devices, counted: Nothing,
                without: "it is unknown whether claims can be reallocated",
            }
            /// Events about rules, and about evictions from devices.
            Event in events {
                versions: [ "v1", 0, None; ],
                spelled: "Event", plural: "events", group: "", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Never,
                served: Always, counted: Nothing,
                without: "past evictions are unknown",
            }
            /// All nodes.
            Node in nodes {
                versions: [ "v1", 0, None; ],
                spelled: "Node", plural: "nodes", group: "", scope: Cluster,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: Always, counted: Nodes,
                without: "it is unknown whether the nodes of the pods are ready",
            }
            /// All budgets.
            PodDisruptionBudget in budgets {
                versions: [ "policy/v1", 21, None; ],
                spelled: "PodDisruptionBudget", plural: "poddisruptionbudgets", group: "policy", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: Always, counted: Budgets,
                without: "violations of PodDisruptionBudgets are unknown",
            }
            /// The replica sets above pods of interest.
            ReplicaSet in replica_sets {
                versions: [ "apps/v1", 9, None; ],
                workload: replicated(Interchangeable),
                spelled: "ReplicaSet", plural: "replicasets", group: "apps", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: Always, counted: Workloads,
                without: "some workloads of pods, and how many ready pods they would keep, are unknown",
            }
            /// The deployments above pods of interest.
            Deployment in deployments {
                versions: [ "apps/v1", 9, None; ],
                workload: deployment(Interchangeable),
                spelled: "Deployment", plural: "deployments", group: "apps", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: Always, counted: Workloads,
                without: "some workloads of pods, and how many ready pods they would keep, are unknown",
            }
            /// The stateful sets above pods of interest.
            StatefulSet in stateful_sets {
                versions: [ "apps/v1", 9, None; ],
                workload: replicated(Interchangeable),
                spelled: "StatefulSet", plural: "statefulsets", group: "apps", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: Always, counted: Workloads,
                without: "some workloads of pods, and how many ready pods they would keep, are unknown",
            }
            /// The daemon sets above pods of interest.
            DaemonSet in daemon_sets {
                versions: [ "apps/v1", 9, None; ],
                workload: daemon(Distinct),
                spelled: "DaemonSet", plural: "daemonsets", group: "apps", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: Always, counted: Workloads,
                without: "some workloads of pods, and how many ready pods they would keep, are unknown",
            }
            /// The jobs above pods of interest.
            Job in jobs {
                versions: [ "batch/v1", 2, None; ],
                workload: job(Distinct),
                spelled: "Job", plural: "jobs", group: "batch", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: Always, counted: Workloads,
                without: "some workloads of pods, and how many ready pods they would keep, are unknown",
            }
            /// The cron jobs above pods of interest.
            CronJob in cron_jobs {
                versions: [ "batch/v1", 21, None; ],
                workload: none(Distinct),
                spelled: "CronJob", plural: "cronjobs", group: "batch", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: Always, counted: Workloads,
                without: "some workloads of pods, and how many ready pods they would keep, are unknown",
            }
            /// The leader worker sets above pods of interest.
            LeaderWorkerSet in leader_worker_sets {
                versions: [ "leaderworkerset.x-k8s.io/v1", 0, None; ],
                workload: leader_workers(Distinct),
                spelled: "LeaderWorkerSet", plural: "leaderworkersets", group: "leaderworkerset.x-k8s.io", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: ByController, counted: Workloads,
                without: "some workloads of pods, and how many ready pods they would keep, are unknown",
            }
            /// The job sets above pods of interest.
            JobSet in job_sets {
                versions: [ "jobset.x-k8s.io/v1alpha2", 0, None; ],
                workload: none(Distinct),
                spelled: "JobSet", plural: "jobsets", group: "jobset.x-k8s.io", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: ByController, counted: Workloads,
                without: "some workloads of pods, and how many ready pods they would keep, are unknown",
            }
            /// The groups of pods of interest; only since 1.37.
            PodGroup in pod_groups {
                versions: [ "scheduling.k8s.io/v1beta1", 37, None; ],
                workload: group(Distinct),
                spelled: "PodGroup", plural: "podgroups", group: "scheduling.k8s.io", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: PodGroups, counted: Workloads,
                without: "it is unknown whether pod groups lose members that they require",
            }
            /// The groups of pods of interest, of the coscheduling plugin, which is another API.
            CoschedulingPodGroup in coscheduling_pod_groups {
                versions: [ "scheduling.x-k8s.io/v1alpha1", 0, None; ],
                workload: coscheduled(Distinct),
                spelled: "PodGroup", plural: "podgroups.scheduling.x-k8s.io", group: "scheduling.x-k8s.io", scope: Namespace,
                need: Optional, affects: Details, read: Json, saved: Always,
                served: ByController, counted: Workloads,
                without: "it is unknown whether pod groups lose members that they require",
            }
            /// The templates of claims of pods that may still come.
            ResourceClaimTemplate in templates {
                versions: [
                    "resource.k8s.io/v1", 34, None;
                    "resource.k8s.io/v1beta2", 33, Some(39);
                ],
                spelled: "ResourceClaimTemplate", plural: "resourceclaimtemplates", group: "resource.k8s.io", scope: Namespace,
                need: Optional, affects: Details, read: Protobuf, saved: Always,
                served: Devices, counted: Nothing,
                without: "requests and tolerations of future pods are unknown",
            }
            /// The policies that change objects while they are stored.
            MutatingAdmissionPolicy in mutating_policies {
                versions: [
                    "admissionregistration.k8s.io/v1", 36, None;
                    "admissionregistration.k8s.io/v1beta1", 34, None;
                    "admissionregistration.k8s.io/v1alpha1", 32, None;
                ],
                spelled: "MutatingAdmissionPolicy", plural: "mutatingadmissionpolicies", group: "admissionregistration.k8s.io", scope: Cluster,
                need: Optional, affects: Details, read: Json, saved: Never,
                served: MutatingPolicies, counted: Nothing,
                without: "the tolerations that admission policies add to new claims are unknown",
            }
            /// Binding of those policies.
            MutatingAdmissionPolicyBinding in mutating_bindings {
                versions: [
                    "admissionregistration.k8s.io/v1", 36, None;
                    "admissionregistration.k8s.io/v1beta1", 34, None;
                    "admissionregistration.k8s.io/v1alpha1", 32, None;
                ],
                spelled: "MutatingAdmissionPolicyBinding", plural: "mutatingadmissionpolicybindings", group: "admissionregistration.k8s.io", scope: Cluster,
                need: Optional, affects: Details, read: Json, saved: Never,
                served: MutatingPolicies, counted: Nothing,
                without: "the tolerations that admission policies add to new claims are unknown",
            }
            /// The policies that refuse objects.
            ValidatingAdmissionPolicy in validating_policies {
                versions: [ "admissionregistration.k8s.io/v1", 30, None; ],
                spelled: "ValidatingAdmissionPolicy", plural: "validatingadmissionpolicies", group: "admissionregistration.k8s.io", scope: Cluster,
                need: Optional, affects: Details, read: Json, saved: Never,
                served: Always, counted: Nothing,
                without: "the tolerations that admission policies reject are unknown",
            }
            /// Binding of those policies.
            ValidatingAdmissionPolicyBinding in validating_bindings {
                versions: [ "admissionregistration.k8s.io/v1", 30, None; ],
                spelled: "ValidatingAdmissionPolicyBinding", plural: "validatingadmissionpolicybindings", group: "admissionregistration.k8s.io", scope: Cluster,
                need: Optional, affects: Details, read: Json, saved: Never,
                served: Always, counted: Nothing,
                without: "the tolerations that admission policies reject are unknown",
            }
            /// The namespaces that devices can be dedicated to.
            NamespaceObject in namespaces {
                versions: [ "v1", 0, None; ],
                spelled: "Namespace", plural: "namespaces", group: "", scope: Cluster,
                need: Optional, affects: Details, read: Json, saved: Never,
                served: Always, counted: Nothing,
                without: "the existing namespaces are unknown",
            }
        }
    };
}
pub use for_each_kind;

/// Scope of a kind: namespaced, or cluster-wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A name is unique in the cluster.
    Cluster,
    /// A name is unique in its namespace.
    Namespace,
}

/// Need for a kind: required, or optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Required: where it is missing, that is a gap.
    Always,
    /// Required, but a server that does not serve it has nothing that could be missing.
    WhereServed,
    /// Optional: its users request it, and report it as missing themselves.
    Optional,
}

/// Encoding in which a kind is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Decoded item by item while it arrives: for what there is much of.
    Protobuf,
    /// For what there is little of, whose unknown fields matter, or that has no decoder of our own.
    Json,
}

/// Handling of a kind in snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saving {
    /// Saved: all objects of it that are of interest.
    Always,
    /// Not saved: soon past, or much, and no answer about devices depends on it.
    Never,
}

/// Relation between the pods of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodRoles {
    /// Pods that can replace each other.
    Interchangeable,
    /// Pods that each have work of their own.
    Distinct,
}

/// Condition under which a server serves a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// Every server does.
    Always,
    /// With the API of devices.
    Devices,
    /// With that of device taints.
    Rules,
    /// With that of mutating admission policies.
    MutatingPolicies,
    /// With that of pod groups.
    PodGroups,
    /// Where the controller of the kind is installed.
    ByController,
}

/// Counts of an answer that may be higher where a kind was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Devices that are published, and all that follows from them.
    Slices,
    /// Devices that are allocated, and who uses them.
    Claims,
    /// Taints, and what they do.
    Rules,
    /// Pods.
    Pods,
    /// Budgets.
    Budgets,
    /// Workloads and groups.
    Workloads,
    /// Nodes.
    Nodes,
    /// Nothing.
    Nothing,
}

/// Value of an optional column.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// The kind of a row that has the column of workloads, which `$pods` shows.
macro_rules! of_workload {
    ($pods:ident: $kind:expr) => {
        $kind
    };
}

macro_rules! kinds {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident {
            versions: [ $($version:tt)* ],
            $(workload: $fill:ident($pods:ident),)?
            spelled: $spelled:literal, plural: $plural:literal, group: $group:literal, scope: $scope:ident,
            need: $need:ident, affects: $affects:ident, read: $read:ident, saved: $saved:ident,
            served: $served:ident, counted: $counted:ident,
            without: $without:literal,
        }
    )*) => {
        /// A kind of object that answers are made from.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(
                #[doc = concat!("`", stringify!($kind), "`")]
                $kind,
            )*
        }

        impl Kind {
            const COUNT: usize = [$(Self::$kind),*].len();

            /// Every kind, in the order in which they depend on each other.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$kind),*];

            /// The kinds of workloads, in the same order.
            pub const WORKLOADS: &'static [Self] = &[$($(of_workload!($pods: Self::$kind),)?)*];

            /// Relation between its pods; absent for kinds that are no workloads.
            pub fn pod_roles(self) -> Option<PodRoles> {
                match self { $(Self::$kind => optional!($(PodRoles::$pods)?),)* }
            }

            /// True if it is a workload whose pods can replace each other.
            pub fn has_interchangeable_pods(self) -> bool {
                self.pod_roles() == Some(PodRoles::Interchangeable)
            }

            /// True if it makes or groups pods.
            pub fn is_workload(self) -> bool {
                self.pod_roles().is_some()
            }

            /// Condition under which a server serves it.
            pub fn serving(self) -> Serving {
                match self { $(Self::$kind => Serving::$served,)* }
            }

            /// Counts of an answer that depend on it.
            pub fn counted(self) -> Counted {
                match self { $(Self::$kind => Counted::$counted,)* }
            }

            /// The kind as it is spelled in objects; two groups may have one of the same name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $spelled,)* }
            }

            /// The resource as kubectl takes it, with its group where another has one of the same name.
            pub fn plural(self) -> &'static str {
                match self { $(Self::$kind => $plural,)* }
            }

            /// The resource as it is spelled in URLs and permissions, within its group.
            pub fn resource(self) -> &'static str {
                let plural = self.plural();
                // Two kinds are called podgroups. The plural of one carries its group, which the API path
                // does not have.
                plural.split_once('.').map_or(plural, |(resource, _)| resource)
            }

            /// The API group that serves it; empty for the core group.
            pub fn group(self) -> &'static str {
                match self { $(Self::$kind => $group,)* }
            }

            /// Scope of its objects.
            pub fn scope(self) -> Scope {
                match self { $(Self::$kind => Scope::$scope,)* }
            }

            /// Need of answers for it.
            pub fn need(self) -> Need {
                match self { $(Self::$kind => Need::$need,)* }
            }

            /// Parts of an answer about evictions that depend on it.
            pub fn affects(self) -> Affects {
                match self { $(Self::$kind => Affects::$affects,)* }
            }

            /// True if its API versions are discovered only by commands that use it: most never do, and should not
            /// pay a request for it.
            pub fn is_discovered_apart(self) -> bool {
                self.group() == "admissionregistration.k8s.io"
            }

            /// Encoding in which it is requested.
            pub fn encoding(self) -> Encoding {
                match self { $(Self::$kind => Encoding::$read,)* }
            }

            /// Handling in snapshots.
            pub fn saving(self) -> Saving {
                match self { $(Self::$kind => Saving::$saved,)* }
            }

            /// Consequence of its absence, to follow a reason and a colon.
            pub fn without(self) -> &'static str {
                match self { $(Self::$kind => $without,)* }
            }
        }
    };
}

for_each_kind!(kinds);

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_their_plurals_are_told_apart() {
        for kind in Kind::ALL {
            for other in Kind::ALL {
                let of_group = |kind: Kind| (kind.as_str(), kind.group());
                let same = of_group(kind) == of_group(other) || kind.plural() == other.plural();
                assert_eq!(same, kind == other, "{kind} {other}");
            }
        }
    }

    #[test]
    fn nobody_is_evicted_because_of_what_an_answer_can_do_without() {
        for kind in Kind::ALL {
            let optional = kind.need() == Need::Optional;
            assert!(!optional || kind.affects() != Affects::Evictions, "{kind}");
        }
    }
}
