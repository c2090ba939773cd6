//! Making and removing the policies of one dedication, one after the other.

use serde_json::Value;

use super::dry_run::WriteRequest;
use super::policies::PolicyObjects;
use crate::cluster::{ClusterError, Removal};
use crate::commands::context::Context;
use crate::decide::dedication::{PolicyKind, PolicyStep, object_name};
use crate::decide::ledger::{RuleGoal, Sending};
use crate::decide::outcomes::RuleResult;
use crate::error::Failure;

/// Whether each change is told on a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeLines {
    /// It is.
    Lines,
    /// Something else is printed at the end.
    Nothing,
}

/// Changes the policies and bindings of one dedication, says what became of each, and keeps the account.
pub(crate) struct PolicyChanger<'a> {
    pub(crate) objects: &'a PolicyObjects,
    /// The dedication, by its name.
    pub(crate) dedication: &'a str,
    pub(crate) change: WriteRequest,
    pub(crate) told: ChangeLines,
    pub(crate) context: &'a Context,
}

impl PolicyChanger<'_> {
    /// Makes them, in the order of `steps`.
    pub(crate) async fn make(&self, steps: &[PolicyStep]) -> Result<(), Failure> {
        let open = steps
            .iter()
            .filter_map(|step| Some((named(step), goal(step)?)));
        self.plan(open);
        for step in steps {
            let name = named(step);
            let result = match step {
                PolicyStep::Create(_) => RuleResult::Created,
                PolicyStep::Keep(_) => RuleResult::Unchanged,
            };
            if let Some(mode) = self.change.mode().filter(|_| step.is_open()) {
                self.begin(&name);
                let taken = self.objects.take(step, self.dedication, mode).await;
                taken.map_err(|failure| self.failed(failure))?;
            }
            if self.is_real() {
                match step {
                    PolicyStep::Keep(_) => self.context.ledger.unchanged(&name),
                    PolicyStep::Create(_) => {
                        self.context.ledger.done(&name, result);
                    }
                }
            }
            self.tell(&name, result.as_str())?;
        }
        Ok(())
    }

    /// Removes those that were made for the dedication, in the order in which they were `found`.
    pub(crate) async fn remove(&self, found: &[(PolicyKind, Value)]) -> Result<(), Failure> {
        let name = object_name(self.dedication);
        let full_names = found.iter().map(|(kind, _)| kind.full_name(&name));
        self.plan(full_names.map(|name| (name, RuleGoal::Deleted)));
        for (kind, object) in found {
            let full_name = kind.full_name(&name);
            let removal = match self.change.mode() {
                Some(mode) => {
                    self.begin(&full_name);
                    let removed = self
                        .objects
                        .delete(*kind, object, self.dedication, mode)
                        .await;
                    removed.map_err(|failure| self.failed(failure))?
                }
                None => Removal::Deleted,
            };
            let result = match removal {
                Removal::Deleted => RuleResult::Deleted,
                Removal::Gone => RuleResult::Gone,
                Removal::Requested | Removal::Leaving => RuleResult::DeletionRequested,
            };
            if self.is_real() {
                self.context.ledger.done(&full_name, result);
            }
            self.tell(&full_name, result.as_str())?;
        }
        Ok(())
    }

    /// What is only tried changes nothing, whenever it is interrupted.
    fn is_real(&self) -> bool {
        self.change.dry_run.is_real()
    }

    fn plan(&self, changes: impl IntoIterator<Item = (String, RuleGoal)>) {
        if self.is_real() {
            self.context.ledger.plan(changes);
        }
    }

    fn begin(&self, name: &str) {
        if self.is_real() {
            self.context.ledger.begin(name, Sending::Change);
        }
    }

    /// Notes that the change was not made, unless that is unknown.
    fn failed(&self, failure: Failure) -> Failure {
        let cause: Option<&ClusterError> = failure.cause();
        // After a lost reply the change stays in progress in the account: the server may have made it.
        if !cause.is_some_and(ClusterError::is_unknown) {
            self.context.ledger.failed();
        }
        failure
    }

    fn tell(&self, name: &str, verb: &str) -> Result<(), Failure> {
        match self.told {
            ChangeLines::Nothing => Ok(()),
            ChangeLines::Lines => {
                let suffix = self.change.dry_run.suffix();
                Ok(self
                    .context
                    .printer
                    .emit(&format!("{name} {verb}{suffix}\n"))?)
            }
        }
    }
}

/// What a step does; nothing if its object is as wanted.
fn goal(step: &PolicyStep) -> Option<RuleGoal> {
    match step {
        PolicyStep::Create(_) => Some(RuleGoal::Created),
        PolicyStep::Keep(_) => None,
    }
}

/// The object of a step as kubectl names it.
fn named(step: &PolicyStep) -> String {
    let wanted = step.wanted();
    wanted.kind.full_name(&wanted.name)
}
