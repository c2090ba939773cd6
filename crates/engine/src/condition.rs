//! The condition `EvictionInProgress` that the controller writes for a rule with effect `None`, word for word.
//!
//! Upstream: `device_taint_eviction.go`, `updateRule` (Kubernetes 1.35 to 1.37).

use super::impact::Counts;

/// Message of the condition of a rule with effect `None` about these counts.
///
/// It always ends with a sentence about recreating the rule, as the controller's does.
pub fn preview_message(counts: &Counts) -> String {
    let published = count(
        counts.published_devices,
        "published device",
        "published devices",
    );
    let allocated = count(
        counts.allocated_devices,
        "allocated device",
        "allocated devices",
    );
    let pods = count(counts.pods, "pod", "pods");
    let namespaces = count(counts.namespaces, "namespace", "different namespaces");
    format!(
        "{published} selected. {allocated} selected. {pods} would be evicted in {namespaces} if \
         the effect was NoExecute. This information will not be updated again. Recreate the \
         DeviceTaintRule to trigger an update."
    )
}

fn count(number: usize, one: &str, many: &str) -> String {
    // As upstream: 0 is plural.
    let noun = if number == 1 { one } else { many };
    format!("{number} {noun}")
}
