//! Report of a command that changed rules.

use schemars::JsonSchema;
use serde::Serialize;

use super::metadata::{API_VERSION, Cluster, Metadata};
use super::wait::WaitReport;
use crate::decide::change_log::LoggedChanges;
pub use crate::decide::change_log::{DryRun, RuleOutcome, RuleResult};
use crate::decide::make_room::Room;

/// Report of `add`, `escalate`, `deescalate`, `remove`, `drain`, `restore` and `make-room`: the changes, rule
/// by rule.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "ChangeReport"))]
    pub kind: String,
    /// The cluster of the change.
    pub metadata: Metadata,
    /// Dry-run mode: None, Client or Server.
    pub dry_run: DryRun,
    /// True if at least one rule was changed, or would have been without the dry run. Null if no rule is
    /// known to be changed, and the result of at least one change is unknown.
    pub changed: Option<bool>,
    /// Why the command failed, as text; null if it did not fail.
    pub error: Option<String>,
    /// The rules and the result of each change, in the order of processing.
    pub changes: Vec<RuleOutcome>,
    /// Result of the wait for the change; null without a wait.
    pub wait: Option<WaitReport>,
    /// The room that `make-room` makes for a pending pod; null for other commands, and if no set of pods was chosen.
    pub room: Option<Room>,
    /// Further results as text, such as the devices that are schedulable again; empty if there are none.
    pub messages: Vec<String>,
}

impl ChangeReport {
    /// The report of logged changes, of the wait after them, and of the error that ended them.
    pub fn new(
        changes: LoggedChanges,
        wait: Option<&WaitReport>,
        error: Option<String>,
        cluster: Option<&Cluster>,
    ) -> Self {
        let any = |wanted: Option<bool>| changes.outcomes.iter().any(|it| it.changed == wanted);
        // One change that is known settles it; unknown is the answer only where none is known.
        let changed = if any(Some(true)) {
            Some(true)
        } else if any(None) {
            None
        } else {
            Some(false)
        };
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "ChangeReport".to_owned(),
            metadata: Metadata::of_cluster(cluster),
            dry_run: changes.dry_run,
            changed,
            error,
            changes: changes.outcomes,
            // The wait is a report of its own, whose metadata would be empty otherwise.
            wait: wait.map(|wait| wait.clone().in_cluster(cluster)),
            room: changes.room,
            messages: changes.messages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcomes: &[RuleResult]) -> ChangeReport {
        let outcomes = outcomes.iter().map(|result| RuleOutcome::new("r", *result));
        let changes = LoggedChanges {
            dry_run: DryRun::None,
            outcomes: outcomes.collect(),
            messages: Vec::new(),
            room: None,
        };
        ChangeReport::new(changes, None, None, None)
    }

    #[test]
    fn an_object_of_another_kind_is_printed_with_its_own_resource() {
        let line = |name| {
            let outcome = RuleOutcome::new(name, RuleResult::Created);
            outcome.line(DryRun::Client)
        };
        let rule = "devicetaintrule.resource.k8s.io/a created (dry run)";
        assert_eq!(line("a"), rule);
        assert_eq!(
            line("policy.example.com/a"),
            "policy.example.com/a created (dry run)"
        );
    }

    #[test]
    fn what_is_not_known_of_a_rule_is_not_unchanged() {
        use RuleResult::{Configured, Failed, Unchanged, Unknown};
        for (outcomes, changed) in [
            (&[Unchanged, Failed][..], Some(false)),
            (&[], Some(false)),
            (&[Unchanged, Configured], Some(true)),
            (&[Unknown, Configured], Some(true)),
            (&[Unknown, Unchanged], None),
        ] {
            assert_eq!(report(outcomes).changed, changed, "{outcomes:?}");
        }
    }
}
