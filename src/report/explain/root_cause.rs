//! What keeps a claim from devices, in words.

use crate::engine::allocator::{
    PendingClaim, RootCause, TaintOwner, is_placeable, sufficient_uncordons,
};
use crate::engine::closed_nodes::{ClosedNode, are_known};
use crate::engine::explain::Chain;
use crate::model::{
    ClaimSpec, ConstraintRule, Kind, NamespacedName, NodeName, ObjectName, Pod, Reading, Snapshot,
};

/// What else keeps pods from nodes and was not evaluated: a node that has the devices may have no memory left.
const NOT_CHECKED: &str = "not checked: free CPU and memory, pod affinity";

/// What else keeps pods from nodes and was not evaluated, where only the metadata of nodes is known, or nothing.
const NOT_CHECKED_WITHOUT_NODES: &str =
    "not checked: cordoned nodes, node taints, free CPU and memory, pod affinity";

/// The nodes that were searched for devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchedNodes {
    /// All that there are.
    All,
    /// Those that the pod's node selector and affinity allow.
    Selected,
    /// Of these, the ones that are not cordoned and have no taint that the pod does not tolerate.
    Open,
}

impl SearchedNodes {
    /// By what the pod demands of its node, and the nodes that are closed to it.
    pub(super) fn of(pod: &Pod, closed: &[ClosedNode]) -> Self {
        let selects = pod
            .scheduling
            .as_ref()
            .is_some_and(|it| !it.nodes.is_empty());
        match closed {
            [] if selects => Self::Selected,
            [] => Self::All,
            _ => Self::Open,
        }
    }

    /// That none of them has something, as the beginning of a sentence.
    fn none(self) -> &'static str {
        match self {
            Self::All => "no node",
            Self::Selected => "of the nodes that its node selector or affinity allows, none",
            Self::Open => "of the nodes on which it can be scheduled, none",
        }
    }
}

/// So many devices are named as examples.
const NAMED: usize = 3;

/// The first of the names, and how many more there are.
pub(super) fn some(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = names.len().saturating_sub(NAMED);
    match more {
        0 => shown.join(", "),
        more => format!("{} (+{more})", shown.join(", ")),
    }
}

/// One of two words by how many there are.
pub(super) fn plural(number: usize, one: &'static str, many: &'static str) -> &'static str {
    if number == 1 { one } else { many }
}

/// What keeps a pod from the nodes that have its devices.
pub(super) struct SchedulingExclusion {
    /// What it is, in words.
    pub(super) message: String,
    /// The cordoned nodes of which each has all devices for the pod, and is closed to it only because it is cordoned.
    pub(super) cordoned: Vec<NodeName>,
}

impl SchedulingExclusion {
    fn other(message: String) -> Self {
        Self {
            message,
            cordoned: Vec::new(),
        }
    }

    fn by_closed_nodes(cordoned: Vec<NodeName>) -> Self {
        let names: Vec<String> = cordoned.iter().map(ToString::to_string).collect();
        let others = match names.as_slice() {
            [] => "another node has them".to_owned(),
            [only] => format!("node {only} has them, but is cordoned"),
            several => format!("nodes {} have them, but are cordoned", some(several)),
        };
        Self {
            message: format!(
                "waits for devices: of the nodes on which it can be scheduled, none has free devices \
                 that meet all requests of the pod; {others}"
            ),
            cordoned,
        }
    }
}

/// What keeps the pod from the nodes that have its devices, where that was evaluated: gates, the nodes that it
/// insists on, and nodes that are `closed` to it.
///
/// `question` is about all nodes that the pod insists on, closed ones too.
pub(super) fn scheduling_exclusion(
    found: &RootCause,
    pod: &Pod,
    question: &PendingClaim<'_>,
    closed: &[ClosedNode],
) -> Option<SchedulingExclusion> {
    let scheduling = pod.scheduling.as_ref()?;
    // Gates come first: the scheduler does not look at the pod at all, so that nothing else keeps it yet.
    if !scheduling.gates.is_empty() {
        let gates = scheduling.gates.join(", ");
        let (noun, are) = if scheduling.gates.len() == 1 {
            ("gate", "gate is")
        } else {
            ("gates", "gates are")
        };
        return Some(SchedulingExclusion::other(format!(
            "waits for scheduling {noun} {gates}: the scheduler ignores the pod until the {are} removed"
        )));
    }
    // The same question without the pod's own node selector and affinity tells whether these keep it.
    let anywhere = PendingClaim {
        selectors: &[],
        ..*question
    };
    let lacks_devices = match found {
        RootCause::Devices | RootCause::Constraints(_) | RootCause::ConstraintsAndTaints(_) => true,
        RootCause::Elsewhere
        | RootCause::Taints(_)
        | RootCause::TaintCombination(_)
        | RootCause::NoClass(_)
        | RootCause::Fails(_)
        | RootCause::Unknown(_) => false,
    };
    if lacks_devices && !closed.is_empty() && is_placeable(question) {
        return Some(SchedulingExclusion::by_closed_nodes(sufficient_uncordons(
            pod, question, closed,
        )));
    }
    let is_bound = lacks_devices && !scheduling.nodes.is_empty() && is_placeable(&anywhere);
    is_bound.then(|| {
        SchedulingExclusion::other(
        "waits for devices: of the nodes that its node selector or affinity allows, none has free \
         devices that meet all requests of the pod; another node has them"
            .to_owned())
    })
}

/// What the scheduler itself last said of the pod.
pub(super) fn scheduler_message(chain: &Chain<'_>) -> Option<String> {
    let said = chain.pod.scheduling.as_ref()?.said.as_ref()?;
    let parts = [&said.message, &said.reason];
    let told = parts.into_iter().find(|part| !part.is_empty())?;
    (!said.is_scheduled).then(|| format!("scheduler message: {told}"))
}

/// What was not looked at and may keep the pod although a node has its devices, or would have them.
pub(super) fn not_checked(found: &RootCause, snapshot: &Snapshot) -> Option<&'static str> {
    let unchecked = if !snapshot.nodes.is_empty() && are_known(snapshot) {
        NOT_CHECKED
    } else {
        NOT_CHECKED_WITHOUT_NODES
    };
    match found {
        RootCause::Elsewhere | RootCause::Taints(_) => Some(unchecked),
        RootCause::TaintCombination(owners) => (!owners.is_empty()).then_some(unchecked),
        RootCause::Constraints(_)
        | RootCause::ConstraintsAndTaints(_)
        | RootCause::Devices
        | RootCause::NoClass(_)
        | RootCause::Fails(_)
        | RootCause::Unknown(_) => None,
    }
}

/// A claim that there is not, although a pod has a template for it: whether the template is there, where that is
/// known.
pub(super) fn ungenerated(
    pod: &NamespacedName,
    template: &ObjectName,
    reading: &Reading,
) -> String {
    let namespace = &pod.namespace;
    // Without the templates, a missing one and a controller that has not come to it look the same.
    if reading.without(Kind::ResourceClaimTemplate).is_some() {
        return format!(
            "no claim has been created from ResourceClaimTemplate {template}; the template may not exist (check \
             with `kubectl get resourceclaimtemplate {template} -n {namespace}`)"
        );
    }
    let mut templates = reading.snapshot.templates.iter();
    if templates.any(|known| known.name.namespace == *namespace && known.name.name == *template) {
        return format!("no claim has been created from ResourceClaimTemplate {template} yet");
    }
    format!(
        "ResourceClaimTemplate {template} does not exist in namespace {namespace}: no claim is created until the \
         template exists"
    )
}

/// The constraints at these places, as the claim has them.
pub(super) fn constraints(places: &[usize], spec: Option<&ClaimSpec>) -> String {
    let named = places.iter().filter_map(|place| {
        let constraint = spec?.constraints.get(*place)?;
        let rule = match &constraint.rule {
            ConstraintRule::Same(attribute) => format!("matchAttribute {attribute}"),
            ConstraintRule::Distinct(attribute) => format!("distinctAttribute {attribute}"),
            ConstraintRule::Unknown => "a constraint that this plugin does not know".to_owned(),
        };
        // The claims of a pod are searched as one, in which requests are called NUMBER:NAME.
        let own = |request: &std::sync::Arc<str>| match request.split_once(':') {
            Some((_, name)) => name.to_owned(),
            None => request.to_string(),
        };
        let requests: Vec<String> = constraint.requests.iter().map(own).collect();
        let requests = match requests.as_slice() {
            [] => "all requests".to_owned(),
            [one] => format!("request {one}"),
            several => format!("requests {}", several.join(", ")),
        };
        Some(format!("{rule} of {requests}"))
    });
    named.collect::<Vec<_>>().join(", or ")
}

/// What keeps the pod, in words that say first whether it is a taint.
pub(super) fn root_cause(
    blame: &RootCause,
    spec: Option<&ClaimSpec>,
    searched: SearchedNodes,
) -> String {
    let listed = |owners: &[TaintOwner]| some(&owners.iter().map(owner).collect::<Vec<_>>());
    let which = |places: &[usize]| {
        plural(
            places.len(),
            "that constraint",
            "any one of these constraints",
        )
    };
    match blame {
        RootCause::Elsewhere => {
            "waits, but not for devices: a node has free devices for all requests of the pod"
                .to_owned()
        }
        RootCause::Constraints(places) => format!(
            "waits for devices that are excluded by {}; a node has enough devices if {} is removed",
            constraints(places, spec),
            which(places)
        ),
        RootCause::ConstraintsAndTaints(places) => format!(
            "waits for devices, some of which are excluded by {}, others by taints; a node has enough devices if \
             {} and all taints are removed",
            constraints(places, spec),
            which(places)
        ),
        RootCause::Taints(owners) => match owners.as_slice() {
            [only] => format!(
                "waits for devices that are excluded by {}; without that taint a node has enough devices",
                owner(only)
            ),
            several => format!(
                "waits for devices that are excluded by taints; a node has enough devices if one of these taints is \
                 removed: {}",
                listed(several)
            ),
        },
        RootCause::TaintCombination(owners) if owners.is_empty() => {
            "waits for devices that are excluded by taints; a node has enough devices if all taints are \
             removed; fewer taints may be enough, but this was not computed"
                .to_owned()
        }
        RootCause::TaintCombination(owners) => format!(
            "waits for devices that are excluded by taints; a node has enough devices if all of these {} are \
             removed: {}",
            owners.len(),
            listed(owners)
        ),
        RootCause::Devices => {
            let constrained = match spec.map_or(0, |spec| spec.constraints.len()) {
                0 => "",
                1 => " and the only constraint",
                _ => " and any one constraint",
            };
            format!(
                "waits for devices: {} has free devices that meet all requests of the pod, even if all \
                 taints{constrained} are ignored",
                searched.none()
            )
        }
        RootCause::NoClass(class) => {
            format!("waits for devices: DeviceClass {class} does not exist")
        }
        RootCause::Fails(why) => {
            let why: Vec<String> = why.iter().map(ToString::to_string).collect();
            format!(
                "waits for devices, because the scheduler fails to evaluate a CEL expression: {}",
                why.join("; ")
            )
        }
        RootCause::Unknown(why) => {
            let why: Vec<String> = why.iter().map(ToString::to_string).collect();
            format!("waits for devices; the cause is unknown: {}", why.join("; "))
        }
    }
}

/// Whose taint it is.
pub(super) fn owner(owner: &TaintOwner) -> String {
    match owner {
        TaintOwner::Rule(name) => format!("the taint of rule {name}"),
        TaintOwner::Proposed(_) => "the proposed taint".to_owned(),
        TaintOwner::Driver(device, taint) => format!("the driver's taint {taint} on {device}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cordoned_nodes_that_alone_keep_a_pod_from_devices_are_named() {
        for (nodes, end) in [
            (&[][..], "; another node has them"),
            (&["node-3"], "; node node-3 has them, but is cordoned"),
            (
                &["node-3", "node-4"],
                "; nodes node-3, node-4 have them, but are cordoned",
            ),
        ] {
            let nodes: Vec<NodeName> = nodes.iter().map(|name| NodeName::from(*name)).collect();
            let found = SchedulingExclusion::by_closed_nodes(nodes.clone());
            assert!(found.message.ends_with(end), "{}", found.message);
            assert_eq!(found.cordoned, nodes);
        }
        let fix = super::super::fixes::SingleChange::uncordoning(&"node-3".into());
        assert_eq!(fix.fix.as_deref(), Some("kubectl uncordon node-3"));
    }
}
