//! `add`: the changes that make the requested rules exist.

use crate::decide::draft::{RuleDraft, RulePatch};
use crate::decide::owner::owner;
use crate::decide::proposal::refuse_dedicated;
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, RuleMetadata};
use crate::naming::device;
use crate::naming::keys;
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
        return Ok(AddStep::create(draft));
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
    Ok(AddStep {
        patch: patch(&draft, rule, terms),
        existing: Some(Box::new(rule.clone())),
        draft,
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
        patch.labels.remove(keys::MANAGED_BY);
    }
    if !is_ours || rule.metadata.labels.contains_key(keys::BATCH) {
        patch.labels.remove(keys::BATCH);
    }
    patch.annotations = missing(&draft.annotations, &rule.metadata.annotations);
    // The run that has created it is a note of its creator; a manifest may have that of another rule.
    patch.annotations.remove(keys::CREATED_BY_RUN);
    patch.annotations.remove(keys::CHANGED_BY_RUN);
    // The hardware that the rule noted when it was created stays noted, unless the user means the current hardware.
    if terms.existing == Existing::Kept {
        patch.annotations.remove(keys::IDENTITY);
    }
    if terms.existing == Existing::Kept && keys::expires(&rule.metadata).is_some() {
        patch.annotations.remove(keys::EXPIRES);
    }
    patch
}

/// The entries of `wanted` that `present` does not have.
fn missing(
    wanted: &BTreeMap<String, String>,
    present: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut missing = wanted.clone();
    missing.retain(|key, value| present.get(key) != Some(value));
    missing
}

/// Nothing can be added to what is on its way out.
fn being_deleted(rule: &DeviceTaintRule) -> Failure {
    let name = &rule.name;
    let text = format!("rule {name} is being deleted; nothing was changed");
    let wait = format!("kubectl devicetaint wait {name} --for deleted --ignore-not-found");
    Failure::new(ExitStatus::Failed, text).hint(format!(
        "run the same command again after the deletion: {wait}"
    ))
}

/// A rule of that name is there and does something else.
fn different(draft: &RuleDraft, rule: &DeviceTaintRule, existing: Existing) -> Failure {
    let selector = rule.selector.as_ref();
    let devices = selector.map_or_else(|| "no devices".to_owned(), device::format);
    let failure = Failure::new(
        ExitStatus::Failed,
        format!(
            "rule {} exists with other content: it taints {devices} with {}, but this command would taint {} with {}; nothing was changed",
            rule.name,
            rule.taint,
            device::format(&draft.selector),
            draft.taint
        ),
    );
    let same_devices = selector == Some(&draft.selector) && rule.taint.key == draft.taint.key;
    if draft.labels.contains_key(keys::DRAIN) {
        // A drain changes no rule of others.
        let remove = format!("kubectl devicetaint remove {}", rule.name);
        failure.hint(format!("if the rule is no longer needed: {remove}"))
    } else if same_devices && existing == Existing::Kept {
        failure.hint("to change its effect or value, add --overwrite")
    } else {
        failure.hint("choose another name with --name")
    }
}

/// Finalizers and owner references are set when a rule is made, and never by a later `add`: what is
/// asked for and not there is refused, so that nothing is dropped without a word.
fn refuse_other_bonds(draft: &RuleDraft, rule: &DeviceTaintRule) -> Result<(), Failure> {
    let RuleMetadata {
        finalizers, owners, ..
    } = &rule.metadata;
    let mut wanted = draft.listed("finalizers").iter().filter_map(Value::as_str);
    let lacks_finalizer = wanted.any(|name| finalizers.iter().all(|it| it.as_str() != name));
    let wanted = draft.listed("ownerReferences").iter();
    let mut wanted = wanted.filter_map(|owner| owner["uid"].as_str());
    let lacks_owner = wanted.any(|uid| owners.iter().all(|it| it.as_str() != uid));
    if !lacks_finalizer && !lacks_owner {
        return Ok(());
    }
    let text = format!(
        "rule {} exists, but does not have all finalizers and ownerReferences of the manifest; \
        nothing was changed",
        rule.name
    );
    Err(Failure::new(ExitStatus::Failed, text).hint("to set them: kubectl apply -f FILE"))
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
    const KNOWN: [(&str, &[&str]); 3] = [
        ("", &["deviceSelector", "taint"]),
        ("/deviceSelector", &["device", "driver", "pool"]),
        ("/taint", &["effect", "key", "timeAdded", "value"]),
    ];
    let Some(manifest) = &draft.manifest else {
        return draft.selector.unknown_fields.clone();
    };
    let unknown = KNOWN.iter().flat_map(|(path, known)| {
        let object = manifest["spec"].pointer(path).and_then(Value::as_object);
        let names = object.into_iter().flat_map(|fields| fields.keys());
        let unknown = names.filter(|name| !known.contains(&name.as_str()));
        unknown.map(move |name| format!("spec{path}/{name}").replace('/', "."))
    });
    unknown.collect()
}

/// Step of an addition for one rule: it is created, or the one that exists is changed or kept.
#[derive(Clone, Debug, PartialEq)]
pub struct AddStep {
    /// The rule as it is asked for.
    pub draft: RuleDraft,
    /// The rule that exists.
    pub existing: Option<Box<DeviceTaintRule>>,
    /// Changed fields of the rule that exists.
    pub patch: RulePatch,
}

impl AddStep {
    /// A rule that is created.
    pub fn create(draft: RuleDraft) -> Self {
        Self {
            draft,
            existing: None,
            patch: RulePatch::default(),
        }
    }

    /// True if there is anything to do.
    pub fn is_open(&self) -> bool {
        self.existing.is_none() || !self.patch.is_empty()
    }

    /// The rule that exists.
    pub fn existing(&self) -> Option<&DeviceTaintRule> {
        self.existing.as_deref()
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
    /// Requests that are not carried out for an existing rule, one line each.
    pub fn notes(&self) -> Vec<String> {
        let Some(rule) = self.existing() else {
            return Vec::new();
        };
        let (name, owner) = (&rule.name, owner(rule));
        let theirs =
            (!owner.is_this_plugin()).then(|| format!("rule {name} already exists, {owner}"));
        let has_expiry =
            |annotations: &BTreeMap<String, String>| annotations.contains_key(keys::EXPIRES);
        let is_kept = has_expiry(&self.draft.annotations) && !has_expiry(&self.patch.annotations);
        let expires = keys::expires(&rule.metadata).filter(|_| is_kept);
        let expiry = expires.map(|expires| {
            format!("rule {name} keeps its expiry time {expires}; --overwrite changes it")
        });
        theirs.into_iter().chain(expiry).collect()
    }
}

/// Action, as the beginning of a question.
pub fn action(open: &[&AddStep]) -> String {
    let Some(first) = open.first() else {
        return "Go on".to_owned();
    };
    let is_new = |step: &&AddStep| step.existing().is_none();
    let verb = match (open.iter().all(is_new), open.iter().any(is_new)) {
        (true, _) => "Add",
        (false, false) => "Change",
        (false, true) => "Add or change",
    };
    let what = match open {
        [only] => format!("rule {}", only.draft.name),
        several => counted(several.len(), "rule"),
    };
    format!("{verb} {what} with {}", first.draft.taint)
}

#[cfg(test)]
mod tests;
