//! Workloads: what makes pods, and what groups them.
//!
//! Of a workload only what tells how badly the loss of pods would hurt it is kept: who owns it, how many
//! pods it wants and has, and what it does about a pod that is lost.

use super::budget::Amount;
use super::claim::Controller;
use super::ids::{NamespacedName, ObjectName, Uid};
use super::kind::{Kind, for_each_kind};
use super::pod::Pod;
use super::snapshot::Snapshot;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

/// Object that creates pods, directly or through others, or groups them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Distinguishes it from a later one of the same name.
    pub uid: Uid,
    /// Controller; absent at the top of the chain.
    pub controller: Option<Controller>,
    /// Desired pods; absent where the object does not say, or only its metadata was read.
    pub replicas: Option<i32>,
    /// Pods that are ready, and have been for `minReadySeconds`, where it reports them.
    pub ready: Option<i32>,
    /// Minimum of pods without which none of them is of use; absent where each is of use
    /// by itself.
    pub min_members: Option<i32>,
    /// Failure policy, for a Job.
    pub failure: Option<FailurePolicy>,
    /// Rollout, for a Deployment.
    pub rollout: Option<Rollout>,
}

impl Workload {
    /// True if as many of its pods are ready as it wants, or it wants none any more; absent where it does not say.
    pub fn has_recovered(&self) -> Option<bool> {
        let ended = self.failure.as_ref().and_then(|job| job.ended.as_ref());
        // A Job that has ended creates no more pods, so nothing is left to wait for.
        if ended.is_some() {
            return Some(true);
        }
        Some(self.ready? >= self.replicas?)
    }
}

/// Policy of a Job for failed pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailurePolicy {
    /// Tolerated failures.
    pub backoff_limit: i32,
    /// Tolerated failures of each index, for a Job that counts them so.
    pub limit_per_index: Option<i32>,
    /// Failures so far.
    pub failed: i32,
    /// Action for a pod with condition DisruptionTarget.
    pub disruption: DisruptionAction,
    /// End; absent while it goes on.
    pub ended: Option<JobEnd>,
}

/// End of a Job, after which it creates no pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// It has done what it was for.
    Complete,
    /// It failed, for the reason of its condition, which may be empty.
    Failed(String),
}

/// Action of a Job's `podFailurePolicy` for an evicted pod: the first rule that matches.
///
/// Upstream: `matchPodFailurePolicy` in `pkg/controller/job/pod_failure_policy.go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DisruptionAction {
    /// It counts towards the limit, as any failure does that no rule is about.
    #[default]
    Count,
    /// It does not count.
    Ignore,
    /// The whole Job fails.
    FailJob,
    /// The pod's index fails.
    FailIndex,
    /// A rule about exit codes comes first, and these are not known yet; the actions
    /// that are possible, as they are spelled, the first that may match first.
    Depends(Vec<String>),
    /// A word of a newer API.
    Unknown(String),
}

impl Controller {
    /// The kind of workload that it is, unless it is of a kind that is not known here.
    pub fn workload_kind(&self) -> Option<Kind> {
        // The core group has no name, and stands without a slash.
        let group = self
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        Kind::WORKLOADS
            .iter()
            .copied()
            .find(|kind| kind.as_str() == &*self.kind && kind.group() == group)
    }
}

impl Snapshot {
    /// The workloads that pods and other workloads say they belong to, whether they were read or not.
    /// An owner of a kind that is not known here is none of them.
    pub fn named_workloads(&self) -> BTreeMap<Kind, BTreeSet<NamespacedName>> {
        let of_pods = self.pods.iter().flat_map(Pod::workloads);
        let workloads = self.workloads();
        let of_workloads = workloads
            .iter()
            .filter_map(|(_, workload)| owner(&workload.name, workload.controller.as_ref()));
        let mut named: BTreeMap<Kind, BTreeSet<NamespacedName>> = BTreeMap::new();
        for (kind, name) in of_pods.chain(of_workloads) {
            named.entry(kind).or_default().insert(name);
        }
        named
    }
}

impl Pod {
    /// The workloads that the pod says it belongs to: its controller and the groups that it is in.
    pub fn workloads(&self) -> impl Iterator<Item = (Kind, NamespacedName)> + '_ {
        let owner = owner(&self.name, self.controller.as_ref());
        owner.into_iter().chain(groups(self))
    }
}

/// The controller of what has that name, if its kind is known here.
fn owner(
    owned: &NamespacedName,
    controller: Option<&Controller>,
) -> Option<(Kind, NamespacedName)> {
    let controller = controller?;
    let name = NamespacedName {
        namespace: owned.namespace.clone(),
        name: controller.name.clone(),
    };
    Some((controller.workload_kind()?, name))
}

/// The groups that a pod is in.
fn groups(pod: &Pod) -> impl Iterator<Item = (Kind, NamespacedName)> + '_ {
    let of_group = pod.pod_group.clone().map(|name| (Kind::PodGroup, name));
    let of_set = pod
        .leader_worker_set()
        .map(|name| (Kind::LeaderWorkerSet, name.into()));
    let of_plugin = pod
        .coscheduling_group()
        .map(|name| (Kind::CoschedulingPodGroup, name.into()));
    let groups = of_group.into_iter().chain(of_set).chain(of_plugin);
    groups.map(|(kind, name)| {
        let namespace = pod.name.namespace.clone();
        (kind, NamespacedName { namespace, name })
    })
}

macro_rules! workloads {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident {
            versions: [ $($version:tt)* ],
            $(workload: $fill:ident($pods:ident),)?
            spelled: $($columns:tt)*
        }
    )*) => {
        impl Snapshot {
            /// All workloads, each with its kind.
            pub fn workloads(&self) -> Vec<(Kind, &Workload)> {
                let mut all = Vec::new();
                $($(all.extend(workloads!(@each $fill, self.$field, Kind::$kind));)?)*
                all
            }
        }

        /// The kinds of workloads, as types.
        pub mod kinds {
            use super::{Deref, Workload};

            $($(workloads!(@fact $fill, $kind);)?)*
        }
    };
    (@each $fill:ident, $all:expr, $kind:expr) => {
        $all.iter().map(|workload| ($kind, &workload.0))
    };
    (@fact $fill:ident, $kind:ident) => {
        #[doc = concat!("`", stringify!($kind), "`, as any workload.")]
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $kind(pub Workload);

        impl Deref for $kind {
            type Target = Workload;

            fn deref(&self) -> &Workload {
                &self.0
            }
        }

        impl From<Workload> for $kind {
            fn from(workload: Workload) -> Self {
                Self(workload)
            }
        }
    };
}

for_each_kind!(workloads);

/// Strategy and progress of a Deployment's rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollout {
    /// Version of the Deployment; opaque.
    pub resource_version: String,
    /// Pods that there may be beyond the wanted ones; absent if all old pods go first, or the strategy is of a
    /// newer API.
    pub max_surge: Option<Amount>,
    /// True if changes of the template are not rolled out.
    pub is_paused: bool,
    /// Raised by every change of the spec.
    pub generation: i64,
    /// The generation that the numbers are of; older than the Deployment's means that they are too.
    pub observed_generation: i64,
    /// Pods of any template that are not terminating.
    pub total: i32,
    /// Pods of the current template.
    pub updated: i32,
    /// Pods that have been ready for `minReadySeconds`.
    pub available: i32,
    /// Time of the last restart, as `kubectl rollout restart` notes it; absent where that is no time.
    pub restarted: Option<Timestamp>,
}

impl Rollout {
    /// The annotation of the template by which a Deployment is restarted.
    ///
    /// Upstream: `defaultObjectRestarter` of kubectl.
    pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

    /// True if all of `replicas` pods are of the current template and available, and there are no others.
    ///
    /// Upstream: `DeploymentStatusViewer.Status` of kubectl.
    pub fn is_complete(&self, replicas: i32) -> bool {
        self.observed_generation >= self.generation
            && self.updated >= replicas
            && self.total <= self.updated
            && self.available >= replicas
    }
}

impl Amount {
    /// Number of pods out of `replicas`, rounded up; absent where it is not understood.
    ///
    /// Upstream: `intstr.GetScaledValueFromIntOrPercent`.
    pub fn rounded_up(&self, replicas: i32) -> Option<i32> {
        match self {
            Self::Pods(pods) => Some(*pods),
            Self::Part(text) => {
                let percent: i32 = text.strip_suffix('%')?.parse().ok()?;
                let hundredths = i64::from(percent).checked_mul(i64::from(replicas))?;
                i32::try_from(hundredths.checked_add(99)?.div_euclid(100)).ok()
            }
        }
    }
}

/// Something that a component noted about a rule, or about the eviction of a pod; other events are of no
/// interest and never kept. The server forgets them after an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Namespace and name of the event itself.
    pub name: NamespacedName,
    /// Object of the event.
    pub about: EventSubject,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// Time of its last occurrence, as far as that is known.
    pub last: Option<Timestamp>,
}

/// Object of an event, as its reporter names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSubject {
    /// Kind, such as `Pod`.
    pub kind: String,
    /// Its name, with the namespace; that is empty for an object of the cluster.
    pub name: NamespacedName,
    /// Its identity; empty where the event does not say.
    pub uid: Uid,
}

/// Identity and metadata of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterObject {
    /// Unique among those of its kind.
    pub name: ObjectName,
    /// Distinguishes it from a later one of the same name; empty where nothing says it.
    pub uid: Uid,
    /// Version of the object; opaque.
    pub resource_version: String,
    /// For selecting.
    pub labels: BTreeMap<String, String>,
    /// Plain text and programs.
    pub annotations: BTreeMap<String, String>,
    /// Time of deletion, if only a finalizer still holds it.
    pub deletion: Option<Timestamp>,
}

macro_rules! cluster_objects {
    ($($(#[$about:meta])* $kind:ident),*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Debug, PartialEq, Eq)]
            // A type for each kind, though all hold the same: the table of kinds makes a field of the snapshot of
            // each name.
            pub struct $kind(pub ClusterObject);

            impl Deref for $kind {
                type Target = ClusterObject;

                fn deref(&self) -> &ClusterObject {
                    &self.0
                }
            }
        )*
    };
}

cluster_objects!(
    /// `MutatingAdmissionPolicy` of admissionregistration: changes objects while they are stored.
    MutatingAdmissionPolicy,
    /// `MutatingAdmissionPolicyBinding`: where such a policy acts.
    MutatingAdmissionPolicyBinding,
    /// `ValidatingAdmissionPolicy` of admissionregistration: refuses objects.
    ValidatingAdmissionPolicy,
    /// `ValidatingAdmissionPolicyBinding`: where such a policy acts, and how.
    ValidatingAdmissionPolicyBinding,
    /// `Namespace` of the core API; one of names alone is a string in this crate.
    NamespaceObject
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_pod_counts_for_a_surge() {
        let part = |text: &str| Amount::Part(text.to_owned());
        for (amount, replicas, up) in [
            (part("25%"), 4, Some(1)),
            (part("25%"), 3, Some(1)),
            (part("25%"), 5, Some(2)),
            (part("25%"), 1, Some(1)),
            (part("0%"), 4, Some(0)),
            (part("100%"), 4, Some(4)),
            (Amount::Pods(2), 4, Some(2)),
            (part("25"), 4, None),
            (part("many%"), 4, None),
        ] {
            assert_eq!(amount.rounded_up(replicas), up, "{amount:?} of {replicas}");
        }
    }

    #[test]
    fn a_rollout_is_complete_when_only_new_pods_are_there_and_all_are_available() {
        let complete = Rollout {
            resource_version: "7".to_owned(),
            generation: 2,
            observed_generation: 2,
            total: 3,
            updated: 3,
            available: 3,
            ..Rollout::default()
        };
        assert!(complete.is_complete(3));
        let with = |change: fn(&mut Rollout)| {
            let mut rollout = complete.clone();
            change(&mut rollout);
            rollout.is_complete(3)
        };
        for (name, is_complete) in [
            ("unseen", with(|rollout| rollout.observed_generation = 1)),
            ("old pods", with(|rollout| rollout.total = 4)),
            (
                "too few new ones",
                with(|rollout| (rollout.updated, rollout.total) = (2, 2)),
            ),
            ("not available", with(|rollout| rollout.available = 2)),
        ] {
            assert!(!is_complete, "{name}");
        }
    }
}
