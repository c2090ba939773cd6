//! The verdict on a pod, in words.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::explain::PodVerdict;
use crate::model::Pod;
use crate::naming::age::human_duration;
use crate::report::impact::note::{not_evicted, terminating};
use crate::report::time::Time;

/// What becomes of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedVerdict {
    /// In one word.
    pub code: VerdictCode,
    /// Why the controller leaves it alone, as in the notes of a preview; null for other verdicts.
    pub reason: Option<String>,
    /// When it is evicted, perhaps in the past, which means at once; null for other verdicts.
    pub at: Option<Time>,
}

impl ExplainedVerdict {
    /// Whether the pod keeps its devices.
    pub(super) fn is_spared(&self) -> bool {
        match self.code {
            VerdictCode::Tolerates | VerdictCode::NotEvicted | VerdictCode::Untouched => true,
            VerdictCode::Evicted
            | VerdictCode::Terminating
            | VerdictCode::Waiting
            | VerdictCode::Unknown => false,
        }
    }

    /// Whether somebody wants it to be otherwise: the pod is evicted, or waits for devices.
    pub(super) fn is_to_mend(&self) -> bool {
        matches!(self.code, VerdictCode::Evicted | VerdictCode::Waiting)
    }
}

/// What becomes of a pod, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictCode {
    /// It is deleted.
    Evicted,
    /// It tolerates what would evict it.
    Tolerates,
    /// It is on its way out already.
    Terminating,
    /// A taint is on its devices, and yet the controller does not evict it.
    NotEvicted,
    /// No taint of the question is on a device that it uses.
    Untouched,
    /// It waits for devices that its claims do not have yet.
    Waiting,
    /// Unknown, because some data is unknown.
    Unknown,
}

impl ExplainedVerdict {
    /// The verdict that nobody can tell.
    pub(super) const UNKNOWN: Self = Self {
        code: VerdictCode::Unknown,
        reason: None,
        at: None,
    };

    /// The verdict on a pod without devices, on which no taint can be yet.
    pub(super) const WAITING: Self = Self {
        code: VerdictCode::Waiting,
        reason: None,
        at: None,
    };

    pub(super) fn new(verdict: PodVerdict) -> Self {
        let plain = |code| Self {
            code,
            ..Self::UNKNOWN
        };
        match verdict {
            PodVerdict::Evicted { at } => Self {
                at: Some(Time(at)),
                ..plain(VerdictCode::Evicted)
            },
            PodVerdict::Tolerates => plain(VerdictCode::Tolerates),
            PodVerdict::Terminating => plain(VerdictCode::Terminating),
            PodVerdict::NotEvicted(why) => Self {
                reason: Some(not_evicted(why).code),
                ..plain(VerdictCode::NotEvicted)
            },
            PodVerdict::Untouched => plain(VerdictCode::Untouched),
        }
    }
}

/// When something due at that moment happens.
pub(super) fn moment(at: Timestamp, now: Timestamp) -> String {
    let distance = human_duration(at.duration_since(now));
    match at.cmp(&now) {
        std::cmp::Ordering::Less => format!("at once, due since {at} ({distance} ago)"),
        std::cmp::Ordering::Equal => "now".to_owned(),
        std::cmp::Ordering::Greater => format!("in {distance}, at {at}"),
    }
}

/// What becomes of the pod.
pub(super) fn describe(verdict: PodVerdict, pod: &Pod, now: Timestamp) -> String {
    match verdict {
        PodVerdict::Evicted { at } => format!("evicted {}", moment(at, now)),
        PodVerdict::Tolerates => "stays: it tolerates the taints that would evict it".to_owned(),
        PodVerdict::Terminating => terminating(pod.deletion.as_ref(), now).message,
        PodVerdict::NotEvicted(why) => format!("stays: {}", not_evicted(why).message),
        PodVerdict::Untouched => "stays: none of its devices is tainted".to_owned(),
    }
}
