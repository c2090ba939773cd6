//! Claims that replacements of pods get from ResourceClaimTemplates.
//!
//! A template that was deleted and created again has another spec than the claims that it generated before. Where a
//! template is not known, the spec of the generated claim stands for it.

use foldhash::HashMap;
use jiff::Timestamp;

use super::claims::{AffectedClaim, key_of};
use super::impact::Cause;
use super::semantics::Semantics;
use super::tolerate::{Deadline, deadline, tolerates};
use crate::model::{
    ClaimSource, ClaimSpec, Effect, ObjectName, Pod, RequestKind, Snapshot, Taint, Toleration,
};

/// The known templates, by namespace and name.
#[derive(Debug, Default)]
pub(crate) struct Templates<'a> {
    by_name: HashMap<(&'a str, &'a str), &'a ClaimSpec>,
}

/// Tolerations of a replacement for the proposed taints that evict the pod.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReplacementTolerations {
    /// The scheduler takes a taint as tolerated that evicts all the same.
    pub(crate) schedule_only: bool,
    /// The scheduler would take a taint as tolerated if its effect were `NoSchedule`.
    pub(crate) no_schedule: bool,
    /// A taint is tolerated forever, so that the replacement can get the same device and keep it.
    pub(crate) forever: bool,
}

impl ReplacementTolerations {
    /// Both together: one claim is enough.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            schedule_only: self.schedule_only || other.schedule_only,
            no_schedule: self.no_schedule || other.no_schedule,
            forever: self.forever || other.forever,
        }
    }
}

impl<'a> Templates<'a> {
    /// Those of `snapshot`.
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        let templates = snapshot.templates.iter();
        Self {
            by_name: templates
                .map(|template| (key_of(&template.name), &*template.spec))
                .collect(),
        }
    }

    /// The spec of the claim that a replacement of `pod` gets instead of its claim of this name.
    pub(crate) fn spec(&self, pod: &Pod, claim: &ObjectName) -> Option<&'a ClaimSpec> {
        if self.by_name.is_empty() {
            return None;
        }
        let key = (
            pod.name.namespace.as_str(),
            template_of(pod, claim)?.as_str(),
        );
        self.by_name.get(&key).copied()
    }

    /// Tolerations of the claim that a replacement of `pod` uses instead of `claim`.
    pub(crate) fn tolerations(
        &self,
        pod: &Pod,
        claim: &AffectedClaim<'a>,
        now: Timestamp,
        semantics: &Semantics,
    ) -> ReplacementTolerations {
        let Some(spec) = self.spec(pod, &claim.claim.name.name) else {
            return ReplacementTolerations {
                schedule_only: claim.schedule_only,
                no_schedule: claim.no_schedule,
                forever: false,
            };
        };
        let causes = claim.causes.iter().filter(|cause| cause.is_proposed());
        let each = causes.map(|cause| {
            let tolerations = tolerations(spec, claim, cause);
            let tolerated = |taint: &Taint| tolerations.iter().any(|one| tolerates(one, taint));
            let no_schedule = Taint {
                effect: Effect::NoSchedule,
                ..cause.taint.clone()
            };
            let forever = deadline(cause.taint, &tolerations, now, semantics) == Deadline::Never;
            ReplacementTolerations {
                schedule_only: !forever && tolerated(cause.taint),
                no_schedule: tolerated(&no_schedule),
                forever,
            }
        });
        each.fold(
            ReplacementTolerations::default(),
            ReplacementTolerations::or,
        )
    }
}

/// The template from which the claim of this name was made for `pod`.
pub(crate) fn template_of<'p>(pod: &'p Pod, claim: &ObjectName) -> Option<&'p ObjectName> {
    pod.claims.iter().find_map(|entry| match &entry.source {
        ClaimSource::Template {
            template,
            generated: Some(name),
        } if name == claim => Some(template),
        ClaimSource::Template { .. } | ClaimSource::Claim(_) | ClaimSource::Unknown => None,
    })
}

/// Tolerations of the requests of `spec` that stand for those whose device has the taint; of all requests where the
/// template names other ones than the claim.
fn tolerations(spec: &ClaimSpec, claim: &AffectedClaim<'_>, cause: &Cause<'_>) -> Vec<Toleration> {
    let mut selected = claim.selected.iter().map(|selected| selected.result);
    let held = selected.find(|result| result.device == *cause.device);
    let name = held.map(|result| result.request.split('/').next().unwrap_or_default());
    let is_meant = |other: &str| Some(other) == name;
    let has_name = spec.requests.iter().any(|request| is_meant(&request.name));
    let requests = spec
        .requests
        .iter()
        .filter(|request| !has_name || is_meant(&request.name));
    let tolerations = requests.flat_map(|request| match &request.kind {
        RequestKind::Exactly(terms) => terms.tolerations.clone(),
        RequestKind::FirstAvailable(choices) => {
            let terms = choices.iter().map(|(_, terms)| terms);
            terms.flat_map(|terms| terms.tolerations.clone()).collect()
        }
        RequestKind::Unknown => Vec::new(),
    });
    tolerations.collect()
}
