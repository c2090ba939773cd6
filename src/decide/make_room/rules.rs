//! Rules that keep devices for a pod: their taint, label and expiry, and rules of other runs.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::decide::RuleDraft;
use crate::decide::add::{AddStep, Existing, Terms, add};
use crate::decide::choice::{Choice, ChoiceBasis};
use crate::decide::drafts::RuleAnnotations;
use crate::engine::Semantics;
use crate::error::Failure;
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, Pod, RuleMetadata, Taint, Uid, in_group,
};

/// Key of the taint on devices that are kept for a pod; the value is the pod's UID.
pub const TAINT_KEY: &str = in_group!("make-room");

/// Time by which rules outlive the longest run of their command.
const MARGIN: SignedDuration = SignedDuration::from_mins(2);

/// The taint that keeps a device for the pod with this UID.
#[must_use]
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
#[must_use]
pub fn kept_for(rule: &DeviceTaintRule) -> Option<&str> {
    let labels = &rule.metadata.labels;
    let is_ours = labels.get(RuleMetadata::MANAGED_BY).map(String::as_str)
        == Some(RuleMetadata::THIS_PROGRAM);
    let uid = labels.get(RuleMetadata::MAKE_ROOM)?;
    (is_ours && rule.taint.key == TAINT_KEY).then_some(uid)
}

/// Devices that `rules` keep for other pods than the one with this UID.
#[must_use]
pub fn reserved(rules: &[DeviceTaintRule], uid: &Uid) -> BTreeSet<DeviceId> {
    let others = rules
        .iter()
        .filter(|rule| kept_for(rule).is_some_and(|kept_for| kept_for != uid.as_str()));
    let devices = others.filter_map(|rule| rule.selector.as_ref()?.device_id());
    devices.collect()
}

/// The rules for the pod with this UID, by name.
#[must_use]
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
    let choice = Choice {
        by: ChoiceBasis::Selectors(selectors.collect()),
        taint: Some(taint(&pod.uid)),
    };
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
