//! Outcome of a deletion, by its response and by a read after it.
//!
//! No answer alone says that an object is gone: proxies answer in the server's place, requests are doubled
//! on the way, and finalizers hold what was deleted.

use serde_json::Value;

use super::stored::ObjectVersion;

/// Outcome of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// This change deleted it: the server says so, and a read shows it gone.
    Deleted,
    /// A read shows it gone; whether this change deleted it is not known.
    Gone,
    /// The server took this change, and a read does not show it gone: something holds it, or it could not
    /// be read.
    Requested,
    /// It is being deleted; whether this change asked for that is not known.
    Leaving,
}

/// Reply of the server to a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeletionReply {
    /// It deletes this very object.
    Accepted,
    /// It does not.
    Refused,
    /// Nothing that can be believed.
    Lost,
}

/// State of the object in a read after the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObservedObject {
    /// Nothing of that name, or another object.
    Absent,
    /// It is being deleted.
    Leaving,
    /// It is as it was decided on.
    AsBefore,
    /// It is in another state, so that the deletion does not apply to it any more.
    Changed,
    /// It could not be read.
    Unread,
}

/// Conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemovalVerdict {
    /// This became of it.
    Is(Removal),
    /// It has to be decided anew.
    Overtaken,
    /// The refusal stands.
    Refused,
    /// Unknown.
    Unresolved,
}

/// The result of a deletion, by the reply and by what was read after it.
pub(super) fn evaluate(reply: DeletionReply, seen: ObservedObject) -> RemovalVerdict {
    match (reply, seen) {
        (DeletionReply::Accepted, ObservedObject::Absent) => RemovalVerdict::Is(Removal::Deleted),
        (DeletionReply::Accepted, ObservedObject::Leaving | ObservedObject::Unread) => {
            RemovalVerdict::Is(Removal::Requested)
        }
        (DeletionReply::Refused | DeletionReply::Lost, ObservedObject::Absent) => {
            RemovalVerdict::Is(Removal::Gone)
        }
        (DeletionReply::Refused | DeletionReply::Lost, ObservedObject::Leaving) => {
            RemovalVerdict::Is(Removal::Leaving)
        }
        (DeletionReply::Refused, ObservedObject::AsBefore | ObservedObject::Changed) => {
            RemovalVerdict::Refused
        }
        // Even if the deletion arrives late, its precondition on resourceVersion fails by now.
        (DeletionReply::Lost, ObservedObject::Changed) => RemovalVerdict::Overtaken,
        // A server that accepts a deletion marks or removes the object, so this reply came from elsewhere.
        (DeletionReply::Accepted, ObservedObject::AsBefore | ObservedObject::Changed)
        | (DeletionReply::Lost, ObservedObject::AsBefore)
        | (DeletionReply::Refused | DeletionReply::Lost, ObservedObject::Unread) => {
            RemovalVerdict::Unresolved
        }
    }
}

/// State of the object `found`, compared with the one that the deletion was decided `on`.
pub(super) fn seen(found: Option<&Value>, on: &ObjectVersion) -> ObservedObject {
    let Some(found) = found else {
        return ObservedObject::Absent;
    };
    let field = |name: &str| found["metadata"][name].as_str().unwrap_or_default();
    if field("uid") != on.uid {
        ObservedObject::Absent
    } else if !field("deletionTimestamp").is_empty() {
        ObservedObject::Leaving
    } else if field("resourceVersion") == on.resource_version {
        ObservedObject::AsBefore
    } else {
        ObservedObject::Changed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_deleted_before_a_read_shows_it_gone() {
        for reply in [
            DeletionReply::Accepted,
            DeletionReply::Refused,
            DeletionReply::Lost,
        ] {
            for seen in [
                ObservedObject::Absent,
                ObservedObject::Leaving,
                ObservedObject::AsBefore,
                ObservedObject::Changed,
                ObservedObject::Unread,
            ] {
                let is_deleted = evaluate(reply, seen) == RemovalVerdict::Is(Removal::Deleted);
                let is_proven = reply == DeletionReply::Accepted && seen == ObservedObject::Absent;
                assert_eq!(is_deleted, is_proven, "{reply:?} {seen:?}");
            }
        }
    }

    #[test]
    fn what_is_not_proven_is_not_said() {
        use DeletionReply::{Accepted, Lost, Refused};
        use ObservedObject::{Absent, AsBefore, Changed, Leaving, Unread};
        use RemovalVerdict::{Is, Overtaken, Unresolved};
        for (reply, seen, expected) in [
            (Accepted, Leaving, Is(Removal::Requested)),
            (Accepted, Unread, Is(Removal::Requested)),
            (Accepted, AsBefore, Unresolved),
            (Lost, Absent, Is(Removal::Gone)),
            (Refused, Absent, Is(Removal::Gone)),
            (Lost, Leaving, Is(Removal::Leaving)),
            (Lost, AsBefore, Unresolved),
            (Lost, Changed, Overtaken),
            (Lost, Unread, Unresolved),
            (Refused, AsBefore, RemovalVerdict::Refused),
            (Refused, Unread, Unresolved),
        ] {
            assert_eq!(evaluate(reply, seen), expected, "{reply:?} {seen:?}");
        }
    }

    #[test]
    fn an_object_of_another_uid_is_another_object() {
        let on = ObjectVersion {
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
        };
        let at = |uid: &str, version: &str| json!({"metadata": {"uid": uid, "resourceVersion": version}});
        let mut leaving = at("u", "8");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-11-21T01:00:00Z");
        for (found, expected) in [
            (None, ObservedObject::Absent),
            (Some(at("v", "7")), ObservedObject::Absent),
            (Some(at("u", "7")), ObservedObject::AsBefore),
            (Some(at("u", "8")), ObservedObject::Changed),
            (Some(leaving), ObservedObject::Leaving),
        ] {
            assert_eq!(seen(found.as_ref(), &on), expected, "{found:?}");
        }
    }
}
