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

/// Number of pods that the controller counted in `message` about a rule with effect `None`; absent when the message
/// says something else.
pub fn counted_pods(message: &str) -> Option<usize> {
    // The message is the only place in which the controller says its counts.
    message.split(". ").find_map(|sentence| {
        let (number, rest) = sentence.split_once(' ')?;
        let about_pods =
            rest.starts_with("pod would be evicted") || rest.starts_with("pods would be evicted");
        number.parse().ok().filter(|_| about_pods)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pods_of_a_preview_are_read_back_from_its_message() {
        for pods in [0, 1, 88] {
            let counts = Counts {
                published_devices: 4,
                allocated_devices: 7,
                pods,
                namespaces: 3,
            };
            assert_eq!(counted_pods(&preview_message(&counts)), Some(pods));
        }
        assert_eq!(
            counted_pods("3 pods need to be evicted in 1 namespace."),
            None
        );
        assert_eq!(counted_pods(""), None);
    }
}
