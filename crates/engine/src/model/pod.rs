//! Pods, as far as claims, eviction and its consequences go.

use std::sync::Arc;

use jiff::Timestamp;

use super::claim::Controller;
use super::device::NodeSelector;
use super::ids::{NamespacedName, NodeName, ObjectName, Uid};
use super::rule::Toleration;

/// A pod that uses at least one claim, or that waits for extended resources, which a device class may serve; others are
/// never kept. The default is pending, on no node, and without a grace period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Namespace and name.
    pub name: NamespacedName,
    /// UID of the pod, which a later pod of the same name does not have.
    pub uid: Uid,
    /// Node on which it runs; absent while it is not scheduled.
    pub node: Option<NodeName>,
    /// For selecting, by key.
    //
    // A list and no map: a pod has a few, and tens of thousands of pods may be kept.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// Annotations of [`Pod::ANNOTATIONS`] that it has, by key.
    pub annotations: Vec<(Arc<str>, Arc<str>)>,
    /// Phase.
    pub phase: Phase,
    /// True if its condition `Ready` is true; false while it has none.
    pub is_ready: bool,
    /// Scheduling condition and constraints; absent for a scheduled pod without a condition.
    //
    // Boxed, since most pods have a node.
    pub scheduling: Option<Box<Scheduling>>,
    /// Containers, as its kubelet last reported them.
    pub containers: Containers,
    /// Sandbox, as its kubelet last reported it.
    pub sandbox: Sandbox,
    /// Health of its devices, as its kubelet last reported it.
    pub health: Vec<ClaimHealth>,
    /// Deletion of the pod, if it was deleted.
    pub deletion: Option<Deletion>,
    /// The entries of `spec.resourceClaims`, resolved as far as the pod's status says.
    pub claims: Vec<PodClaim>,
    /// The claim that was made for its extended resources, if any; in the pod's namespace.
    pub extended_resource_claim: Option<ObjectName>,
    /// The extended resources that its containers request, each with its amount; none once it has a node.
    pub extended_resources: Vec<(Arc<str>, i64)>,
    /// The PodGroup it is scheduled with, if any; in the pod's namespace.
    pub pod_group: Option<ObjectName>,
    /// Controller; absent for a bare pod.
    pub controller: Option<Controller>,
    /// Quality of service, when the server has said.
    pub qos_class: Option<QosClass>,
    /// Scheduling priority; zero when absent.
    pub priority: i32,
    /// Name of the priority class; empty when there is none.
    pub priority_class_name: Arc<str>,
    /// Seconds it gets to stop, when it is deleted without saying otherwise.
    pub grace_period_seconds: i64,
    /// True if it keeps data on its node that are lost with it: a volume of type `emptyDir`.
    pub has_local_data: bool,
}

impl Pod {
    /// The Deployment to which the ReplicaSet of the pod belongs, as the name of the ReplicaSet says; absent for other pods.
    ///
    /// Upstream: `pkg/controller/deployment/sync.go` names a ReplicaSet after its Deployment and the hash, which is a label of
    /// its pods.
    pub fn deployment(&self) -> Option<ObjectName> {
        const HASH: &str = "pod-template-hash";
        let owner = self.controller.as_ref()?;
        let (_, hash) = self.labels.iter().find(|(key, _)| &**key == HASH)?;
        let name = owner
            .name
            .as_str()
            .strip_suffix(&**hash)?
            .strip_suffix('-')?;
        (&*owner.kind == "ReplicaSet").then(|| ObjectName::from(name))
    }

    /// The annotations that say something about its eviction; others are not kept.
    pub const ANNOTATIONS: [&str; 5] = [
        Self::INDEX_FAILURES,
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        "descheduler.alpha.kubernetes.io/prefer-no-eviction",
        "karpenter.sh/do-not-disrupt",
        "scheduler.alpha.kubernetes.io/critical-pod",
    ];

    /// The annotation in which a Job notes how often the pod's index has failed before.
    ///
    /// Upstream: `JobIndexFailureCountAnnotation` in `k8s.io/api/batch/v1`.
    pub const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
    /// The label with the LeaderWorkerSet that a pod is of.
    ///
    /// Upstream: `SetNameLabelKey` in `api/leaderworkerset/v1/leaderworkerset_types.go` of kubernetes-sigs/lws.
    pub const LEADER_WORKER_SET: &str = "leaderworkerset.sigs.k8s.io/name";
    /// The label that says in which of the groups of a LeaderWorkerSet a pod is.
    ///
    /// Upstream: `GroupIndexLabelKey`, beside the other.
    pub const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
    /// The label with the group that the coscheduling plugin schedules a pod with.
    ///
    /// Upstream: `PodGroupLabel` in `apis/scheduling/v1alpha1` of kubernetes-sigs/scheduler-plugins.
    pub const COSCHEDULING_GROUP: &str = "scheduling.x-k8s.io/pod-group";

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(name, _)| **name == *key)
            .map(|(_, value)| &**value)
    }

    /// The LeaderWorkerSet that it is of, in its namespace: owner references lead from a worker to its
    /// leader, and no further.
    pub fn leader_worker_set(&self) -> Option<&str> {
        self.label(Self::LEADER_WORKER_SET)
    }

    /// The node that it is on, or the only one on which it can be, as a DaemonSet's pod before it has one.
    ///
    /// Upstream: `ReplaceDaemonSetPodNodeNameNodeAffinity` in `pkg/controller/daemon/util/daemonset_util.go`, which lets
    /// each pod insist on its node by name.
    pub fn only_node(&self) -> Option<NodeName> {
        if let Some(node) = &self.node {
            return Some(node.clone());
        }
        let mut fields = self
            .scheduling
            .iter()
            .flat_map(|scheduling| &scheduling.nodes)
            .filter_map(|selector| match &selector.terms[..] {
                // Of several terms, any may hold.
                [only] => Some(only.fields.iter()),
                [] | [_, _, ..] => None,
            })
            .flatten();
        fields.find_map(|field| match &field.values[..] {
            [node] if &*field.key == "metadata.name" && &*field.operator == "In" => {
                Some(NodeName::from(&**node))
            }
            _ => None,
        })
    }

    /// The scheduling gates that are left.
    pub fn gates(&self) -> &[Arc<str>] {
        self.scheduling.as_ref().map_or(&[], |it| &it.gates)
    }

    /// Message of the scheduler about a pod for which it has found no node.
    pub fn has_no_place(&self) -> Option<&str> {
        let said = self.scheduling.as_ref()?.said.as_ref()?;
        let is_unschedulable = !said.is_scheduled && &*said.reason == "Unschedulable";
        (self.node.is_none() && is_unschedulable).then_some(&*said.message)
    }

    /// The group that the coscheduling plugin schedules the pod with.
    pub fn coscheduling_group(&self) -> Option<&str> {
        self.label(Self::COSCHEDULING_GROUP)
    }

    /// The value of one of [`Pod::ANNOTATIONS`].
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations
            .iter()
            .find(|(name, _)| **name == *key)
            .map(|(_, value)| &**value)
    }
}

/// Scheduling condition and constraints of a pod, beside its claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Last condition.
    pub said: Option<Scheduled>,
    /// The node on which it has evicted pods for this one, and waits until they are gone; none once it has a node.
    //
    // `status.nominatedNodeName`.
    pub nominated: Option<NodeName>,
    /// Scheduling gates; none are left once it has a node.
    pub gates: Vec<Arc<str>>,
    /// Required node selectors, all of which have to match.
    pub nodes: Vec<NodeSelector>,
    /// The taints of nodes that it tolerates; without the default tolerations, which open no node.
    pub tolerations: Vec<Toleration>,
}

/// The condition `PodScheduled`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// True if the pod has a node.
    pub is_scheduled: bool,
    /// Time of its last change, by the scheduler's clock.
    pub since: Option<Timestamp>,
    /// Reason, in one word, such as `Unschedulable`.
    pub reason: Arc<str>,
    /// Message, in a sentence; may be empty.
    pub message: Arc<str>,
}

/// Health of the devices of a claim or of one of its requests (`allocatedResourcesStatus`, which a kubelet writes with
/// the feature gate `ResourceHealthStatus`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimHealth {
    /// Name of the claim's entry in the pod; of the claim itself for extended resources.
    pub claim: Arc<str>,
    /// The request; absent where all devices of the claim are reported.
    pub request: Option<Arc<str>>,
    /// Each resource ID with its health. An ID that several devices have stands once.
    ///
    /// Upstream: `buildResourceHealth` in `pkg/kubelet/cm/dra/manager.go`: the first CDI device ID, or
    /// `DRIVER/POOL/DEVICE` without one.
    pub resources: Vec<(Arc<str>, DeviceHealth)>,
}

/// Health of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceHealth {
    /// It works.
    Healthy,
    /// The driver reports that it does not work.
    Unhealthy,
    /// Not known, or a value that is newer than this crate.
    Unknown,
}

/// An entry of a pod's `spec.resourceClaims`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodClaim {
    /// The entry's name within the pod.
    pub name: Arc<str>,
    /// Source of the claim.
    pub source: ClaimSource,
}

/// Source of a pod's claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClaimSource {
    /// An existing claim, by name.
    Claim(ObjectName),
    /// Generated from a template.
    Template {
        /// Name of the template, in the pod's namespace.
        template: ObjectName,
        /// Name of the generated claim, from `status.resourceClaimStatuses`; absent while there is
        /// no entry, or one that says that no claim was needed.
        generated: Option<ObjectName>,
    },
    /// Neither, or something newer than this crate: never resolved, as upstream.
    #[default]
    Unknown,
}

/// Phase of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Not all containers were started.
    #[default]
    Pending,
    /// At least one container runs.
    Running,
    /// All containers ended well.
    Succeeded,
    /// All containers ended, at least one not well.
    Failed,
    /// `Unknown`, absent, or a newer phase; shown as is.
    Unknown(String),
}

impl Phase {
    /// The phase as it is spelled in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown(text) => text,
        }
    }

    /// True if no container will run again.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Succeeded | Self::Failed => true,
            Self::Pending | Self::Running | Self::Unknown(_) => false,
        }
    }
}

impl From<&str> for Phase {
    fn from(text: &str) -> Self {
        match text {
            "Pending" => Self::Pending,
            "Running" => Self::Running,
            "Succeeded" => Self::Succeeded,
            "Failed" => Self::Failed,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

/// Containers of a pod as its kubelet last reported them, including init and ephemeral ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Containers {
    /// Nothing, or not of all of them.
    #[default]
    Unknown,
    /// At least one runs.
    Running,
    /// All have ended.
    Ended {
        /// The end of the last one, where that is said.
        at: Option<Timestamp>,
    },
}

/// Sandbox of a pod, which holds its network, as its kubelet last reported it: the condition
/// `PodReadyToStartContainers`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// Nothing.
    #[default]
    Unknown,
    /// It is up.
    Up,
    /// It is not there, or was taken down.
    Down {
        /// Since when, where that is said.
        since: Option<Timestamp>,
    },
}

/// A pod's quality of service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QosClass {
    /// Limits equal requests everywhere.
    Guaranteed,
    /// Some requests.
    Burstable,
    /// No requests.
    BestEffort,
    /// From a newer API; shown as is.
    Unknown(String),
}

impl QosClass {
    /// The class as it is spelled in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Guaranteed => "Guaranteed",
            Self::Burstable => "Burstable",
            Self::BestEffort => "BestEffort",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for QosClass {
    fn from(text: &str) -> Self {
        match text {
            "Guaranteed" => Self::Guaranteed,
            "Burstable" => Self::Burstable,
            "BestEffort" => Self::BestEffort,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

/// A pod on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Time when its grace period ends (`deletionTimestamp`).
    pub at: Timestamp,
    /// The grace period that was granted, in seconds.
    pub grace_period_seconds: Option<i64>,
    /// Finalizers that delay its removal.
    pub finalizers: Vec<String>,
}

/// Ability of a pod's node to end the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeHealth {
    /// Its kubelet reports that it is ready.
    Ready,
    /// Its kubelet does not, or has not been heard of for a while.
    NotReady,
    /// There is no such node.
    Gone,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NodeRequirement, NodeTerm};
    use crate::testing::pod;

    #[test]
    fn a_pod_that_waits_for_one_node_names_it() {
        let insisting = |terms: &[&[&str]]| {
            let mut pod = pod("team-a", "exporter-1");
            pod.node = None;
            let terms = terms.iter().map(|nodes| NodeTerm {
                fields: vec![NodeRequirement {
                    key: "metadata.name".into(),
                    operator: "In".into(),
                    values: nodes.iter().map(|node| (*node).into()).collect(),
                }],
                ..NodeTerm::default()
            });
            pod.scheduling = Some(Box::new(Scheduling {
                nodes: vec![NodeSelector {
                    terms: terms.collect(),
                }],
                ..Scheduling::default()
            }));
            pod.only_node()
        };
        assert_eq!(insisting(&[&["hand-0"]]), Some("hand-0".into()));
        assert_eq!(insisting(&[&["hand-0", "hand-1"]]), None);
        assert_eq!(insisting(&[&["hand-0"], &["hand-1"]]), None);
        assert_eq!(pod("team-a", "new").only_node(), Some("node-7".into()));
    }

    #[test]
    fn only_a_pod_that_the_scheduler_gave_up_on_has_no_place() {
        let said = |node: Option<&str>, is_scheduled: bool, reason: &str| {
            let mut pod = pod("team-a", "web-1");
            pod.node = node.map(Into::into);
            pod.scheduling = Some(Box::new(Scheduling {
                said: Some(Scheduled {
                    is_scheduled,
                    since: None,
                    reason: reason.into(),
                    message: "no device".into(),
                }),
                ..Scheduling::default()
            }));
            pod.has_no_place().map(str::to_owned)
        };
        assert_eq!(
            said(None, false, "Unschedulable").as_deref(),
            Some("no device")
        );
        assert_eq!(said(None, false, "SchedulingGated"), None);
        assert_eq!(said(None, true, "Unschedulable"), None);
        assert_eq!(said(Some("node-7"), false, "Unschedulable"), None);
        assert_eq!(pod("team-a", "new").has_no_place(), None);
    }
}
