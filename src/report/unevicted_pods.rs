//! Pods that use devices of evicting rules and stay.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference;
use crate::engine::NotEvicted;
use crate::engine::holders::{NotEvictedReason, UnevictedPod};
use crate::naming::phrase::{counted, few};

/// A pod that uses devices of the rules and that the rules do not evict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotEvictedPod {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// UID of the pod; a later pod of the same name has another UID. Null if unknown.
    pub uid: Option<String>,
    /// The node of the pod; null while the pod is not scheduled.
    pub node: Option<String>,
    /// Why the pod is not evicted.
    pub reason: NotEvictedCode,
    /// Why the pod is not evicted, as text.
    pub message: String,
}

/// Why a pod is not evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NotEvictedCode {
    /// The pod tolerates the taints forever.
    Tolerates,
    /// The pod tolerates the taints forever, and uses the devices only with admin access (adminAccess: true in its
    /// claims).
    AdminAccess,
    /// The effect of the rules does not evict pods.
    EffectDoesNotEvict,
    /// The containers of the pod have ended, so it does not count as a pod to evict, although the eviction controller may
    /// still delete it until its claim is released.
    Ended,
    /// The pod is already terminating, for a reason other than the rules.
    Leaving,
    /// The eviction controller does not evict the pod, for another reason: see `message`.
    NotEvicted,
}

impl NotEvictedPod {
    /// The view of a pod that stays.
    pub fn new(staying: &UnevictedPod<'_>) -> Self {
        let pod = staying.pod;
        let (reason, message) = words(staying.stay);
        Self {
            namespace: pod.name.namespace.to_string(),
            name: pod.name.name.to_string(),
            uid: reference::known(&pod.uid),
            node: pod.node.as_ref().map(ToString::to_string),
            reason,
            message: message.to_owned(),
        }
    }

    /// Name of the pod and its reason to stay.
    pub fn line(&self) -> String {
        format!("{}/{} ({})", self.namespace, self.name, self.message)
    }
}

fn words(stay: NotEvictedReason) -> (NotEvictedCode, &'static str) {
    match stay {
        NotEvictedReason::Tolerates => (NotEvictedCode::Tolerates, "tolerates the taint"),
        NotEvictedReason::Administrates => (
            NotEvictedCode::AdminAccess,
            "tolerates the taint, and has admin access",
        ),
        NotEvictedReason::EffectDoesNotEvict => (
            NotEvictedCode::EffectDoesNotEvict,
            "stays until it ends by itself",
        ),
        NotEvictedReason::Ended => (
            NotEvictedCode::Ended,
            "has ended, but its claim is not released",
        ),
        NotEvictedReason::Leaves => (
            NotEvictedCode::Leaving,
            "was deleted, but is still terminating",
        ),
        NotEvictedReason::NotEvicted(why) => (NotEvictedCode::NotEvicted, not_evicted(why)),
    }
}

fn not_evicted(why: NotEvicted) -> &'static str {
    match why {
        NotEvicted::EffectDoesNotEvict => "stays until it ends by itself",
        NotEvicted::NotScheduled => "has no node yet",
        NotEvicted::PodGroupReservation => "the claim is reserved only for the pod's PodGroup",
        NotEvicted::NotOwned => "the claim was not generated for this pod",
        NotEvicted::ExtendedResource => "uses the device through an extended resource",
        NotEvicted::HiddenByStaleReservation => {
            "an outdated entry in a claim's reservedFor hides the pod from the controller"
        }
        NotEvicted::ClaimNotInStatus => "its claim is not in its status.resourceClaimStatuses",
    }
}

/// Line about pods that stay on the devices; absent where none does.
pub fn not_evicted_line(staying: &[NotEvictedPod]) -> Option<String> {
    if staying.is_empty() {
        return None;
    }
    let names: Vec<String> = staying.iter().map(NotEvictedPod::line).collect();
    let verb = if staying.len() == 1 { "stays" } else { "stay" };
    let pods = counted(staying.len(), "pod");
    Some(format!("{pods} {verb} on the devices: {}", few(&names)))
}
