//! Outcomes of changes, rule by rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chooser::{Chooser, SelectedRules};
use super::draft::{RuleDraft, RulePatch};
use super::make_room::Room;
use super::proposal::ProposedRule;
pub use super::rule_result::RuleResult;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Taint};

/// Results for the rules so far, in the order in which a command came to them, and further messages.
#[derive(Debug, Default)]
pub struct Outcomes {
    rules: Vec<RuleOutcome>,
    messages: Vec<String>,
    room: Option<Room>,
}

/// Dry-run mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DryRun {
    /// No dry run.
    #[default]
    None,
    /// The plugin sent no change to the server.
    Client,
    /// The server validated the change and did not store it.
    Server,
}

impl DryRun {
    /// True if anything is stored.
    pub fn is_real(self) -> bool {
        self == Self::None
    }

    /// Suffix of a verb, as kubectl prints it.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

/// One rule, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleOutcome {
    /// Name of the rule.
    pub name: String,
    /// Result of the change.
    pub result: RuleResult,
    /// True if it was changed; absent if that is not known.
    pub changed: Option<bool>,
    /// The taint before the change; absent if the rule did not exist, or was not read.
    pub before: Option<Taint>,
    /// The taint after the change; absent if the rule was deleted, or if that is not known.
    pub after: Option<Taint>,
    /// Why the change failed, if it did.
    pub error: Option<String>,
    /// The rule with all its fields, where they were asked for.
    pub manifest: Option<Value>,
}

impl RuleOutcome {
    /// A rule of which nothing is known but what became of it.
    pub fn new(name: &str, result: RuleResult) -> Self {
        Self {
            name: name.to_owned(),
            result,
            changed: result.changed(),
            before: None,
            after: None,
            error: None,
            manifest: None,
        }
    }

    /// The rule with the taints that it had and has.
    #[must_use]
    pub fn with_taints(self, before: Option<&Taint>, after: Option<&Taint>) -> Self {
        Self {
            before: before.cloned(),
            after: after.cloned(),
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
}

impl Outcomes {
    /// The room that is made for a pod.
    pub fn room(&self) -> Option<&Room> {
        self.room.as_ref()
    }

    /// Notes the room that is made for a pod.
    pub fn set_room(&mut self, room: Room) {
        self.room = Some(room);
    }

    /// Results for the rules so far.
    pub fn rules(&self) -> &[RuleOutcome] {
        &self.rules
    }

    /// Adds what became of a rule.
    pub fn add(&mut self, rule: RuleOutcome) {
        self.rules.push(rule);
    }

    /// Adds how the rule is that came last, with all its fields.
    pub fn is_now(&mut self, object: &Value) {
        if let Some(last) = self.rules.last_mut() {
            last.manifest = Some(object.clone());
        }
    }

    /// Adds something that there is to know.
    pub fn note(&mut self, line: String) {
        self.messages.push(line);
    }

    /// Adds those of the rules that were named which are not there.
    pub fn missing(&mut self, chooser: &Chooser, found: &SelectedRules) {
        let names = match chooser {
            Chooser::Names(names) => names.as_slice(),
            Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::Expired | Chooser::All => &[],
        };
        let is_there = |name: &String| found.rules.iter().any(|rule| rule.name.as_str() == name);
        let missing = names.iter().filter(|name| !is_there(name));
        // There is one failure for each name that is not there, in the same order.
        for (name, failure) in missing.zip(&found.missing) {
            self.ended(name, RuleResult::NotFound, failure);
        }
    }

    /// Adds that a rule is not as wanted, and why.
    pub fn ended(&mut self, name: &str, outcome: RuleResult, failure: &Failure) {
        let ended = RuleOutcome::new(name, outcome);
        self.add(ended.with_error(failure.to_string()));
    }

    /// Adds that nothing of what was proposed is done, since all of it was refused.
    pub fn refuse(&mut self, rules: &[ProposedRule], failure: &Failure) {
        for rule in rules.iter().filter(|rule| rule.is_open()) {
            let failed = match rule.now() {
                Some(now) => as_it_was(now, RuleResult::Failed),
                None => RuleOutcome::new(&rule.name(), RuleResult::Failed),
            };
            self.add(failed.with_error(failure.to_string()));
        }
    }

    /// Further messages.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }
}

/// A rule that was made or found as the draft asks for it.
pub fn made_as(draft: &RuleDraft, outcome: RuleResult) -> RuleOutcome {
    let after = &draft.taint;
    let before = (outcome != RuleResult::Created).then_some(after);
    RuleOutcome::new(&draft.name, outcome).with_taints(before, Some(after))
}

/// A rule that was `before` the change.
pub fn changed_by(before: &DeviceTaintRule, patch: &RulePatch) -> RuleOutcome {
    let mut after = before.taint.clone();
    after.effect = patch.effect.clone().unwrap_or(after.effect);
    after.value = patch.value.clone().unwrap_or(after.value);
    // Only a change of the effect renews it (`strategy.go`). Where the change does not set it, the server does, and when is
    // in no response that was read.
    if after.effect != before.taint.effect {
        after.time_added = patch.time_added;
    }
    RuleOutcome::new(before.name.as_str(), RuleResult::Configured)
        .with_taints(Some(&before.taint), Some(&after))
}

/// Result for a rule that was to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// This command deleted it.
    Deleted,
    /// It was deleted before this command came.
    Already,
    /// The rule is deleted, by this command or another.
    Gone,
    /// It is being deleted, as this command has asked.
    Requested,
    /// It is being deleted, as another has asked before.
    RequestedBefore,
    /// It is being deleted, as this command or another has asked.
    Leaving,
}

impl Removed {
    /// True if it exists until nothing holds it.
    pub fn is_there(self) -> bool {
        match self {
            Self::Requested | Self::RequestedBefore | Self::Leaving => true,
            Self::Deleted | Self::Already | Self::Gone => false,
        }
    }

    /// The result where the answer to an earlier try was lost, so that it is unknown which client has deleted it.
    #[must_use]
    pub fn by_somebody(self) -> Self {
        if self.is_there() {
            Self::Leaving
        } else {
            Self::Gone
        }
    }

    /// The rule that was `before` it was to be deleted.
    pub fn describe(self, before: &DeviceTaintRule) -> RuleOutcome {
        let taint = Some(&before.taint);
        let (outcome, after) = match self {
            Self::Deleted => (RuleResult::Deleted, None),
            Self::Already => (RuleResult::AlreadyDeleted, None),
            Self::Gone => (RuleResult::Gone, None),
            Self::Requested | Self::RequestedBefore | Self::Leaving => {
                (RuleResult::DeletionRequested, taint)
            }
        };
        let told = RuleOutcome::new(before.name.as_str(), outcome).with_taints(taint, after);
        match self {
            Self::Deleted | Self::Already | Self::Gone | Self::Requested => told,
            Self::RequestedBefore => told.with_changed(Some(false)),
            Self::Leaving => told.with_changed(None),
        }
    }
}

/// Failure for a rule that is being deleted, with what holds it until then.
pub fn held(rule: &DeviceTaintRule) -> Failure {
    let failure = Failure::new(ExitStatus::TryAgain, held_line(rule));
    failure.hint(format!(
        "to wait for the deletion: kubectl devicetaint wait {} --for deleted",
        rule.name
    ))
}

/// As [`held`], in a sentence.
pub fn held_line(rule: &DeviceTaintRule) -> String {
    let (name, finalizers) = (&rule.name, &rule.metadata.finalizers);
    if finalizers.is_empty() {
        format!("the deletion of rule {name} was requested; it is unknown whether the rule is gone")
    } else {
        let finalizers = finalizers.join(", ");
        format!("rule {name} stays in effect until its finalizers are removed: {finalizers}")
    }
}

/// A rule whose taint is what it was.
pub fn as_it_was(rule: &DeviceTaintRule, outcome: RuleResult) -> RuleOutcome {
    let taint = Some(&rule.taint);
    RuleOutcome::new(rule.name.as_str(), outcome).with_taints(taint, taint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, rule};
    use crate::model::Effect;

    #[test]
    fn after_a_lost_answer_nobody_knows_who_has_deleted_a_rule() {
        for removed in [Removed::Deleted, Removed::Already, Removed::Gone] {
            assert_eq!(removed.by_somebody(), Removed::Gone);
        }
        for removed in [
            Removed::Requested,
            Removed::RequestedBefore,
            Removed::Leaving,
        ] {
            assert_eq!(removed.by_somebody(), Removed::Leaving);
        }
    }

    #[test]
    fn a_change_of_the_effect_renews_the_time_and_one_of_the_value_does_not() {
        let at = "2026-11-20T00:00:00Z".parse().ok();
        let mut before = rule("None");
        before.taint.time_added = at;
        let after = |patch: RulePatch| {
            let after = changed_by(&before, &patch).after;
            after.and_then(|taint| taint.time_added)
        };
        let effect = || RulePatch {
            effect: Some(Effect::NoExecute),
            ..RulePatch::default()
        };
        assert_eq!(after(effect()), None, "the server's time is not known");
        let sent = "2026-11-21T00:00:00Z".parse().ok();
        let with_time = RulePatch {
            time_added: sent,
            ..effect()
        };
        assert_eq!(after(with_time), sent);
        let value = RulePatch {
            value: Some("firmware".to_owned()),
            ..RulePatch::default()
        };
        assert_eq!(after(value), at);
    }

    #[test]
    fn whoever_is_not_there_is_told_apart_from_whoever_was_not_changed() {
        let mut outcomes = Outcomes::default();
        let chooser = Chooser::Names(vec!["a".to_owned(), "drain".to_owned()]);
        let found = chooser.select(&[named("drain", "None")], jiff::Timestamp::UNIX_EPOCH);
        outcomes.missing(&chooser, &found);
        let proposed: Vec<ProposedRule> = found.rules.iter().map(ProposedRule::deletion).collect();
        outcomes.refuse(&proposed, &Failure::refused("not confirmed"));
        let told: Vec<_> = outcomes
            .rules()
            .iter()
            .map(|rule| (rule.name.as_str(), rule.result))
            .collect();
        assert_eq!(
            told,
            [("a", RuleResult::NotFound), ("drain", RuleResult::Failed)]
        );
        assert_eq!(outcomes.rules()[1].error.as_deref(), Some("not confirmed"));
    }
}
