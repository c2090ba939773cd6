//! The condition `EvictionInProgress` that the controller would write.
//!
//! Takes what the controller counts for one rule, and gives the condition word for word, singular and plural included.
//! Counts nothing itself.
//!
//! Upstream: `device_taint_eviction.go`, `updateRule` (Kubernetes 1.35 to 1.37).

use std::fmt;

use super::impact::Counts;
use crate::model::Effect;

/// Message of the condition of a rule with effect `None` about these counts.
///
/// It always ends with a sentence about recreating the rule, as the controller's does.
pub fn preview_message(counts: &Counts) -> String {
    Condition::of(&Effect::None, counts, 0).message
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

/// The condition `EvictionInProgress` of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// True if the controller has evictions to do.
    pub status: Status,
    /// The state in one word.
    pub reason: Reason,
    /// The counts in words; may be empty.
    pub message: String,
}

impl Condition {
    /// The condition of a rule with this effect.
    ///
    /// `evicted` is the number of pods that the controller has evicted because of the rule since it started.
    pub fn of(effect: &Effect, counts: &Counts, evicted: usize) -> Self {
        let (status, reason, mut message) = match effect {
            Effect::NoExecute if counts.pods > 0 => (
                Status::True,
                Reason::PodsPendingEviction,
                pending_message(counts),
            ),
            Effect::NoExecute if evicted > 0 => (Status::False, Reason::Completed, String::new()),
            Effect::NoExecute => (Status::False, Reason::NotStarted, String::new()),
            Effect::None => (Status::False, Reason::NoEffect, no_effect_message(counts)),
            Effect::NoSchedule | Effect::Unknown(_) => (
                Status::False,
                Reason::OtherEffect,
                "Eviction only happens for the NoExecute effect.".to_owned(),
            ),
        };
        if evicted > 0 {
            if !message.is_empty() {
                message.push(' ');
            }
            let pods = count(evicted, "pod", "pods");
            message.push_str(&format!("{pods} evicted since starting the controller."));
        }
        Self {
            status,
            reason,
            message,
        }
    }
}

/// Status of a condition, as far as the eviction controller uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Pods wait for their eviction.
    True,
    /// No pod waits; pods may still be terminating.
    False,
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::True => "True",
            Self::False => "False",
        })
    }
}

/// Reason of the condition, spelled as in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Pods wait for their eviction.
    PodsPendingEviction,
    /// Pods were evicted and none waits.
    Completed,
    /// No pod was evicted and none waits.
    NotStarted,
    /// The effect is `None`: the counts are a preview.
    NoEffect,
    /// The effect is one that never evicts.
    OtherEffect,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::PodsPendingEviction => "PodsPendingEviction",
            Self::Completed => "Completed",
            Self::NotStarted => "NotStarted",
            Self::NoEffect => "NoEffect",
            Self::OtherEffect => "OtherEffect",
        })
    }
}

fn pending_message(counts: &Counts) -> String {
    let pods = count(counts.pods, "pod needs", "pods need");
    let namespaces = count(counts.namespaces, "namespace", "different namespaces");
    format!("{pods} to be evicted in {namespaces}.")
}

fn no_effect_message(counts: &Counts) -> String {
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
