//! The verdict on a pod, in the detail that explanations need.

use jiff::Timestamp;

use super::chain::{Chain, EvaluatedTaint};
use super::explain_input::ExplainInput;
use crate::impact::{NotEvicted, Origin, PodImpact, Verdict};
use crate::model::{Effect, Pod};
use crate::preview;
use crate::tolerate::Deadline;

/// Verdict about a pod, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodVerdict {
    /// It is deleted then; a moment in the past means at once.
    Evicted {
        /// When.
        at: Timestamp,
    },
    /// It tolerates what would evict it forever.
    Tolerates,
    /// It is on its way out already.
    Terminating,
    /// A taint is on a device of it, and yet the controller does not evict it.
    NotEvicted(NotEvicted),
    /// No taint of the question is on a device that it uses.
    Untouched,
}

impl From<&Verdict> for PodVerdict {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Evicted { at } => Self::Evicted { at: *at },
            Verdict::Tolerates => Self::Tolerates,
            Verdict::Terminating => Self::Terminating,
            Verdict::NotEvicted(why) => Self::NotEvicted(*why),
        }
    }
}

impl ExplainInput<'_> {
    /// Verdict about `pod`, whose chain this is: by the taints that were asked about, or else by all that exist.
    pub fn verdict(&self, pod: &Pod, chain: &Chain<'_>) -> PodVerdict {
        if self.assumed == 0 {
            return self.present(pod, chain);
        }
        let impact = preview(self.snapshot, self.assumed(), self.now, self.semantics);
        assumed(impact.pods.iter().find(|one| one.pod.uid == pod.uid))
    }

    /// Verdict about `pod` if all taints of the question exist.
    pub fn present(&self, pod: &Pod, chain: &Chain<'_>) -> PodVerdict {
        let impact = preview(self.snapshot, self.taints, self.now, self.semantics);
        present(chain, impact.pods.iter().find(|one| one.pod.uid == pod.uid))
    }
}

/// Verdict of a preview; a pod that it does not name is hit by none of its taints.
fn assumed(impact: Option<&PodImpact<'_>>) -> PodVerdict {
    impact.map_or(PodVerdict::Untouched, |impact| {
        PodVerdict::from(&impact.verdict)
    })
}

/// Verdict about a pod by everything that exists: by the rules, as a preview of all of them says, and by its drivers,
/// whose taints a preview does not ask about.
fn present(chain: &Chain<'_>, impact: Option<&PodImpact<'_>>) -> PodVerdict {
    // Asked first, since a preview does not name a pod whose devices only drivers taint.
    if chain.pod.deletion.is_some() {
        return PodVerdict::Terminating;
    }
    let by_rules = impact.map(|impact| PodVerdict::from(&impact.verdict));
    // The preview of all rules has considered the taints of drivers on the same devices, and gives the earliest
    // time.
    if let Some(verdict @ PodVerdict::Evicted { .. }) = by_rules {
        return verdict;
    }
    let of_drivers = chain.counting().filter(|evaluated| is_driver(evaluated));
    let due = of_drivers.filter_map(|evaluated| match evaluated.decision?.deadline {
        Deadline::At(at) => Some(at),
        Deadline::Never => None,
    });
    if let Some(at) = due.min() {
        return PodVerdict::Evicted { at };
    }
    // Tolerations do not matter where the controller does not look at the pod at all.
    let hidden = PodVerdict::NotEvicted(NotEvicted::HiddenByStaleReservation);
    if by_rules == Some(hidden) {
        return hidden;
    }
    let is_tolerated = |evaluated: &EvaluatedTaint<'_>| {
        let decision = evaluated.decision;
        decision.is_some_and(|decision| decision.deadline == Deadline::Never)
    };
    if chain.counting().any(is_tolerated) {
        return PodVerdict::Tolerates;
    }
    by_rules.unwrap_or_else(|| by_drivers(chain))
}

/// Verdict where only drivers taint devices of the pod, and none of these taints evicts it.
fn by_drivers(chain: &Chain<'_>) -> PodVerdict {
    let mut obstacle = None;
    for link in &chain.links {
        let Some(validity) = link.validity else {
            continue;
        };
        let mut taints = link.devices.iter().flat_map(|device| &device.taints);
        match validity {
            _ if taints.next().is_none() => {}
            None => return PodVerdict::NotEvicted(NotEvicted::EffectDoesNotEvict),
            Some(found) => obstacle = obstacle.or(Some(found)),
        }
    }
    obstacle.map_or(PodVerdict::Untouched, PodVerdict::NotEvicted)
}

fn is_driver(evaluated: &EvaluatedTaint<'_>) -> bool {
    match evaluated.origin {
        Origin::ResourceSlice(_) => evaluated.taint.effect == Effect::NoExecute,
        Origin::Proposed(_) | Origin::Rule(_) => false,
    }
}
