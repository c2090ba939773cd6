//! The fields of each kind that a redacted snapshot keeps. What is not listed here is dropped.

use crate::model::Kind;
use crate::model::kind::for_each_kind;

/// Treatment of a field.
pub(super) enum FieldRule {
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
    /// Annotations that say if a pod may be evicted.
    Annotations,
    /// Something by name; the names become others.
    Map(&'static str, &'static FieldRule),
    /// A condition on devices in the Common Expression Language; kept where it is about drivers alone.
    Expression,
    /// The key of a taint of a node; kept where Kubernetes gives it.
    Key,
    /// An object, of which these are kept.
    Fields(Fields),
    /// A list, with all items.
    Items(&'static FieldRule),
}

/// The fields of an object that are kept, by name.
pub(super) type Fields = &'static [(&'static str, FieldRule)];

/// An object: the fields that are kept as they are, and what becomes of the others.
macro_rules! fields {
    ([$($kept:literal),*] $($name:literal: $part:expr,)*) => {
        FieldRule::Fields(&[$(($kept, FieldRule::Keep),)* $(($name, $part),)*])
    };
}

/// A list of such objects.
macro_rules! items {
    ($($fields:tt)*) => {
        FieldRule::Items(&fields!($($fields)*))
    };
}

/// An object of the server that has this word for a name, and perhaps labels and annotations that count.
macro_rules! object {
    ($what:literal $($labels:literal $annotations:literal)?, $($name:literal: $part:expr,)*) => {
        &[
            ("apiVersion", FieldRule::Keep),
            ("kind", FieldRule::Keep),
            ("metadata", fields!(
                ["resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"]
                "name": FieldRule::Name($what),
                "namespace": FieldRule::Name("namespace"),
                "uid": FieldRule::Uid,
                // A finalizer keeps an object from going; its owner is private.
                "finalizers": FieldRule::Items(&FieldRule::Name("finalizer")),
                $($labels: FieldRule::Labels, $annotations: FieldRule::Annotations,)?
                "ownerReferences": items!(
                    ["controller"]
                    "apiVersion": FieldRule::Group,
                    "kind": FieldRule::Kind,
                    "name": FieldRule::NameOf("kind"),
                    "uid": FieldRule::Uid,
                ),
            )),
            $(($name, $part),)*
        ]
    };
}

const TAINT: FieldRule = fields!(["key", "value", "effect", "timeAdded"]);

/// Counters that partitions of one device share, which show what shares hardware.
const COUNTERS: FieldRule = FieldRule::Map("counter", &fields!(["value"]));
const CONSUMED: FieldRule = items!(
    []
    "counterSet": FieldRule::Name("counters"),
    "counters": COUNTERS,
    // Only their presence counts.
    "compatibilityGroups": FieldRule::Items(&FieldRule::Name("group")),
);

/// Capacities by which shares of a device are measured.
const CAPACITY: FieldRule = FieldRule::Map(
    "capacity",
    &fields!(
        ["value"]
        "requestPolicy": fields!(
            ["default"]
            "validValues": FieldRule::Items(&FieldRule::Keep),
            "validRange": fields!(["min", "max", "step"]),
        ),
    ),
);

const REQUIREMENTS: FieldRule = items!(
    ["operator"]
    "key": FieldRule::Name("label"),
    "values": FieldRule::Items(&FieldRule::Name("value")),
);

/// Nodes of a device.
const NODES: FieldRule = fields!([] "nodeSelectorTerms": items!(
    []
    "matchExpressions": REQUIREMENTS,
    "matchFields": items!(["key", "operator"] "values": FieldRule::Items(&FieldRule::Name("node")),),
),);

const SELECTORS: FieldRule = items!([] "cel": fields!([] "expression": FieldRule::Expression,),);

const TOLERATIONS: FieldRule = items!(["key", "operator", "value", "effect", "tolerationSeconds"]);

const SLICE: Fields = object!(
    "slice",
    "spec": fields!(
        ["driver", "allNodes", "perDeviceNodeSelection"]
        "pool": fields!(["generation", "resourceSliceCount"] "name": FieldRule::Name("pool"),),
        "nodeName": FieldRule::Name("node"),
        "nodeSelector": NODES,
        "sharedCounters": items!([] "name": FieldRule::Name("counters"), "counters": COUNTERS,),
        "devices": items!(
            ["allNodes", "allowMultipleAllocations"]
            "name": FieldRule::Name("device"),
            "nodeName": FieldRule::Name("node"),
            "nodeSelector": NODES,
            "taints": FieldRule::Items(&TAINT),
            "capacity": CAPACITY,
            "consumesCounters": CONSUMED,
        ),
    ),
);

const CLASS: Fields = object!(
    "class",
    "spec": fields!([] "selectors": SELECTORS,),
);

/// Request of a claim.
const REQUEST: FieldRule = fields!(
    ["allocationMode", "count", "adminAccess"]
    "name": FieldRule::Name("request"),
    "deviceClassName": FieldRule::Name("class"),
    "selectors": SELECTORS,
    "tolerations": TOLERATIONS,
    "capacity": fields!([] "requests": FieldRule::Map("capacity", &FieldRule::Keep),),
    // Only their presence counts.
    "derivedAttributes": FieldRule::Items(&fields!([])),
);

const CLAIM_SPEC: FieldRule = fields!([] "devices": fields!(
    []
    "requests": items!(
        []
        "name": FieldRule::Name("request"),
        "exactly": REQUEST,
        "firstAvailable": FieldRule::Items(&REQUEST),
    ),
    // Without the attribute it is unknown whether a constraint is met, and reported as such.
    "constraints": items!([] "requests": FieldRule::Items(&FieldRule::Name("request")),),
),);

const TEMPLATE: Fields = object!("template", "spec": fields!([] "spec": CLAIM_SPEC,),);

const CLAIM: Fields = object!(
    "claim",
    "spec": CLAIM_SPEC,
    "status": fields!(
        []
        "allocation": fields!(
            ["allocationTimestamp"]
            "nodeSelector": NODES,
            "devices": fields!([] "results": items!(
                ["driver", "adminAccess"]
                "request": FieldRule::Name("request"),
                "pool": FieldRule::Name("pool"),
                "device": FieldRule::Name("device"),
                "shareID": FieldRule::Uid,
                "consumedCapacity": FieldRule::Map("capacity", &FieldRule::Keep),
                "tolerations": TOLERATIONS,
            ),),
        ),
        "reservedFor": items!(
            ["resource"]
            "apiGroup": FieldRule::Group,
            "name": FieldRule::NameOf("resource"),
            "uid": FieldRule::Uid,
        ),
    ),
);

const RULE: Fields = object!(
    "rule",
    "spec": fields!(
        []
        "deviceSelector": fields!(
            ["driver"]
            "pool": FieldRule::Name("pool"),
            "device": FieldRule::Name("device"),
        ),
        "taint": TAINT,
    ),
    "status": fields!([] "conditions": items!(
        ["type", "status", "reason", "observedGeneration", "lastTransitionTime"]
    ),),
);

const CONTAINERS: FieldRule = items!([] "state": fields!(
    []
    "running": fields!(["startedAt"]),
    "terminated": fields!(["exitCode", "finishedAt"]),
),);

const POD: Fields = object!(
    "pod" "labels" "annotations",
    "spec": fields!(
        ["priority", "terminationGracePeriodSeconds"]
        "nodeName": FieldRule::Name("node"),
        "nodeSelector": FieldRule::Labels,
        "affinity": fields!([] "nodeAffinity": fields!(
            [] "requiredDuringSchedulingIgnoredDuringExecution": NODES,
        ),),
        "schedulingGates": items!([] "name": FieldRule::Name("gate"),),
        // As the taints of nodes, which they are about.
        "tolerations": items!(
            ["operator", "effect", "tolerationSeconds"]
            "key": FieldRule::Key,
            "value": FieldRule::Name("value"),
        ),
        "priorityClassName": FieldRule::Name("priority"),
        "resourceClaims": items!(
            []
            "name": FieldRule::Name("reference"),
            "resourceClaimName": FieldRule::Name("claim"),
            "resourceClaimTemplateName": FieldRule::Name("template"),
        ),
        "schedulingGroup": fields!([] "podGroupName": FieldRule::Name("podgroup"),),
        "volumes": items!([] "emptyDir": fields!([]),),
    ),
    "status": fields!(
        ["phase", "qosClass"]
        "nominatedNodeName": FieldRule::Name("node"),
        "conditions": items!(["type", "status", "reason", "lastTransitionTime"]),
        "containerStatuses": CONTAINERS,
        "initContainerStatuses": CONTAINERS,
        "ephemeralContainerStatuses": CONTAINERS,
        "resourceClaimStatuses": items!(
            []
            "name": FieldRule::Name("reference"),
            "resourceClaimName": FieldRule::Name("claim"),
        ),
        "extendedResourceClaimStatus": fields!([] "resourceClaimName": FieldRule::Name("claim"),),
    ),
);

const NODE: Fields = object!(
    "node" "labels" "annotations",
    "spec": fields!(
        ["unschedulable"]
        "taints": items!(
            ["effect", "timeAdded"]
            "key": FieldRule::Key,
            "value": FieldRule::Name("value"),
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
            "matchLabels": FieldRule::Labels,
            "matchExpressions": items!(
                ["operator"]
                "key": FieldRule::Name("label"),
                "values": FieldRule::Items(&FieldRule::Name("value")),
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

/// Workload or group; its pod template is private.
macro_rules! workload {
    ($what:literal) => {
        object!(
            $what,
            "spec": fields!(
                [
                    "replicas",
                    "minReadySeconds",
                    "parallelism",
                    "completions",
                    "suspend",
                    "backoffLimit",
                    "backoffLimitPerIndex",
                    "minMember"
                ]
                "podFailurePolicy": fields!([] "rules": items!(
                    ["action"]
                    "onExitCodes": fields!(["operator"]),
                    "onPodConditions": items!(["type", "status"]),
                ),),
                "leaderWorkerTemplate": fields!(["size"]),
                "schedulingPolicy": fields!([] "gang": fields!(["minCount"]),),
            ),
            "status": fields!(
                [
                    "readyReplicas",
                    "availableReplicas",
                    "desiredNumberScheduled",
                    "numberReady",
                    "ready",
                    "active",
                    "succeeded",
                    "failed"
                ]
                "conditions": items!(["type", "status", "reason"]),
            ),
        )
    };
}

macro_rules! kept {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident {
            versions: [ $($version:tt)* ],
            $(workload: $fill:ident($pods:ident),)? $(redacted: $redacted:expr,)?
            spelled: $($columns:tt)*
        }
    )*) => {
        /// Kept fields of an object of that kind; nothing where none is kept.
        pub(super) fn kept_fields(kind: Kind) -> Option<Fields> {
            match kind {
                $(Kind::$kind => kept!(@fields $($redacted)?),)*
            }
        }
    };
    (@fields) => {
        None
    };
    (@fields $fields:expr) => {{
        const KEPT: Fields = $fields;
        Some(KEPT)
    }};
}

for_each_kind!(kept);
