//! Events.

use jiff::Timestamp;

use super::ids::{NamespacedName, Uid};

/// Something that a component noted about a rule, or about the eviction of a pod; other events are of no
/// interest and never kept. The server forgets them after an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Namespace and name of the event itself.
    pub name: NamespacedName,
    /// Object of the event.
    pub about: EventSubject,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// Time of its last occurrence, as far as that is known.
    pub last: Option<Timestamp>,
}

/// Object of an event, as its reporter names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSubject {
    /// Kind, such as `Pod`.
    pub kind: String,
    /// Its name, with the namespace; that is empty for an object of the cluster.
    pub name: NamespacedName,
    /// Its identity; empty where the event does not say.
    pub uid: Uid,
}
