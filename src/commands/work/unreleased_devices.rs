//! Noting on rules that devices were not seen to be released, and that they were.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::changer::Changer;
use super::connect::{self, Live};
use super::kubelet::Verifier;
use super::record::record;
use crate::cluster::{PodQuery, PodQueryResult, Rules, WriteMode, find_pods};
use crate::commands::context::Context;
use crate::decide::unreleased_devices;
use crate::engine::device_removal::RemovalObjection;
use crate::engine::forced_deletions::UnreleasedPod;
use crate::engine::hardware::Hardware;
use crate::engine::unreleased_devices::unlisted;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceTaintRule, NodeName, ResourceSlice, Uid};
use crate::naming::phrase::few;

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
                "the record of devices whose release is not confirmed could not be added to {on}, so {} {are} not removed",
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

/// Where it is recorded that devices were not seen to be released: what the wait is for, and who writes.
#[derive(Clone, Copy)]
pub(crate) struct ReleaseRecords<'a> {
    /// The rules of the wait.
    pub(crate) waited: &'a [DeviceTaintRule],
    pub(crate) rules: &'a Rules,
    pub(crate) context: &'a Context,
}

impl ReleaseRecords<'_> {
    /// Notes `pods` that were seen at that time on the rules that select their devices. What cannot be noted is said: it is
    /// told nowhere else.
    pub(crate) async fn note(&self, pods: &[UnreleasedPod], hardware: &Hardware, now: Timestamp) {
        let context = self.context;
        let note = |rule: &DeviceTaintRule| unreleased_devices::note(rule, pods, hardware, now);
        for rule in self.waited {
            let name = rule.name.as_str();
            let text = match record(rule, note, self.rules, WriteMode::Store).await {
                None => continue,
                Some(Ok(())) => {
                    context.ledger.recorded(name);
                    format!("rule {name} records the devices whose release was not confirmed")
                }
                Some(Err(error)) => format!(
                    "the devices whose release was not confirmed could not be recorded on rule {name}: {error}"
                ),
            };
            context.printer.warn(&text);
        }
    }
}

/// Pods that are force-deleted while a kubelet is waited for: no watch sees how they go, and with a pod the API forgets its
/// claims.
pub(crate) struct ForceDeletions<'a> {
    pub(crate) verifier: &'a Verifier,
    /// The rules of the wait.
    pub(crate) waited: &'a [DeviceTaintRule],
    pub(crate) live: &'a Live,
    pub(crate) context: &'a Context,
    /// The pods that are noted already.
    pub(crate) noted: BTreeSet<Uid>,
}

impl ForceDeletions<'_> {
    /// Notes the pods whose claims the kubelet has `held` although it does not list them, and that are gone.
    pub(crate) async fn note(&mut self, held: &[(DeviceId, RemovalObjection)]) {
        let (live, context) = (self.live, self.context);
        let (Ok(rules), Ok(now)) = (live.rules(), connect::server_time(live)) else {
            return;
        };
        let mut gone = Vec::new();
        for pod in unlisted(self.verifier.users(), held) {
            if self.noted.contains(&pod.uid) {
                continue;
            }
            let found = find_pods(&live.client, &live.served, PodQuery::One(&pod.pod)).await;
            // Where it could not be read, it is asked for again after the kubelet's next answer.
            if found.is_ok_and(|found| is_gone(&pod.uid, &found)) {
                self.noted.insert(pod.uid.clone());
                gone.push(pod.clone());
            }
        }
        if !gone.is_empty() {
            let none = Hardware::default();
            let hardware = self.verifier.hardware().unwrap_or(&none);
            let records = ReleaseRecords {
                waited: self.waited,
                rules: &rules,
                context,
            };
            records.note(&gone, hardware, now).await;
        }
    }
}

/// Whether the pod with this UID is certainly gone, as a query for its name has `found`.
fn is_gone(uid: &Uid, found: &PodQueryResult) -> bool {
    match found {
        PodQueryResult::Gone | PodQueryResult::WithoutClaims => true,
        PodQueryResult::These(pods, _) => pods.iter().all(|pod| pod.uid != *uid),
        PodQueryResult::Denied(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    #[test]
    fn a_pod_is_gone_if_its_name_is_free_or_another_pods_and_not_if_it_may_not_be_read() {
        let pod = testing::pod("ml", "train");
        let uid = pod.uid.clone();
        assert!(is_gone(&uid, &PodQueryResult::Gone));
        assert!(is_gone(&uid, &PodQueryResult::WithoutClaims));
        let found = PodQueryResult::These(vec![pod], Vec::new());
        assert!(!is_gone(&uid, &found));
        assert!(is_gone(&"later".into(), &found));
        assert!(!is_gone(&uid, &PodQueryResult::Denied("no".to_owned())));
    }
}
