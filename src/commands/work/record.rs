//! Records of observations in annotations of a rule, which are no change of it: the user and the run that changed it last
//! stay noted, so that a run that works with the rule does not take it for taken over.

use serde_json::Value;

use crate::cluster::{
    ClusterError, ConflictAction, ObjectChange, ObjectVersion, Rules, Stored, WriteMode,
};
use crate::model::DeviceTaintRule;

/// Applies the patch that `wanted` gives for `rule`, or for what others have made of it meanwhile; absent where it gives none.
pub(crate) async fn record(
    rule: &DeviceTaintRule,
    wanted: impl Fn(&DeviceTaintRule) -> Option<Value>,
    rules: &Rules,
    mode: WriteMode,
) -> Option<Result<(), ClusterError>> {
    let change = |rule: &DeviceTaintRule| {
        let on = ObjectVersion {
            uid: rule.uid.to_string(),
            resource_version: rule.resource_version.clone(),
        };
        let patch = wanted(rule)?;
        Some(ObjectChange::Patch { on, patch })
    };
    // A rule of the same name that was made since has no such record.
    let again = |found: Option<&Stored<DeviceTaintRule>>| {
        let same = found.filter(|found| found.fact.uid == rule.uid);
        match same.and_then(|found| change(&found.fact)) {
            Some(change) => ConflictAction::Send(change),
            None => ConflictAction::End(()),
        }
    };
    let first = change(rule)?;
    let changed = rules.change(rule.name.as_str(), first, mode, again).await;
    Some(changed.map(drop))
}
