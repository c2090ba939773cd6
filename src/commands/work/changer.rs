//! The one writer of rules, shared by all commands that change them.
//!
//! A [`Changer`] sends decided changes, reports each outcome, and keeps the account for an interrupted
//! command. When another client was first, `decide` judges the rule as it is then; nothing is forced.

use std::ops::ControlFlow;
use std::{iter, mem};

use serde_json::Value;

use super::change_summary;
use super::connect::failed;
use super::dry_run::WriteRequest;
use crate::cluster::{
    self, ChangeDoubt, ChangeResult, ClusterError, ConflictAction, ObjectVersion, Rules,
    StoredRule, WriteMode, preferred_version,
};
use crate::commands::context::Context;
use crate::decide::chooser::gone;
use crate::decide::conflict::ConflictingChange::{Made, Refused, SentAgain};
use crate::decide::conflict::{
    DowngradeEnd, conflicting_change, conflicting_creation, conflicting_downgrade, look_first,
};
use crate::decide::effect::too_old_for_none;
use crate::decide::ledger::{RuleGoal, Sending};
use crate::decide::outcomes::{RuleOutcome, RuleResult, as_it_was, changed_by, made_as};
use crate::decide::{
    self, AddStep, Downgrade, Existing, Outcomes, RuleDraft, RulePatch, Terms, Writer, downgrade,
};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, Kind};
use crate::render::Format;
use crate::report::ChangeReport;
use crate::report::change::ChangedRule;
use crate::report::wait::WaitReport;

/// Selects the changes that are printed as they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// `devicetaintrule.resource.k8s.io/NAME VERB`
    Printed,
    /// The command prints something else at its end.
    Left,
}

/// Changes the rules of one cluster for one command.
pub(crate) struct Changer<'a> {
    /// Absent if nothing is sent.
    rules: Option<&'a Rules>,
    change: WriteRequest,
    lines: Lines,
    context: &'a Context,
    /// Author of the changes, as noted on the rules.
    writer: Writer,
    /// Outcomes of the rules so far.
    pub(crate) outcomes: Outcomes,
    /// Result of the wait for the change.
    waited: Option<WaitReport>,
}

impl<'a> Changer<'a> {
    /// For one command that changes rules as in `change`.
    pub(crate) fn new(
        rules: impl Into<Option<&'a Rules>>,
        change: WriteRequest,
        context: &'a Context,
    ) -> Self {
        Self {
            rules: rules.into(),
            change,
            lines: Lines::Printed,
            context,
            writer: Writer {
                user: None,
                // A dry run owns no rules.
                run: context.run.clone().filter(|_| change.dry_run.is_real()),
            },
            outcomes: Outcomes::default(),
            waited: None,
        }
    }

    /// As [`Changer::new`], with or without a line for each change.
    pub(crate) fn with_lines(self, lines: Lines) -> Self {
        Self { lines, ..self }
    }

    /// Notes the user on the changed rules; the user may be unknown.
    pub(crate) fn by(self, user: Option<String>) -> Self {
        let writer = Writer {
            user,
            ..self.writer
        };
        Self { writer, ..self }
    }

    /// As [`Changer::by`], for one that is at work already.
    pub(crate) fn set_user(&mut self, user: Option<String>) {
        self.writer.user = user;
    }

    /// The rules that are there now.
    pub(crate) async fn listed(&self) -> Result<Vec<DeviceTaintRule>, ClusterError> {
        let Some(rules) = self.rules else {
            return Ok(Vec::new());
        };
        let listed = rules.list().await?.objects.into_iter();
        Ok(listed.map(|stored| stored.fact).collect())
    }

    /// Mode of sending changes; absent if they are not sent.
    pub(crate) fn mode(&self) -> Option<WriteMode> {
        self.change.mode()
    }

    /// Context of the command.
    pub(crate) fn context(&self) -> &'a Context {
        self.context
    }

    /// Notes the planned changes of rules, in this order.
    pub(crate) fn plan(&self, changes: impl IntoIterator<Item = (String, RuleGoal)>) {
        // An interrupted dry run has changed nothing.
        if self.change.dry_run.is_real() {
            self.context.ledger.plan(changes);
        }
    }

    /// Carries out the decision of `add` about one rule: the rule as it is then.
    pub(crate) async fn take(
        &mut self,
        step: &AddStep,
        terms: &Terms<'_>,
    ) -> Result<Value, Failure> {
        match step {
            AddStep::Keep { draft, rule } => {
                let object = match (self.lines, self.rules) {
                    // Prints the object as it is served, which the fact does not hold.
                    (Lines::Left, Some(rules)) => rules.get(&draft.name).await.map_err(failed)?,
                    (Lines::Printed, _) | (Lines::Left, None) => None,
                };
                self.unchanged(rule)?;
                let object = object.map(|stored| stored.object);
                Ok(object.unwrap_or_else(|| draft.object(self.api_version())))
            }
            AddStep::Create(draft) => self.create(draft, terms).await,
            AddStep::Change { draft, rule, patch } => {
                let again = |found: Option<&DeviceTaintRule>| {
                    decide::add::step(draft.clone(), found, terms).is_ok()
                };
                let stored = self.patch(rule, patch, again).await?;
                let object = stored.map(|stored| stored.object);
                Ok(object.unwrap_or_else(|| draft.object(self.api_version())))
            }
        }
    }

    /// Creates a rule. One that another client created in the meantime is taken if it is the same, and gets
    /// what it lacks.
    pub(crate) async fn create(
        &mut self,
        draft: &RuleDraft,
        terms: &Terms<'_>,
    ) -> Result<Value, Failure> {
        let draft = self.writer.sign(draft.clone());
        let object = draft.object(self.api_version());
        let name = draft.name.clone();
        let Some((rules, mode)) = self.begin(&name, Sending::Creation) else {
            self.done(made_as(&draft, RuleResult::Created))?;
            return Ok(object);
        };
        // The impact of another effect was not evaluated.
        let terms = Terms {
            existing: Existing::Kept,
            ..*terms
        };
        let first = cluster::ObjectChange::Create {
            object: object.clone(),
        };
        let mut verb = RuleResult::Created;
        let wanted = draft.without_maker();
        let made = rules.change(&name, first, mode, |found| {
            let fact = found.map(|stored| &stored.fact);
            let (result, step) = conflicting_creation(wanted.clone(), fact, &terms, &self.writer);
            // Set in each round, since another race may end otherwise than the one before.
            verb = result;
            match step {
                Ok(AddStep::Create(_)) => ConflictAction::Send(cluster::ObjectChange::Create {
                    object: object.clone(),
                }),
                Ok(AddStep::Change { rule, patch, .. }) => {
                    ConflictAction::Send(patched(&rule, &self.writer.sign_patch(patch)))
                }
                Ok(AddStep::Keep { .. }) => {
                    let object = found.map(|stored| stored.object.clone());
                    ConflictAction::End(Ok(object.unwrap_or_default()))
                }
                Err(failure) => ConflictAction::End(Err(failure)),
            }
        });
        match made.await {
            Ok(ChangeResult::Done(stored)) => {
                self.done(made_as(&draft, verb))?;
                Ok(stored.object)
            }
            Ok(ChangeResult::Removed(_)) => Ok(object),
            Ok(ChangeResult::Ended(Ok(object), doubt)) => {
                let made = made_as(&draft, verb);
                self.done(if verb == RuleResult::Unchanged {
                    doubted(made, doubt)
                } else {
                    made
                })?;
                Ok(object)
            }
            Ok(ChangeResult::Ended(Err(failure), _)) if verb == RuleResult::Created => {
                Err(self.lost_again(made_as(&draft, verb), failure))
            }
            Ok(ChangeResult::Ended(Err(failure), doubt)) => {
                Err(self.refused(&name, failure, doubt))
            }
            Err(error) => Err(self.failed(&name, error)),
        }
    }

    /// Changes a rule that is still as it was `decided_on`, up to its status; returns the rule as it is then,
    /// unless only this plugin pretends. `again` tells of a rule that another client has changed if the same
    /// command would change it.
    pub(crate) async fn patch(
        &mut self,
        decided_on: &DeviceTaintRule,
        patch: &RulePatch,
        again: impl Fn(Option<&DeviceTaintRule>) -> bool,
    ) -> Result<Option<StoredRule>, Failure> {
        let name = decided_on.name.to_string();
        let patch = self.writer.sign_patch(patch.clone());
        let Some((rules, mode)) = self.begin(&name, Sending::Change) else {
            self.done(changed_by(decided_on, &patch))?;
            return Ok(None);
        };
        let first = patched(decided_on, &patch);
        let mut is_ours = false;
        let made = rules.change(&name, first, mode, |found| {
            let fact = found.map(|stored| &stored.fact);
            is_ours = fact.is_some_and(|rule| self.writer.has_changed(rule));
            let change = conflicting_change(decided_on, fact, &patch, is_ours, &again);
            match (change, found) {
                (Made, Some(found)) => ConflictAction::End(Ok(found.clone())),
                (SentAgain, Some(found)) => ConflictAction::Send(patched(&found.fact, &patch)),
                (Made | SentAgain, None) => ConflictAction::End(Err((gone(&name), false))),
                (
                    Refused {
                        failure,
                        is_repeatable,
                    },
                    _,
                ) => ConflictAction::End(Err((failure, is_repeatable))),
            }
        });
        match made.await {
            Ok(ChangeResult::Done(stored) | ChangeResult::Ended(Ok(stored), _)) => {
                self.done(changed_by(decided_on, &patch))?;
                Ok(Some(stored))
            }
            Ok(ChangeResult::Removed(_)) => Ok(None),
            Ok(ChangeResult::Ended(Err((failure, completes)), doubt)) => {
                // A rule changed by another client is read before it is changed again.
                let again = "then run the same command again to complete the change".to_owned();
                let advice = iter::once(look_first(&name)).chain(completes.then_some(again));
                self.context.ledger.advise(advice);
                let failure = if completes {
                    failure.ending(ExitStatus::TryAgain)
                } else {
                    failure
                };
                Err(if is_ours {
                    self.lost_again(changed_by(decided_on, &patch), failure)
                } else {
                    self.refused(&name, failure, doubt)
                })
            }
            Err(error) => Err(self.failed(&name, error)),
        }
    }

    /// Lowers the rule that was `found`, whatever else happens to it meanwhile. Gives its state before, or
    /// `None` when there was nothing to change.
    pub(crate) async fn downgrade(
        &mut self,
        found: &DeviceTaintRule,
        patch: &RulePatch,
        to: &Effect,
    ) -> Result<Option<DeviceTaintRule>, Failure> {
        let name = found.name.to_string();
        match downgrade(found, to) {
            Ok(Downgrade::Send) => {}
            Ok(Downgrade::Done) => {
                self.unchanged(found)?;
                return Ok(None);
            }
            Err(failure) => return Err(self.refused(&name, failure, ChangeDoubt::None)),
        }
        let patch = self.writer.sign_patch(patch.clone());
        // The rule when the change that counts was sent: a lost race moves that on.
        let mut before = found.clone();
        let Some((rules, mode)) = self.begin(&name, Sending::Change) else {
            self.done(changed_by(&before, &patch))?;
            return Ok(Some(before));
        };
        let made = rules.change(&name, patched(found, &patch), mode, |found| {
            let fact = found.map(|stored| &stored.fact);
            let is_ours = fact.is_some_and(|rule| self.writer.has_changed(rule));
            match conflicting_downgrade(&name, fact, to, is_ours) {
                ControlFlow::Continue(found) => {
                    before = found;
                    ConflictAction::Send(patched(&before, &patch))
                }
                ControlFlow::Break(end) => ConflictAction::End(end),
            }
        });
        match made.await {
            Ok(
                ChangeResult::Done(_)
                | ChangeResult::Removed(_)
                | ChangeResult::Ended(DowngradeEnd::Made, _),
            ) => {
                self.done(changed_by(&before, &patch))?;
                Ok(Some(before))
            }
            Ok(ChangeResult::Ended(DowngradeEnd::Unneeded, doubt)) => {
                let unchanged = RuleOutcome::new(&name, RuleResult::Unchanged);
                self.done(doubted(unchanged, doubt))?;
                Ok(None)
            }
            Ok(ChangeResult::Ended(DowngradeEnd::LostAgain(failure), _)) => {
                Err(self.lost_again(changed_by(&before, &patch), failure))
            }
            Ok(ChangeResult::Ended(DowngradeEnd::Refused(failure), doubt)) => {
                Err(self.refused(&name, failure, doubt))
            }
            Err(error) => {
                // Servers before 1.35 refuse effect None as invalid.
                let too_old = error.is_invalid() && *to == Effect::None;
                let failure = self.failed(&name, error);
                Err(if too_old {
                    too_old_for_none(failure)
                } else {
                    failure
                })
            }
        }
    }

    /// Notes and prints that a rule is as wanted.
    pub(crate) fn unchanged(&mut self, rule: &DeviceTaintRule) -> Result<(), Failure> {
        self.done(as_it_was(rule, RuleResult::Unchanged))
    }

    /// Prints a line about the change, which a report of it has among its notes.
    pub(crate) fn note(&mut self, line: String) {
        self.context.printer.note(&line);
        self.outcomes.note(line);
    }

    /// Notes how the wait for the change ended.
    pub(crate) fn waited(&mut self, report: WaitReport) {
        self.waited = Some(report);
    }

    /// Prints the outcomes of the rules as data, if requested; also of a command that ended with a failure.
    pub(crate) fn present<T>(
        &mut self,
        format: Option<Format>,
        ended: &Result<T, Failure>,
    ) -> Result<(), Failure> {
        let outcomes = mem::take(&mut self.outcomes);
        let report = ChangeReport::of(&outcomes, self.change.dry_run);
        let report = match self.waited.take() {
            Some(wait) => report.with_wait(wait),
            None => report,
        };
        let error = ended.as_ref().err().map(ToString::to_string);
        change_summary::print(&report.with_error(error), format, self.context)
    }

    /// The version of the API in which rules are written.
    fn api_version(&self) -> &'static str {
        match self.rules {
            Some(rules) => rules.api_version(),
            None => preferred_version(Kind::DeviceTaintRule),
        }
    }

    /// Notes that the change of this rule is sent next, and gives where and how, if it is.
    pub(super) fn begin(&self, name: &str, kind: Sending) -> Option<(&'a Rules, WriteMode)> {
        if self.change.dry_run.is_real() {
            self.context.ledger.begin(name, kind);
        }
        self.rules.zip(self.change.mode())
    }

    /// Notes and prints the outcome of a rule.
    pub(super) fn done(&mut self, rule: RuleOutcome) -> Result<(), Failure> {
        let ledger = &self.context.ledger;
        if self.change.dry_run.is_real() {
            if rule.changed == Some(false) {
                ledger.unchanged(&rule.name);
            } else {
                ledger.done(&rule.name, rule.result);
            }
        }
        let line = ChangedRule::from(&rule).line(self.change.dry_run);
        self.outcomes.add(rule);
        match self.lines {
            Lines::Left => Ok(()),
            Lines::Printed => Ok(self.context.printer.emit(&format!("{line}\n"))?),
        }
    }

    /// The command cannot go on, since a decision is outdated.
    pub(super) fn refused(&mut self, name: &str, failure: Failure, doubt: ChangeDoubt) -> Failure {
        let outcome = match doubt {
            ChangeDoubt::None => {
                self.context.ledger.failed();
                RuleResult::Failed
            }
            ChangeDoubt::MayBeMade => RuleResult::Unknown,
        };
        self.outcomes.ended(name, outcome, &failure);
        failure
    }

    /// The command cannot go on: another client changed again what it has `done`.
    fn lost_again(&mut self, done: RuleOutcome, failure: Failure) -> Failure {
        self.context.ledger.done(&done.name, done.result);
        self.outcomes.add(done.with_error(failure.to_string()));
        failure
    }

    /// The command cannot go on: a change failed, or its outcome is unknown.
    pub(super) fn failed(&mut self, name: &str, error: ClusterError) -> Failure {
        // A change whose answer was lost stays under way in the account.
        let outcome = if error.is_unknown() {
            RuleResult::Unknown
        } else {
            self.context.ledger.failed();
            RuleResult::Failed
        };
        if error.is_invalid() {
            // The same command would be refused again, so the usual advice does not apply.
            let advice = "correct the rule, and run the command again";
            self.context.ledger.advise([advice.to_owned()]);
        }
        let failure = failed(error);
        self.outcomes.ended(name, outcome, &failure);
        failure
    }
}

/// A rule that is as wanted, and may be so by a change whose answer was lost.
fn doubted(rule: RuleOutcome, doubt: ChangeDoubt) -> RuleOutcome {
    match doubt {
        ChangeDoubt::None => rule,
        ChangeDoubt::MayBeMade => rule.with_changed(None),
    }
}

/// The state of a rule that a change of it is decided on.
pub(super) fn state(rule: &DeviceTaintRule) -> ObjectVersion {
    ObjectVersion {
        uid: rule.uid.to_string(),
        resource_version: rule.resource_version.clone(),
    }
}

fn patched(rule: &DeviceTaintRule, patch: &RulePatch) -> cluster::ObjectChange {
    cluster::ObjectChange::Patch {
        on: state(rule),
        patch: patch.body(),
    }
}
