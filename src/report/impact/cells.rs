//! Cells that rows of pods and rows of workloads have in common.

use super::finding::HazardCode;
use super::view::Pod;
use crate::assess::{Hazard, Outcome};
use crate::naming::age::human_duration;
use crate::report::table::NONE;

/// At most two risks, and how many more there are.
pub(super) fn risks(risks: &[String]) -> String {
    match risks {
        [] => NONE.to_owned(),
        [first, second, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second} (+{})", rest.len())
        }
        few => few.join(", "),
    }
}

/// The codes of its hazards, the worst first.
pub(super) fn hazards(pod: &Pod) -> Vec<String> {
    let mut hazards: Vec<&HazardCode> = pod.hazards.iter().collect();
    // Nothing is known of how bad a code of a later version is: it comes last.
    hazards.sort_by_key(|code| code.hazard().map_or(u8::MAX, Hazard::rank));
    hazards.into_iter().map(ToString::to_string).collect()
}

/// How soon the pod is evicted.
pub(super) fn when(pod: &Pod) -> String {
    match (pod.outcome, pod.evict_in_seconds) {
        (Outcome::EvictedNow, _) => "now".to_owned(),
        (_, Some(seconds)) => {
            let duration = jiff::SignedDuration::from_secs(seconds);
            format!("+{}", human_duration(duration))
        }
        (_, None) => NONE.to_owned(),
    }
}
