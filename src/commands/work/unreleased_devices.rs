//! Noting on rules that devices were not seen to be released, and that they were.

use serde_json::Value;

use super::changer::Changer;
use super::connect;
use super::record::record;
use crate::cluster::{Rules, WriteMode};
use crate::commands::context::Context;
use crate::decide::unreleased_devices;
use crate::engine::forced_deletions::UnreleasedPod;
use crate::engine::hardware::Hardware;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, NodeName, ResourceSlice};
use crate::naming::phrase::few;
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
    let released = format!(
        "the kubelet of node {node} has released the devices there, so the record of unreleased \
         devices is removed from the rule"
    );
    clear(names, &released, left, rules, context).await;
}

/// As [`clear_released`], for those records of the rules that these `verified` ones have too: a rule may record other devices
/// on the node, which the kubelet still holds.
pub(crate) async fn clear_released_of(
    verified: &[DeviceTaintRule],
    node: &NodeName,
    rules: &Rules,
    context: &Context,
) {
    for before in verified {
        let left =
            |rule: &DeviceTaintRule| unreleased_devices::released_of(rule, node.as_str(), before);
        let released = format!(
            "the kubelet of node {node} has released the devices of this wait, so their records as unreleased are \
             removed from the rule"
        );
        clear(&[before.name.to_string()], &released, left, rules, context).await;
    }
}

/// As [`clear_released`], of the pods that `has_ended` accepts by their UID: their kubelet was seen to end them.
pub(crate) async fn clear_ended(
    names: &[String],
    has_ended: impl Fn(&str) -> bool,
    rules: &Rules,
    context: &Context,
) {
    let left = |rule: &DeviceTaintRule| unreleased_devices::ended(rule, &has_ended);
    let ended = "the containers of force-deleted pods have ended on the node, so the rule no longer records their \
        devices as unreleased";
    clear(names, ended, left, rules, context).await;
}

/// Makes of each rule what `left` leaves of its records, and says that it is for this `reason`.
async fn clear(
    names: &[String],
    reason: &str,
    left: impl Fn(&DeviceTaintRule) -> Option<Value>,
    rules: &Rules,
    context: &Context,
) {
    for name in names {
        let cleared = match rules.get(name).await {
            Ok(Some(stored)) => record(&stored.fact, &left, rules, WriteMode::Store).await,
            Ok(None) => continue,
            Err(error) => Some(Err(error)),
        };
        match cleared {
            None => {}
            Some(Ok(())) => context.printer.note(&format!("rule {name}: {reason}")),
            // One rule that cannot be read or changed keeps no other from being cleared.
            Some(Err(error)) => context.printer.warn(&format!(
                "rule {name} still records devices as not released, because this record could not be removed: {error}"
            )),
        }
    }
}

/// Adds what rules record that are about to be `removed` to the rules that stay on the same hardware, by `slices`: with the record, the
/// API would show a device as free that its node may not have released. The devices of which no rule keeps a record.
///
/// # Errors
///
/// A record cannot be added, or it is unknown which rules select the hardware, since the `slices` were not read.
pub(crate) async fn carry_over(
    removed: &[DeviceTaintRule],
    slices: Option<&[ResourceSlice]>,
    mode: WriteMode,
    changer: &Changer<'_>,
) -> Result<Vec<String>, Failure> {
    if removed
        .iter()
        .all(|rule| unreleased_devices::noted(rule).is_empty())
    {
        return Ok(Vec::new());
    }
    let (rules, context) = (changer.rules(), changer.context());
    let names: Vec<String> = removed.iter().map(|rule| rule.name.to_string()).collect();
    let failed = |failure: Failure, on: &str| {
        let are = if names.len() == 1 { "is" } else { "are" };
        failure
            .context(format!(
                "the devices whose release was not confirmed could not be recorded on {on}, so {} {are} kept",
                few(&names)
            ))
            .hint(format!(
                "to delete the rules together with this record: kubectl delete devicetaintrules {}",
                names.join(" ")
            ))
    };
    let listed = changer.listed().await;
    let mut staying = listed.map_err(|error| failed(connect::failed(error), "other rules"))?;
    staying.retain(|rule| {
        rule.metadata.deletion.is_none() && removed.iter().all(|gone| gone.name != rule.name)
    });
    let hardware = match slices {
        Some(slices) => Hardware::of(slices),
        None if staying.is_empty() => Hardware::default(),
        None => {
            let unread = Failure::new(ExitStatus::Failed, "ResourceSlices could not be read");
            return Err(failed(unread, "other rules"));
        }
    };
    let wanted =
        |rule: &DeviceTaintRule| unreleased_devices::carried_over(rule, removed, &hardware);
    for rule in &staying {
        let name = rule.name.as_str();
        let records = match mode {
            WriteMode::Store => "now records",
            WriteMode::DryRun => "would record",
        };
        match record(rule, wanted, rules, mode).await {
            None => {}
            Some(Ok(())) => context.printer.note(&format!(
                "rule {name} {records} the devices whose release was not confirmed"
            )),
            Some(Err(error)) => {
                return Err(failed(connect::failed(error), &format!("rule {name}")));
            }
        }
    }
    Ok(unreleased_devices::forgotten(removed, &staying, &hardware))
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
    let note =
        |rule: &DeviceTaintRule| unreleased_devices::note(rule, pods, hardware, progress.now);
    for rule in &progress.rules {
        let name = rule.name.as_str();
        let text = match record(rule, note, rules, WriteMode::Store).await {
            None => continue,
            Some(Ok(())) => {
                format!("rule {name} records the devices whose release was not confirmed")
            }
            Some(Err(error)) => format!(
                "the devices whose release was not confirmed could not be recorded on rule {name}: {error}"
            ),
        };
        context.printer.warn(&text);
    }
}
