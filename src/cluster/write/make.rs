//! One change of one object, whatever happens meanwhile.

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::{self, Deletion};
use super::budget::Budget;
use super::contain::contains;
use super::objects::Objects;
use super::stored::Stored;
use crate::cluster::client::request::{self, JSON, Read};
use crate::cluster::client::write::Fate;
use crate::cluster::path::path_of;
use crate::cluster::{ClusterError, Permission};
use crate::model::RuleMetadata;
use crate::wire::Fact;

const MERGE_PATCH: &str = "application/merge-patch+json";

/// Whether a change is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// It is.
    Store,
    /// The server does everything but storing it (`dryRun=All`).
    DryRun,
}

/// Which state of an object a change was decided on; the server refuses the change of any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Tells the object from a later one of its name.
    pub uid: String,
    /// Which state of it; opaque.
    pub resource_version: String,
}

/// What is to become of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is made.
    Create {
        /// The whole object.
        object: Value,
    },
    /// It is changed.
    Patch {
        /// The state that was decided on.
        on: State,
        /// A merge patch, without the state.
        patch: Value,
    },
    /// It is deleted.
    Delete {
        /// The state that was decided on.
        on: State,
    },
}

/// What to do about an object that is not as it was decided on.
#[derive(Debug)]
pub enum Next<R> {
    /// This, decided on what is there now.
    Send(Change),
    /// Nothing: the decision does not stand.
    End(R),
}

/// What became of a change.
#[derive(Debug, PartialEq)]
pub enum Made<T, R> {
    /// It was made; the object as the server has it then, unless it was deleted.
    Done(Option<Stored<T>>),
    /// It was not, as [`Next::End`] said.
    Ended(R),
}

impl<T: Fact> Objects<T> {
    /// Makes the change `first` of the object called `name`.
    ///
    /// When the object is not as it was decided on, `again` decides on what is there by then, `None`
    /// if nothing is; this goes on until there is a decision that holds, or the budget is spent. A
    /// dry run decides in the same way and stores nothing.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Contended`] when the budget is spent, [`ClusterError::Invalid`],
    /// [`ClusterError::Unresolved`] when an answer was lost and nobody knows what became of the change,
    /// and as any request. A lost answer is no error if the object is as wanted afterwards.
    pub async fn change<R>(
        &self,
        name: &str,
        first: Change,
        mode: WriteMode,
        mut again: impl FnMut(Option<&Stored<T>>) -> Next<R>,
    ) -> Result<Made<T, R>, ClusterError> {
        let mut change = first;
        let mut budget = Budget::from(Instant::now());
        loop {
            match self.once(name, &change, mode).await {
                Ok(stored) => return Ok(Made::Done(stored)),
                Err(error) if !is_overtaken(&error, &change) => return Err(error),
                Err(_) => {}
            }
            let Some(pause) = budget.next(Instant::now()) else {
                return Err(ClusterError::Contended {
                    path: self.path(name),
                    tries: budget.tried(),
                });
            };
            tokio::time::sleep(pause).await;
            let found = self.get(name).await?;
            match again(found.as_ref()) {
                Next::Send(next) => change = next,
                Next::End(result) => return Ok(Made::Ended(result)),
            }
        }
    }

    /// Sends a change once, and finds out what became of it.
    async fn once(
        &self,
        name: &str,
        change: &Change,
        mode: WriteMode,
    ) -> Result<Option<Stored<T>>, ClusterError> {
        let (target, request) = self.request(name, change, mode);
        let lost = match self.client.write(&target, &request).await {
            Fate::Done(body) => match self.outcome(name, change, &target, &body)? {
                Ok(stored) => return Ok(stored),
                Err(reason) => self.unreadable(&target, reason),
            },
            Fate::Refused(error) => return Err(named_as(error, self.path(name))),
            Fate::Lost(error) => error,
        };
        if mode == WriteMode::DryRun {
            return Err(lost);
        }
        let unresolved = |reason: String| ClusterError::Unresolved {
            path: self.path(name),
            reason,
        };
        let found = self.get(name).await;
        let found = found.map_err(|error| unresolved(format!("{lost}; {error}")))?;
        match after_loss(change, found) {
            Resolved::Made(stored) => Ok(stored),
            Resolved::Overtaken => Err(overtaken(change, self.path(name))),
            Resolved::AsBefore => Err(unresolved(format!(
                "{lost}; when it was looked at again, it was as before"
            ))),
        }
    }

    /// What an answer says: the object, or in the inner error why it says nothing.
    fn outcome(
        &self,
        name: &str,
        change: &Change,
        target: &Read,
        body: &[u8],
    ) -> Result<Result<Option<Stored<T>>, String>, ClusterError> {
        match change {
            Change::Create { .. } | Change::Patch { .. } => {
                Ok(answer::named(self.version, name, body).map(Some))
            }
            Change::Delete { .. } => match answer::deletion::<T>(self.version, name, body) {
                Ok(Deletion::Done) => Ok(Ok(None)),
                Ok(Deletion::Refused(status, message)) => Err(ClusterError::Refused {
                    server: std::sync::Arc::clone(self.client.server()),
                    path: target.path.clone(),
                    status,
                    message,
                }),
                Err(reason) => Ok(Err(reason)),
            },
        }
    }

    fn request(&self, name: &str, change: &Change, mode: WriteMode) -> (Read, request::Change) {
        let (verb, method, content_type) = match change {
            Change::Create { .. } => ("create", Method::POST, JSON),
            Change::Patch { .. } => ("patch", Method::PATCH, MERGE_PATCH),
            Change::Delete { .. } => ("delete", Method::DELETE, JSON),
        };
        let path = match change {
            Change::Create { .. } => path_of(self.version, None),
            Change::Patch { .. } | Change::Delete { .. } => self.path(name),
        };
        let target = Read {
            path: format!("{path}{}", query(change, mode)),
            accept: JSON,
            permission: Permission::new(verb, self.version.kind),
        };
        let request = request::Change {
            name: name.to_owned(),
            method,
            content_type,
            body: body(change, mode).to_string().into_bytes(),
        };
        (target, request)
    }
}

/// A field that the server would drop may be the one that narrows what a change does, so that unknown
/// ones are refused.
fn query(change: &Change, mode: WriteMode) -> String {
    let manager = RuleMetadata::THIS_PROGRAM;
    let dry_run = match mode {
        WriteMode::Store => "",
        WriteMode::DryRun => "&dryRun=All",
    };
    match change {
        Change::Create { .. } | Change::Patch { .. } => {
            format!("?fieldManager={manager}&fieldValidation=Strict{dry_run}")
        }
        // In the body.
        Change::Delete { .. } => String::new(),
    }
}

fn body(change: &Change, mode: WriteMode) -> Value {
    match change {
        Change::Create { object } => object.clone(),
        Change::Patch { on, patch } => {
            let mut patch = patch.clone();
            patch["metadata"]["uid"] = json!(on.uid);
            patch["metadata"]["resourceVersion"] = json!(on.resource_version);
            patch
        }
        Change::Delete { on } => {
            let mut options = json!({
                "kind": "DeleteOptions", "apiVersion": "v1",
                "preconditions": {"uid": on.uid, "resourceVersion": on.resource_version},
            });
            if mode == WriteMode::DryRun {
                options["dryRun"] = json!(["All"]);
            }
            options
        }
    }
}

/// What became of a change whose answer was lost.
#[derive(Debug, PartialEq)]
enum Resolved<T> {
    Made(Option<Stored<T>>),
    /// Somebody else has changed the object since, so that it cannot be made any more.
    Overtaken,
    /// Nothing, as far as can be seen. The server may still be at it.
    AsBefore,
}

/// Judges the object as it was `found` after the answer to `change` was lost.
fn after_loss<T>(change: &Change, found: Option<Stored<T>>) -> Resolved<T> {
    let text = |stored: &Stored<T>, field: &str| {
        let value = &stored.object["metadata"][field];
        value.as_str().unwrap_or_default().to_owned()
    };
    let is_of = |stored: &Stored<T>, on: &State| text(stored, "uid") == on.uid;
    let is_at = |stored: &Stored<T>, on: &State| {
        is_of(stored, on) && text(stored, "resourceVersion") == on.resource_version
    };
    match (change, found) {
        (Change::Create { object }, Some(found)) if contains(&found.object, object) => {
            Resolved::Made(Some(found))
        }
        (Change::Create { .. }, Some(_)) => Resolved::Overtaken,
        (Change::Create { .. }, None) => Resolved::AsBefore,
        (Change::Patch { on, patch }, Some(found))
            if is_of(&found, on) && contains(&found.object, patch) =>
        {
            Resolved::Made(Some(found))
        }
        (Change::Patch { on, .. }, Some(found)) if is_at(&found, on) => Resolved::AsBefore,
        (Change::Patch { .. }, Some(_) | None) => Resolved::Overtaken,
        (Change::Delete { .. }, None) => Resolved::Made(None),
        (Change::Delete { on }, Some(found))
            if !is_of(&found, on) || !text(&found, "deletionTimestamp").is_empty() =>
        {
            Resolved::Made(None)
        }
        (Change::Delete { on }, Some(found)) if is_at(&found, on) => Resolved::AsBefore,
        (Change::Delete { .. }, Some(_)) => Resolved::Overtaken,
    }
}

/// Whether somebody else was first, so that it has to be decided anew.
fn is_overtaken(error: &ClusterError, change: &Change) -> bool {
    match change {
        Change::Create { .. } => matches!(
            error,
            ClusterError::AlreadyExists { .. } | ClusterError::Conflict { .. }
        ),
        Change::Patch { .. } | Change::Delete { .. } => matches!(
            error,
            ClusterError::NotFound { .. } | ClusterError::Conflict { .. }
        ),
    }
}

fn overtaken(change: &Change, path: String) -> ClusterError {
    match change {
        Change::Create { .. } => ClusterError::AlreadyExists { path },
        Change::Patch { .. } | Change::Delete { .. } => ClusterError::Conflict {
            path,
            message: "it was changed while the answer was lost".to_owned(),
        },
    }
}

/// The error about the object itself, not about the path that the request was sent to.
fn named_as(error: ClusterError, path: String) -> ClusterError {
    if let ClusterError::Invalid { message, .. } = error {
        return ClusterError::Invalid { path, message };
    }
    if let ClusterError::AlreadyExists { .. } = error {
        return ClusterError::AlreadyExists { path };
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(version: &str) -> State {
        State {
            uid: "u".to_owned(),
            resource_version: version.to_owned(),
        }
    }

    fn stored(object: Value) -> Option<Stored<()>> {
        Some(Stored { object, fact: () })
    }

    fn at(uid: &str, version: &str, effect: &str) -> Option<Stored<()>> {
        stored(json!({
            "metadata": {"uid": uid, "resourceVersion": version}, "spec": {"effect": effect},
        }))
    }

    #[test]
    fn a_change_names_the_state_that_it_was_decided_on() {
        let patch = Change::Patch {
            on: state("7"),
            patch: json!({"spec": {"a": 1}}),
        };
        let sent = body(&patch, WriteMode::Store).to_string();
        assert_eq!(
            sent,
            r#"{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"a":1}}"#
        );
        let delete = Change::Delete { on: state("7") };
        let sent = body(&delete, WriteMode::DryRun).to_string();
        assert!(
            sent.contains(r#""preconditions":{"resourceVersion":"7","uid":"u"}"#),
            "{sent}"
        );
        assert!(sent.contains(r#""dryRun":["All"]"#), "{sent}");
        assert!(
            !body(&delete, WriteMode::Store)
                .to_string()
                .contains("dryRun")
        );
        assert!(query(&patch, WriteMode::DryRun).contains("dryRun=All"));
        assert!(!query(&patch, WriteMode::Store).contains("dryRun"));
    }

    #[test]
    fn a_lost_answer_is_judged_by_what_is_there() {
        let made = |found: Option<Stored<()>>| Resolved::Made(found);
        let create = Change::Create {
            object: json!({"spec": {"effect": "x"}}),
        };
        assert_eq!(
            after_loss(&create, at("u", "1", "x")),
            made(at("u", "1", "x"))
        );
        assert_eq!(after_loss(&create, at("u", "1", "y")), Resolved::Overtaken);
        assert_eq!(after_loss::<()>(&create, None), Resolved::AsBefore);

        let patch = Change::Patch {
            on: state("7"),
            patch: json!({"spec": {"effect": "x"}}),
        };
        assert_eq!(
            after_loss(&patch, at("u", "8", "x")),
            made(at("u", "8", "x"))
        );
        assert_eq!(after_loss(&patch, at("u", "7", "y")), Resolved::AsBefore);
        assert_eq!(after_loss(&patch, at("u", "8", "y")), Resolved::Overtaken);
        assert_eq!(after_loss(&patch, at("v", "7", "x")), Resolved::Overtaken);
        assert_eq!(after_loss::<()>(&patch, None), Resolved::Overtaken);

        let delete = Change::Delete { on: state("7") };
        let leaving = stored(json!({
            "metadata": {"uid": "u", "resourceVersion": "8", "deletionTimestamp": "2026-11-21T01:00:00Z"},
        }));
        assert_eq!(after_loss::<()>(&delete, None), made(None));
        assert_eq!(after_loss(&delete, leaving), made(None));
        assert_eq!(after_loss(&delete, at("v", "9", "x")), made(None));
        assert_eq!(after_loss(&delete, at("u", "7", "x")), Resolved::AsBefore);
        assert_eq!(after_loss(&delete, at("u", "8", "x")), Resolved::Overtaken);
    }
}
