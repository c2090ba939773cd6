//! What was reported about a rule, and about the pods that are evicted.

use jiff::Timestamp;
use serde::Deserialize;

use crate::cluster::client::document::document_for;
use crate::cluster::path::escaped;
use crate::cluster::{ApiClient, ClusterError, Permission};

/// Something that a component noted about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEvent {
    /// UID of the object.
    pub uid: String,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// When it last happened, as far as that is known.
    pub last: Option<Timestamp>,
}

#[derive(Deserialize)]
struct EventList {
    #[serde(default)]
    items: Vec<Event>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Event {
    involved_object: Involved,
    r#type: Option<String>,
    reason: Option<String>,
    message: Option<String>,
    last_timestamp: Option<Timestamp>,
    event_time: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Involved {
    uid: Option<String>,
}

/// The events about the rule called `name`, oldest first.
///
/// # Errors
///
/// As any read.
pub async fn rule_events(client: &ApiClient, name: &str) -> Result<Vec<ObjectEvent>, ClusterError> {
    let selector = format!("involvedObject.kind=DeviceTaintRule,involvedObject.name={name}");
    events(client, &selector).await
}

/// Everything that was reported about evictions, in all namespaces, oldest first; the server forgets
/// after an hour.
///
/// The controller notes nothing on rules: these events are about pods, and do not say which rule they
/// are due to. All of them have one reason, whatever happened.
///
/// Upstream: `emitPodDeletionEvent` and `emitCancelPodDeletionEvent` in `device_taint_eviction.go`.
///
/// # Errors
///
/// As any read.
pub async fn eviction_events(client: &ApiClient) -> Result<Vec<ObjectEvent>, ClusterError> {
    let selector = "involvedObject.kind=Pod,reason=DeviceTaintManagerEviction";
    events(client, selector).await
}

async fn events(client: &ApiClient, selector: &str) -> Result<Vec<ObjectEvent>, ClusterError> {
    let path = format!("/api/v1/events?fieldSelector={}", escaped(selector));
    let permission = Permission {
        verb: "list",
        group: String::new(),
        resource: "events".to_owned(),
    };
    let list: EventList = document_for(client, path, permission).await?;
    let mut events: Vec<ObjectEvent> = list.items.into_iter().map(ObjectEvent::from).collect();
    events.sort_by(|left, right| (left.last, &left.reason).cmp(&(right.last, &right.reason)));
    Ok(events)
}

impl From<Event> for ObjectEvent {
    fn from(event: Event) -> Self {
        Self {
            uid: event.involved_object.uid.unwrap_or_default(),
            kind: event.r#type.unwrap_or_default(),
            reason: event.reason.unwrap_or_default(),
            message: event.message.unwrap_or_default(),
            last: event.last_timestamp.or(event.event_time),
        }
    }
}
