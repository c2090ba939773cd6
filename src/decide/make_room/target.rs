//! For which pod room is made.

use crate::error::Failure;
use crate::model::{ClaimSource, Namespace, ObjectName, Pod};

/// For which pod room is made, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomTarget {
    /// The pod of this name, in this namespace or in the one that has it.
    Pod(Option<Namespace>, ObjectName),
    /// The pod that waits for the claim of this name, likewise.
    Claim(Option<Namespace>, ObjectName),
    /// The pod of the highest priority that waits for devices.
    Pending,
}

impl RoomTarget {
    /// Reads `pod/NAME`, `claim/NAME` or `NAME`, which is a pod; each may have its namespace: `pod/NAMESPACE/NAME`.
    ///
    /// # Errors
    ///
    /// Nothing or too much was typed, or something else than a pod or a claim.
    pub fn parse(
        typed: Option<&str>,
        pending: bool,
        namespace: Option<&str>,
    ) -> Result<Self, Failure> {
        let text = match (typed, pending) {
            (None, true) => return Ok(Self::Pending),
            (Some(_), true) => {
                return Err(Failure::usage(
                    "--pending chooses the pod: omit pod/NAME or claim/NAME",
                ));
            }
            (None, false) => {
                return Err(Failure::usage("no pod specified")
                    .hint("specify pod/NAME -n NAMESPACE, claim/NAME -n NAMESPACE, or --pending"));
            }
            (Some(text), false) => text,
        };
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, own, name) = match parts.as_slice() {
            [name] => ("pod", None, *name),
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some(*namespace), *name),
            _ => return Err(not_a_target(text)),
        };
        if name.is_empty() || own.is_some_and(str::is_empty) {
            return Err(not_a_target(text));
        }
        let namespace = own.or(namespace).map(Namespace::from);
        let name = ObjectName::from(name);
        match kind.to_ascii_lowercase().as_str() {
            "pod" | "pods" | "po" => Ok(Self::Pod(namespace, name)),
            "claim" | "claims" | "resourceclaim" | "resourceclaims" => {
                Ok(Self::Claim(namespace, name))
            }
            _ => Err(not_a_target(text)),
        }
    }
}

fn not_a_target(text: &str) -> Failure {
    Failure::usage(format!("{text:?} is neither a pod nor a claim"))
        .hint("specify pod/NAME or claim/NAME, with -n NAMESPACE")
}

/// The waiting pods, the one of the highest priority first, then by name: the one that the scheduler would try first.
#[must_use]
pub fn by_priority(mut pods: Vec<Pod>) -> Vec<Pod> {
    pods.sort_by(|left, right| {
        let by_priority = right.priority.cmp(&left.priority);
        by_priority.then_with(|| left.name.cmp(&right.name))
    });
    pods
}

/// Whether a pod may be one that waits for devices: it has no node, is not terminating, and no gate keeps it.
#[must_use]
pub fn may_wait(pod: &Pod) -> bool {
    let scheduling = pod.scheduling.as_ref();
    let is_gated = scheduling.is_some_and(|scheduling| !scheduling.gates.is_empty());
    pod.node.is_none() && pod.deletion.is_none() && !pod.phase.is_terminal() && !is_gated
}

/// Whether the pod refers to a claim of this name in its namespace.
#[must_use]
pub fn uses_claim(pod: &Pod, claim: &ObjectName) -> bool {
    let mut named = pod.claims.iter().filter_map(|entry| match &entry.source {
        ClaimSource::Claim(name) => Some(name),
        ClaimSource::Template { generated, .. } => generated.as_ref(),
        ClaimSource::Unknown => None,
    });
    named.any(|name| name == claim) || pod.extended_resource_claim.as_ref() == Some(claim)
}
