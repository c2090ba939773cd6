//! The command that explains why a pod is pending.

use crate::model::NamespacedName;

/// The command that names why the pod is pending.
#[must_use]
pub fn explain_pod(pod: &NamespacedName) -> String {
    format!(
        "kubectl devicetaint explain pod/{} -n {}",
        pod.name, pod.namespace
    )
}
