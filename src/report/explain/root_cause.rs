//! What keeps a claim from devices, in words.

use crate::engine::allocator::{PendingClaim, RootCause, TaintOwner, is_placeable};
use crate::engine::explain::Chain;
use crate::model::{ClaimSpec, ConstraintRule, Kind, NamespacedName, ObjectName, Pod, Reading};

/// What else keeps pods from nodes and was not looked at: a node that has the devices may be cordoned.
pub(super) const NOT_CHECKED: &str =
    "; not checked: cordoned nodes, node taints, free CPU and memory, pod affinity";

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

/// What keeps the pod from the nodes that have its devices, where that was looked at: gates, and the nodes
/// that it insists on.
pub(super) fn scheduling_exclusion(
    found: &RootCause,
    pod: &Pod,
    question: &PendingClaim<'_>,
) -> Option<String> {
    let scheduling = pod.scheduling.as_ref()?;
    if !scheduling.gates.is_empty() {
        let gates = scheduling.gates.join(", ");
        return Some(format!(
            "waits for scheduling gate {gates}: the scheduler ignores it until the gate is removed"
        ));
    }
    let anywhere = PendingClaim {
        selectors: &[],
        ..*question
    };
    let is_bound = !scheduling.nodes.is_empty()
        && match found {
            RootCause::Devices | RootCause::Constraints(_) => is_placeable(&anywhere),
            RootCause::Elsewhere
            | RootCause::Taints(_)
            | RootCause::TaintCombination(_)
            | RootCause::NoClass(_)
            | RootCause::Fails(_)
            | RootCause::Unknown(_) => false,
        };
    is_bound.then(|| {
        "waits for devices on the nodes that its node selector or affinity allows: none of them \
         has enough matching free devices, but another node has"
            .to_owned()
    })
}

/// What keeps the pod, and what the scheduler itself last said of it.
pub(super) fn said_too(text: &str, chain: &Chain<'_>) -> String {
    let scheduling = chain.pod.scheduling.as_ref();
    let said = scheduling.and_then(|scheduling| scheduling.said.as_ref());
    match said {
        Some(said) if !said.is_scheduled && !said.message.is_empty() => {
            format!("{text}; scheduler message: {}", said.message)
        }
        Some(said) if !said.is_scheduled && !said.reason.is_empty() => {
            format!("{text}; scheduler message: {}", said.reason)
        }
        Some(_) | None => text.to_owned(),
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
    if reading.without(Kind::ResourceClaimTemplate).is_some() {
        return format!(
            "no claim has been created from ResourceClaimTemplate {template}: check that it exists \
             with `kubectl get resourceclaimtemplate {template} -n {namespace}`"
        );
    }
    let mut templates = reading.snapshot.templates.iter();
    if templates.any(|known| known.name.namespace == *namespace && known.name.name == *template) {
        return format!("no claim is made from ResourceClaimTemplate {template} yet");
    }
    format!(
        "ResourceClaimTemplate {template} does not exist in namespace {namespace}: no claim is made until it is \
         created"
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
        let requests = match constraint.requests.as_slice() {
            [] => "all requests".to_owned(),
            [one] => format!("request {one}"),
            several => format!("requests {}", several.join(", ")),
        };
        Some(format!("{rule} of {requests}"))
    });
    named.collect::<Vec<_>>().join(", or ")
}

/// What keeps the pod, in words that say first whether it is a taint.
pub(super) fn root_cause(blame: &RootCause, spec: Option<&ClaimSpec>) -> String {
    let listed = |owners: &[TaintOwner]| some(&owners.iter().map(owner).collect::<Vec<_>>());
    match blame {
        RootCause::Elsewhere => {
            format!("waits: a node has the requested devices{NOT_CHECKED}")
        }
        RootCause::Constraints(places) => format!(
            "waits for devices: excluded by {}; without that constraint a node has enough",
            constraints(places, spec)
        ),
        RootCause::Taints(owners) => match owners.as_slice() {
            [only] => format!(
                "waits for devices: excluded by {}; without that taint a node has enough{NOT_CHECKED}",
                owner(only)
            ),
            several => format!(
                "waits for devices: excluded by taints; a node has enough if any one of these is \
                 removed: {}{NOT_CHECKED}",
                listed(several)
            ),
        },
        RootCause::TaintCombination(owners) if owners.is_empty() => {
            "waits for devices: excluded by taints; a node has enough without all of them; too \
             many combinations to find the smallest set"
                .to_owned()
        }
        RootCause::TaintCombination(owners) => format!(
            "waits for devices: excluded by taints; a node has enough if all of these {} are \
             removed: {}{NOT_CHECKED}",
            owners.len(),
            listed(owners)
        ),
        RootCause::Devices => "waits for devices: no node has enough matching free devices, even \
                           without any taint"
            .to_owned(),
        RootCause::NoClass(class) => {
            format!("waits for devices: DeviceClass {class} not found")
        }
        RootCause::Fails(why) => {
            let why: Vec<String> = why.iter().map(ToString::to_string).collect();
            format!(
                "waits for devices: the scheduler fails with an error when it evaluates an \
                 expression: {}",
                why.join("; ")
            )
        }
        RootCause::Unknown(why) => {
            let why: Vec<String> = why.iter().map(ToString::to_string).collect();
            format!("waits for devices, reason unknown: {}", why.join("; "))
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
    fn what_was_not_looked_at_is_named_where_devices_are_not_what_keeps_a_pod() {
        let text = root_cause(&RootCause::Elsewhere, None);
        for part in ["node taints", "free CPU and memory", "pod affinity"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
