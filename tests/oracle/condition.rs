//! The condition `EvictionInProgress` as the controller writes it: status, reason and message.
//!
//! Upstream: `device_taint_eviction.go`, `updateRule` (Kubernetes 1.35 to 1.37).

use kubectl_devicetaint::engine::{Counts, condition::preview_message};
use kubectl_devicetaint::model::Effect;

/// The condition of a rule with these counts; `evicted` is the number of pods that the controller has evicted because of
/// the rule since it started.
pub fn words(effect: &Effect, counts: &Counts, evicted: usize) -> [String; 3] {
    let (status, reason, mut message) = match effect {
        Effect::NoExecute if counts.pods > 0 => {
            let pods = count(counts.pods, "pod needs", "pods need");
            let namespaces = count(counts.namespaces, "namespace", "different namespaces");
            let message = format!("{pods} to be evicted in {namespaces}.");
            ("True", "PodsPendingEviction", message)
        }
        Effect::NoExecute if evicted > 0 => ("False", "Completed", String::new()),
        Effect::NoExecute => ("False", "NotStarted", String::new()),
        Effect::None => ("False", "NoEffect", preview_message(counts)),
        Effect::NoSchedule | Effect::Unknown(_) => {
            let message = "Eviction only happens for the NoExecute effect.".to_owned();
            ("False", "OtherEffect", message)
        }
    };
    if evicted > 0 {
        let pods = count(evicted, "pod", "pods");
        let evicted = format!("{pods} evicted since starting the controller.");
        message = [message, evicted].join(" ").trim_start().to_owned();
    }
    [status.to_owned(), reason.to_owned(), message]
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
