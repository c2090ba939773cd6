//! Refusals of changes to a rule.

use serde_json::Value;

use super::terms::Existing;
use crate::decide::draft::RuleDraft;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, RuleMetadata};
use crate::naming::device;

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
