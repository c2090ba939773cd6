//! `add`: the changes that make the requested rules exist.

use crate::decide::draft::{RuleDraft, RulePatch};
use crate::decide::effect::refuse_dedicated;
use crate::decide::owner::owner;
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, RuleMetadata};
use crate::naming::device;
use crate::naming::phrase::counted;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

/// Steps after which all of `drafts` exist, given the existing `rules`; in the order of the drafts. All of them are
/// checked before the first is carried out.
///
/// # Errors
///
/// A rule of that name is there and is different, or is being deleted; or the server does not know
/// what the draft asks for.
pub fn add(
    drafts: Vec<RuleDraft>,
    rules: &[DeviceTaintRule],
    terms: &Terms<'_>,
) -> Result<Vec<AddStep>, Failure> {
    for draft in &drafts {
        refuse_unknown_fields(draft)?;
    }
    let one = |draft: RuleDraft| {
        let rule = rules.iter().find(|rule| rule.name.as_str() == draft.name);
        step(draft, rule, terms)
    };
    drafts.into_iter().map(one).collect()
}

/// Step for one rule, `found` being the existing rule of its name.
///
/// # Errors
///
/// As [`add()`]; also NoExecute for a rule of a dedication.
pub fn step(
    draft: RuleDraft,
    found: Option<&DeviceTaintRule>,
    terms: &Terms<'_>,
) -> Result<AddStep, Failure> {
    let Some(rule) = found else {
        return Ok(AddStep::Create(draft));
    };
    // A change of it would be accepted, and be gone with the rule once its finalizers are removed.
    if rule.metadata.deletion.is_some() {
        return Err(being_deleted(rule));
    }
    let overwrite = terms.existing == Existing::Overwritten;
    let same_devices = rule.selector.as_ref() == Some(&draft.selector);
    // Other devices or another key make another rule of it: `--overwrite` is for effect, value and expiry.
    if !same_devices || rule.taint.key != draft.taint.key || (!draft.is_spec_of(rule) && !overwrite)
    {
        return Err(different(&draft, rule, terms.existing));
    }
    refuse_other_bonds(&draft, rule)?;
    refuse_dedicated(rule, &draft.taint.effect)?;
    let patch = patch(&draft, rule, terms);
    let rule = Box::new(rule.clone());
    Ok(if patch.is_empty() {
        AddStep::Keep { draft, rule }
    } else {
        AddStep::Change { draft, rule, patch }
    })
}

fn patch(draft: &RuleDraft, rule: &DeviceTaintRule, terms: &Terms<'_>) -> RulePatch {
    let mut patch = RulePatch::default();
    // The effect comes with its time where the server would keep the old one, from which tolerations count.
    if rule.taint.effect != draft.taint.effect {
        patch = RulePatch::effect(&draft.taint.effect, terms.semantics, Some(terms.now));
    }
    if rule.taint.value != draft.taint.value {
        patch.value = Some(draft.taint.value.clone());
    }
    // Only these entries are sent: labels and annotations of others stay as they are.
    patch.labels = missing(&draft.labels, &rule.metadata.labels);
    // The first owner keeps it: a deletion of what another command has added must not take this.
    let is_ours = owner(rule).is_this_plugin();
    if !is_ours {
        patch.labels.remove(RuleMetadata::MANAGED_BY);
    }
    if !is_ours || rule.metadata.labels.contains_key(RuleMetadata::BATCH) {
        patch.labels.remove(RuleMetadata::BATCH);
    }
    patch.annotations = missing(&draft.annotations, &rule.metadata.annotations);
    // The run that has created it is a note of its creator; a manifest may have that of another rule.
    patch.annotations.remove(RuleMetadata::CREATED_BY_RUN);
    patch.annotations.remove(RuleMetadata::CHANGED_BY_RUN);
    // The hardware that the rule noted when it was created stays noted, unless the user means the current hardware.
    if terms.existing == Existing::Kept {
        patch.annotations.remove(RuleMetadata::IDENTITY);
    }
    if terms.existing == Existing::Kept && rule.metadata.expires().is_some() {
        patch.annotations.remove(RuleMetadata::EXPIRES);
    }
    patch
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

/// Nothing can be added to what is on its way out.
pub(super) fn being_deleted(rule: &DeviceTaintRule) -> Failure {
    let name = &rule.name;
    let holders = &rule.metadata.finalizers;
    let failure = Failure::new(
        ExitStatus::Failed,
        format!("rule {name} is being deleted; nothing was changed"),
    );
    let failure = if holders.is_empty() {
        failure
    } else {
        let noun = if holders.len() == 1 {
            "finalizer"
        } else {
            "finalizers"
        };
        failure.detail(format!(
            "the deletion waits for {noun} {}",
            holders.join(", ")
        ))
    };
    failure.hint(format!(
        "run the same command again after the deletion; to wait for the deletion: kubectl \
        devicetaint wait {name} --for deleted --ignore-not-found"
    ))
}

/// A rule of that name is there and does something else.
pub(super) fn different(draft: &RuleDraft, rule: &DeviceTaintRule, existing: Existing) -> Failure {
    let found = match &rule.selector {
        Some(selector) => format!("it taints {} with {}", device::format(selector), rule.taint),
        None => format!("it has taint {} and no selector", rule.taint),
    };
    let failure = Failure::new(
        ExitStatus::Failed,
        format!(
            "rule {} exists with other content: {found}, but this command would taint {} with {}; nothing was changed",
            rule.name,
            device::format(&draft.selector),
            draft.taint
        ),
    );
    let same_devices =
        rule.selector.as_ref() == Some(&draft.selector) && rule.taint.key == draft.taint.key;
    if draft.labels.contains_key(RuleMetadata::DRAIN) {
        // A drain changes no rule of others.
        failure.hint(format!(
            "if the rule is no longer needed: kubectl devicetaint remove {}",
            rule.name
        ))
    } else if same_devices && existing == Existing::Kept {
        failure
            .hint("to change its effect or value, add --overwrite")
            .hint("to change only its effect, use `escalate` or `deescalate`")
    } else {
        failure.hint("choose another name with --name")
    }
}

/// Finalizers and owner references are set when a rule is made, and never by a later `add`: what is
/// asked for and not there is refused, so that nothing is dropped without a word.
pub(super) fn refuse_other_bonds(draft: &RuleDraft, rule: &DeviceTaintRule) -> Result<(), Failure> {
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
                    "rule {} exists, but does not have all metadata.{what} of the manifest; \
                    nothing was changed",
                    rule.name
                ),
            )
            .hint(format!(
                "`add` sets {what} only on new rules; to set them on this rule: kubectl apply -f \
                FILE"
            )));
        }
    }
    Ok(())
}

/// Refuses fields whose effect is not known: the server may drop them, or taint other devices.
pub(super) fn refuse_unknown_fields(draft: &RuleDraft) -> Result<(), Failure> {
    let name = &draft.name;
    let unknown = unknown_fields(draft);
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "rule {name} has fields that this plugin does not know, so its impact is unknown: {}",
        unknown.join(", ")
    ))
    .hint("correct these fields, or use `kubectl create -f`, which lets the server validate them"))
}

/// Fields of the spec that may change what it does, in a way that was not looked at.
fn unknown_fields(draft: &RuleDraft) -> Vec<String> {
    // Below spec alone, since nothing else of a manifest changes which devices are tainted and how.
    const SPEC: [&str; 2] = ["deviceSelector", "taint"];
    const SELECTOR: [&str; 3] = ["device", "driver", "pool"];
    const TAINT: [&str; 4] = ["effect", "key", "timeAdded", "value"];
    let Some(manifest) = &draft.manifest else {
        return draft.selector.unknown_fields.clone();
    };
    let spec = &manifest["spec"];
    let unknown_fields = |object: &Value, known: &[&str], under: &str| -> Vec<String> {
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
        unknown_fields(spec, &SPEC, "spec"),
        unknown_fields(&spec["deviceSelector"], &SELECTOR, "spec.deviceSelector"),
        unknown_fields(&spec["taint"], &TAINT, "spec.taint"),
    ]
    .concat()
}

/// Step of an addition for one rule.
#[derive(Clone, Debug, PartialEq)]
pub enum AddStep {
    /// It is made.
    Create(RuleDraft),
    /// The one that is there is changed.
    Change {
        /// The rule as it is asked for.
        draft: RuleDraft,
        /// The rule as it is there.
        rule: Box<DeviceTaintRule>,
        /// Changed fields.
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

impl AddStep {
    /// The rule as it is asked for.
    pub fn draft(&self) -> &RuleDraft {
        match self {
            Self::Create(draft) | Self::Change { draft, .. } | Self::Keep { draft, .. } => draft,
        }
    }

    /// True if there is anything to do.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Create(_) | Self::Change { .. } => true,
            Self::Keep { .. } => false,
        }
    }

    /// The rule that is there already.
    pub fn existing(&self) -> Option<&DeviceTaintRule> {
        match self {
            Self::Create(_) => None,
            Self::Change { rule, .. } | Self::Keep { rule, .. } => Some(rule),
        }
    }
}

/// Treatment of effect, value and expiry of an existing rule.
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
    /// Treatment of existing rules.
    pub existing: Existing,
    /// Behaviour of the server.
    pub semantics: &'a Semantics,
    /// The server's clock.
    pub now: Timestamp,
}

impl AddStep {
    /// Requests that are not carried out for an existing rule, and why; one line each.
    pub fn notes(&self) -> Vec<String> {
        let (draft, Some(rule)) = (self.draft(), self.existing()) else {
            return Vec::new();
        };
        let mut notes = Vec::new();
        let (name, owner) = (&rule.name, owner(rule));
        if !owner.is_this_plugin() {
            let unchanged = if self.is_open() {
                ""
            } else {
                ", and is left unchanged"
            };
            notes.push(format!("rule {name} already exists, {owner}{unchanged}"));
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
                "rule {name} keeps its expiry time {expires}; --overwrite changes it"
            ));
        }
        notes
    }
}

/// Action, as the beginning of a question.
pub fn action(open: &[&AddStep]) -> String {
    let Some(first) = open.first().map(|step| step.draft()) else {
        return "Go on".to_owned();
    };
    let (name, taint) = (&first.name, &first.taint);
    match (open, open.first().and_then(|step| step.existing())) {
        ([_], Some(_)) => format!("Change rule {name} to {taint}"),
        ([_], None) => format!("Add rule {name} with {taint}"),
        _ if open.iter().all(|step| step.existing().is_none()) => {
            format!("Add {} with {taint}", counted(open.len(), "rule"))
        }
        _ => format!("Add or change {} with {taint}", counted(open.len(), "rule")),
    }
}

#[cfg(test)]
mod tests;
