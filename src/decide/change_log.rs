//! Log of a command's changes: planned, sent and made, rule by rule.
//!
//! One list of outcomes: the printed lines, the report, the exit status and the message after an interruption or a failure
//! all come from it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chooser::{Chooser, SelectedRules};
use super::draft::{RuleDraft, RulePatch};
use super::make_room::Room;
use super::proposal::ProposedRule;
use crate::assess::taint::Taint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, NamespacedName};
use crate::naming::phrase::few;
use crate::naming::rule;

/// Place where a change is only tried.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
pub enum DryRun {
    /// Nowhere: it is made.
    #[default]
    None,
    /// Nothing was sent.
    Client,
    /// The server checked the change, and did not store it.
    Server,
}

impl DryRun {
    /// True if the cluster is changed.
    pub fn is_real(self) -> bool {
        self == Self::None
    }

    /// Note at the end of a line, as kubectl's.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

/// Result of a change for one rule.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum RuleResult {
    /// It was created.
    Created,
    /// It was changed.
    Configured,
    /// It was as wanted before.
    Unchanged,
    /// It was deleted.
    Deleted,
    /// Another client had deleted it.
    AlreadyDeleted,
    /// Its deletion was requested; finalizers hold it, or its end is unknown.
    DeletionRequested,
    /// It is gone, and it is unknown who deleted it.
    Gone,
    /// No rule has this name.
    NotFound,
    /// The change was not made.
    Failed,
    /// It is unknown whether the change was made.
    Unknown,
}

impl RuleResult {
    /// The verb as it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Deleted => "deleted",
            Self::AlreadyDeleted => "already deleted",
            Self::DeletionRequested => "deletion requested",
            Self::Gone => "gone",
            Self::NotFound => "not found",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// True if this command has changed the rule; unknown where a reply was lost.
    fn changed(self) -> Option<bool> {
        match self {
            Self::Created | Self::Configured | Self::Deleted | Self::DeletionRequested => {
                Some(true)
            }
            Self::Unchanged | Self::AlreadyDeleted | Self::NotFound | Self::Failed => Some(false),
            Self::Gone | Self::Unknown => None,
        }
    }

    fn is_removal(self) -> bool {
        match self {
            Self::Deleted | Self::AlreadyDeleted | Self::Gone | Self::NotFound => true,
            Self::Created
            | Self::Configured
            | Self::Unchanged
            | Self::DeletionRequested
            | Self::Failed
            | Self::Unknown => false,
        }
    }
}

/// One rule, and the result of its change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChangedRule")]
pub struct RuleOutcome {
    /// The rule's name.
    // That of another kind of object with its resource.
    pub name: String,
    /// Result of the change.
    pub result: RuleResult,
    /// True if the rule was changed, or would have been without the dry run; null if unknown.
    pub changed: Option<bool>,
    /// The taint before the change; null if the rule did not exist, or was not read.
    pub before: Option<Taint>,
    /// The taint after the change; null if the rule does not exist after the change, or if
    /// unknown.
    pub after: Option<Taint>,
    /// Why the change failed, as text; null if it did not fail.
    pub error: Option<String>,
}

impl RuleOutcome {
    /// An outcome for the rule of that name.
    pub fn new(name: &str, result: RuleResult) -> Self {
        Self {
            name: name.to_owned(),
            result,
            changed: result.changed(),
            before: None,
            after: None,
            error: None,
        }
    }

    /// A rule that is made from `draft`.
    pub fn made(draft: &RuleDraft, result: RuleResult) -> Self {
        let taint = Taint::of_rule(&draft.taint, Some(&draft.name));
        Self {
            before: (result != RuleResult::Created).then(|| taint.clone()),
            after: Some(taint),
            ..Self::new(&draft.name, result)
        }
    }

    /// A rule that is changed by `patch`.
    pub fn patched(before: &DeviceTaintRule, patch: &RulePatch) -> Self {
        let mut after = before.taint.clone();
        after.effect = patch.effect.clone().unwrap_or(after.effect);
        after.value = patch.value.clone().unwrap_or(after.value);
        // Only a change of the effect renews it (`strategy.go`). Where the change does not set it, the server does, and when
        // is in no response that was read.
        if after.effect != before.taint.effect {
            after.time_added = patch.time_added;
        }
        Self {
            after: Some(Taint::of_rule(&after, Some(before.name.as_str()))),
            ..Self::unchanged(before, RuleResult::Configured)
        }
    }

    /// A rule whose taint is what it was.
    pub fn unchanged(rule: &DeviceTaintRule, result: RuleResult) -> Self {
        let name = rule.name.as_str();
        let taint = Some(Taint::of_rule(&rule.taint, Some(name)));
        Self {
            before: taint.clone(),
            after: taint,
            ..Self::new(name, result)
        }
    }

    /// A rule that is deleted.
    pub fn removed(rule: &DeviceTaintRule, result: RuleResult) -> Self {
        let unchanged = Self::unchanged(rule, result);
        Self {
            after: unchanged
                .after
                .filter(|_| result == RuleResult::DeletionRequested),
            ..unchanged
        }
    }

    /// A rule whose deletion was requested before.
    pub fn being_deleted(rule: &DeviceTaintRule) -> Self {
        Self {
            changed: Some(false),
            ..Self::removed(rule, RuleResult::DeletionRequested)
        }
    }

    /// The same after a lost reply: it is unknown who made the rule as it is.
    #[must_use]
    pub fn doubted(self) -> Self {
        let result = match self.result.is_removal() {
            true => RuleResult::Gone,
            false => self.result,
        };
        let is_made = matches!(result, RuleResult::Created | RuleResult::Configured);
        Self {
            changed: self.changed.filter(|_| is_made),
            result,
            ..self
        }
    }

    /// With the reason of a failure.
    #[must_use]
    pub fn with_error(self, failure: &Failure) -> Self {
        Self {
            error: Some(failure.to_string()),
            ..self
        }
    }

    /// The line that is printed: `devicetaintrule.resource.k8s.io/NAME created (dry run)`.
    pub fn line(&self, dry_run: DryRun) -> String {
        // Objects of other kinds are logged with their resource.
        let name = match self.name.contains('/') {
            true => self.name.clone(),
            false => rule::qualified(&self.name),
        };
        format!("{name} {}{}", self.result.as_str(), dry_run.suffix())
    }

    /// True if the deleted rule still exists.
    pub fn is_held(&self) -> bool {
        self.result == RuleResult::DeletionRequested
    }
}

/// Purpose of a planned change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleGoal {
    /// The rule exists.
    Created,
    /// The rule is changed.
    Changed,
    /// The rule is gone.
    Deleted,
}

impl RuleGoal {
    const ALL: [Self; 3] = [Self::Created, Self::Changed, Self::Deleted];

    fn missed(self) -> &'static str {
        match self {
            Self::Created => "not created",
            Self::Changed => "not changed",
            Self::Deleted => "not deleted",
        }
    }
}

/// Hint for a change that is not complete.
pub const RUN_AGAIN: &str = "run the same command again to complete the change";

/// Changes of a command.
#[derive(Debug, Default)]
pub struct ChangeLog(Mutex<LogState>);

#[derive(Debug, Default)]
struct LogState {
    dry_run: DryRun,
    planned: Vec<(String, RuleGoal)>,
    /// Changes whose outcome is not known.
    sent: Vec<(String, RuleGoal)>,
    outcomes: Vec<RuleOutcome>,
    messages: Vec<String>,
    room: Option<Room>,
    /// Pods whose eviction was sent; true if it was accepted.
    evicted: BTreeMap<String, bool>,
    left: Option<String>,
    advice: Vec<String>,
}

/// What a report shows of a log.
#[derive(Debug)]
pub struct LoggedChanges {
    /// Place where the changes were tried.
    pub dry_run: DryRun,
    /// Outcomes, in the order of the changes.
    pub outcomes: Vec<RuleOutcome>,
    /// Notes about them.
    pub messages: Vec<String>,
    /// Devices that were freed for a pod.
    pub room: Option<Room>,
}

impl ChangeLog {
    /// Changes are only tried, or made.
    pub fn set_dry_run(&self, dry_run: DryRun) {
        self.state().dry_run = dry_run;
    }

    /// From now on, an interruption names these changes as long as they are not made.
    pub fn plan(&self, changes: impl IntoIterator<Item = (String, RuleGoal)>) {
        self.state().planned.extend(changes);
    }

    /// A change is sent now. Recorded before: an interrupt while the reply is outstanding leaves its result unknown.
    pub fn begin(&self, name: &str, goal: RuleGoal) {
        let mut state = self.state();
        state.settle(name);
        state.sent.push((name.to_owned(), goal));
    }

    /// The outcome of a change.
    pub fn add(&self, outcome: RuleOutcome) {
        let mut state = self.state();
        match outcome.result {
            // It may have been made.
            RuleResult::Unknown => {}
            // It stays planned, so that it is listed as not made.
            RuleResult::Failed | RuleResult::NotFound => state.settle(&outcome.name),
            RuleResult::Created
            | RuleResult::Configured
            | RuleResult::Unchanged
            | RuleResult::Deleted
            | RuleResult::AlreadyDeleted
            | RuleResult::DeletionRequested
            | RuleResult::Gone => {
                state.settle(&outcome.name);
                state.planned.retain(|(name, _)| *name != outcome.name);
            }
        }
        state.outcomes.push(outcome);
    }

    /// Logs the names that no rule has.
    pub fn missing(&self, chooser: &Chooser, found: &SelectedRules) {
        let names = match chooser {
            Chooser::Names(names) => names.as_slice(),
            Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::Expired | Chooser::All => &[],
        };
        let is_there = |name: &String| found.rules.iter().any(|rule| rule.name.as_str() == name);
        let missing = names.iter().filter(|name| !is_there(name));
        // There is one failure for each name that is not there, in the same order.
        for (name, failure) in missing.zip(&found.missing) {
            self.add(RuleOutcome::new(name, RuleResult::NotFound).with_error(failure));
        }
    }

    /// Logs that none of the proposed changes is made.
    pub fn refuse(&self, rules: &[ProposedRule], failure: &Failure) {
        for rule in rules.iter().filter(|rule| rule.is_open()) {
            let failed = match rule.now() {
                Some(now) => RuleOutcome::unchanged(now, RuleResult::Failed),
                None => RuleOutcome::new(&rule.name(), RuleResult::Failed),
            };
            self.add(failed.with_error(failure));
        }
    }

    /// A note about the changes.
    pub fn note(&self, line: String) {
        self.state().messages.push(line);
    }

    /// The devices that are freed for a pod.
    pub fn set_room(&self, room: Room) {
        self.state().room = Some(room);
    }

    /// Hints for a user who stops the command now, instead of the usual one.
    pub fn advise(&self, advice: impl IntoIterator<Item = String>) {
        self.state().advice = advice.into_iter().collect();
    }

    /// The eviction of a pod is sent, so that the pod may be evicted from now on.
    pub fn begin_eviction(&self, pod: &NamespacedName) {
        self.state().evicted.entry(pod.to_string()).or_default();
    }

    /// The pod was evicted or, by this request, not; absent if that stays unknown.
    pub fn end_eviction(&self, pod: &NamespacedName, is_evicted: Option<bool>) {
        let (mut state, name) = (self.state(), pod.to_string());
        match is_evicted {
            Some(true) => drop(state.evicted.insert(name, true)),
            Some(false) => state.evicted.retain(|known, sure| *known != name || *sure),
            None => {}
        }
    }

    /// What a wait still waits for; empty if for nothing.
    pub fn left(&self, left: &str) {
        self.state().left = (!left.is_empty()).then(|| left.to_owned());
    }

    /// True if an object is other than before.
    pub fn has_changed(&self) -> bool {
        let state = self.state();
        state.dry_run.is_real() && !state.changed().is_empty()
    }

    /// The changes, for a report.
    pub fn changes(&self) -> LoggedChanges {
        let state = self.state();
        LoggedChanges {
            dry_run: state.dry_run,
            outcomes: state.outcomes.clone(),
            messages: state.messages.clone(),
            room: state.room.clone(),
        }
    }

    /// `failure` with what was changed and what was not; `hint` completes the change.
    #[must_use]
    pub fn account(&self, failure: Failure, hint: Option<&str>) -> Failure {
        let state = self.state();
        let evicted = [("evicted", true), ("may have been evicted", false)];
        let evicted = evicted.into_iter().filter_map(|(text, is_sure)| {
            let pods = state.evicted.iter().filter(|(_, sure)| **sure == is_sure);
            let pods: Vec<&String> = pods.map(|(pod, _)| pod).collect();
            (!pods.is_empty()).then(|| format!("{text}: {}", few(pods)))
        });
        let left = state.left.iter().map(|left| format!("left: {left}"));
        let facts = state.lines().into_iter().chain(evicted).chain(left);
        let mut failure = facts.fold(failure, Failure::detail);
        let created = state.under_way(&[RuleGoal::Created]);
        if !created.is_empty() {
            let names = created.join(" ");
            let remove = format!("kubectl devicetaint remove {names} --ignore-not-found");
            failure = failure.hint(format!("to remove what was created: {remove}"));
        }
        if state.advice.is_empty() {
            let hint = hint.filter(|_| !state.is_complete());
            hint.into_iter().fold(failure, Failure::hint)
        } else {
            state.advice.iter().fold(failure, Failure::hint)
        }
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        // A panic while it was held must not keep the account from the user.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogState {
    fn settle(&mut self, name: &str) {
        self.sent.retain(|(sent, _)| sent != name);
    }

    /// Objects whose change was sent, and whose outcome is not known.
    fn under_way(&self, goals: &[RuleGoal]) -> Vec<&str> {
        let sent = self.sent.iter().filter(|(_, goal)| goals.contains(goal));
        sent.map(|(name, _)| name.as_str()).collect()
    }

    fn is_complete(&self) -> bool {
        !self.dry_run.is_real() || (self.planned.is_empty() && self.sent.is_empty())
    }

    /// Changed objects with what became of each. An object is listed once, however often it is changed, and one that was
    /// created and deleted is not.
    fn changed(&self) -> Vec<(&str, RuleResult)> {
        let mut changed: Vec<(&str, bool, RuleResult)> = Vec::new();
        for RuleOutcome {
            name,
            result,
            changed: is_changed,
            ..
        } in &self.outcomes
        {
            let is_made = *is_changed != Some(false) && *result != RuleResult::Unknown;
            match changed.iter_mut().find(|(known, ..)| known == name) {
                Some((_, true, _)) if *result == RuleResult::Configured => {}
                Some((_, _, last)) if is_made || result.is_removal() => *last = *result,
                None if is_made => changed.push((name, *result == RuleResult::Created, *result)),
                Some(_) | None => {}
            }
        }
        changed.retain(|(_, is_own, last)| !(*is_own && last.is_removal()));
        changed
            .into_iter()
            .map(|(name, _, last)| (name, last))
            .collect()
    }

    fn lines(&self) -> Vec<String> {
        let changed = match self.dry_run.is_real() {
            true => self.changed(),
            false => Vec::new(),
        };
        if self.is_complete() && changed.is_empty() {
            return match self.evicted.is_empty() {
                true => vec!["nothing was changed".to_owned()],
                false => Vec::new(),
            };
        }
        let list = |names: Vec<String>| match names.is_empty() {
            true => "nothing".to_owned(),
            false => names.join(", "),
        };
        let results = changed.iter();
        let results = results.map(|(name, last)| format!("{name} {}", last.as_str()));
        let mut lines = vec![format!("changed: {}", list(results.collect()))];
        let mut unchanged: Vec<&str> = Vec::new();
        for RuleOutcome { name, result, .. } in
            self.outcomes.iter().filter(|it| it.changed == Some(false))
        {
            let is_failure = matches!(result, RuleResult::Failed | RuleResult::NotFound);
            let is_changed = self
                .outcomes
                .iter()
                .any(|it| it.name == *name && it.changed != Some(false));
            if !is_failure && !is_changed && !unchanged.contains(&name.as_str()) {
                unchanged.push(name);
            }
        }
        if !unchanged.is_empty() {
            lines.push(format!("unchanged: {}", unchanged.join(", ")));
        }
        for (text, goals) in [
            ("created", &[RuleGoal::Created][..]),
            ("changed", &[RuleGoal::Changed, RuleGoal::Deleted]),
        ] {
            let names = self.under_way(goals);
            if !names.is_empty() {
                lines.push(format!("may have been {text}: {}", names.join(", ")));
            }
        }
        lines.extend(RuleGoal::ALL.into_iter().filter_map(|goal| self.open(goal)));
        lines
    }

    /// Planned changes of that kind that were not begun.
    fn open(&self, goal: RuleGoal) -> Option<String> {
        let is_sent = |name: &String| self.sent.iter().any(|(sent, _)| sent == name);
        let open = self.planned.iter();
        let open = open.filter(|(name, of)| *of == goal && !is_sent(name));
        let names: Vec<&str> = open.map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{}: {}", goal.missed(), names.join(", ")))
    }
}

/// Failure for a rule that is being deleted.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, rule};
    use crate::model::Effect;

    /// Message, the facts first.
    fn account(log: &ChangeLog, hint: Option<&str>) -> Vec<String> {
        let failure = log.account(Failure::usage("stopped"), hint);
        [failure.details(), failure.hints()].concat()
    }

    #[test]
    fn an_object_is_listed_once_and_one_that_came_and_went_is_not() {
        use RuleResult::{
            AlreadyDeleted, Configured, Created, Deleted, DeletionRequested, Gone, Unchanged,
        };
        for (results, shown) in [
            (&[Created, Configured, Configured][..], "changed: a created"),
            (&[Configured, Configured], "changed: a configured"),
            (&[Configured, Deleted], "changed: a deleted"),
            (
                &[Created, DeletionRequested],
                "changed: a deletion requested",
            ),
            (&[Created, Deleted], "nothing was changed"),
            (&[Created, DeletionRequested, Gone], "nothing was changed"),
            (&[Deleted, Created, Deleted], "changed: a deleted"),
            (&[Gone], "changed: a gone"),
            (&[Unchanged, Created, AlreadyDeleted], "nothing was changed"),
            // The second comparison with the controller creates rules of the same names.
            (&[Created, Deleted, Created], "changed: a created"),
        ] {
            for dry_run in [DryRun::None, DryRun::Server] {
                let log = ChangeLog::default();
                log.set_dry_run(dry_run);
                for result in results {
                    log.add(RuleOutcome::new("a", *result));
                }
                let shown = match dry_run.is_real() {
                    true => shown,
                    false => "nothing was changed",
                };
                assert_eq!(account(&log, Some("hint")), [shown], "{results:?}");
            }
        }
        let log = ChangeLog::default();
        log.add(RuleOutcome::new("a", Created));
        log.add(RuleOutcome::new("a", Deleted));
        let pod = |name| crate::engine::testing::name("ml", name);
        for (name, reply) in [
            ("sent", None),
            ("accepted", Some(true)),
            ("refused", Some(false)),
        ] {
            log.begin_eviction(&pod(name));
            log.end_eviction(&pod(name), reply);
        }
        // A second request, to a pod that is terminating.
        log.end_eviction(&pod("accepted"), Some(false));
        let evicted = ["evicted: ml/accepted", "may have been evicted: ml/sent"];
        assert_eq!(account(&log, None), evicted);
        let log = ChangeLog::default();
        for (name, result) in [
            ("b", Unchanged),
            ("b", Unchanged),
            ("c", Unchanged),
            ("c", Created),
            ("d", RuleResult::Failed),
        ] {
            log.add(RuleOutcome::new(name, result));
        }
        assert_eq!(account(&log, None), ["changed: c created", "unchanged: b"]);
    }

    #[test]
    fn a_creation_that_was_sent_may_have_been_made_until_it_is_disproved() {
        let log = ChangeLog::default();
        log.plan([("a".to_owned(), RuleGoal::Created)]);
        log.begin("a", RuleGoal::Created);
        log.add(RuleOutcome::new("a", RuleResult::Unknown));
        assert_eq!(
            account(&log, Some("again")),
            [
                "changed: nothing",
                "may have been created: a",
                "to remove what was created: kubectl devicetaint remove a --ignore-not-found",
                "again",
            ]
        );
        log.add(RuleOutcome::new("a", RuleResult::Failed));
        assert_eq!(account(&log, None), ["changed: nothing", "not created: a"]);
        log.advise(["look".to_owned()]);
        assert_eq!(account(&log, Some("again"))[2..], ["look"]);
    }

    #[test]
    fn after_a_lost_answer_it_is_unknown_who_has_deleted_a_rule() {
        let rule = rule("None");
        use RuleResult::{AlreadyDeleted, Created, DeletionRequested, Gone, Unchanged};
        let gone = RuleOutcome::removed(&rule, AlreadyDeleted);
        let leaving = RuleOutcome::being_deleted(&rule);
        let unchanged = RuleOutcome::unchanged(&rule, Unchanged);
        let made = RuleOutcome::new("a", Created);
        for (outcome, result, changed) in [
            (gone, Gone, None),
            (leaving, DeletionRequested, None),
            (unchanged, Unchanged, None),
            (made, Created, Some(true)),
        ] {
            let doubted = outcome.doubted();
            assert_eq!((doubted.result, doubted.changed), (result, changed));
        }
    }

    #[test]
    fn a_change_of_the_effect_renews_the_time_and_one_of_the_value_does_not() {
        let at = "2026-11-20T00:00:00Z".parse().ok();
        let sent = "2026-11-21T00:00:00Z".parse().ok();
        let mut before = rule("None");
        before.taint.time_added = at;
        for (effect, time_added, shown) in [
            (Some(Effect::NoExecute), None, None),
            (Some(Effect::NoExecute), sent, sent),
            (None, None, at),
        ] {
            let patch = RulePatch {
                value: Some("firmware".to_owned()),
                effect,
                time_added,
                ..RulePatch::default()
            };
            let after = RuleOutcome::patched(&before, &patch).after;
            let time = after.and_then(|taint| taint.time_added);
            assert_eq!(time.map(|time| time.0), shown, "{patch:?}");
        }
    }

    #[test]
    fn rules_that_do_not_exist_are_told_apart_from_those_that_were_not_changed() {
        let log = ChangeLog::default();
        let chooser = Chooser::Names(vec!["a".to_owned(), "drain".to_owned()]);
        let found = chooser.select(&[named("drain", "None")], jiff::Timestamp::UNIX_EPOCH);
        log.missing(&chooser, &found);
        let proposed: Vec<ProposedRule> = found.rules.iter().map(ProposedRule::deletion).collect();
        log.refuse(&proposed, &Failure::refused("not confirmed"));
        let outcomes = log.changes().outcomes;
        let results: Vec<_> = outcomes
            .iter()
            .map(|it| (it.name.as_str(), it.result))
            .collect();
        let (missing, failed) = (RuleResult::NotFound, RuleResult::Failed);
        assert_eq!(results, [("a", missing), ("drain", failed)]);
        assert_eq!(outcomes[1].error.as_deref(), Some("not confirmed"));
    }
}
