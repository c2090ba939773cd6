//! Notes on pods that stay, or leave for other reasons.

use jiff::Timestamp;

use super::view::Note;
use crate::engine::{NotEvicted, Origin, PodImpact, Verdict};
use crate::model::Pod;
use crate::naming::age::human_duration;

/// What a note is about. Codes are stable; new ones may be added within a schema version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteCode {
    /// The considered effect never evicts.
    EffectDoesNotEvict,
    /// The pod has no node yet.
    NotScheduled,
    /// The claim is reserved for the pod's PodGroup only.
    PodGroupReservation,
    /// The claim was not generated for the pod.
    NotOwned,
    /// The pod uses the device through an extended resource.
    ExtendedResource,
    /// An outdated reservation hides the pod.
    HiddenByStaleReservation,
    /// The pod tolerates the considered taints.
    Tolerates,
    /// The pod is on its way out.
    Terminating,
    /// Something else than the considered taints evicts the pod, whether they do or not.
    EvictedAnyway,
}

impl NoteCode {
    /// The stable code, as reports write it.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::EffectDoesNotEvict => "EffectDoesNotEvict",
            Self::NotScheduled => "NotScheduled",
            Self::PodGroupReservation => "PodGroupReservation",
            Self::NotOwned => "NotOwned",
            Self::ExtendedResource => "ExtendedResource",
            Self::HiddenByStaleReservation => "HiddenByStaleReservation",
            Self::Tolerates => "Tolerates",
            Self::Terminating => "Terminating",
            Self::EvictedAnyway => "EvictedAnyway",
        }
    }

    fn note(self, message: impl Into<String>) -> Note {
        Note {
            reason: self.reason().to_owned(),
            message: message.into(),
        }
    }
}

/// What there is to know about a pod, the reason to stay first.
pub(super) fn notes(impact: &PodImpact<'_>, now: Timestamp) -> Vec<Note> {
    let reason = match &impact.verdict {
        Verdict::Evicted { .. } => None,
        Verdict::Tolerates => Some(NoteCode::Tolerates.note("tolerates the taint")),
        Verdict::Terminating => Some(terminating(impact.pod, now)),
        Verdict::NotEvicted(reason) => Some(not_evicted(*reason)),
    };
    reason.into_iter().chain(evicted_anyway(impact)).collect()
}

/// How far a pod is that is on its way out.
pub(in crate::report) fn terminating(pod: &Pod, now: Timestamp) -> Note {
    let message = match &pod.deletion {
        // Its kubelet is done with it: neither the grace period nor the node is what it waits for.
        Some(deletion) if pod.phase.is_terminal() && !deletion.finalizers.is_empty() => {
            let finalizers: Vec<String> = deletion
                .finalizers
                .iter()
                .map(ToString::to_string)
                .collect();
            format!(
                "terminating; the pod has ended, but its finalizers keep it: {}",
                finalizers.join(", ")
            )
        }
        Some(deletion) if deletion.at > now => {
            let left = human_duration(deletion.at.duration_since(now));
            format!("terminating, its grace period ends in {left}")
        }
        Some(deletion) => {
            let since = human_duration(now.duration_since(deletion.at));
            format!("terminating, its grace period ended {since} ago")
        }
        None => "terminating".to_owned(),
    };
    NoteCode::Terminating.note(message)
}

fn evicted_anyway(impact: &PodImpact<'_>) -> Option<Note> {
    let too = match impact.verdict {
        Verdict::Evicted { .. } => " too,",
        Verdict::Tolerates | Verdict::NotEvicted(_) => "",
        // It leaves already; nobody evicts it again.
        Verdict::Terminating => return None,
    };
    let (who, at) = impact.causes.iter().find_map(|cause| {
        let who = match cause.origin {
            // The note is about what evicts the pod even without the taints that are asked about.
            Origin::Proposed(_) => return None,
            Origin::Rule(name) => format!("rule {name}"),
            Origin::ResourceSlice(_) => format!("the driver's taint {}", cause.taint),
        };
        Some((who, cause.at))
    })?;
    Some(NoteCode::EvictedAnyway.note(format!("{who} evicts the pod{too} at {at}")))
}

/// Why the controller leaves a pod alone.
pub(in crate::report) fn not_evicted(reason: NotEvicted) -> Note {
    let (code, message) = match reason {
        NotEvicted::EffectDoesNotEvict => (
            NoteCode::EffectDoesNotEvict,
            "effects other than NoExecute do not evict",
        ),
        NotEvicted::NotScheduled => (NoteCode::NotScheduled, "has no node yet"),
        NotEvicted::PodGroupReservation => (
            NoteCode::PodGroupReservation,
            "the claim is reserved only for the pod's PodGroup; this version of Kubernetes does not evict such pods",
        ),
        NotEvicted::NotOwned => (
            NoteCode::NotOwned,
            "the claim was not generated for this pod",
        ),
        NotEvicted::ExtendedResource => (
            NoteCode::ExtendedResource,
            "uses an extended resource; this version of Kubernetes does not evict such pods",
        ),
        NotEvicted::HiddenByStaleReservation => (
            NoteCode::HiddenByStaleReservation,
            "an outdated entry in a claim's reservedFor hides the pod from the controller until \
             something about the pod changes",
        ),
    };
    code.note(message)
}
