//! Steps for rules, and refusals.

use serde_json::json;

use jiff::Timestamp;

use super::*;
use crate::decide::draft::{RuleDraft, RulePatch};
use crate::decide::testing::{foreign, named, rule, selector};
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect};
use crate::naming::keys;

fn now() -> Timestamp {
    "2026-11-21T01:00:00Z".parse().unwrap()
}

fn draft(effect: &str) -> RuleDraft {
    RuleDraft {
        labels: [
            (keys::MANAGED_BY, keys::THIS_PROGRAM),
            (keys::BATCH, "mine"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
        ..crate::decide::testing::draft(selector("gpu-0"), effect)
    }
}

/// As the first command has left it.
fn stored(effect: &str) -> DeviceTaintRule {
    let mut rule = rule(effect);
    rule.metadata.labels = draft(effect).labels;
    rule
}

fn decided(
    draft: RuleDraft,
    found: &DeviceTaintRule,
    existing: Existing,
) -> Result<AddStep, Failure> {
    let semantics = Semantics::assumed();
    let terms = Terms {
        existing,
        semantics: &semantics,
        now: now(),
    };
    let found = std::slice::from_ref(found);
    add(vec![draft], found, &terms).map(|mut steps| steps.remove(0))
}

fn kept(draft: RuleDraft, found: &DeviceTaintRule) -> Result<AddStep, Failure> {
    decided(draft, found, Existing::Kept)
}

fn patched(step: AddStep) -> RulePatch {
    match step {
        AddStep {
            existing: Some(_),
            patch,
            ..
        } => patch,
        AddStep { .. } => panic!("{step:?}"),
    }
}

#[test]
fn what_is_not_there_is_created_and_what_is_there_is_kept() {
    let created = kept(draft("None"), &named("another", "None")).unwrap();
    assert!(created.existing.is_none(), "{created:?}");
    assert!(created.is_open());
    let same = kept(draft("None"), &stored("None")).unwrap();
    assert!(!same.is_open(), "{same:?}");
    assert!(same.notes().is_empty());
}

#[test]
fn another_effect_or_value_needs_overwrite_and_other_devices_another_name() {
    let failure = kept(draft("NoExecute"), &stored("None")).unwrap_err();
    assert!(failure.hints()[0].contains("--overwrite"), "{failure}");
    let step = decided(draft("NoExecute"), &stored("None"), Existing::Overwritten).unwrap();
    assert_eq!(patched(step).effect, Some(Effect::NoExecute));

    let mut other = draft("None");
    other.taint.value = "x".to_owned();
    assert!(kept(other.clone(), &stored("None")).is_err());
    let step = decided(other, &stored("None"), Existing::Overwritten).unwrap();
    assert_eq!(patched(step).value.as_deref(), Some("x"));

    for existing in [Existing::Kept, Existing::Overwritten] {
        let mut wider = draft("None");
        wider.selector.device = None;
        let failure = decided(wider, &stored("None"), existing).unwrap_err();
        assert!(failure.hints()[0].contains("--name"), "{failure}");
        let mut other = draft("None");
        other.taint.key = "other".to_owned();
        assert!(decided(other, &stored("None"), existing).is_err());
    }
}

#[test]
fn reason_and_labels_are_added_to_a_rule_that_is_there() {
    let mut wanted = draft("None");
    let reason = (keys::REASON.to_owned(), "update".to_owned());
    wanted.annotations = [reason.clone()].into();
    wanted.labels.insert("team".to_owned(), "ml".to_owned());
    let patch = patched(kept(wanted, &stored("None")).unwrap());
    assert_eq!(patch.annotations, [reason].into());
    assert_eq!(patch.labels, [("team".to_owned(), "ml".to_owned())].into());
    assert_eq!(patch.effect, None);
}

#[test]
fn the_first_owner_of_a_rule_keeps_it() {
    let mut theirs = stored("None");
    let batch = keys::BATCH.to_owned();
    theirs
        .metadata
        .labels
        .insert(batch.clone(), "first".to_owned());
    let step = kept(draft("None"), &theirs).unwrap();
    assert!(!step.is_open(), "{step:?}");
    let kubectl = foreign("drain", "kubectl-create");
    let step = kept(draft("None"), &kubectl).unwrap();
    assert!(!step.is_open(), "{step:?}");
    assert_eq!(
        step.notes(),
        ["rule drain already exists, created by kubectl-create"]
    );
    // Ours, of a version or a command that knew no batches.
    let step = kept(draft("None"), &rule("None")).unwrap();
    assert_eq!(patched(step).labels, [(batch, "mine".to_owned())].into());
}

#[test]
fn an_expiry_stays_unless_it_is_overwritten_and_that_is_said() {
    let key = keys::EXPIRES.to_owned();
    let mut wanted = draft("None");
    let later = "2026-11-21T09:00:00Z".to_owned();
    wanted.annotations.insert(key.clone(), later.clone());
    let mut found = stored("None");
    let sooner = "2026-11-21T05:00:00Z".to_owned();
    found.metadata.annotations.insert(key.clone(), sooner);
    let step = kept(wanted.clone(), &found).unwrap();
    assert!(!step.is_open());
    assert!(
        step.notes()[0].contains("keeps its expiry time"),
        "{:?}",
        step.notes()
    );
    let step = decided(wanted.clone(), &found, Existing::Overwritten).unwrap();
    assert!(step.notes().is_empty());
    assert_eq!(
        patched(step).annotations,
        [(key.clone(), later.clone())].into()
    );
    found.metadata.annotations.clear();
    let step = kept(wanted, &found).unwrap();
    assert_eq!(patched(step).annotations, [(key, later)].into());
}

#[test]
fn nothing_is_added_to_a_rule_that_is_being_deleted() {
    let mut leaving = stored("None");
    leaving.metadata.deletion = Some(now());
    let failure = kept(draft("None"), &leaving).unwrap_err();
    assert!(
        failure.to_string().contains("is being deleted"),
        "{failure}"
    );
}

#[test]
fn finalizers_and_owners_of_a_manifest_are_never_dropped() {
    let mut wanted = draft("None");
    wanted.manifest = Some(
        json!({"metadata": {"finalizers": ["a"], "ownerReferences": [{"uid": "u"}]}, "spec": {}}),
    );
    let mut found = stored("None");
    assert!(kept(wanted.clone(), &found).is_err());
    found.metadata.finalizers = vec!["a".to_owned()];
    assert!(kept(wanted.clone(), &found).is_err());
    found.metadata.owners = vec!["u".into()];
    assert!(kept(wanted, &found).is_ok());
}

#[test]
fn fields_that_nobody_looked_at_are_refused_by_name() {
    let mut wanted = draft("None");
    wanted.manifest = Some(json!({"spec": {
        "deviceSelector": {"driver": "d", "all": true}, "taint": {"key": "a", "grace": 1}, "more": {},
    }}));
    let failure = kept(wanted, &stored("None")).unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Usage);
    assert!(
        failure
            .to_string()
            .ends_with("spec.more, spec.deviceSelector.all, spec.taint.grace"),
        "{failure}"
    );
}
