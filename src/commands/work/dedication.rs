//! Objects of a dedication in a live cluster: listed, applied and deleted one after the other.

use serde_json::Value;

use super::connect::{Live, failed};
use super::dry_run::WriteRequest;
use crate::cluster::{
    ChangeResult, ClusterError, ConflictAction, ObjectChange, ObjectVersion, Objects, Removal,
    Untyped, WriteMode, with_admission,
};
use crate::commands::context::Context;
use crate::decide::dedication::{DesiredObject, Step, full_name, is_of};
use crate::decide::ledger::{RuleGoal, Sending};
use crate::decide::rule_result::RuleResult;
use crate::error::Failure;
use crate::model::Kind;

/// The objects of one dedication, and how they are changed.
pub(crate) struct DedicationObjects<'a> {
    /// With the versions of admission policies.
    pub(crate) live: Live,
    pub(crate) dedication: &'a str,
    pub(crate) change: WriteRequest,
    /// True if a line is printed for each change.
    pub(crate) prints_lines: bool,
    pub(crate) context: &'a Context,
}

/// A connection with the versions of admission policies that the server has.
pub(crate) async fn with_policies(live: &Live) -> Result<Live, Failure> {
    let served = with_admission(&live.client, live.served.clone()).await;
    Ok(Live {
        client: live.client.clone(),
        served: served.map_err(failed)?,
    })
}

impl DedicationObjects<'_> {
    /// The objects of a kind, which the server has to serve.
    pub(crate) fn of(&self, kind: Kind) -> Result<Objects<Untyped>, ClusterError> {
        Objects::untyped(&self.live.client, &self.live.served, kind)
    }

    /// All objects of a kind. One that cannot be read is an error: it may be of the dedication.
    pub(crate) async fn list(&self, kind: Kind) -> Result<Vec<Value>, ClusterError> {
        let listed = self.of(kind)?.list().await?;
        match listed.odd.into_iter().next() {
            Some(odd) => Err(odd),
            None => Ok(listed.objects.into_iter().map(|one| one.object).collect()),
        }
    }

    /// Notes the planned changes, for any early end of the command.
    pub(crate) fn plan(&self, goals: impl IntoIterator<Item = (String, RuleGoal)>) {
        if self.change.dry_run.is_real() {
            self.context.ledger.plan(goals);
        }
    }

    /// Sends an object for server-side apply: fields that other programs set differently are a conflict.
    pub(crate) async fn send(
        &self,
        wanted: &DesiredObject,
        mode: WriteMode,
    ) -> Result<Value, ClusterError> {
        let name = wanted.object["metadata"]["name"].as_str();
        let object = wanted.object.clone();
        let change = ObjectChange::Apply { object };
        let objects = self.of(wanted.kind)?;
        let again = |_: Option<&_>| ConflictAction::End(());
        let sent = objects.change(name.unwrap_or_default(), change, mode, again);
        match sent.await? {
            ChangeResult::Done(stored) => Ok(stored.object),
            ChangeResult::Removed(_) | ChangeResult::Ended(..) => Ok(Value::Null),
        }
    }

    /// Applies an object, unless it is as it should be.
    pub(crate) async fn apply(&self, wanted: &DesiredObject, step: Step) -> Result<(), Failure> {
        let name = wanted.full_name();
        let result = match step {
            Step::Create => RuleResult::Created,
            Step::Configure => RuleResult::Configured,
            Step::Keep => return self.done(&name, RuleResult::Unchanged),
        };
        if let Some(mode) = self.change.mode() {
            self.begin(&name);
            let sent = self.send(wanted, mode).await;
            sent.map_err(|error| self.failed(error))?;
        }
        self.done(&name, result)
    }

    /// Deletes an object that was `found`; another one of its name stays.
    pub(crate) async fn delete(&self, kind: Kind, found: &Value) -> Result<Removal, Failure> {
        let full_name = full_name(kind, found);
        let removal = match self.change.mode() {
            None => Removal::Deleted,
            Some(mode) => {
                self.begin(&full_name);
                let removed = self.send_deletion(kind, found, mode).await;
                removed.map_err(|error| self.failed(error))?
            }
        };
        let result = match removal {
            Removal::Deleted => RuleResult::Deleted,
            Removal::Gone => RuleResult::Gone,
            Removal::Requested | Removal::Leaving => RuleResult::DeletionRequested,
        };
        self.done(&full_name, result)?;
        Ok(removal)
    }

    async fn send_deletion(
        &self,
        kind: Kind,
        found: &Value,
        mode: WriteMode,
    ) -> Result<Removal, ClusterError> {
        let metadata = &found["metadata"];
        let first = ObjectChange::Delete { on: version(found) };
        let again = |now: Option<&crate::cluster::Stored<Untyped>>| match now {
            Some(now)
                if now.object["metadata"]["uid"] == metadata["uid"]
                    && is_of(&now.object, self.dedication) =>
            {
                let on = version(&now.object);
                ConflictAction::Send(ObjectChange::Delete { on })
            }
            Some(_) | None => ConflictAction::End(()),
        };
        let objects = self.of(kind)?;
        let name = metadata["name"].as_str().unwrap_or_default();
        match objects.change(name, first, mode, again).await? {
            ChangeResult::Removed(removal) => Ok(removal),
            ChangeResult::Done(_) | ChangeResult::Ended(..) => Ok(Removal::Gone),
        }
    }

    fn begin(&self, name: &str) {
        if self.change.dry_run.is_real() {
            self.context.ledger.begin(name, Sending::Change);
        }
    }

    fn done(&self, name: &str, result: RuleResult) -> Result<(), Failure> {
        if self.change.dry_run.is_real() {
            match result.changed() {
                Some(false) => self.context.ledger.unchanged(name),
                Some(true) | None => self.context.ledger.done(name, result),
            }
        }
        if !self.prints_lines {
            return Ok(());
        }
        let suffix = self.change.dry_run.suffix();
        let line = format!("{name} {}{suffix}\n", result.as_str());
        Ok(self.context.printer.emit(&line)?)
    }

    /// Notes that a change was not made, unless that is unknown.
    fn failed(&self, error: ClusterError) -> Failure {
        if !error.is_unknown() {
            self.context.ledger.failed();
        }
        failed(error)
    }
}

/// The state of an object that its deletion is decided on.
fn version(object: &Value) -> ObjectVersion {
    let text = |field: &str| {
        let text = object["metadata"][field].as_str();
        text.unwrap_or_default().to_owned()
    };
    ObjectVersion {
        uid: text("uid"),
        resource_version: text("resourceVersion"),
    }
}
