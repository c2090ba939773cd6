//! The admission policies and namespaces of a live cluster: read, and changed one at a time.

use serde_json::Value;

use super::connect::{Live, failed};
use crate::cluster::{
    self, ChangeResult, ClusterError, ConflictAction, ObjectVersion, Objects, Removal, ServedKinds,
    Stored, WriteMode, with_admission,
};
use crate::decide::dedication::{
    KnownNamespaces, NamespaceFact, PolicyKind, PolicyStep, is_still_ours, plan,
};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    Kind, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, NamespaceObject,
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use crate::wire::Fact;

/// The policies and bindings of one cluster.
pub(crate) struct PolicyObjects {
    live: Live,
    /// What the server has, the versions of admission policies included.
    served: ServedKinds,
}

/// Answers about objects of one kind, whichever it is.
macro_rules! of_kind {
    ($this:expr, $kind:expr, $objects:ident => $body:expr) => {
        match $kind {
            PolicyKind::Mutating => {
                let $objects = $this.objects::<MutatingAdmissionPolicy>()?;
                $body
            }
            PolicyKind::MutatingBinding => {
                let $objects = $this.objects::<MutatingAdmissionPolicyBinding>()?;
                $body
            }
            PolicyKind::Validating => {
                let $objects = $this.objects::<ValidatingAdmissionPolicy>()?;
                $body
            }
            PolicyKind::ValidatingBinding => {
                let $objects = $this.objects::<ValidatingAdmissionPolicyBinding>()?;
                $body
            }
        }
    };
}

impl PolicyObjects {
    /// Those of a cluster that is connected already.
    pub(crate) async fn of(live: &Live) -> Result<Self, Failure> {
        let served = with_admission(&live.client, live.served.clone()).await;
        Ok(Self {
            live: live.clone(),
            served: served.map_err(failed)?,
        })
    }

    /// The version at which policies that change objects are served; else why there can be none.
    pub(crate) fn mutating_version(&self) -> Result<&'static str, String> {
        let both = [
            Kind::MutatingAdmissionPolicy,
            Kind::MutatingAdmissionPolicyBinding,
        ];
        for kind in both {
            if self.served.version_of(kind).is_none() {
                let objects =
                    Objects::<MutatingAdmissionPolicy>::new(&self.live.client, &self.served);
                let why = objects
                    .err()
                    .map(|error| (error.to_string(), error.hints()));
                let (why, hints) = why.unwrap_or_default();
                let reasons = std::iter::once(why).chain(hints);
                return Err(reasons.collect::<Vec<_>>().join("; "));
            }
        }
        let version = self.served.version_of(Kind::MutatingAdmissionPolicy);
        Ok(version.map_or("", |version| version.api_version))
    }

    fn objects<T: Fact>(&self) -> Result<Objects<T>, ClusterError> {
        Objects::new(&self.live.client, &self.served)
    }

    /// The object of that kind and name, if there is one.
    pub(crate) async fn get(
        &self,
        kind: PolicyKind,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        of_kind!(self, kind, objects => {
            let found = objects.get(name).await?;
            Ok(found.map(|stored| stored.object))
        })
    }

    /// The namespaces, as far as they may be read.
    pub(crate) async fn namespaces(&self) -> Result<KnownNamespaces, Failure> {
        let objects = self.objects::<NamespaceObject>().map_err(failed)?;
        match objects.list().await {
            Ok(listed) => {
                let facts = listed.objects.into_iter().map(|stored| NamespaceFact {
                    name: stored.fact.name.to_string(),
                    labels: stored.fact.labels.clone(),
                });
                Ok(KnownNamespaces::Read(facts.collect()))
            }
            Err(error @ ClusterError::Forbidden { .. }) => {
                Ok(KnownNamespaces::Unread(error.to_string()))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Does what has to be done about one of them. One that somebody else changed meanwhile is taken where it
    /// is as wanted.
    pub(crate) async fn take(
        &self,
        step: &PolicyStep,
        dedication: &str,
        mode: WriteMode,
    ) -> Result<(), Failure> {
        let wanted = step.wanted().clone();
        let first = match step {
            PolicyStep::Keep(_) => return Ok(()),
            PolicyStep::Create(wanted) => cluster::ObjectChange::Create {
                object: wanted.object.clone(),
            },
        };
        let again = |found: Option<&Value>| match plan(wanted.clone(), found, dedication) {
            Ok(PolicyStep::Create(wanted)) => ConflictAction::Send(cluster::ObjectChange::Create {
                object: wanted.object,
            }),
            Ok(PolicyStep::Keep(_)) => ConflictAction::End(Ok(())),
            Err(failure) => ConflictAction::End(Err(failure.ending(ExitStatus::TryAgain))),
        };
        match self
            .change(
                wanted.kind,
                &wanted.name,
                PolicyWrite { first, mode },
                again,
            )
            .await?
        {
            PolicyChangeResult::Made | PolicyChangeResult::Removed(_) => Ok(()),
            PolicyChangeResult::Ended(ended) => ended,
        }
    }

    /// Deletes one of them that was made for the dedication, as it was `found`.
    pub(crate) async fn delete(
        &self,
        kind: PolicyKind,
        found: &Value,
        dedication: &str,
        mode: WriteMode,
    ) -> Result<Removal, Failure> {
        let name = found["metadata"]["name"].as_str().unwrap_or_default();
        let first = cluster::ObjectChange::Delete { on: state(found) };
        let again = |now: Option<&Value>| match now {
            Some(now) if is_still_ours(found, now, dedication) => {
                ConflictAction::Send(cluster::ObjectChange::Delete { on: state(now) })
            }
            Some(_) | None => ConflictAction::End(Ok(())),
        };
        match self
            .change(kind, name, PolicyWrite { first, mode }, again)
            .await?
        {
            PolicyChangeResult::Removed(removal) => Ok(removal),
            PolicyChangeResult::Made => Ok(Removal::Deleted),
            PolicyChangeResult::Ended(ended) => ended.map(|()| Removal::Gone),
        }
    }

    async fn change(
        &self,
        kind: PolicyKind,
        name: &str,
        PolicyWrite { first, mode }: PolicyWrite,
        mut again: impl FnMut(Option<&Value>) -> ConflictAction<Result<(), Failure>>,
    ) -> Result<PolicyChangeResult, Failure> {
        let made = async {
            of_kind!(self, kind, objects => {
                let again = |found: Option<&Stored<_>>| again(found.map(|stored| &stored.object));
                let made = objects.change(name, first, mode, again).await?;
                Ok(match made {
                    ChangeResult::Done(_) => PolicyChangeResult::Made,
                    ChangeResult::Removed(removal) => PolicyChangeResult::Removed(removal),
                    ChangeResult::Ended(ended, _) => PolicyChangeResult::Ended(ended),
                })
            })
        };
        made.await.map_err(failed)
    }
}

/// A change as it is sent first, and whether it is stored.
struct PolicyWrite {
    first: cluster::ObjectChange,
    mode: WriteMode,
}

/// What became of a change.
enum PolicyChangeResult {
    Made,
    Removed(Removal),
    Ended(Result<(), Failure>),
}

/// The state of an object that a change of it is decided on.
fn state(object: &Value) -> ObjectVersion {
    let text = |field: &str| {
        let text = object["metadata"][field].as_str();
        text.unwrap_or_default().to_owned()
    };
    ObjectVersion {
        uid: text("uid"),
        resource_version: text("resourceVersion"),
    }
}
