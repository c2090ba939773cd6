//! Objects of dedications in a live cluster: read, applied and deleted one after the other.

use serde_json::Value;

use super::connect::{Live, failed};
use super::dry_run::WriteRequest;
use crate::cluster::{
    self, ChangeResult, ClusterError, ConflictAction, ObjectVersion, Objects, Removal, WriteMode,
    with_admission,
};
use crate::commands::context::Context;
use crate::decide::dedication::{
    DaemonSetClaims, DesiredObject, NamespaceFact, ObjectKind, Step, is_of,
};
use crate::decide::ledger::{RuleGoal, Sending};
use crate::decide::rule_result::RuleResult;
use crate::error::Failure;
use crate::model::{
    DaemonSet, DeviceTaintRule, Kind, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
    NamespaceObject, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};

/// The objects of dedications in one cluster.
pub(crate) struct DedicationObjects {
    /// With the versions of admission policies.
    live: Live,
}

/// The same for objects of one kind, whichever it is.
macro_rules! of_kind {
    ($live:expr, $kind:expr, $objects:ident => $body:expr) => {{
        let Live { client, served } = &$live;
        match $kind {
            ObjectKind::MutatingPolicy => {
                let $objects = Objects::<MutatingAdmissionPolicy>::new(client, served)?;
                $body
            }
            ObjectKind::MutatingBinding => {
                let $objects = Objects::<MutatingAdmissionPolicyBinding>::new(client, served)?;
                $body
            }
            ObjectKind::ValidatingPolicy => {
                let $objects = Objects::<ValidatingAdmissionPolicy>::new(client, served)?;
                $body
            }
            ObjectKind::ValidatingBinding => {
                let $objects = Objects::<ValidatingAdmissionPolicyBinding>::new(client, served)?;
                $body
            }
            ObjectKind::Rule => {
                let $objects = Objects::<DeviceTaintRule>::new(client, served)?;
                $body
            }
        }
    }};
}

impl DedicationObjects {
    /// Those of a cluster that is connected already.
    pub(crate) async fn of(live: &Live) -> Result<Self, Failure> {
        let served = with_admission(&live.client, live.served.clone()).await;
        Ok(Self {
            live: Live {
                client: live.client.clone(),
                served: served.map_err(failed)?,
            },
        })
    }

    /// The version of a kind that the server has.
    pub(crate) fn version_of(&self, kind: ObjectKind) -> Result<&'static str, Failure> {
        let version = || Ok(of_kind!(self.live, kind, objects => objects.api_version()));
        version().map_err(failed)
    }

    /// The object of that kind and name, if there is one.
    pub(crate) async fn get(
        &self,
        kind: ObjectKind,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        of_kind!(self.live, kind, objects => {
            Ok(objects.get(name).await?.map(|stored| stored.object))
        })
    }

    /// All objects of a kind with the label of the dedication; none where the server lacks the kind.
    pub(crate) async fn labelled(
        &self,
        kind: ObjectKind,
        dedication: &str,
    ) -> Result<Vec<Value>, ClusterError> {
        let list = async {
            of_kind!(self.live, kind, objects => {
                let listed = objects.list().await?;
                // An object that cannot be read may be of the dedication.
                if let Some(odd) = listed.odd.into_iter().next() {
                    return Err(odd);
                }
                let all = listed.objects.into_iter().map(|stored| stored.object);
                Ok(all.filter(|object| is_of(object, dedication)).collect())
            })
        };
        match list.await {
            Err(ClusterError::NotServed { .. }) => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// The namespaces of the cluster.
    pub(crate) async fn namespaces(&self) -> Result<Vec<NamespaceFact>, Failure> {
        let list = async {
            let Live { client, served } = &self.live;
            Objects::<NamespaceObject>::new(client, served)?
                .list()
                .await
        };
        let listed = list.await.map_err(failed)?.objects.into_iter();
        let facts = listed.map(|stored| NamespaceFact {
            name: stored.fact.name.to_string(),
            labels: stored.fact.labels.clone(),
            is_terminating: stored.fact.deletion.is_some(),
        });
        Ok(facts.collect())
    }

    /// The claims of the DaemonSets of the cluster.
    pub(crate) async fn daemon_sets(&self) -> Result<Vec<DaemonSetClaims>, Failure> {
        let list = async {
            let Live { client, served } = &self.live;
            Objects::<DaemonSet>::new(client, served)?.list().await
        };
        let listed = list.await.map_err(failed)?.objects.into_iter();
        Ok(listed
            .map(|stored| DaemonSetClaims::of(&stored.object))
            .collect())
    }

    /// Tries to create a claim, which the server does not store.
    pub(crate) async fn try_claim(
        &self,
        namespace: &str,
        claim: impl FnOnce(&str) -> Value,
    ) -> Result<cluster::TrialResult, ClusterError> {
        let Live { client, served } = &self.live;
        let version = served.version_of(Kind::ResourceClaim);
        let version = version.ok_or_else(|| ClusterError::NotServed {
            server: client.server().clone(),
            kind: Kind::ResourceClaim,
            advice: String::new(),
        })?;
        cluster::try_creation(client, version, namespace, &claim(version.api_version)).await
    }

    /// Applies an object; fields that other programs set differently are a conflict.
    pub(crate) async fn apply(
        &self,
        wanted: &DesiredObject,
        mode: WriteMode,
    ) -> Result<Value, ClusterError> {
        let change = cluster::ObjectChange::Apply {
            object: wanted.object.clone(),
        };
        of_kind!(self.live, wanted.kind, objects => {
            let again = |_: Option<&_>| ConflictAction::End(());
            match objects.change(&wanted.name, change, mode, again).await? {
                ChangeResult::Done(stored) => Ok(stored.object),
                ChangeResult::Removed(_) | ChangeResult::Ended(..) => Ok(Value::Null),
            }
        })
    }

    /// Deletes an object of the dedication, as it was `found`; another one of its name stays.
    pub(crate) async fn delete(
        &self,
        kind: ObjectKind,
        found: &Value,
        dedication: &str,
        mode: WriteMode,
    ) -> Result<Removal, ClusterError> {
        let uid = &found["metadata"]["uid"];
        let again = |now: Option<&Value>| match now {
            Some(now) if now["metadata"]["uid"] == *uid && is_of(now, dedication) => {
                ConflictAction::Send(cluster::ObjectChange::Delete { on: version(now) })
            }
            Some(_) | None => ConflictAction::End(()),
        };
        let first = cluster::ObjectChange::Delete { on: version(found) };
        of_kind!(self.live, kind, objects => {
            let again = |now: Option<&cluster::Stored<_>>| again(now.map(|now| &now.object));
            match objects.change(name(found), first, mode, again).await? {
                ChangeResult::Removed(removal) => Ok(removal),
                ChangeResult::Done(_) | ChangeResult::Ended(..) => Ok(Removal::Gone),
            }
        })
    }
}

/// The name of an object.
pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The state of an object that a change of it is decided on.
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

/// The changes of one command: each is noted before it is sent, and printed when it is made.
#[derive(Clone, Copy)]
pub(crate) struct DedicationWriter<'a> {
    pub(crate) objects: &'a DedicationObjects,
    pub(crate) dedication: &'a str,
    pub(crate) change: WriteRequest,
    /// Whether a line is printed for each change.
    pub(crate) prints_lines: bool,
    pub(crate) context: &'a Context,
}

impl DedicationWriter<'_> {
    /// Notes what is going to be done, for whatever ends the command early.
    pub(crate) fn plan(&self, goals: impl IntoIterator<Item = (String, RuleGoal)>) {
        if self.change.dry_run.is_real() {
            self.context.ledger.plan(goals);
        }
    }

    /// Applies an object, unless it is as it should be.
    pub(crate) async fn apply(&self, wanted: &DesiredObject, step: Step) -> Result<(), Failure> {
        let name = wanted.full_name();
        let (result, sending) = match step {
            Step::Create => (RuleResult::Created, Sending::Creation),
            Step::Configure => (RuleResult::Configured, Sending::Change),
            Step::Keep => return self.done(&name, RuleResult::Unchanged),
        };
        if let Some(mode) = self.change.mode() {
            // What the removal of a single object is noted with is no way back from a dedication.
            let sending = match wanted.kind {
                ObjectKind::Rule => sending,
                ObjectKind::MutatingPolicy
                | ObjectKind::MutatingBinding
                | ObjectKind::ValidatingPolicy
                | ObjectKind::ValidatingBinding => Sending::Change,
            };
            self.begin(&name, sending);
            let applied = self.objects.apply(wanted, mode).await;
            applied.map_err(|error| self.failed(error))?;
        }
        self.done(&name, result)
    }

    /// Deletes an object that was `found`.
    pub(crate) async fn delete(&self, kind: ObjectKind, found: &Value) -> Result<Removal, Failure> {
        let full_name = kind.full_name(name(found));
        let removal = match self.change.mode() {
            None => Removal::Deleted,
            Some(mode) => {
                self.begin(&full_name, Sending::Change);
                let removed = self
                    .objects
                    .delete(kind, found, self.dedication, mode)
                    .await;
                removed.map_err(|error| self.failed(error))?
            }
        };
        self.done(
            &full_name,
            match removal {
                Removal::Deleted => RuleResult::Deleted,
                Removal::Gone => RuleResult::Gone,
                Removal::Requested | Removal::Leaving => RuleResult::DeletionRequested,
            },
        )?;
        Ok(removal)
    }

    fn begin(&self, name: &str, sending: Sending) {
        if self.change.dry_run.is_real() {
            self.context.ledger.begin(name, sending);
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
