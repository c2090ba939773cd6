//! Rules that keep devices for a pod: their taint, label and expiry, rules of other runs, and claims that tolerate them.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::decide::RuleDraft;
use crate::decide::add::{AddStep, Existing, Terms, add};
use crate::decide::choice::Choice;
use crate::decide::drafts::RuleAnnotations;
use crate::engine::Semantics;
use crate::engine::tolerate::tolerates;
use crate::error::Failure;
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, NamespacedName, Pod, RequestKind,
    RequestTerms, ResourceClaim, RuleMetadata, Taint, Toleration, Uid, in_group,
};

/// Key of the taint on devices that are kept for a pod; the value is the pod's UID.
pub const TAINT_KEY: &str = in_group!("make-room");

/// Time by which rules outlive the longest run of their command.
const MARGIN: SignedDuration = SignedDuration::from_mins(2);

/// The taint that keeps a device for the pod with this UID.
pub fn taint(uid: &Uid) -> Taint {
    Taint {
        key: TAINT_KEY.to_owned(),
        value: uid.to_string(),
        effect: Effect::NoSchedule,
        time_added: None,
    }
}

/// The UID of the pod for which `make-room` created the rule; absent for every other rule.
//
// Label, key and manager: a rule that was written by hand with the same key is none.
pub fn kept_for(rule: &DeviceTaintRule) -> Option<&str> {
    let labels = &rule.metadata.labels;
    let is_ours = labels.get(RuleMetadata::MANAGED_BY).map(String::as_str)
        == Some(RuleMetadata::THIS_PROGRAM);
    let uid = labels.get(RuleMetadata::MAKE_ROOM)?;
    (is_ours && rule.taint.key == TAINT_KEY).then_some(uid)
}

/// Devices that `rules` keep for other pods than the one with this UID.
pub fn reserved(rules: &[DeviceTaintRule], uid: &Uid) -> BTreeSet<DeviceId> {
    let others = rules
        .iter()
        .filter(|rule| kept_for(rule).is_some_and(|kept_for| kept_for != uid.as_str()));
    let devices = others.filter_map(|rule| rule.selector.as_ref()?.device_id());
    devices.collect()
}

/// The rules for the pod with this UID, by name.
pub fn left_of(rules: &[DeviceTaintRule], uid: &Uid) -> Vec<DeviceTaintRule> {
    let is_for_pod = |rule: &&DeviceTaintRule| kept_for(rule) == Some(uid.as_str());
    let mut left: Vec<DeviceTaintRule> = rules.iter().filter(is_for_pod).cloned().collect();
    left.sort_by(|one, other| one.name.cmp(&other.name));
    left
}

/// The rules that keep `devices` for a pod, made `now` by a command that takes at most `timeout`: they expire soon after
/// it, also if it is killed.
///
/// # Errors
///
/// A device cannot be named by a rule.
pub fn drafts(
    devices: &BTreeSet<DeviceId>,
    pod: &Pod,
    now: Timestamp,
    timeout: Duration,
) -> Result<Vec<RuleDraft>, Failure> {
    let length = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
    let expires = now
        .saturating_add(length.saturating_add(MARGIN))
        .unwrap_or(Timestamp::MAX);
    // The API has times to the second.
    let expires = Timestamp::from_second(expires.as_second()).unwrap_or(expires);
    let selectors = devices.iter().cloned().map(DeviceSelector::from);
    let choice = Choice::of_selectors(selectors.collect(), Some(taint(&pod.uid)));
    let notes = RuleAnnotations {
        reason: Some(format!("room for pod {}", pod.name)),
        labels: vec![(RuleMetadata::MAKE_ROOM.to_owned(), pod.uid.to_string())],
        ..RuleAnnotations::default()
    };
    let mut drafts = notes.drafts(&choice, Vec::new())?;
    for draft in &mut drafts {
        let expires = (RuleMetadata::EXPIRES.to_owned(), expires.to_string());
        draft.annotations.extend([expires]);
    }
    Ok(drafts)
}

/// The steps that create or update the rules for the pod with this UID. An existing rule of the same name is updated only
/// if an earlier run created it for this pod.
///
/// # Errors
///
/// An existing rule cannot become the wanted one.
pub fn room_steps(
    drafts: Vec<RuleDraft>,
    rules: &[DeviceTaintRule],
    uid: &Uid,
    semantics: &Semantics,
    now: Timestamp,
) -> Result<Vec<AddStep>, Failure> {
    let mut steps = Vec::new();
    for draft in drafts {
        let existing = rules.iter().find(|rule| rule.name.as_str() == draft.name);
        let is_ours = existing.and_then(kept_for) == Some(uid.as_str());
        let terms = Terms {
            existing: if is_ours {
                Existing::Overwritten
            } else {
                Existing::Kept
            },
            semantics,
            now,
        };
        steps.extend(add(vec![draft], rules, &terms)?);
    }
    Ok(steps)
}

/// A request that does not tolerate the taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LackingRequest {
    /// The claim.
    pub claim: NamespacedName,
    /// The request, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
}

/// Requests of the claim that do not tolerate the taint for the pod with this UID.
pub fn lacking(claim: &ResourceClaim, uid: &Uid) -> Vec<LackingRequest> {
    let requests = claim.spec.iter().flat_map(|spec| &spec.requests);
    let choices = requests.flat_map(|request| -> Vec<(String, Option<&RequestTerms>)> {
        match &request.kind {
            RequestKind::Exactly(terms) => vec![(request.name.to_string(), Some(terms))],
            RequestKind::FirstAvailable(all) => all
                .iter()
                .map(|(name, terms)| (format!("{}/{name}", request.name), Some(terms)))
                .collect(),
            // A request of a newer API may have tolerations that were not read. The taint could keep out the pod
            // itself, so it counts as lacking.
            RequestKind::Unknown => vec![(request.name.to_string(), None)],
        }
    });
    let lacking =
        choices.filter(|(_, terms)| !terms.is_some_and(|terms| covers(&terms.tolerations, uid)));
    let lacking = lacking.map(|(request, _)| LackingRequest {
        claim: claim.name.clone(),
        request,
    });
    lacking.collect()
}

/// True if one of the tolerations covers the taint for the pod with this UID.
pub fn covers(tolerations: &[Toleration], uid: &Uid) -> bool {
    let taint = taint(uid);
    tolerations.iter().any(|it| tolerates(it, &taint))
}

/// The toleration that requests need, as it is written below a request.
pub fn toleration_lines() -> [String; 4] {
    [
        "tolerations:".to_owned(),
        format!("- key: {TAINT_KEY}"),
        "  operator: Exists".to_owned(),
        format!("  effect: {}", Effect::NoSchedule),
    ]
}

/// Refuses to keep devices by a taint that would keep out the pod itself.
///
/// # Errors
///
/// A request does not tolerate the taint.
pub fn refuse_lacking(lacking: &[LackingRequest]) -> Result<(), Failure> {
    if lacking.is_empty() {
        return Ok(());
    }
    let refused = Failure::refused(
        "the pod's claims do not tolerate the taint that would keep devices for it; nothing was changed",
    );
    let requests = lacking
        .iter()
        .map(|it| format!("claim {}: request {}", it.claim, it.request));
    let refused = requests.fold(refused, Failure::detail).detail(
        "add these lines under `exactly` of each request in the ResourceClaimTemplate (delete it and create it \
         again), or to each entry of `firstAvailable`, and recreate the pod:",
    );
    let lines = toleration_lines().map(|line| format!("  {line}"));
    let refused = lines.into_iter().fold(refused, Failure::detail);
    Err(refused.hint(
        "to evict pods without keeping their devices, so that another pod may get them first: --without-toleration",
    ))
}
