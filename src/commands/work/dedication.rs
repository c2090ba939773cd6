//! Objects of a dedication in a live cluster: listed, applied and deleted one after the other.

use serde_json::Value;

use super::changer::Recorder;
use super::connect::{Live, failed};
use crate::cluster::{
    ChangeResult, ClusterError, ConflictAction, ObjectChange, ObjectVersion, Objects, Removal,
    Untyped, WriteMode, with_admission,
};
use crate::decide::change_log::{RuleGoal, RuleOutcome, RuleResult};
use crate::decide::dedication::{DesiredObject, Step, full_name, is_of};
use crate::error::Failure;
use crate::model::Kind;

/// The objects of one dedication, and how they are changed.
pub(crate) struct DedicationObjects<'a> {
    /// With the versions of admission policies.
    pub(crate) live: Live,
    pub(crate) dedication: &'a str,
    pub(crate) recorder: Recorder<'a>,
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
        let recorder = &self.recorder;
        let result = match step {
            Step::Create => RuleResult::Created,
            Step::Configure => RuleResult::Configured,
            Step::Keep => return recorder.done(RuleOutcome::new(&name, RuleResult::Unchanged)),
        };
        if let Some(mode) = recorder.mode() {
            recorder.context.log.begin(&name, RuleGoal::Changed);
            let sent = self.send(wanted, mode).await;
            sent.map_err(|error| recorder.failed(&name, error))?;
        }
        recorder.done(RuleOutcome::new(&name, result))
    }

    /// Deletes an object that was `found`; another one of its name stays.
    pub(crate) async fn delete(&self, kind: Kind, found: &Value) -> Result<Removal, Failure> {
        let full_name = full_name(kind, found);
        let recorder = &self.recorder;
        let removal = match recorder.mode() {
            None => Removal::Deleted,
            Some(mode) => {
                recorder.context.log.begin(&full_name, RuleGoal::Deleted);
                let removed = self.send_deletion(kind, found, mode).await;
                removed.map_err(|error| recorder.failed(&full_name, error))?
            }
        };
        let result = match removal {
            Removal::Deleted => RuleResult::Deleted,
            Removal::Gone => RuleResult::Gone,
            Removal::Requested | Removal::Leaving => RuleResult::DeletionRequested,
        };
        recorder.done(RuleOutcome::new(&full_name, result))?;
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
