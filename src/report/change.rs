//! Report of a command that changed rules.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::metadata::{API_VERSION, Cluster, Metadata};
use super::rules::resource_name;
use super::table::{Section, View};
use super::taint::Taint;
use super::time::Time;
use super::wait::WaitReport;
use crate::model;

/// What a command did, rule by rule.
///
/// Within one apiVersion, fields and outcomes are only added: readers have to ignore those they do
/// not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "ChangeReport"))]
    pub kind: String,
    /// The cluster of the change.
    pub metadata: Metadata,
    /// Dry-run mode: None, Client or Server.
    pub dry_run: DryRun,
    /// Whether anything was changed, or would have been without the dry run; null if that is unknown for a
    /// rule.
    pub changed: Option<bool>,
    /// Why the command failed; null if it did not.
    #[serde(default)]
    pub error: Option<String>,
    /// The rules and the result of each change, in the order of processing.
    pub changes: Vec<ChangedRule>,
    /// Result of the wait for the change; null without a wait.
    pub wait: Option<WaitReport>,
    /// Further results as text, such as the devices that are schedulable again.
    pub messages: Vec<String>,
}

/// Dry-run mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DryRun {
    /// No dry run.
    #[default]
    None,
    /// The plugin sent nothing.
    Client,
    /// The server validated the change and did not store it.
    Server,
}

impl DryRun {
    /// Whether anything is stored.
    #[must_use]
    pub fn is_real(self) -> bool {
        self == Self::None
    }

    /// What is said after a verb, as kubectl does.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

/// One rule, and the result of its change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedRule {
    /// The rule's name.
    pub name: String,
    /// Result of the change.
    pub result: RuleResult,
    /// Whether the rule was changed; null if unknown.
    pub changed: Option<bool>,
    /// The taint before the change; null if the rule did not exist, or was not read.
    pub before: Option<Taint>,
    /// The taint after the change; null if the rule was deleted, or if unknown.
    pub after: Option<Taint>,
    /// When `escalate --for` takes the effect back; null if it keeps the effect.
    #[serde(default)]
    pub effect_expiration_time: Option<Time>,
    /// Why the change failed; null if it did not.
    pub error: Option<String>,
    /// The rule after the change, or as it would be without the dry run, with all its fields; null
    /// if not requested.
    #[serde(default)]
    pub manifest: Option<Value>,
}

/// Result of a change to a rule, in the terms of kubectl.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum RuleResult {
    /// The rule was created.
    Created,
    /// The rule was changed.
    Configured,
    /// The rule was already as requested.
    Unchanged,
    /// This command deleted the rule.
    Deleted,
    /// Another client had already deleted the rule.
    AlreadyDeleted,
    /// The rule is being deleted, and exists until its finalizers are removed; `changed` shows
    /// whether this command requested the deletion.
    DeletionRequested,
    /// The rule is deleted, but the response to this command was lost: another client may have
    /// deleted it.
    Gone,
    /// The change was reverted.
    Reverted,
    /// No rule of that name exists.
    NotFound,
    /// The change failed, and the rule is unchanged.
    Failed,
    /// Unknown: the server's response was lost, and a second read failed.
    Unknown,
}

impl RuleResult {
    /// The result as it is printed after the name of the rule.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Deleted => "deleted",
            Self::AlreadyDeleted => "already deleted",
            Self::DeletionRequested => "deletion requested",
            Self::Gone => "gone",
            Self::Reverted => "reverted",
            Self::NotFound => "not found",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a rule with this result was changed; absent when that is not known.
    #[must_use]
    pub fn changed(self) -> Option<bool> {
        match self {
            // Only the default for `DeletionRequested`: where another asked for it before, `with_changed` says so.
            Self::Created | Self::Configured | Self::Deleted | Self::DeletionRequested => {
                Some(true)
            }
            // As it was, but not untouched: others have seen the state between.
            Self::Reverted => Some(true),
            Self::Unchanged | Self::AlreadyDeleted | Self::NotFound | Self::Failed => Some(false),
            // The reply was lost: `false` would say that this command has left the rule alone.
            Self::Gone | Self::Unknown => None,
        }
    }
}

impl ChangedRule {
    /// A rule of which nothing is known but what became of it.
    #[must_use]
    pub fn new(name: &str, result: RuleResult) -> Self {
        Self {
            name: name.to_owned(),
            result,
            changed: result.changed(),
            before: None,
            after: None,
            effect_expiration_time: None,
            error: None,
            manifest: None,
        }
    }

    /// The rule with the taints that it had and has.
    #[must_use]
    pub fn with_taints(self, before: Option<&model::Taint>, after: Option<&model::Taint>) -> Self {
        let of_rule = |taint| Taint::of_rule(taint, Some(&self.name));
        Self {
            before: before.map(of_rule),
            after: after.map(of_rule),
            ..self
        }
    }

    /// The rule with when its effect is taken back.
    #[must_use]
    pub fn with_expiry(self, at: Option<Timestamp>) -> Self {
        Self {
            effect_expiration_time: at.map(Time),
            ..self
        }
    }

    /// The rule with whether this command has changed it, where its result alone does not say that.
    #[must_use]
    pub fn with_changed(self, changed: Option<bool>) -> Self {
        Self { changed, ..self }
    }

    /// The rule with why it is not as wanted.
    #[must_use]
    pub fn with_error(self, error: String) -> Self {
        Self {
            error: Some(error),
            ..self
        }
    }

    /// The line that tells it: `devicetaintrule.resource.k8s.io/NAME created (dry run)`.
    #[must_use]
    pub fn line(&self, dry_run: DryRun) -> String {
        let (name, verb) = (resource_name(&self.name), self.result.as_str());
        format!("{name} {verb}{}", dry_run.suffix())
    }
}

impl ChangeReport {
    /// The report on these rules.
    #[must_use]
    pub fn new(changes: Vec<ChangedRule>, dry_run: DryRun) -> Self {
        let any = |wanted: Option<bool>| changes.iter().any(|rule| rule.changed == wanted);
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
            metadata: Metadata::default(),
            dry_run,
            changed,
            error: None,
            changes,
            wait: None,
            messages: Vec::new(),
        }
    }

    /// The report of a command that did not do all that was asked, and why.
    #[must_use]
    pub fn with_error(self, error: Option<String>) -> Self {
        Self { error, ..self }
    }

    /// The report with how the wait for the change ended.
    #[must_use]
    pub fn with_wait(self, wait: WaitReport) -> Self {
        Self {
            wait: Some(wait),
            ..self
        }
    }

    /// The report with the cluster in which it was done.
    #[must_use]
    pub fn in_cluster(self, cluster: Option<&Cluster>) -> Self {
        Self {
            metadata: Metadata::of_cluster(cluster),
            // The wait is a report of its own, whose metadata would be empty otherwise.
            wait: self.wait.map(|wait| wait.in_cluster(cluster)),
            ..self
        }
    }

    /// The report with what else there is to know.
    #[must_use]
    pub fn with_messages(self, messages: Vec<String>) -> Self {
        Self { messages, ..self }
    }
}

impl View for ChangeReport {
    fn sections(&self) -> Vec<Section> {
        let lines = self.changes.iter().map(|rule| rule.line(self.dry_run));
        let mut sections = vec![Section::sentences(lines.collect())];
        sections.extend(self.wait.iter().flat_map(View::sections));
        sections.push(Section::list("Notes", self.messages.clone()));
        sections
    }

    /// The rules that are there now, as kubectl prints them.
    fn names(&self) -> Vec<String> {
        self.changes
            .iter()
            .map(|rule| resource_name(&rule.name))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcomes: &[RuleResult]) -> ChangeReport {
        let rules = outcomes.iter().map(|result| ChangedRule::new("r", *result));
        ChangeReport::new(rules.collect(), DryRun::None)
    }

    #[test]
    fn what_is_not_known_of_a_rule_is_not_unchanged() {
        use RuleResult::{Configured, Failed, Reverted, Unchanged, Unknown};
        for (outcomes, changed) in [
            (&[Unchanged, Failed][..], Some(false)),
            (&[], Some(false)),
            (&[Unchanged, Configured], Some(true)),
            (&[Unknown, Configured], Some(true)),
            (&[Unknown, Unchanged], None),
            (&[Reverted], Some(true)),
        ] {
            assert_eq!(report(outcomes).changed, changed, "{outcomes:?}");
        }
    }

    #[test]
    fn a_change_is_told_as_kubectl_tells_it() {
        let taint = |text: &str| crate::naming::taint::parse(text).unwrap();
        let (before, after) = (taint("a:None"), taint("a:NoExecute"));
        let rule = ChangedRule::new("drain", RuleResult::Configured)
            .with_taints(Some(&before), Some(&after));
        let report = ChangeReport::new(vec![rule], DryRun::Server);
        assert_eq!(
            report.changes[0].line(report.dry_run),
            "devicetaintrule.resource.k8s.io/drain configured (server dry run)"
        );
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["changes"][0]["result"], "Configured");
        assert_eq!(json["changes"][0]["after"]["effect"], "NoExecute");
        assert_eq!(json["dryRun"], "Server");
    }
}
