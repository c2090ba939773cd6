//! The rules that keep devices for the pod of one run: whose devices are left alone, and what is done about each rule.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::terms::kept_for;
use crate::decide::add::{AddStep, Existing, Terms, add};
use crate::decide::draft::RuleDraft;
use crate::engine::Semantics;
use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Effect, Uid};

/// The devices that `rules` keep for other pods than the one with this UID.
#[must_use]
pub fn reserved(rules: &[DeviceTaintRule], uid: &Uid) -> BTreeSet<DeviceId> {
    let others = rules
        .iter()
        .filter(|rule| kept_for(rule).is_some_and(|kept_for| kept_for != uid.as_str()));
    let devices = others.filter_map(|rule| rule.selector.as_ref()?.device_id());
    devices.collect()
}

/// The rules as they are made first: where pods with budgets are evicted, these leave first, by the Eviction API, and a
/// taint must not evict them before.
#[must_use]
pub fn first_drafts(drafts: &[RuleDraft], has_budgets: bool) -> Vec<RuleDraft> {
    let mut first = drafts.to_vec();
    if has_budgets {
        for draft in &mut first {
            draft.taint.effect = Effect::NoSchedule;
        }
    }
    first
}

/// The steps that create or update the rules for the pod with this UID. An existing rule of the same name is updated only
/// if an earlier run created it for this pod.
///
/// # Errors
///
/// When a rule that is there cannot become what is wanted.
pub fn room_steps(
    drafts: Vec<RuleDraft>,
    rules: &[DeviceTaintRule],
    uid: &Uid,
    semantics: &Semantics,
    now: Timestamp,
) -> Result<Vec<AddStep>, Failure> {
    let mut steps = Vec::new();
    for draft in drafts {
        let there = rules.iter().find(|rule| rule.name.as_str() == draft.name);
        let is_ours = there.and_then(kept_for) == Some(uid.as_str());
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

/// Whether the effect of a rule is still to be raised, so that pods leave the devices `emptied` by it. Devices that are only
/// kept free have no pods that have to leave.
#[must_use]
pub fn is_to_be_raised(rule: &DeviceTaintRule, emptied: &BTreeSet<DeviceSelector>) -> bool {
    let selector = rule.selector.as_ref();
    let is_meant = selector.is_some_and(|selector| emptied.contains(selector));
    is_meant && rule.taint.effect != Effect::NoExecute
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, rule, selector};
    use crate::model::{RuleMetadata, Taint};

    /// A rule that this plugin has made for the pod with this UID, on that device.
    fn keeping(device: &str, uid: &str, effect: &str) -> DeviceTaintRule {
        let mut rule = named(device, effect);
        rule.selector = Some(selector(device));
        rule.taint = super::super::terms::taint(&uid.into(), Effect::from(effect));
        let label = (RuleMetadata::MAKE_ROOM.to_owned(), uid.to_owned());
        rule.metadata.labels.extend([label]);
        rule
    }

    fn draft(device: &str, effect: &str) -> RuleDraft {
        let rule = keeping(device, "mine", effect);
        RuleDraft {
            name: rule.name.to_string(),
            selector: selector(device),
            taint: Taint {
                time_added: None,
                ..rule.taint
            },
            labels: rule.metadata.labels,
            annotations: rule.metadata.annotations,
            manifest: None,
        }
    }

    #[test]
    fn devices_that_rules_keep_for_other_pods_are_reserved() {
        let rules = [
            keeping("gpu-1", "mine", "NoExecute"),
            keeping("gpu-2", "theirs", "NoExecute"),
            keeping("gpu-3", "theirs", "NoSchedule"),
            rule("NoExecute"),
        ];
        let found = reserved(&rules, &"mine".into());
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected = ["gpu-2", "gpu-3"].map(|device| format!("gpu.example.com/node-7/{device}"));
        assert_eq!(found, expected);
    }

    #[test]
    fn where_pods_have_budgets_no_taint_evicts_first() {
        let drafts = [draft("gpu-1", "NoExecute"), draft("gpu-2", "NoSchedule")];
        assert_eq!(first_drafts(&drafts, false), drafts);
        let first = first_drafts(&drafts, true);
        assert!(first.iter().all(|it| it.taint.effect == Effect::NoSchedule));
    }

    #[test]
    fn the_rule_of_an_earlier_run_is_taken_over_and_that_of_somebody_else_is_not() {
        let semantics = Semantics::assumed();
        let of = |rules: &[DeviceTaintRule], effect: &str| {
            let uid = Uid::from("mine");
            let drafts = vec![draft("gpu-1", effect)];
            room_steps(drafts, rules, &uid, &semantics, Timestamp::UNIX_EPOCH)
        };
        let made = of(&[keeping("gpu-2", "mine", "NoExecute")], "NoSchedule").unwrap();
        assert!(matches!(made[..], [AddStep::Create(_)]), "{made:?}");
        // With another effect, only a rule for the same pod is changed; a rule of another name does not count.
        let ours = [
            keeping("gpu-2", "theirs", "NoExecute"),
            keeping("gpu-1", "mine", "NoExecute"),
        ];
        let taken = of(&ours, "NoSchedule").unwrap();
        assert!(matches!(taken[..], [AddStep::Change { .. }]), "{taken:?}");
        let kept = of(&ours, "NoExecute").unwrap();
        assert!(matches!(kept[..], [AddStep::Keep { .. }]), "{kept:?}");
        let mut theirs = keeping("gpu-1", "mine", "NoExecute");
        theirs.metadata.labels.remove(RuleMetadata::MAKE_ROOM);
        let foreign = [keeping("gpu-2", "mine", "NoExecute"), theirs];
        let found = of(&foreign, "NoSchedule");
        let is_changed = found.is_ok_and(|steps| {
            steps.iter().any(|step| match step {
                AddStep::Change { patch, .. } => patch.effect.is_some(),
                AddStep::Create(_) | AddStep::Keep { .. } => false,
            })
        });
        assert!(!is_changed, "its effect is somebody else's");
    }

    #[test]
    fn only_on_devices_that_pods_have_to_leave_is_the_effect_raised_and_once() {
        let emptied = BTreeSet::from([selector("gpu-1")]);
        let of = |device, effect| is_to_be_raised(&keeping(device, "mine", effect), &emptied);
        assert!(of("gpu-1", "NoSchedule"));
        assert!(!of("gpu-1", "NoExecute"));
        assert!(!of("gpu-2", "NoSchedule"), "it is only kept free");
        let mut all = keeping("gpu-1", "mine", "NoSchedule");
        all.selector = None;
        assert!(!is_to_be_raised(&all, &emptied));
    }
}
