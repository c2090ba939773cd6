//! The fields of each kind that a redacted snapshot keeps. What is not listed here is dropped.

use std::collections::BTreeMap;

use crate::model::Kind;
use crate::model::kind::for_each_kind;

/// Treatment of a field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum FieldRule {
    /// An object, of which some fields are kept, or a list of such objects.
    #[default]
    Fields,
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
    /// A condition on devices in the Common Expression Language; kept where it is about drivers alone.
    Expression,
    /// The key of a taint of a node; kept where Kubernetes gives it.
    Key,
}

/// A field that is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) rule: FieldRule,
    /// True if it is a list of such values.
    pub(super) is_list: bool,
    /// The fields below it, by name.
    pub(super) fields: BTreeMap<&'static str, Kept>,
    /// Treatment of every value below it, where the keys are names of something.
    pub(super) every: Option<(&'static str, Box<Kept>)>,
}

/// What the objects of a kind are called, and their kept fields.
#[derive(Clone, Copy)]
struct Rules(&'static str, Lines);

/// The path of an object, `.` for the whole, and its kept fields.
///
/// A part of the path in braces stands for all keys of a map, which become other names of that sort. A field is `NAME`
/// for what is kept, `NAME=SORT` for a name of that sort, and `NAME:RULE` for any other rule; `NAME[]` is a list.
/// `@TABLE` stands for the lines of a table that several objects share.
type Lines = &'static [&'static str];

/// Every object of a server. A finalizer keeps it from going; its owner is private.
const OBJECT: Lines = &[
    ". apiVersion kind",
    "metadata resourceVersion generation deletionTimestamp deletionGracePeriodSeconds",
    "metadata namespace=namespace uid:uid finalizers[]=finalizer",
    "metadata.ownerReferences controller apiVersion:group kind:kind name:kind.name uid:uid",
];

const TAINT: Lines = &[". key value effect timeAdded"];

/// Taints of nodes, and the tolerations of pods that are about them.
const NODE_TAINT: Lines = &[". effect key:key value=value"];

const TOLERATION: Lines = &[". key operator value effect tolerationSeconds"];

/// Messages of conditions name objects.
const CONDITION: Lines = &[". type status reason lastTransitionTime"];

const LABELLED: Lines = &["metadata labels:labels annotations:annotations"];

/// The nodes of a device.
const NODES: Lines = &[
    "nodeSelectorTerms.matchExpressions operator key=label values[]=value",
    "nodeSelectorTerms.matchFields key operator values[]=node",
];

/// Requests of a claim. Without its attribute it is unknown whether a constraint is met, and reported as such.
const DEVICES: Lines = &[
    "requests name=request",
    "requests.exactly @request",
    "requests.firstAvailable @request",
    "constraints requests[]=request",
];

/// A request; of derived attributes, only their presence counts.
const REQUEST: Lines = &[
    ". allocationMode count adminAccess name=request deviceClassName=class",
    "selectors.cel expression:expression",
    "tolerations @toleration",
    "capacity.requests {capacity}",
    "derivedAttributes",
];

/// Counters that partitions of one device share show what shares hardware; shares of a device are measured by its
/// capacities. Of groups, only their presence counts.
const SLICE: Rules = Rules(
    "slice",
    &[
        "spec driver allNodes perDeviceNodeSelection nodeName=node",
        "spec.pool generation resourceSliceCount name=pool",
        "spec.nodeSelector @nodes",
        "spec.sharedCounters name=counters",
        "spec.sharedCounters.counters.{counter} value",
        "spec.devices allNodes allowMultipleAllocations name=device nodeName=node",
        "spec.devices.nodeSelector @nodes",
        "spec.devices.taints @taint",
        "spec.devices.capacity.{capacity} value",
        "spec.devices.capacity.{capacity}.requestPolicy default validValues[]",
        "spec.devices.capacity.{capacity}.requestPolicy.validRange min max step",
        "spec.devices.consumesCounters counterSet=counters compatibilityGroups[]=group",
        "spec.devices.consumesCounters.counters.{counter} value",
    ],
);

const CLASS: Rules = Rules("class", &["spec.selectors.cel expression:expression"]);

const TEMPLATE: Rules = Rules("template", &["spec.spec.devices @devices"]);

const CLAIM: Rules = Rules(
    "claim",
    &[
        "spec.devices @devices",
        "status.allocation allocationTimestamp",
        "status.allocation.nodeSelector @nodes",
        "status.allocation.devices.results driver adminAccess request=request pool=pool",
        "status.allocation.devices.results device=device shareID:uid",
        "status.allocation.devices.results.consumedCapacity {capacity}",
        "status.allocation.devices.results.tolerations @toleration",
        "status.reservedFor resource apiGroup:group name:resource.name uid:uid",
    ],
);

const RULE: Rules = Rules(
    "rule",
    &[
        "spec.deviceSelector driver pool=pool device=device",
        "spec.taint @taint",
        "status.conditions @condition observedGeneration",
    ],
);

const POD: Rules = Rules(
    "pod",
    &[
        ". @labelled",
        "spec priority terminationGracePeriodSeconds priorityClassName=priority",
        "spec nodeName=node nodeSelector:labels",
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution @nodes",
        "spec.schedulingGates name=gate",
        "spec.tolerations @node-taint operator tolerationSeconds",
        "spec.resourceClaims name=reference",
        "spec.resourceClaims resourceClaimName=claim resourceClaimTemplateName=template",
        "spec.schedulingGroup podGroupName=podgroup",
        "spec.volumes.emptyDir",
        "status phase qosClass nominatedNodeName=node",
        "status.conditions @condition",
        "status.containerStatuses.state @container",
        "status.initContainerStatuses.state @container",
        "status.ephemeralContainerStatuses.state @container",
        "status.resourceClaimStatuses name=reference resourceClaimName=claim",
        "status.extendedResourceClaimStatus resourceClaimName=claim",
    ],
);

const CONTAINER: Lines = &["running startedAt", "terminated exitCode finishedAt"];

const NODE: Rules = Rules(
    "node",
    &[
        ". @labelled",
        "spec unschedulable",
        "spec.taints @node-taint timeAdded",
        "status.conditions @condition lastHeartbeatTime",
    ],
);

const BUDGET: Rules = Rules(
    "budget",
    &[
        "spec minAvailable maxUnavailable unhealthyPodEvictionPolicy",
        "spec.selector matchLabels:labels",
        "spec.selector.matchExpressions operator key=label values[]=value",
        "status disruptionsAllowed currentHealthy desiredHealthy expectedPods observedGeneration",
        "status.conditions @condition",
    ],
);

/// Workload or group; its pod template is private.
const WORKLOAD: Lines = &[
    "spec replicas minReadySeconds parallelism completions suspend minMember",
    "spec backoffLimit backoffLimitPerIndex",
    "spec.podFailurePolicy.rules action",
    "spec.podFailurePolicy.rules.onExitCodes operator",
    "spec.podFailurePolicy.rules.onPodConditions type status",
    "spec.leaderWorkerTemplate size",
    "spec.schedulingPolicy.gang minCount",
    "status readyReplicas availableReplicas desiredNumberScheduled numberReady",
    "status ready active succeeded failed",
    "status.conditions type status reason",
];

macro_rules! workload {
    ($word:literal) => {
        Rules($word, WORKLOAD)
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
        pub(super) fn kept_fields(kind: Kind) -> Option<Kept> {
            match kind {
                $(Kind::$kind => kept!(@fields $($redacted)?),)*
            }
        }
    };
    (@fields) => {
        None
    };
    (@fields $rules:expr) => {
        Some(Kept::of($rules))
    };
}

for_each_kind!(kept);

impl Kept {
    fn of(Rules(word, lines): Rules) -> Self {
        let mut kept = Self::default();
        kept.add(OBJECT);
        kept.add(lines);
        kept.at("metadata").at("name").rule = FieldRule::Name(word);
        kept
    }

    fn add(&mut self, lines: Lines) {
        for line in lines.iter().copied() {
            let (path, fields) = line.split_once(' ').unwrap_or((line, ""));
            let parts = path.split('.').filter(|part| !part.is_empty());
            let object = parts.fold(&mut *self, Self::at);
            for field in fields.split(' ').filter(|field| !field.is_empty()) {
                match field.strip_prefix('@') {
                    Some(table) => object.add(shared(table)),
                    None => object.add_field(field),
                }
            }
        }
    }

    fn add_field(&mut self, field: &'static str) {
        let (name, rule) = if let Some((name, word)) = field.split_once('=') {
            (name, FieldRule::Name(word))
        } else if let Some((name, rule)) = field.split_once(':') {
            (name, special(rule))
        } else {
            (field, FieldRule::Keep)
        };
        let is_list = name.ends_with("[]");
        let kept = self.at(name.trim_end_matches("[]"));
        (kept.rule, kept.is_list) = (rule, is_list);
    }

    /// What is kept of a field, or of every value of a map.
    fn at(&mut self, part: &'static str) -> &mut Self {
        let every = part
            .strip_prefix('{')
            .and_then(|part| part.strip_suffix('}'));
        match every {
            Some(word) => &mut self.every.get_or_insert_with(|| (word, Box::default())).1,
            None => self.fields.entry(part).or_default(),
        }
    }
}

fn shared(table: &str) -> Lines {
    match table {
        "taint" => TAINT,
        "node-taint" => NODE_TAINT,
        "toleration" => TOLERATION,
        "condition" => CONDITION,
        "labelled" => LABELLED,
        "nodes" => NODES,
        "devices" => DEVICES,
        "request" => REQUEST,
        "container" => CONTAINER,
        _ => &[],
    }
}

/// A rule by its word; `FIELD.name` is for a name of what that field says.
fn special(rule: &'static str) -> FieldRule {
    match rule {
        "uid" => FieldRule::Uid,
        "group" => FieldRule::Group,
        "kind" => FieldRule::Kind,
        "labels" => FieldRule::Labels,
        "annotations" => FieldRule::Annotations,
        "expression" => FieldRule::Expression,
        "key" => FieldRule::Key,
        other => FieldRule::NameOf(other.trim_end_matches(".name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shared_table_exists() {
        let of_kinds = [SLICE, CLASS, TEMPLATE, CLAIM, RULE, POD, NODE, BUDGET];
        let tables = of_kinds.map(|Rules(_, lines)| lines).into_iter();
        for line in tables.chain([DEVICES, REQUEST]).flatten() {
            let named = line.split(' ').filter_map(|field| field.strip_prefix('@'));
            for table in named {
                assert!(!shared(table).is_empty(), "{table}");
            }
        }
    }
}
