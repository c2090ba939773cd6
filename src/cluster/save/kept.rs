//! What is kept of each kind in a redacted snapshot, field by field? What is not here is dropped.

use crate::model::Kind;

/// What becomes of a field.
pub(super) enum Part {
    /// A number, a time, or a word that says nothing about its owner.
    Keep,
    /// A name of something.
    Name(&'static str),
    /// A name of what another field beside it says.
    NameOf(&'static str),
    /// An identity.
    Uid,
    /// An API version.
    Group,
    /// A kind of the API version beside it.
    Kind,
    /// Labels, by key.
    Labels,
    /// Those annotations that say whether a pod may be evicted.
    Annotations,
    /// The key of a taint of a node; kept where Kubernetes gives it.
    Key,
    /// An object, of which these are kept.
    Fields(Fields),
    /// A list, with all items.
    Items(&'static Part),
}

/// The fields of an object that are kept, by name.
pub(super) type Fields = &'static [(&'static str, Part)];

/// What is kept of an object of that kind; nothing where none is kept.
pub(super) fn kept(kind: Kind) -> Option<Fields> {
    Some(match kind {
        Kind::ResourceSlice => SLICE,
        Kind::ResourceClaim => CLAIM,
        Kind::DeviceTaintRule => RULE,
        Kind::Pod => POD,
        Kind::Node => NODE,
        Kind::PodDisruptionBudget => BUDGET,
        Kind::ReplicaSet => REPLICA_SET,
        Kind::Deployment => DEPLOYMENT,
        Kind::StatefulSet => STATEFUL_SET,
        Kind::DaemonSet => DAEMON_SET,
        Kind::Job => JOB,
        Kind::CronJob => CRON_JOB,
        Kind::LeaderWorkerSet => LEADER_WORKER_SET,
        Kind::JobSet => JOB_SET,
        Kind::PodGroup => POD_GROUP,
        Kind::DeviceClass | Kind::Event => return None,
    })
}

/// An object: the fields that are kept as they are, and what becomes of the others.
macro_rules! fields {
    ([$($kept:literal),*] $($name:literal: $part:expr,)*) => {
        Part::Fields(&[$(($kept, Part::Keep),)* $(($name, $part),)*])
    };
}

/// A list of such objects.
macro_rules! items {
    ($($fields:tt)*) => {
        Part::Items(&fields!($($fields)*))
    };
}

/// An object of the server that has this word for a name, and perhaps labels and annotations that count.
macro_rules! object {
    ($what:literal $($labels:literal $annotations:literal)?, $($name:literal: $part:expr,)*) => {
        &[
            ("apiVersion", Part::Keep),
            ("kind", Part::Keep),
            ("metadata", fields!(
                ["resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"]
                "name": Part::Name($what),
                "namespace": Part::Name("namespace"),
                "uid": Part::Uid,
                $($labels: Part::Labels, $annotations: Part::Annotations,)?
                "ownerReferences": items!(
                    ["controller"]
                    "apiVersion": Part::Group,
                    "kind": Part::Kind,
                    "name": Part::NameOf("kind"),
                    "uid": Part::Uid,
                ),
            )),
            $(($name, $part),)*
        ]
    };
}

const TAINT: Part = fields!(["key", "value", "effect", "timeAdded"]);

const SLICE: Fields = object!(
    "slice",
    "spec": fields!(
        ["driver", "allNodes", "perDeviceNodeSelection"]
        "pool": fields!(["generation", "resourceSliceCount"] "name": Part::Name("pool"),),
        "nodeName": Part::Name("node"),
        "devices": items!(
            ["allNodes", "allowMultipleAllocations"]
            "name": Part::Name("device"),
            "nodeName": Part::Name("node"),
            "taints": Part::Items(&TAINT),
            // As v1beta1 has them.
            "basic": fields!(
                ["allNodes", "allowMultipleAllocations"]
                "nodeName": Part::Name("node"),
                "taints": Part::Items(&TAINT),
            ),
        ),
    ),
);

const CLAIM: Fields = object!(
    "claim",
    "status": fields!(
        []
        "allocation": fields!(
            ["allocationTimestamp"]
            "devices": fields!([] "results": items!(
                ["driver", "adminAccess"]
                "request": Part::Name("request"),
                "pool": Part::Name("pool"),
                "device": Part::Name("device"),
                "shareID": Part::Uid,
                "tolerations": items!(["key", "operator", "value", "effect", "tolerationSeconds"]),
            ),),
        ),
        "reservedFor": items!(
            ["resource"]
            "apiGroup": Part::Group,
            "name": Part::NameOf("resource"),
            "uid": Part::Uid,
        ),
    ),
);

const RULE: Fields = object!(
    "rule",
    "spec": fields!(
        []
        "deviceSelector": fields!(
            ["driver"]
            "pool": Part::Name("pool"),
            "device": Part::Name("device"),
        ),
        "taint": TAINT,
    ),
    "status": fields!([] "conditions": items!(
        ["type", "status", "reason", "observedGeneration", "lastTransitionTime"]
    ),),
);

const CONTAINERS: Part = items!([] "state": fields!(
    []
    "running": fields!(["startedAt"]),
    "terminated": fields!(["exitCode", "finishedAt"]),
),);

const POD: Fields = object!(
    "pod" "labels" "annotations",
    "spec": fields!(
        ["priority", "terminationGracePeriodSeconds"]
        "nodeName": Part::Name("node"),
        "priorityClassName": Part::Name("priority"),
        "resourceClaims": items!(
            []
            "name": Part::Name("reference"),
            "resourceClaimName": Part::Name("claim"),
            "resourceClaimTemplateName": Part::Name("template"),
        ),
        "schedulingGroup": fields!([] "podGroupName": Part::Name("podgroup"),),
        "volumes": items!([] "emptyDir": fields!([]),),
    ),
    "status": fields!(
        ["phase", "qosClass"]
        "conditions": items!(["type", "status", "lastTransitionTime"]),
        "containerStatuses": CONTAINERS,
        "initContainerStatuses": CONTAINERS,
        "ephemeralContainerStatuses": CONTAINERS,
        "resourceClaimStatuses": items!(
            []
            "name": Part::Name("reference"),
            "resourceClaimName": Part::Name("claim"),
        ),
        "extendedResourceClaimStatus": fields!([] "resourceClaimName": Part::Name("claim"),),
    ),
);

const NODE: Fields = object!(
    "node",
    "spec": fields!(
        ["unschedulable"]
        "taints": items!(
            ["effect", "timeAdded"]
            "key": Part::Key,
            "value": Part::Name("value"),
        ),
    ),
    "status": fields!([] "conditions": items!(
        ["type", "status", "reason", "lastHeartbeatTime", "lastTransitionTime"]
    ),),
);

const BUDGET: Fields = object!(
    "budget",
    "spec": fields!(
        ["minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"]
        "selector": fields!(
            []
            "matchLabels": Part::Labels,
            "matchExpressions": items!(
                ["operator"]
                "key": Part::Name("label"),
                "values": Part::Items(&Part::Name("value")),
            ),
        ),
    ),
    "status": fields!(
        [
            "disruptionsAllowed",
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
            "observedGeneration"
        ]
        // Their messages name objects.
        "conditions": items!(["type", "status", "reason", "lastTransitionTime"]),
    ),
);

/// What makes pods, or groups them: templates of pods are nobody's business.
macro_rules! workload {
    ($what:literal) => {
        object!(
            $what,
            "spec": fields!(
                ["replicas", "parallelism", "backoffLimit"]
                "podFailurePolicy": fields!([] "rules": items!(
                    ["action"]
                    "onExitCodes": fields!(["operator"]),
                    "onPodConditions": items!(["type", "status"]),
                ),),
                "leaderWorkerTemplate": fields!(["size"]),
                "schedulingPolicy": fields!([] "gang": fields!(["minCount"]),),
            ),
            "status": fields!([
                "readyReplicas",
                "desiredNumberScheduled",
                "numberReady",
                "ready",
                "failed"
            ]),
        )
    };
}

const REPLICA_SET: Fields = workload!("replicaset");
const DEPLOYMENT: Fields = workload!("deployment");
const STATEFUL_SET: Fields = workload!("statefulset");
const DAEMON_SET: Fields = workload!("daemonset");
const JOB: Fields = workload!("job");
const CRON_JOB: Fields = workload!("cronjob");
const LEADER_WORKER_SET: Fields = workload!("leaderworkerset");
const JOB_SET: Fields = workload!("jobset");
const POD_GROUP: Fields = workload!("podgroup");
