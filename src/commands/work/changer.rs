//! The one writer of rules: what every command that changes them shares.
//!
//! A [`Changer`] sends decided changes, says what became of them, and keeps the account for whoever
//! interrupts the command. When somebody else was first it lets `decide` judge what is there then;
//! nothing is forced.

use serde_json::Value;

use std::collections::BTreeMap;

use super::connect::failed;
use super::ledger::Wish;
use crate::cluster::{self, ClusterError, Made, Next, Rules, State, StoredRule, WriteMode};
use crate::commands::context::Context;
use crate::decide::effect::{Revert, revert};
use crate::decide::{
    self, Brake, Existing, Meanwhile, RuleDraft, RulePatch, Step, Terms, brake, conflict,
};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata};
use crate::report::rules::resource_name;

/// How a command changes rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Who pretends.
    pub(crate) dry_run: DryRun,
    /// Whether it is worth an exit code of its own that there was nothing to change.
    pub(crate) error_unchanged: bool,
}

/// Who pretends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRun {
    /// Nobody: it is done.
    None,
    /// This plugin.
    Client,
    /// The server.
    Server,
}

impl DryRun {
    /// How a change is sent, if it is.
    pub(crate) fn mode(self) -> Option<WriteMode> {
        match self {
            Self::None => Some(WriteMode::Store),
            Self::Server => Some(WriteMode::DryRun),
            Self::Client => None,
        }
    }

    /// Whether anything is stored.
    pub(crate) fn is_real(self) -> bool {
        self == Self::None
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Created,
    Configured,
    Unchanged,
    Deleted,
}

impl Verb {
    /// As kubectl says it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Deleted => "deleted",
        }
    }
}

/// Whether each change is printed as it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// `devicetaintrule.resource.k8s.io/NAME VERB`
    Printed,
    /// The command prints something else at its end.
    Left,
}

/// Changes the rules of one cluster for one command.
pub(crate) struct Changer<'a> {
    rules: &'a Rules,
    change: Change,
    lines: Lines,
    context: &'a Context,
    user: Option<String>,
    changed: bool,
}

impl<'a> Changer<'a> {
    /// For one command that changes rules as `change` says.
    pub(crate) fn new(rules: &'a Rules, change: Change, context: &'a Context) -> Self {
        Self {
            rules,
            change,
            lines: Lines::Printed,
            context,
            user: None,
            changed: false,
        }
    }

    /// As [`Changer::new`], with or without a line for each change.
    pub(crate) fn with_lines(self, lines: Lines) -> Self {
        Self { lines, ..self }
    }

    /// Notes on what is changed who does it; who that is may be unknown.
    pub(crate) fn by(self, user: Option<String>) -> Self {
        Self { user, ..self }
    }

    /// What the command works with.
    pub(crate) fn context(&self) -> &'a Context {
        self.context
    }

    /// Notes which rules are going to be changed, in this order.
    pub(crate) fn plan(&self, names: impl IntoIterator<Item = String>) {
        // What is only tried changes nothing, whenever it is interrupted.
        if self.change.dry_run.is_real() {
            self.context.ledger.plan(names, Wish::Changed);
        }
    }

    /// Does what has to be done about one rule of `add`: the rule as it is then.
    pub(crate) async fn take(&mut self, step: &Step, terms: &Terms<'_>) -> Result<Value, Failure> {
        match step {
            Step::Keep { draft, rule } => {
                let object = match self.lines {
                    Lines::Printed => None,
                    Lines::Left => self.rules.get(&draft.name).await.map_err(failed)?,
                };
                self.unchanged(rule)?;
                let object = object.map(|stored| stored.object);
                Ok(object.unwrap_or_else(|| draft.object(self.rules.api_version())))
            }
            Step::Create(draft) => self.create(draft, terms).await,
            Step::Change { draft, rule, patch } => {
                let again = |found: Option<&DeviceTaintRule>| {
                    decide::add::step(draft.clone(), found, terms).is_ok()
                };
                let stored = self.patch(rule, patch, again).await?;
                let object = stored.map(|stored| stored.object);
                Ok(object.unwrap_or_else(|| draft.object(self.rules.api_version())))
            }
        }
    }

    /// Creates a rule. One that somebody made in the meantime is taken if it is the same, and gets
    /// what it lacks.
    async fn create(&mut self, draft: &RuleDraft, terms: &Terms<'_>) -> Result<Value, Failure> {
        let mut draft = draft.clone();
        if let Some(user) = &self.user {
            let key = RuleMetadata::CREATED_BY.to_owned();
            draft.annotations.insert(key, user.clone());
        }
        let object = draft.object(self.rules.api_version());
        let name = draft.name.clone();
        let Some(mode) = self.begin(&name) else {
            self.done(&name, Verb::Created)?;
            return Ok(object);
        };
        // Whom another effect would hit was not looked at.
        let terms = Terms {
            existing: Existing::Kept,
            ..*terms
        };
        let first = cluster::Change::Create {
            object: object.clone(),
        };
        let mut verb = Verb::Created;
        let wanted = RuleDraft {
            annotations: without_maker(&draft),
            ..draft.clone()
        };
        let made = self.rules.change(&name, first, mode, |found| {
            let fact = found.map(|stored| &stored.fact);
            match decide::add::step(wanted.clone(), fact, &terms) {
                Ok(Step::Create(_)) => {
                    verb = Verb::Created;
                    Next::Send(cluster::Change::Create {
                        object: object.clone(),
                    })
                }
                Ok(Step::Change { rule, patch, .. }) => {
                    verb = Verb::Configured;
                    Next::Send(patched(&rule, &patch.by(self.user.as_deref())))
                }
                Ok(Step::Keep { .. }) => {
                    let object = found.map(|stored| stored.object.clone());
                    Next::End(Ok(object.unwrap_or_default()))
                }
                Err(failure) => Next::End(Err(failure)),
            }
        });
        match made.await {
            Ok(Made::Done(stored)) => {
                self.done(&name, verb)?;
                Ok(stored.map_or(Value::Null, |stored| stored.object))
            }
            Ok(Made::Ended(Ok(object))) => {
                self.done(&name, Verb::Unchanged)?;
                Ok(object)
            }
            Ok(Made::Ended(Err(failure))) => Err(self.refused(failure)),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Changes a rule that is still as it was `decided_on`, up to its status; the rule as it is then,
    /// unless only this plugin pretends. `again` says of a rule that somebody else has changed whether
    /// the same command would change it.
    pub(crate) async fn patch(
        &mut self,
        decided_on: &DeviceTaintRule,
        patch: &RulePatch,
        again: impl Fn(Option<&DeviceTaintRule>) -> bool,
    ) -> Result<Option<StoredRule>, Failure> {
        let name = decided_on.name.to_string();
        let patch = patch.clone().by(self.user.as_deref());
        let Some(mode) = self.begin(&name) else {
            self.done(&name, Verb::Configured)?;
            return Ok(None);
        };
        let first = patched(decided_on, &patch);
        let made = self.rules.change(&name, first, mode, |found| {
            let fact = found.map(|stored| &stored.fact);
            match (conflict(decided_on, fact), fact) {
                (Meanwhile::Ours, Some(fact)) => Next::Send(patched(fact, &patch)),
                (Meanwhile::Ours, None) => Next::End((gone(&name), false)),
                (Meanwhile::Theirs(failure), fact) => Next::End((failure, again(fact))),
            }
        });
        match made.await {
            Ok(Made::Done(stored)) => {
                self.done(&name, Verb::Configured)?;
                Ok(stored)
            }
            Ok(Made::Ended((failure, completes))) => {
                if !completes {
                    let look = format!(
                        "look at it before anything else: kubectl devicetaint describe {name}"
                    );
                    self.context.ledger.advise([look]);
                }
                Err(self.refused(failure))
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Deletes a rule with the same care.
    pub(crate) async fn delete(&mut self, decided_on: &DeviceTaintRule) -> Result<(), Failure> {
        let name = decided_on.name.to_string();
        if let Some(mode) = self.begin(&name) {
            let first = cluster::Change::Delete {
                on: state(decided_on),
            };
            let made = self.rules.change(&name, first, mode, |found| {
                let Some(found) = found.map(|stored| &stored.fact) else {
                    // Somebody else was first, with the same wish.
                    return Next::End(Ok(()));
                };
                if found.uid == decided_on.uid && found.metadata.deletion.is_some() {
                    return Next::End(Ok(()));
                }
                match conflict(decided_on, Some(found)) {
                    Meanwhile::Ours => Next::Send(cluster::Change::Delete { on: state(found) }),
                    Meanwhile::Theirs(failure) => Next::End(Err(failure)),
                }
            });
            match made.await {
                Ok(Made::Done(_) | Made::Ended(Ok(()))) => {}
                Ok(Made::Ended(Err(failure))) => return Err(self.refused(failure)),
                Err(error) => return Err(self.failed(error)),
            }
        }
        self.done(&name, Verb::Deleted)
    }

    /// Lets the rule that was `found` do less, whatever else happens to it meanwhile. Gives its state
    /// before, or `None` when there was nothing to change.
    pub(crate) async fn brake(
        &mut self,
        found: &DeviceTaintRule,
        patch: &RulePatch,
        to: &Effect,
    ) -> Result<Option<DeviceTaintRule>, Failure> {
        let name = found.name.to_string();
        match brake(found, to) {
            Ok(Brake::Pull) => {}
            Ok(Brake::Done) => {
                self.unchanged(found)?;
                return Ok(None);
            }
            Err(failure) => return Err(self.refused(failure)),
        }
        let patch = patch.clone().by(self.user.as_deref());
        let mut before = found.clone();
        let Some(mode) = self.begin(&name) else {
            self.done(&name, Verb::Configured)?;
            return Ok(Some(before));
        };
        let made = self
            .rules
            .change(&name, patched(found, &patch), mode, |found| {
                let Some(found) = found.map(|stored| &stored.fact) else {
                    return Next::End(Err(gone(&name)));
                };
                // Whatever it is now, less is wanted.
                match brake(found, to) {
                    Ok(Brake::Done) => Next::End(Ok(())),
                    Ok(Brake::Pull) => {
                        before = found.clone();
                        Next::Send(patched(found, &patch))
                    }
                    Err(failure) => Next::End(Err(failure)),
                }
            });
        match made.await {
            Ok(Made::Done(_)) => {
                self.done(&name, Verb::Configured)?;
                Ok(Some(before))
            }
            Ok(Made::Ended(Ok(()))) => {
                self.done(&name, Verb::Unchanged)?;
                Ok(None)
            }
            Ok(Made::Ended(Err(failure))) => Err(self.refused(failure)),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Gives a rule the effect back that it had `before` it was escalated `to` another: unless somebody
    /// else has given it a third one, or it is gone.
    pub(crate) async fn give_back(
        &mut self,
        before: &DeviceTaintRule,
        patch: &RulePatch,
        to: &Effect,
    ) -> Result<Revert, Failure> {
        let name = before.name.as_str();
        self.context.ledger.begin(name);
        let found = self.rules.get(name).await;
        let found = found.map_err(|error| self.failed(error))?;
        let decided = |found: Option<&StoredRule>| {
            let fact = found.map(|stored| &stored.fact);
            match (revert(fact, before, to), fact) {
                (Revert::GiveBack, Some(fact)) => Next::Send(patched(fact, patch)),
                (back, _) => Next::End(back),
            }
        };
        let back = match decided(found.as_ref()) {
            Next::End(back) => back,
            Next::Send(first) => {
                let made = self.rules.change(name, first, WriteMode::Store, decided);
                match made.await.map_err(|error| self.failed(error))? {
                    Made::Done(_) => Revert::GiveBack,
                    Made::Ended(back) => back,
                }
            }
        };
        let verb = match &back {
            Revert::GiveBack => "reverted",
            Revert::Gone => "gone",
            Revert::Otherwise(_) => "left as somebody else made it",
        };
        self.context.ledger.done(name, verb);
        Ok(back)
    }

    /// Notes and prints that a rule is as wanted.
    pub(crate) fn unchanged(&mut self, rule: &DeviceTaintRule) -> Result<(), Failure> {
        self.done(rule.name.as_str(), Verb::Unchanged)
    }

    /// How a command ends that changed something or not.
    pub(crate) fn status(&self) -> ExitStatus {
        if !self.changed && self.change.error_unchanged {
            ExitStatus::Unchanged
        } else {
            ExitStatus::Success
        }
    }

    /// Notes that the change of this rule is sent next, and says how, if it is.
    fn begin(&self, name: &str) -> Option<WriteMode> {
        if self.change.dry_run.is_real() {
            self.context.ledger.begin(name);
        }
        self.change.dry_run.mode()
    }

    /// Notes and prints what became of a rule.
    fn done(&mut self, name: &str, verb: Verb) -> Result<(), Failure> {
        let ledger = &self.context.ledger;
        self.changed |= verb != Verb::Unchanged;
        if self.change.dry_run.is_real() {
            match verb {
                Verb::Unchanged => ledger.unchanged(name),
                Verb::Created | Verb::Configured | Verb::Deleted => {
                    ledger.done(name, verb.as_str());
                }
            }
        }
        match self.lines {
            Lines::Left => Ok(()),
            Lines::Printed => {
                let (name, verb) = (resource_name(name), verb.as_str());
                let suffix = self.change.dry_run.suffix();
                Ok(self
                    .context
                    .printer
                    .emit(&format!("{name} {verb}{suffix}\n"))?)
            }
        }
    }

    /// The command cannot go on, since a decision does not stand.
    fn refused(&self, failure: Failure) -> Failure {
        self.context.ledger.failed();
        failure
    }

    /// The command cannot go on, since a change was not made, or nobody knows whether it was.
    fn failed(&self, error: ClusterError) -> Failure {
        if !error.is_unknown() {
            self.context.ledger.failed();
        }
        if error.is_invalid() {
            let advice = "correct it, and run the command again";
            self.context.ledger.advise([advice.to_owned()]);
        }
        failed(error)
    }
}

/// The failure with what became of the command's changes.
pub(crate) fn stopped(failure: Failure, context: &Context) -> Failure {
    let account = context.ledger.account();
    account.into_iter().fold(failure, Failure::hint)
}

/// Who made a rule is a note for those that are made: a rule that somebody else made has its own.
fn without_maker(draft: &RuleDraft) -> BTreeMap<String, String> {
    let mut annotations = draft.annotations.clone();
    annotations.remove(RuleMetadata::CREATED_BY);
    annotations
}

/// The state of a rule that a change of it is decided on.
pub(super) fn state(rule: &DeviceTaintRule) -> State {
    State {
        uid: rule.uid.to_string(),
        resource_version: rule.resource_version.clone(),
    }
}

fn patched(rule: &DeviceTaintRule, patch: &RulePatch) -> cluster::Change {
    cluster::Change::Patch {
        on: state(rule),
        patch: patch.body(),
    }
}

fn gone(name: &str) -> Failure {
    Failure::new(ExitStatus::Failed, format!("no rule {name:?}"))
        .hint("list what there is with `kubectl devicetaint list`")
}
