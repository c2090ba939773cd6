//! Noting on rules that devices were not seen to be released, and that they were.

use crate::cluster::{ConflictAction, ObjectChange, ObjectVersion, Rules, WriteMode};
use crate::commands::context::Context;
use crate::decide::unreleased_devices;
use crate::engine::forced_deletions::UnreleasedPod;
use crate::engine::hardware::Hardware;
use crate::model::{DeviceTaintRule, NodeName};
use crate::report::wait_progress::WaitProgress;

/// Takes off the rules of these `names` what they record of devices on `node`, whose kubelet was seen to release them.
/// What cannot be taken off is said.
pub(crate) async fn clear_released(
    names: &[String],
    node: &NodeName,
    rules: &Rules,
    context: &Context,
) {
    let left = |rule: &DeviceTaintRule| unreleased_devices::released(rule, node.as_str());
    let released = format!("{node} has released its devices");
    clear(names, &released, left, rules, context).await;
}

/// As [`clear_released`], of the pods that `has_ended` accepts by their UID: their kubelet was seen to end them.
pub(crate) async fn clear_ended(
    names: &[String],
    has_ended: impl Fn(&str) -> bool,
    rules: &Rules,
    context: &Context,
) {
    let left = |rule: &DeviceTaintRule| unreleased_devices::ended(rule, &has_ended);
    clear(names, "its pods have ended", left, rules, context).await;
}

/// Makes of each rule what `left` leaves of its records, and says that it is for this `reason`.
async fn clear(
    names: &[String],
    reason: &str,
    left: impl Fn(&DeviceTaintRule) -> Option<serde_json::Value>,
    rules: &Rules,
    context: &Context,
) {
    let change = |rule: &DeviceTaintRule| {
        let patch = left(rule)?;
        let on = ObjectVersion {
            uid: rule.uid.to_string(),
            resource_version: rule.resource_version.clone(),
        };
        Some(ObjectChange::Patch { on, patch })
    };
    for name in names {
        let cannot = |error: &dyn std::fmt::Display| {
            context.printer.warn(&format!(
                "the record of unreleased devices on rule {name} could not be cleared: {error}"
            ));
        };
        let stored = match rules.get(name).await {
            Ok(Some(stored)) => stored,
            Ok(None) => continue,
            Err(error) => {
                cannot(&error);
                // One rule that cannot be read keeps no other from being cleared.
                continue;
            }
        };
        let Some(first) = change(&stored.fact) else {
            continue;
        };
        let uid = stored.fact.uid.clone();
        // A rule of the same name that was made since has no such record.
        let again = |found: Option<&crate::cluster::Stored<DeviceTaintRule>>| {
            let same = found.filter(|found| found.fact.uid == uid);
            match same.and_then(|found| change(&found.fact)) {
                Some(change) => ConflictAction::Send(change),
                None => ConflictAction::End(()),
            }
        };
        match rules.change(name, first, WriteMode::Store, again).await {
            Ok(_) => context
                .printer
                .note(&format!("rule {name}: {reason}; the record is cleared")),
            Err(error) => cannot(&error),
        }
    }
}

/// Notes `pods` that `progress` has shown on the rules that select their devices. What cannot be noted is said: it is told
/// nowhere else.
pub(crate) async fn note_not_released(
    pods: &[UnreleasedPod],
    progress: &WaitProgress,
    hardware: &Hardware,
    rules: &Rules,
    context: &Context,
) {
    let change = |rule: &DeviceTaintRule| {
        let patch = unreleased_devices::note(rule, pods, hardware, progress.now)?;
        let on = ObjectVersion {
            uid: rule.uid.to_string(),
            resource_version: rule.resource_version.clone(),
        };
        Some(ObjectChange::Patch { on, patch })
    };
    for rule in &progress.rules {
        let Some(first) = change(rule) else {
            continue;
        };
        let again = |found: Option<&crate::cluster::Stored<DeviceTaintRule>>| {
            let same = found.filter(|found| found.fact.uid == rule.uid);
            match same.and_then(|found| change(&found.fact)) {
                Some(change) => ConflictAction::Send(change),
                None => ConflictAction::End(()),
            }
        };
        let name = rule.name.as_str();
        let noted = rules.change(name, first, WriteMode::Store, again).await;
        let text = match noted {
            Ok(_) => format!("rule {name} records the devices whose release was not confirmed"),
            Err(error) => format!(
                "cannot record on rule {name} the devices whose release was not confirmed: {error}"
            ),
        };
        context.printer.warn(&text);
    }
}
