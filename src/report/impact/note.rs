//! Notes on pods that stay, or leave for other reasons.

use jiff::Timestamp;

use super::rows::after;
use super::view::Note;
use crate::engine::{NotEvicted, Origin, PodImpact, Verdict};
use crate::model::Pod;
use crate::naming::age::human_duration;

/// Subject of a note. Codes are stable; new ones may be added within a schema version.
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
    /// The entry of the claim in the pod's status is missing.
    ClaimNotInStatus,
    /// The pod tolerates the considered taints.
    Tolerates,
    /// The pod is terminating.
    Terminating,
    /// Something else than the considered taints evicts the pod, whether they do or not.
    EvictedAnyway,
}

impl NoteCode {
    /// The stable code, as reports write it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::EffectDoesNotEvict => "EffectDoesNotEvict",
            Self::NotScheduled => "NotScheduled",
            Self::PodGroupReservation => "PodGroupReservation",
            Self::NotOwned => "NotOwned",
            Self::ExtendedResource => "ExtendedResource",
            Self::HiddenByStaleReservation => "HiddenByStaleReservation",
            Self::ClaimNotInStatus => "ClaimNotInStatus",
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

/// Notes on a pod, the reason to stay first.
pub(super) fn notes(impact: &PodImpact<'_>, now: Timestamp) -> Vec<Note> {
    let reason = match &impact.verdict {
        Verdict::Evicted { .. } => None,
        Verdict::Tolerates => Some(NoteCode::Tolerates.note("tolerates the taint")),
        Verdict::Terminating => Some(terminating(impact.pod, now)),
        Verdict::NotEvicted(reason) => Some(not_evicted(*reason)),
    };
    reason
        .into_iter()
        .chain(evicted_anyway(impact, now))
        .collect()
}

/// State of a pod that is terminating.
pub(in crate::report) fn terminating(pod: &Pod, now: Timestamp) -> Note {
    let message = match &pod.deletion {
        // Its kubelet is done with it: it waits for neither the grace period nor the node.
        Some(deletion) if pod.phase.is_terminal() && !deletion.finalizers.is_empty() => {
            let finalizers = deletion.finalizers.iter().map(ToString::to_string);
            format!(
                "ended, finalizers {}",
                finalizers.collect::<Vec<_>>().join(", ")
            )
        }
        Some(deletion) if deletion.at > now => {
            let left = deletion.at.duration_since(now);
            format!("grace period ends {}", after(left.as_secs()))
        }
        Some(deletion) => {
            let since = human_duration(now.duration_since(deletion.at));
            format!("grace over since {since}")
        }
        None => "terminating".to_owned(),
    };
    NoteCode::Terminating.note(message)
}

fn evicted_anyway(impact: &PodImpact<'_>, now: Timestamp) -> Option<Note> {
    // A pod that is terminating is not evicted again.
    if impact.verdict == Verdict::Terminating {
        return None;
    }
    let (owner, at) = impact.causes.iter().find_map(|cause| {
        let owner = match cause.origin {
            // The note is about a taint that evicts the pod even without the proposed ones.
            Origin::Proposed(_) => return None,
            Origin::Rule(name) => format!("rule {name}"),
            Origin::ResourceSlice(_) => format!("taint {} of the driver", cause.taint),
        };
        Some((owner, cause.at))
    })?;
    let when = after(at.as_second().saturating_sub(now.as_second()));
    Some(NoteCode::EvictedAnyway.note(format!("{owner} evicts it {when}")))
}

/// Reason why the controller does not evict a pod.
pub(in crate::report) fn not_evicted(reason: NotEvicted) -> Note {
    let (code, message) = match reason {
        NotEvicted::EffectDoesNotEvict => (NoteCode::EffectDoesNotEvict, "no taint that evicts"),
        NotEvicted::NotScheduled => (NoteCode::NotScheduled, "no node yet"),
        NotEvicted::PodGroupReservation => (
            NoteCode::PodGroupReservation,
            "claim reserved only for its PodGroup",
        ),
        NotEvicted::NotOwned => (NoteCode::NotOwned, "claim not generated for this pod"),
        NotEvicted::ExtendedResource => (NoteCode::ExtendedResource, "extended resource"),
        NotEvicted::HiddenByStaleReservation => (
            NoteCode::HiddenByStaleReservation,
            "hidden by an outdated entry in reservedFor",
        ),
        NotEvicted::ClaimNotInStatus => (
            NoteCode::ClaimNotInStatus,
            "for now: claim missing in its status",
        ),
    };
    code.note(message)
}
