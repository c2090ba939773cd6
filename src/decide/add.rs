//! What has to be done so that the rules that are asked for are there?

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::draft::{RuleDraft, RulePatch};
use super::owner::owner;
use crate::engine::{ConsideredTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata, Taint};
use crate::naming::device;

/// What has to be done about one rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It is made.
    Create(RuleDraft),
    /// The one that is there is changed.
    Change {
        /// The rule as it is asked for.
        draft: RuleDraft,
        /// The rule as it is there.
        rule: Box<DeviceTaintRule>,
        /// What is changed.
        patch: RulePatch,
    },
    /// The one that is there is as it is asked for.
    Keep {
        /// The rule as it is asked for.
        draft: RuleDraft,
        /// The rule as it is there.
        rule: Box<DeviceTaintRule>,
    },
}

/// What becomes of effect, value and expiry of a rule that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// They stay.
    Kept,
    /// They become what is asked for.
    Overwritten,
}

/// On which terms rules are made.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// What becomes of those that are there.
    pub existing: Existing,
    /// How the server behaves.
    pub semantics: &'a Semantics,
    /// The server's clock.
    pub now: Timestamp,
}

/// What has to be done so that all of `drafts` are there, where `rules` are; in the order of the
/// drafts. All of it is checked before the first of it is done.
///
/// # Errors
///
/// A rule of that name is there and is different, or is being deleted; or the server does not know
/// what the draft asks for.
pub fn add(
    drafts: Vec<RuleDraft>,
    rules: &[DeviceTaintRule],
    terms: &Terms<'_>,
) -> Result<Vec<Step>, Failure> {
    for draft in &drafts {
        refuse_unsupported(draft, terms.semantics)?;
    }
    let one = |draft: RuleDraft| {
        let rule = rules.iter().find(|rule| rule.name.as_str() == draft.name);
        step(draft, rule, terms)
    };
    drafts.into_iter().map(one).collect()
}

/// What has to be done about one rule, `found` being the one of its name, if there is one.
///
/// # Errors
///
/// As [`add()`].
pub fn step(
    draft: RuleDraft,
    found: Option<&DeviceTaintRule>,
    terms: &Terms<'_>,
) -> Result<Step, Failure> {
    let Some(rule) = found else {
        return Ok(Step::Create(draft));
    };
    if rule.metadata.deletion.is_some() {
        return Err(being_deleted(rule));
    }
    let overwrite = terms.existing == Existing::Overwritten;
    let same_devices = rule.selector.as_ref() == Some(&draft.selector);
    if !same_devices || rule.taint.key != draft.taint.key || (!draft.is_spec_of(rule) && !overwrite)
    {
        return Err(different(&draft, rule, terms.existing));
    }
    refuse_other_bonds(&draft, rule)?;
    let patch = patch(&draft, rule, terms);
    let rule = Box::new(rule.clone());
    Ok(if patch.is_empty() {
        Step::Keep { draft, rule }
    } else {
        Step::Change { draft, rule, patch }
    })
}

fn patch(draft: &RuleDraft, rule: &DeviceTaintRule, terms: &Terms<'_>) -> RulePatch {
    let mut patch = RulePatch::default();
    if rule.taint.effect != draft.taint.effect {
        patch = RulePatch::effect(&draft.taint.effect, terms.semantics, Some(terms.now));
    }
    if rule.taint.value != draft.taint.value {
        patch.value = Some(draft.taint.value.clone());
    }
    patch.labels = missing(&draft.labels, &rule.metadata.labels);
    // The first owner keeps it: whoever removes what another command has added must not take this.
    let is_ours = owner(rule).is_this_plugin();
    if !is_ours {
        patch.labels.remove(RuleMetadata::MANAGED_BY);
    }
    if !is_ours || rule.metadata.labels.contains_key(RuleMetadata::BATCH) {
        patch.labels.remove(RuleMetadata::BATCH);
    }
    patch.annotations = missing(&draft.annotations, &rule.metadata.annotations);
    if terms.existing == Existing::Kept && rule.metadata.expires().is_some() {
        patch.annotations.remove(RuleMetadata::EXPIRES);
    }
    patch
}

impl Step {
    /// The rule as it is asked for.
    #[must_use]
    pub fn draft(&self) -> &RuleDraft {
        match self {
            Self::Create(draft) | Self::Change { draft, .. } | Self::Keep { draft, .. } => draft,
        }
    }

    /// Whether there is anything to do.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self {
            Self::Create(_) | Self::Change { .. } => true,
            Self::Keep { .. } => false,
        }
    }

    /// Whether the step brings about a taint that does something, and not only notes on a rule or a
    /// taint with effect None.
    #[must_use]
    pub fn does_something(&self) -> bool {
        let changes_taint = match self {
            Self::Create(_) => true,
            Self::Change { patch, .. } => patch.effect.is_some() || patch.value.is_some(),
            Self::Keep { .. } => false,
        };
        changes_taint && self.draft().taint.effect != Effect::None
    }

    /// The rule that is there already.
    #[must_use]
    pub fn existing(&self) -> Option<&DeviceTaintRule> {
        match self {
            Self::Create(_) => None,
            Self::Change { rule, .. } | Self::Keep { rule, .. } => Some(rule),
        }
    }

    /// The taint that is there after the step, exactly as it is then.
    ///
    /// Those of rules that stay as they are are part of a report: what was agreed to is all that the
    /// command asks for, also when an interrupted one has done a part of it.
    #[must_use]
    pub fn considered(&self, now: Timestamp) -> ConsideredTaint {
        let taint = &self.draft().taint;
        let Some(rule) = self.existing() else {
            return ConsideredTaint {
                rule: None,
                selector: Some(self.draft().selector.clone()),
                taint: Taint {
                    time_added: Some(taint.time_added.unwrap_or(now)),
                    ..taint.clone()
                },
            };
        };
        let considered = ConsideredTaint::of_changed_rule(rule, &taint.effect, now);
        ConsideredTaint {
            taint: Taint {
                value: taint.value.clone(),
                ..considered.taint
            },
            ..considered
        }
    }

    /// What is not done about a rule that is there although it was asked for, and why; one line each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let (draft, Some(rule)) = (self.draft(), self.existing()) else {
            return Vec::new();
        };
        let mut notes = Vec::new();
        let (name, owner) = (&rule.name, owner(rule));
        let batch = |labels: &BTreeMap<String, String>| labels.get(RuleMetadata::BATCH).cloned();
        let (asked, found) = (batch(&draft.labels), batch(&rule.metadata.labels));
        if !owner.is_this_plugin() {
            notes.push(format!(
                "rule {name} was there already, {owner}, and stays theirs"
            ));
        } else if let (Some(asked), Some(found)) = (asked, found)
            && asked != found
        {
            let label = RuleMetadata::BATCH;
            notes.push(format!(
                "rule {name} was added by another command and stays in its batch: {label}={found}, not {asked}"
            ));
        }
        let changes_expiry = match self {
            Self::Change { patch, .. } => patch.annotations.contains_key(RuleMetadata::EXPIRES),
            Self::Create(_) | Self::Keep { .. } => false,
        };
        if let Some(expires) = rule.metadata.expires()
            && draft.annotations.contains_key(RuleMetadata::EXPIRES)
            && !changes_expiry
        {
            notes.push(format!(
                "rule {name} keeps the time when it should be gone, {expires}; --overwrite changes it"
            ));
        }
        notes
    }
}

/// Nothing can be added to what is on its way out.
fn being_deleted(rule: &DeviceTaintRule) -> Failure {
    let name = &rule.name;
    let holders = &rule.metadata.finalizers;
    let failure = Failure::new(
        ExitStatus::Failed,
        format!("rule {name} is being deleted, and will be gone; nothing was changed"),
    );
    let failure = if holders.is_empty() {
        failure
    } else {
        let holders = holders.join(", ");
        failure.hint(format!("it is held by finalizer {holders}"))
    };
    failure.hint(format!(
        "wait until it is gone, and add it again: kubectl devicetaint wait {name} --for deleted --ignore-not-found"
    ))
}

/// A rule of that name is there and does something else.
fn different(draft: &RuleDraft, rule: &DeviceTaintRule, existing: Existing) -> Failure {
    let selector = rule.selector.as_ref().map(device::format);
    let found = selector.unwrap_or_else(|| "no selector".to_owned());
    let failure = Failure::new(
        ExitStatus::Failed,
        format!(
            "rule {} exists and is different: it taints {found} with {}, not {} with {}; nothing was changed",
            rule.name,
            rule.taint,
            device::format(&draft.selector),
            draft.taint
        ),
    );
    let same_devices =
        rule.selector.as_ref() == Some(&draft.selector) && rule.taint.key == draft.taint.key;
    if same_devices && existing == Existing::Kept {
        failure
            .hint("to change its effect or value, add --overwrite")
            .hint("to change its effect alone, use `escalate` or `deescalate`")
    } else {
        failure.hint("choose another name with --name")
    }
}

/// Finalizers and owner references are set when a rule is made, and never by a later `add`: what is
/// asked for and not there is refused, so that nothing is dropped without a word.
fn refuse_other_bonds(draft: &RuleDraft, rule: &DeviceTaintRule) -> Result<(), Failure> {
    let finalizers = draft.listed("finalizers").iter().filter_map(Value::as_str);
    let held = &rule.metadata.finalizers;
    let lacks_finalizer = finalizers
        .clone()
        .any(|name| !held.iter().any(|held| held == name));
    let owners = draft.listed("ownerReferences").iter();
    let lacks_owner = owners.filter_map(|owner| owner["uid"].as_str()).any(|uid| {
        !rule
            .metadata
            .owners
            .iter()
            .any(|owner| owner.as_str() == uid)
    });
    for (lacks, what) in [
        (lacks_finalizer, "finalizers"),
        (lacks_owner, "ownerReferences"),
    ] {
        if lacks {
            return Err(Failure::new(
                ExitStatus::Failed,
                format!(
                    "rule {} exists without the metadata.{what} of the manifest; nothing was changed",
                    rule.name
                ),
            )
            .hint("`add` sets them only on rules that it makes; to set them: kubectl apply -f"));
        }
    }
    Ok(())
}

/// A server that does not know an effect or a field would refuse it, or worse, drop it.
fn refuse_unsupported(draft: &RuleDraft, semantics: &Semantics) -> Result<(), Failure> {
    let name = &draft.name;
    if draft.taint.effect == Effect::None && !semantics.has_effect_none {
        return Err(Failure::new(
            ExitStatus::Failed,
            format!(
                "effect None came with Kubernetes 1.35, and this server is {}",
                semantics.version
            ),
        )
        .hint("look at it with `kubectl devicetaint preview`, then add the taint with NoSchedule or NoExecute"));
    }
    let selector = &draft.selector;
    let by_name = selector.driver.is_some() || selector.pool.is_some() || selector.device.is_some();
    let narrowed = selector.device_class.is_some() || !selector.expressions.is_empty();
    if narrowed && !semantics.selects_by_expression {
        let consequence = if by_name {
            "more devices"
        } else {
            "every device"
        };
        return Err(Failure::usage(format!(
            "rule {name} selects by deviceClassName or selectors, which Kubernetes 1.35 and later drop: it would taint {consequence}"
        ))
        .hint("name a driver, a pool or a device in spec.deviceSelector"));
    }
    let unknown = unknown_fields(draft);
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "rule {name} has fields that this plugin does not know, so that nobody can say whom it hits: {}",
        unknown.join(", ")
    ))
    .hint("correct them, or use `kubectl create -f`, which leaves them to the server"))
}

/// Fields of the spec that may change what it does, in a way that was not looked at.
fn unknown_fields(draft: &RuleDraft) -> Vec<String> {
    const SPEC: [&str; 2] = ["deviceSelector", "taint"];
    const SELECTOR: [&str; 5] = ["device", "deviceClassName", "driver", "pool", "selectors"];
    const TAINT: [&str; 4] = ["effect", "key", "timeAdded", "value"];
    let Some(manifest) = &draft.manifest else {
        return draft.selector.unknown_fields.clone();
    };
    let spec = &manifest["spec"];
    let strangers = |object: &Value, known: &[&str], under: &str| -> Vec<String> {
        let names = object
            .as_object()
            .into_iter()
            .flat_map(|fields| fields.keys());
        names
            .filter(|name| !known.contains(&name.as_str()))
            .map(|name| format!("{under}.{name}"))
            .collect()
    };
    [
        strangers(spec, &SPEC, "spec"),
        strangers(&spec["deviceSelector"], &SELECTOR, "spec.deviceSelector"),
        strangers(&spec["taint"], &TAINT, "spec.taint"),
    ]
    .concat()
}

/// The entries of `wanted` that `present` does not have.
fn missing(
    wanted: &BTreeMap<String, String>,
    present: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let lacks = |(key, value): &(&String, &String)| present.get(*key) != Some(*value);
    wanted
        .iter()
        .filter(lacks)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decide::testing::{foreign, named, rule, selector, taint};
    use crate::model::{DeviceSelector, Minor};

    fn now() -> Timestamp {
        "2026-11-21T01:00:00Z".parse().unwrap()
    }

    fn draft(effect: &str) -> RuleDraft {
        RuleDraft {
            name: "drain".to_owned(),
            selector: selector("gpu-0"),
            taint: taint(effect),
            labels: [
                (RuleMetadata::MANAGED_BY, RuleMetadata::THIS_PROGRAM),
                (RuleMetadata::BATCH, "mine"),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
            annotations: BTreeMap::new(),
            manifest: None,
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
    ) -> Result<Step, Failure> {
        let semantics = Semantics::newest();
        let terms = Terms {
            existing,
            semantics: &semantics,
            now: now(),
        };
        let found = std::slice::from_ref(found);
        add(vec![draft], found, &terms).map(|mut steps| steps.remove(0))
    }

    fn kept(draft: RuleDraft, found: &DeviceTaintRule) -> Result<Step, Failure> {
        decided(draft, found, Existing::Kept)
    }

    fn patched(step: Step) -> RulePatch {
        match step {
            Step::Change { patch, .. } => patch,
            Step::Create(_) | Step::Keep { .. } => panic!("{step:?}"),
        }
    }

    #[test]
    fn what_is_not_there_is_created_and_what_is_there_is_kept() {
        let created = kept(draft("None"), &named("another", "None")).unwrap();
        assert!(matches!(created, Step::Create(_)), "{created:?}");
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
        let reason = (RuleMetadata::REASON.to_owned(), "update".to_owned());
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
        let batch = RuleMetadata::BATCH.to_owned();
        theirs
            .metadata
            .labels
            .insert(batch.clone(), "first".to_owned());
        let step = kept(draft("None"), &theirs).unwrap();
        assert!(!step.is_open(), "{step:?}");
        assert_eq!(
            step.notes(),
            [
                "rule drain was added by another command and stays in its batch: kubectl-devicetaint/batch=first, not mine"
            ]
        );
        let kubectl = foreign("drain", "kubectl-create");
        let step = kept(draft("None"), &kubectl).unwrap();
        assert!(!step.is_open(), "{step:?}");
        assert_eq!(
            step.notes(),
            ["rule drain was there already, made by kubectl-create, and stays theirs"]
        );
        // Ours, of a version or a command that knew no batches.
        let step = kept(draft("None"), &rule("None")).unwrap();
        assert_eq!(patched(step).labels, [(batch, "mine".to_owned())].into());
    }

    #[test]
    fn an_expiry_stays_unless_it_is_overwritten_and_that_is_said() {
        let key = RuleMetadata::EXPIRES.to_owned();
        let mut wanted = draft("None");
        let later = "2026-11-21T09:00:00Z".to_owned();
        wanted.annotations.insert(key.clone(), later.clone());
        let mut found = stored("None");
        let sooner = "2026-11-21T05:00:00Z".to_owned();
        found.metadata.annotations.insert(key.clone(), sooner);
        let step = kept(wanted.clone(), &found).unwrap();
        assert!(!step.is_open());
        assert!(
            step.notes()[0].contains("keeps the time"),
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
        leaving.metadata.finalizers = vec!["example.com/hold".to_owned()];
        let failure = kept(draft("None"), &leaving).unwrap_err();
        insta::assert_snapshot!(failure, @"rule drain is being deleted, and will be gone; nothing was changed");
        assert_eq!(
            failure.hints()[0],
            "it is held by finalizer example.com/hold"
        );
    }

    #[test]
    fn finalizers_and_owners_of_a_manifest_are_never_dropped() {
        let mut wanted = draft("None");
        wanted.manifest = Some(
            json!({"metadata": {"finalizers": ["a"], "ownerReferences": [{"uid": "u"}]}, "spec": {}}),
        );
        let mut found = stored("None");
        assert!(
            kept(wanted.clone(), &found)
                .unwrap_err()
                .to_string()
                .contains("metadata.finalizers")
        );
        found.metadata.finalizers = vec!["a".to_owned()];
        assert!(
            kept(wanted.clone(), &found)
                .unwrap_err()
                .to_string()
                .contains("metadata.ownerReferences")
        );
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

    #[test]
    fn what_a_server_does_not_know_is_not_sent_to_it() {
        let old = Semantics::of(Minor {
            minor: 34,
            patch: None,
        })
        .unwrap();
        let terms = |semantics| Terms {
            existing: Existing::Kept,
            semantics,
            now: now(),
        };
        let newest = Semantics::newest();
        let said = |draft, semantics| {
            add(vec![draft], &[], &terms(semantics))
                .map(|_| ())
                .map_err(|failure| failure.to_string())
        };
        assert!(said(draft("None"), &old).unwrap_err().contains("1.35"));
        assert!(said(draft("NoSchedule"), &old).is_ok());
        let mut by_class = draft("NoSchedule");
        by_class.selector = DeviceSelector {
            device_class: Some("gpu".into()),
            ..DeviceSelector::default()
        };
        assert!(said(by_class.clone(), &old).is_ok());
        assert!(
            said(by_class.clone(), &newest)
                .unwrap_err()
                .contains("every device")
        );
        by_class.selector.driver = Some("d".into());
        assert!(
            said(by_class, &newest)
                .unwrap_err()
                .contains("more devices")
        );
    }

    #[test]
    fn what_is_done_already_counts_as_part_of_what_was_agreed_to() {
        let step = kept(draft("NoExecute"), &stored("NoExecute")).unwrap();
        assert_eq!(step.considered(now()).rule.unwrap().as_str(), "drain");
        assert!(!step.does_something());
        let created = kept(draft("NoExecute"), &named("another", "None")).unwrap();
        assert_eq!(created.considered(now()).rule, None);
        assert!(created.does_something());
        let mut valued = draft("NoExecute");
        valued.taint.value = "x".to_owned();
        let step = decided(valued, &stored("None"), Existing::Overwritten).unwrap();
        let taint = step.considered(now()).taint;
        assert_eq!((taint.value.as_str(), taint.time_added), ("x", Some(now())));
        assert!(step.does_something());
    }

    #[test]
    fn a_taint_without_effect_is_reported_as_it_is_and_does_nothing() {
        for found in [stored("None"), named("another", "None")] {
            let step = kept(draft("None"), &found).unwrap();
            assert_eq!(step.considered(now()).taint.effect, Effect::None);
            assert!(!step.does_something());
        }
    }
}
