//! Outcome of a deletion, by its response and by a read after it.
//!
//! No answer alone says that an object is gone: proxies answer in the server's place, requests are doubled
//! on the way, and finalizers hold what was deleted.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::objects::ObjectVersion;

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

/// More tries than any controller writes in that time.
const TRIES: u32 = 100;
/// Time limit: a user at a terminal wants to know that it does not work.
const TIME: Duration = Duration::from_secs(60);
/// The pause grows by this much with every try.
const STEP: Duration = Duration::from_millis(5);

/// Remaining tries and time.
#[derive(Debug)]
pub(super) struct Budget {
    tried: u32,
    end: Instant,
}

impl Budget {
    /// After the first try, at `now`.
    pub(super) fn from(now: Instant) -> Self {
        Self {
            tried: 1,
            end: now.checked_add(TIME).unwrap_or(now),
        }
    }

    /// Pause before the next try at `now`; `None` when there is to be none.
    pub(super) fn next(&mut self, now: Instant) -> Option<Duration> {
        if self.tried >= TRIES || now >= self.end {
            return None;
        }
        let pause = STEP.saturating_mul(self.tried.saturating_sub(1));
        self.tried = self.tried.saturating_add(1);
        Some(pause)
    }

    /// Number of tries so far.
    pub(super) fn tried(&self) -> u32 {
        self.tried
    }
}

/// True if `found` has everything that `wanted` has, at the same place; fields that a server adds are
/// ignored. A null in `wanted` stands for a field that is not there, as in a merge patch.
///
/// Lists have to be equal. The fields that identify a version are ignored: `metadata.uid` and
/// `metadata.resourceVersion`.
pub(super) fn contains(found: &Value, wanted: &Value) -> bool {
    within(found, wanted, &[])
}

/// Fields that name the version that a change applies to.
const STATE: [[&str; 2]; 2] = [["metadata", "uid"], ["metadata", "resourceVersion"]];

fn within(found: &Value, wanted: &Value, path: &[&str]) -> bool {
    let Some(fields) = wanted.as_object() else {
        return found == wanted;
    };
    fields.iter().all(|(name, wanted)| {
        let mut path = path.to_vec();
        path.push(name);
        // Indexing a missing field gives null, which is what a null in `wanted` asks for.
        STATE.iter().any(|state| state[..] == path[..]) || within(&found[name], wanted, &path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    #[test]
    fn tries_end_and_the_first_again_is_at_once() {
        let now = Instant::now();
        let mut budget = Budget::from(now);
        assert_eq!(budget.next(now), Some(Duration::ZERO));
        let pauses: Vec<Duration> = std::iter::from_fn(|| budget.next(now)).collect();
        assert_eq!(pauses.len() as u32, TRIES - 2);
        assert!(pauses.iter().sum::<Duration>() < TIME);
        assert_eq!(budget.tried(), TRIES);
    }

    #[test]
    fn time_ends_them_too() {
        let now = Instant::now();
        let mut budget = Budget::from(now);
        assert_eq!(budget.next(now + TIME), None);
        assert_eq!(budget.tried(), 1);
    }

    #[test]
    fn what_the_server_adds_does_not_matter_and_what_it_lacks_does() {
        let found = json!({
            "metadata": {"name": "a", "uid": "1", "resourceVersion": "9", "labels": {"x": "1", "y": "2"}},
            "spec": {"taint": {"effect": "None", "timeAdded": "2026-11-21T01:00:00Z"}, "list": [1, 2]},
        });
        for (wanted, expected) in [
            (json!({}), true),
            (json!({"metadata": {"labels": {"x": "1"}}}), true),
            (json!({"metadata": {"labels": {"x": "2"}}}), false),
            (json!({"metadata": {"labels": {"z": "2"}}}), false),
            (json!({"metadata": {"labels": {"z": null}}}), true),
            (json!({"metadata": {"labels": {"x": null}}}), false),
            (
                json!({"metadata": {"uid": "0", "resourceVersion": "7"}}),
                true,
            ),
            (json!({"spec": {"uid": "0"}}), false),
            (json!({"spec": {"taint": {"effect": "None"}}}), true),
            (json!({"spec": {"taint": {"effect": "NoExecute"}}}), false),
            (json!({"spec": {"list": [1, 2]}}), true),
            (json!({"spec": {"list": [1]}}), false),
            (json!({"status": {"a": 1}}), false),
        ] {
            assert_eq!(contains(&found, &wanted), expected, "{wanted}");
        }
    }
}
