//! Change of one object, with conflicts, lost responses and retries.

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::objects::{self, Deletion, Known, ObjectVersion, Objects, Stored};
use super::removal::{
    self, Budget, DeletionReply, ObservedObject, Removal, RemovalVerdict, contains,
};
use crate::cluster::client::target::{self, JSON, Read, path_of};
use crate::cluster::client::write::WriteOutcome;
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;
use crate::naming::keys;

/// The whole of what an object is to be, for server-side apply.
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// A merge patch, which changes the fields that it names.
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";

/// Mode of a write: real or dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// It is.
    Store,
    /// The server does everything but storing it (`dryRun=All`).
    DryRun,
}

/// Change of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectChange {
    /// It is made.
    Create {
        /// The whole object.
        object: Value,
    },
    /// It is created, or changed to what `object` says; the server refuses fields that others set differently.
    Apply {
        /// The object, with all fields that this program sets.
        object: Value,
    },
    /// It is changed.
    Patch {
        /// The state that was decided on.
        on: ObjectVersion,
        /// A merge patch, without the state.
        patch: Value,
    },
    /// It is deleted.
    Delete {
        /// The state that was decided on.
        on: ObjectVersion,
    },
}

/// Action for an object that is not as it was decided on.
#[derive(Debug)]
pub enum ConflictAction<R> {
    /// This, decided on what is there now.
    Send(ObjectChange),
    /// Nothing: the decision does not stand.
    End(R),
}

/// Result of a change.
#[derive(Debug, PartialEq)]
pub enum ChangeResult<T, R> {
    /// It was made; the object as the server has it then.
    Done(Stored<T>),
    /// This became of the object that was to be deleted.
    Removed(Removal),
    /// It was not, as [`ConflictAction::End`] said.
    Ended(R, ChangeDoubt),
}

/// Doubt about a change: it may have been made although the object is not as it was to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDoubt {
    /// It was not.
    None,
    /// An answer was lost, or the change was sent twice, so that it may have been made before others
    /// changed the object again.
    MayBeMade,
}

impl ChangeDoubt {
    fn or(self, other: Self) -> Self {
        match self {
            Self::None => other,
            Self::MayBeMade => self,
        }
    }

    fn when(sent_before: bool) -> Self {
        if sent_before {
            Self::MayBeMade
        } else {
            Self::None
        }
    }
}

/// Outcome of sending a change once.
enum SendOutcome<T> {
    Made(Stored<T>),
    Removed(Removal),
    /// Another client was first.
    Overtaken(ChangeDoubt),
}

/// Reply of the server to a change.
enum ServerReply<T> {
    /// The change was made; the object.
    Made(Stored<T>),
    /// The object is deleted, at once or as soon as nothing holds it.
    Deletes,
    /// Nothing: it has not seen it, or does not let this user do it.
    Unmade(ClusterError),
    /// The object is not as it was decided on.
    Overtaken(ChangeDoubt),
    /// The change was not made, or the reply cannot be believed.
    Denied(DeletionReply, ClusterError),
}

impl<T: Known> Objects<T> {
    /// Makes the change `first` of the object called `name`.
    ///
    /// When the object is not as it was decided on, `again` decides on what is there by then, `None`
    /// if nothing is; this goes on until there is a decision that holds, or the budget is spent. A
    /// dry run decides in the same way and stores nothing.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Contended`] when the budget is spent, [`ClusterError::Invalid`],
    /// [`ClusterError::Unresolved`] when it was sent and it cannot be known what became of the change,
    /// and as any request. A lost answer is no error if the object is as wanted afterwards.
    pub async fn change<R>(
        &self,
        name: &str,
        first: ObjectChange,
        mode: WriteMode,
        mut again: impl FnMut(Option<&Stored<T>>) -> ConflictAction<R>,
    ) -> Result<ChangeResult<T, R>, ClusterError> {
        let mut change = first;
        let mut budget = Budget::from(Instant::now());
        let mut doubt = ChangeDoubt::None;
        loop {
            match self.once(name, &change, mode).await {
                Ok(SendOutcome::Made(stored)) => return Ok(ChangeResult::Done(stored)),
                Ok(SendOutcome::Removed(removal)) => return Ok(ChangeResult::Removed(removal)),
                Ok(SendOutcome::Overtaken(more)) => doubt = doubt.or(more),
                Err(error) => return Err(self.doubted(name, error, doubt)),
            }
            let Some(pause) = budget.next(Instant::now()) else {
                let contended = ClusterError::Contended {
                    path: self.path(name),
                    tries: budget.tried(),
                };
                return Err(self.doubted(name, contended, doubt));
            };
            tokio::time::sleep(pause).await;
            let found = self.look(name).await;
            // Requests are doubled on the way: what overtook the change may have been the change itself.
            let unseen = doubt.or(ChangeDoubt::when(mode == WriteMode::Store));
            let found = found.map_err(|error| self.doubted(name, error, unseen))?;
            match again(found.as_ref()) {
                ConflictAction::Send(next) => change = next,
                ConflictAction::End(result) => return Ok(ChangeResult::Ended(result, doubt)),
            }
        }
    }

    /// The error that ended a change which may have been made before.
    fn doubted(&self, name: &str, error: ClusterError, doubt: ChangeDoubt) -> ClusterError {
        match doubt {
            ChangeDoubt::MayBeMade if !error.is_unknown() => {
                self.unresolved(name, error.to_string())
            }
            ChangeDoubt::MayBeMade | ChangeDoubt::None => error,
        }
    }

    fn unresolved(&self, name: &str, reason: String) -> ClusterError {
        ClusterError::Unresolved {
            path: self.path(name),
            reason,
        }
    }

    /// Sends a change once, and determines its outcome.
    async fn once(
        &self,
        name: &str,
        change: &ObjectChange,
        mode: WriteMode,
    ) -> Result<SendOutcome<T>, ClusterError> {
        match (self.send(name, change, mode).await, change) {
            (ServerReply::Made(stored), _) => Ok(SendOutcome::Made(stored)),
            (ServerReply::Overtaken(doubt), _) => Ok(SendOutcome::Overtaken(doubt)),
            (ServerReply::Unmade(error), _) => Err(error),
            // A dry run stores nothing, so reading the object would tell nothing.
            (ServerReply::Denied(_, error), _) if mode == WriteMode::DryRun => Err(error),
            (ServerReply::Deletes, ObjectChange::Delete { on }) if mode == WriteMode::Store => {
                self.after_deletion(name, on, Ok(())).await
            }
            (ServerReply::Deletes, _) => Ok(SendOutcome::Removed(Removal::Deleted)),
            (ServerReply::Denied(reply, error), ObjectChange::Delete { on }) => {
                self.after_deletion(name, on, Err((reply, error))).await
            }
            (
                ServerReply::Denied(reply, error),
                ObjectChange::Create { .. }
                | ObjectChange::Apply { .. }
                | ObjectChange::Patch { .. },
            ) => {
                let found = self.look(name).await;
                let found =
                    found.map_err(|why| self.unresolved(name, format!("{error}; {why}")))?;
                let is_ours = found
                    .as_ref()
                    .is_some_and(|found| is_of_run(change, &found.object));
                match (after_loss(change, found), reply) {
                    (LostAnswerOutcome::Made(stored), _) => Ok(SendOutcome::Made(stored)),
                    (
                        LostAnswerOutcome::Overtaken,
                        DeletionReply::Accepted | DeletionReply::Lost,
                    ) => Ok(SendOutcome::Overtaken(ChangeDoubt::MayBeMade)),
                    // Refused although the object carries this run's note: the request was duplicated on the way.
                    (LostAnswerOutcome::Overtaken, DeletionReply::Refused) if is_ours => {
                        Ok(SendOutcome::Overtaken(ChangeDoubt::MayBeMade))
                    }
                    (
                        LostAnswerOutcome::Overtaken | LostAnswerOutcome::AsBefore,
                        DeletionReply::Refused,
                    ) => Err(error),
                    (
                        LostAnswerOutcome::AsBefore,
                        DeletionReply::Accepted | DeletionReply::Lost,
                    ) => Err(self.unresolved(name, format!("{error}; {AS_BEFORE}"))),
                }
            }
        }
    }

    /// Reads the object that was to be deleted, after the answer or its lack.
    async fn after_deletion(
        &self,
        name: &str,
        on: &ObjectVersion,
        answer: Result<(), (DeletionReply, ClusterError)>,
    ) -> Result<SendOutcome<T>, ClusterError> {
        let found = self.look(name).await;
        let seen = match &found {
            Ok(found) => removal::seen(found.as_ref().map(|found| &found.object), on),
            Err(_) => ObservedObject::Unread,
        };
        let (reply, error) = match answer {
            Ok(()) => (DeletionReply::Accepted, None),
            Err((reply, error)) => (reply, Some(error)),
        };
        match (removal::evaluate(reply, seen), error) {
            (RemovalVerdict::Is(removal), _) => Ok(SendOutcome::Removed(removal)),
            (RemovalVerdict::Overtaken, _) => Ok(SendOutcome::Overtaken(ChangeDoubt::None)),
            (RemovalVerdict::Refused, Some(error)) => Err(error),
            (RemovalVerdict::Refused | RemovalVerdict::Unresolved, error) => {
                let accepted = || "the server confirmed the deletion".to_owned();
                let said = error.map_or_else(accepted, |error| error.to_string());
                let why = found
                    .err()
                    .map_or_else(|| AS_BEFORE.to_owned(), |error| error.to_string());
                Err(self.unresolved(name, format!("{said}; {why}")))
            }
        }
    }

    /// The object as it is now, by its name, or of the list where the user may read nothing else.
    async fn look(&self, name: &str) -> Result<Option<Stored<T>>, ClusterError> {
        match self.get(name).await {
            Err(ClusterError::Forbidden { .. }) => {}
            found => return found,
        }
        let mut listed = self.list().await?;
        let is_named =
            |stored: &Stored<T>| stored.object["metadata"]["name"].as_str() == Some(name);
        match (listed.objects.iter().position(is_named), listed.odd.pop()) {
            (Some(place), _) => Ok(Some(listed.objects.swap_remove(place))),
            // An object that cannot be understood may be the one in question, so nothing proves its absence.
            (None, Some(odd)) => Err(odd),
            (None, None) => Ok(None),
        }
    }

    /// Sends a change, once or until the server looks at it; what it says about this very object.
    async fn send(&self, name: &str, change: &ObjectChange, mode: WriteMode) -> ServerReply<T> {
        let (target, request) = self.request(name, change, mode);
        let written = self.client.write_or_wait(&target, &request).await;
        let error = match written.outcome {
            WriteOutcome::Done(body) => match self.said(name, change, &target, &body) {
                Ok(said) => return said,
                Err(reason) => {
                    return ServerReply::Denied(
                        DeletionReply::Lost,
                        self.unreadable(&target, reason),
                    );
                }
            },
            WriteOutcome::Unmade(error) => return ServerReply::Unmade(error),
            WriteOutcome::Lost(error) => return ServerReply::Denied(DeletionReply::Lost, error),
            WriteOutcome::Refused(error) => error,
        };
        if is_overtaken(&error, change) {
            let is_sent_twice = written.was_sent_before && mode == WriteMode::Store;
            return ServerReply::Overtaken(ChangeDoubt::when(is_sent_twice));
        }
        ServerReply::Denied(
            DeletionReply::Refused,
            named_as(error, change, self.path(name)),
        )
    }

    /// Reply in the body of a success, or the reason why it says nothing about this change.
    fn said(
        &self,
        name: &str,
        change: &ObjectChange,
        target: &Read,
        body: &[u8],
    ) -> Result<ServerReply<T>, String> {
        match change {
            ObjectChange::Create { .. }
            | ObjectChange::Apply { .. }
            | ObjectChange::Patch { .. } => {
                let stored = objects::named(self.version, name, body)?;
                if is_meant(change, &stored.object) {
                    Ok(ServerReply::Made(stored))
                } else {
                    Err(format!(
                        "the server replied with another object of the name {name:?}"
                    ))
                }
            }
            ObjectChange::Delete { on } => {
                match objects::deletion::<T>(self.version, name, &on.uid, body)? {
                    Deletion::Accepted => Ok(ServerReply::Deletes),
                    Deletion::Refused(status, message) => {
                        let error = ClusterError::Refused {
                            server: std::sync::Arc::clone(self.client.server()),
                            path: target.path.clone(),
                            status,
                            message,
                        };
                        Ok(ServerReply::Denied(DeletionReply::Refused, error))
                    }
                }
            }
        }
    }

    fn request(
        &self,
        name: &str,
        change: &ObjectChange,
        mode: WriteMode,
    ) -> (Read, target::Change) {
        let (verb, method, content_type) = match change {
            ObjectChange::Create { .. } => ("create", Method::POST, JSON),
            ObjectChange::Apply { .. } => ("patch", Method::PATCH, APPLY_PATCH),
            ObjectChange::Patch { .. } => ("patch", Method::PATCH, MERGE_PATCH),
            ObjectChange::Delete { .. } => ("delete", Method::DELETE, JSON),
        };
        let path = match change {
            ObjectChange::Create { .. } => path_of(self.version, None),
            ObjectChange::Apply { .. }
            | ObjectChange::Patch { .. }
            | ObjectChange::Delete { .. } => self.path(name),
        };
        let path = format!("{path}{}", query(change, mode));
        let target = Read::json(path, Permission::new(verb, self.version.kind));
        let request = target::Change::new(method, content_type, &body(change, mode));
        (target, request)
    }
}

/// A field that the server would drop may be the one that narrows what a change does, so that unknown
/// ones are refused.
fn query(change: &ObjectChange, mode: WriteMode) -> String {
    let manager = keys::THIS_PROGRAM;
    let dry_run = match mode {
        WriteMode::Store => "",
        WriteMode::DryRun => "&dryRun=All",
    };
    match change {
        ObjectChange::Create { .. } | ObjectChange::Apply { .. } | ObjectChange::Patch { .. } => {
            format!("?fieldManager={manager}&fieldValidation=Strict{dry_run}")
        }
        // In the body.
        ObjectChange::Delete { .. } => String::new(),
    }
}

fn body(change: &ObjectChange, mode: WriteMode) -> Value {
    match change {
        ObjectChange::Create { object } | ObjectChange::Apply { object } => object.clone(),
        ObjectChange::Patch { on, patch } => {
            let mut patch = patch.clone();
            // Preconditions: the server replies 409 Conflict if the object has another uid or resourceVersion.
            patch["metadata"]["uid"] = json!(on.uid);
            patch["metadata"]["resourceVersion"] = json!(on.resource_version);
            patch
        }
        ObjectChange::Delete { on } => {
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

/// Observation that does not tell the outcome of a change.
const AS_BEFORE: &str =
    "a second read showed no change, but the server may still apply the request";

/// True if `found` carries the note of the run that makes the change, so that no other run's object is taken for it.
fn is_of_run(change: &ObjectChange, found: &Value) -> bool {
    let (sent, key) = match change {
        ObjectChange::Create { object } => (object, keys::CREATED_BY_RUN),
        ObjectChange::Patch { patch, .. } => (patch, keys::CHANGED_BY_RUN),
        // Applied twice, it is the same.
        ObjectChange::Apply { .. } | ObjectChange::Delete { .. } => return false,
    };
    let run = |object: &Value| {
        object["metadata"]["annotations"][key]
            .as_str()
            .map(str::to_owned)
    };
    run(sent).is_some_and(|sent| run(found) == Some(sent))
}

/// True if the object of a reply is the one that the change was for.
fn is_meant(change: &ObjectChange, found: &Value) -> bool {
    match change {
        ObjectChange::Create { object } => {
            let has_run = object["metadata"]["annotations"][keys::CREATED_BY_RUN].is_string();
            !has_run || is_of_run(change, found)
        }
        ObjectChange::Apply { .. } => true,
        ObjectChange::Patch { on, .. } | ObjectChange::Delete { on } => {
            found["metadata"]["uid"].as_str() == Some(on.uid.as_str())
        }
    }
}

/// Outcome of a change whose response was lost.
#[derive(Debug, PartialEq)]
enum LostAnswerOutcome<T> {
    Made(Stored<T>),
    /// The object is in a state in which the change cannot be made any more.
    Overtaken,
    /// Nothing, as far as can be seen. The server may still be at it.
    AsBefore,
}

/// Judges the object as it was `found` after the answer to `change` was lost.
fn after_loss<T>(change: &ObjectChange, found: Option<Stored<T>>) -> LostAnswerOutcome<T> {
    let text = |stored: &Stored<T>, field: &str| {
        let value = &stored.object["metadata"][field];
        value.as_str().unwrap_or_default().to_owned()
    };
    let is_of = |stored: &Stored<T>, on: &ObjectVersion| text(stored, "uid") == on.uid;
    let is_at = |stored: &Stored<T>, on: &ObjectVersion| {
        is_of(stored, on) && text(stored, "resourceVersion") == on.resource_version
    };
    match (change, found) {
        // An object that is being deleted has what was wanted only for a moment.
        (ObjectChange::Create { object } | ObjectChange::Apply { object }, Some(found))
            if contains(&found.object, object) && text(&found, "deletionTimestamp").is_empty() =>
        {
            LostAnswerOutcome::Made(found)
        }
        (ObjectChange::Create { .. }, Some(_)) => LostAnswerOutcome::Overtaken,
        (ObjectChange::Create { .. }, None) | (ObjectChange::Apply { .. }, _) => {
            LostAnswerOutcome::AsBefore
        }
        (ObjectChange::Patch { on, patch }, Some(found))
            if is_of(&found, on) && contains(&found.object, patch) =>
        {
            LostAnswerOutcome::Made(found)
        }
        (ObjectChange::Patch { on, .. }, Some(found)) if is_at(&found, on) => {
            LostAnswerOutcome::AsBefore
        }
        (ObjectChange::Patch { .. }, Some(_) | None) => LostAnswerOutcome::Overtaken,
        // Deletions are judged by `removal`.
        (ObjectChange::Delete { .. }, _) => LostAnswerOutcome::AsBefore,
    }
}

/// True if another client was first, so that it has to be decided anew.
fn is_overtaken(error: &ClusterError, change: &ObjectChange) -> bool {
    match change {
        ObjectChange::Create { .. } => matches!(
            error,
            ClusterError::AlreadyExists { .. } | ClusterError::Conflict { .. }
        ),
        // A conflict is about fields of other programs, which stay theirs.
        ObjectChange::Apply { .. } => false,
        ObjectChange::Patch { .. } | ObjectChange::Delete { .. } => matches!(
            error,
            ClusterError::NotFound { .. } | ClusterError::Conflict { .. }
        ),
    }
}

/// The error about the object itself, not about the path that the request was sent to.
fn named_as(error: ClusterError, change: &ObjectChange, path: String) -> ClusterError {
    if let ClusterError::Invalid { message, .. } = error {
        return ClusterError::Invalid { path, message };
    }
    // Fields of other programs, which stay theirs: the same again would be refused, too.
    if let (ObjectChange::Apply { .. }, ClusterError::Conflict { message, .. }) = (change, &error) {
        let message = message.clone();
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

    fn state(version: &str) -> ObjectVersion {
        ObjectVersion {
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
        let patch = ObjectChange::Patch {
            on: state("7"),
            patch: json!({"spec": {"a": 1}}),
        };
        let sent = body(&patch, WriteMode::Store).to_string();
        assert_eq!(
            sent,
            r#"{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"a":1}}"#
        );
        let delete = ObjectChange::Delete { on: state("7") };
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
        let made = |found: Option<Stored<()>>| LostAnswerOutcome::Made(found.unwrap());
        let create = ObjectChange::Create {
            object: json!({"spec": {"effect": "x"}}),
        };
        assert_eq!(
            after_loss(&create, at("u", "1", "x")),
            made(at("u", "1", "x"))
        );
        assert_eq!(
            after_loss(&create, at("u", "1", "y")),
            LostAnswerOutcome::Overtaken
        );
        assert_eq!(after_loss::<()>(&create, None), LostAnswerOutcome::AsBefore);

        let apply = ObjectChange::Apply {
            object: json!({"spec": {"effect": "x"}}),
        };
        assert_eq!(
            after_loss(&apply, at("u", "1", "x")),
            made(at("u", "1", "x"))
        );
        for found in [at("u", "1", "y"), None] {
            assert_eq!(after_loss(&apply, found), LostAnswerOutcome::AsBefore);
        }

        let patch = ObjectChange::Patch {
            on: state("7"),
            patch: json!({"spec": {"effect": "x"}}),
        };
        assert_eq!(
            after_loss(&patch, at("u", "8", "x")),
            made(at("u", "8", "x"))
        );
        assert_eq!(
            after_loss(&patch, at("u", "7", "y")),
            LostAnswerOutcome::AsBefore
        );
        assert_eq!(
            after_loss(&patch, at("u", "8", "y")),
            LostAnswerOutcome::Overtaken
        );
        assert_eq!(
            after_loss(&patch, at("v", "7", "x")),
            LostAnswerOutcome::Overtaken
        );
        assert_eq!(after_loss::<()>(&patch, None), LostAnswerOutcome::Overtaken);

        let leaving = stored(json!({
            "metadata": {"uid": "u", "deletionTimestamp": "2026-11-21T01:00:00Z"}, "spec": {"effect": "x"},
        }));
        assert_eq!(after_loss(&create, leaving), LostAnswerOutcome::Overtaken);
    }

    #[test]
    fn an_object_that_carries_the_uid_of_the_run_is_the_runs() {
        let noted =
            |key: &str, run: &str| json!({"metadata": {"uid": "u", "annotations": {key: run}}});
        let create = ObjectChange::Create {
            object: noted(keys::CREATED_BY_RUN, "1"),
        };
        let patch = ObjectChange::Patch {
            on: state("7"),
            patch: noted(keys::CHANGED_BY_RUN, "1"),
        };
        for (change, key) in [
            (&create, keys::CREATED_BY_RUN),
            (&patch, keys::CHANGED_BY_RUN),
        ] {
            assert!(is_of_run(change, &noted(key, "1")));
            assert!(!is_of_run(change, &noted(key, "2")));
            assert!(!is_of_run(change, &json!({"metadata": {"uid": "u"}})));
        }
        let nameless = ObjectChange::Create { object: json!({}) };
        assert!(!is_of_run(&nameless, &json!({})), "no run is no run's");
        assert!(is_meant(&create, &noted(keys::CREATED_BY_RUN, "1")));
        assert!(!is_meant(&create, &noted(keys::CREATED_BY_RUN, "2")));
        assert!(is_meant(&patch, &json!({"metadata": {"uid": "u"}})));
        assert!(!is_meant(&patch, &json!({"metadata": {"uid": "v"}})));
    }
}
