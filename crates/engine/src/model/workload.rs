//! Workloads: what makes pods, and what groups them.
//!
//! Of a workload only what tells how badly the loss of pods would hurt it is kept: who owns it, how many
//! pods it wants and has, and what it does about a pod that is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::claim::Controller;
use super::ids::{NamespacedName, Uid};
use super::kind::Kind;
use super::kind::for_each_kind;
use super::pod::Pod;
use super::rollout::Rollout;
use super::snapshot::Snapshot;

/// Object that creates pods, directly or through others, or groups them.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisruptionAction {
    /// It counts towards the limit, as any failure does that no rule is about.
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
            $(workload: $fill:ident($pods:ident),)? $(redacted: $redacted:expr,)?
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
        #[derive(Clone, Debug, PartialEq, Eq)]
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
