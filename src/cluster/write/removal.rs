//! What a deletion came to, by its answer and by what a read shows after it.
//!
//! No answer alone says that an object is gone: proxies answer in the server's place, requests are doubled
//! on the way, and finalizers hold what was deleted.

use serde_json::Value;

use super::stored::State;

/// What became of an object that was to be deleted.
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

/// What the server said to a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// That it deletes this very object.
    Accepted,
    /// That it does not.
    Refused,
    /// Nothing that can be believed.
    Lost,
}

/// What a read after the answer shows of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
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

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This became of it.
    Is(Removal),
    /// It has to be decided anew.
    Overtaken,
    /// The refusal stands.
    Refused,
    /// Nobody knows.
    Unresolved,
}

/// Judges a deletion.
pub(super) fn judge(reply: Reply, seen: Seen) -> Verdict {
    match (reply, seen) {
        (Reply::Accepted, Seen::Absent) => Verdict::Is(Removal::Deleted),
        (Reply::Accepted, Seen::Leaving | Seen::Unread) => Verdict::Is(Removal::Requested),
        (Reply::Refused | Reply::Lost, Seen::Absent) => Verdict::Is(Removal::Gone),
        (Reply::Refused | Reply::Lost, Seen::Leaving) => Verdict::Is(Removal::Leaving),
        (Reply::Refused, Seen::AsBefore | Seen::Changed) => Verdict::Refused,
        (Reply::Lost, Seen::Changed) => Verdict::Overtaken,
        (Reply::Accepted, Seen::AsBefore | Seen::Changed)
        | (Reply::Lost, Seen::AsBefore)
        | (Reply::Refused | Reply::Lost, Seen::Unread) => Verdict::Unresolved,
    }
}

/// What the object `found` shows of the one that the deletion was decided `on`.
pub(super) fn seen(found: Option<&Value>, on: &State) -> Seen {
    let Some(found) = found else {
        return Seen::Absent;
    };
    let field = |name: &str| found["metadata"][name].as_str().unwrap_or_default();
    if field("uid") != on.uid {
        Seen::Absent
    } else if !field("deletionTimestamp").is_empty() {
        Seen::Leaving
    } else if field("resourceVersion") == on.resource_version {
        Seen::AsBefore
    } else {
        Seen::Changed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_deleted_before_a_read_shows_it_gone() {
        for reply in [Reply::Accepted, Reply::Refused, Reply::Lost] {
            for seen in [
                Seen::Absent,
                Seen::Leaving,
                Seen::AsBefore,
                Seen::Changed,
                Seen::Unread,
            ] {
                let is_deleted = judge(reply, seen) == Verdict::Is(Removal::Deleted);
                let is_proven = reply == Reply::Accepted && seen == Seen::Absent;
                assert_eq!(is_deleted, is_proven, "{reply:?} {seen:?}");
            }
        }
    }

    #[test]
    fn what_is_not_proven_is_not_said() {
        for (reply, seen, expected) in [
            (
                Reply::Accepted,
                Seen::Leaving,
                Verdict::Is(Removal::Requested),
            ),
            (
                Reply::Accepted,
                Seen::Unread,
                Verdict::Is(Removal::Requested),
            ),
            (Reply::Accepted, Seen::AsBefore, Verdict::Unresolved),
            (Reply::Lost, Seen::Absent, Verdict::Is(Removal::Gone)),
            (Reply::Refused, Seen::Absent, Verdict::Is(Removal::Gone)),
            (Reply::Lost, Seen::Leaving, Verdict::Is(Removal::Leaving)),
            (Reply::Lost, Seen::AsBefore, Verdict::Unresolved),
            (Reply::Lost, Seen::Changed, Verdict::Overtaken),
            (Reply::Lost, Seen::Unread, Verdict::Unresolved),
            (Reply::Refused, Seen::AsBefore, Verdict::Refused),
            (Reply::Refused, Seen::Unread, Verdict::Unresolved),
        ] {
            assert_eq!(judge(reply, seen), expected, "{reply:?} {seen:?}");
        }
    }

    #[test]
    fn an_object_of_another_uid_is_another_object() {
        let on = State {
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
        };
        let at = |uid: &str, version: &str| json!({"metadata": {"uid": uid, "resourceVersion": version}});
        let mut leaving = at("u", "8");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-11-21T01:00:00Z");
        for (found, expected) in [
            (None, Seen::Absent),
            (Some(at("v", "7")), Seen::Absent),
            (Some(at("u", "7")), Seen::AsBefore),
            (Some(at("u", "8")), Seen::Changed),
            (Some(leaving), Seen::Leaving),
        ] {
            assert_eq!(seen(found.as_ref(), &on), expected, "{found:?}");
        }
    }
}
