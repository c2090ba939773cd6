//! Noting on rules that devices were not seen to be released.

use crate::cluster::{ConflictAction, ObjectChange, ObjectVersion, Rules, WriteMode};
use crate::commands::context::Context;
use crate::decide::unreleased_devices;
use crate::model::DeviceTaintRule;
use crate::report::wait_progress::WaitProgress;

/// Notes what `progress` has seen on the rules that select the devices. What cannot be noted is said: it is told nowhere
/// else.
pub(crate) async fn note_not_released(progress: &WaitProgress, rules: &Rules, context: &Context) {
    let change = |rule: &DeviceTaintRule| {
        let patch = unreleased_devices::note(rule, &progress.not_released, progress.now)?;
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
