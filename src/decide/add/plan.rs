//! Plan of what is done about each requested rule.

use std::collections::BTreeMap;

use super::refusal::{being_deleted, different, refuse_other_bonds, refuse_unknown_fields};
use super::step::AddStep;
use super::terms::{Existing, Terms};
use crate::decide::draft::{RuleDraft, RulePatch};
use crate::decide::effect::refuse_dedicated;
use crate::decide::owner::owner;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, RuleMetadata};

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
