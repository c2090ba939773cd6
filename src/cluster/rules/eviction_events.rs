//! What the controller reported about the pods that it evicts.
//!
//! It notes nothing on rules: its events are about pods, and do not say which rule they are due to.

use jiff::Timestamp;
use serde::Deserialize;

use crate::cluster::client::api::{JSON, Read};
use crate::cluster::client::document::Collect;
use crate::cluster::client::retry::Failure;
use crate::cluster::{ApiClient, ClusterError, ObjectEvent, Permission};

/// All of them have one reason, whatever happened.
///
/// Upstream: `emitPodDeletionEvent` and `emitCancelPodDeletionEvent` in `device_taint_eviction.go`.
const PATH: &str =
    "/api/v1/events?fieldSelector=involvedObject.kind%3DPod%2Creason%3DDeviceTaintManagerEviction";

/// Something that the controller did, or no longer does, to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionEvent {
    /// The UID of the pod.
    pub uid: String,
    /// What happened.
    pub event: ObjectEvent,
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

/// Everything that was reported about evictions, in all namespaces; the server forgets after an hour.
///
/// # Errors
///
/// As any read.
pub async fn eviction_events(client: &ApiClient) -> Result<Vec<EvictionEvent>, ClusterError> {
    let read = Read {
        path: PATH.to_owned(),
        accept: JSON,
        permission: Permission {
            verb: "list",
            group: String::new(),
            resource: "events".to_owned(),
        },
    };
    let body = client.read(&read, Collect::default).await?;
    let list: EventList = serde_json::from_slice(&body)
        .map_err(|error| client.error(&read, Failure::Unreadable(error.to_string())))?;
    Ok(list.items.into_iter().map(EvictionEvent::from).collect())
}

impl From<Event> for EvictionEvent {
    fn from(event: Event) -> Self {
        Self {
            uid: event.involved_object.uid.unwrap_or_default(),
            event: ObjectEvent {
                kind: event.r#type.unwrap_or_default(),
                reason: event.reason.unwrap_or_default(),
                message: event.message.unwrap_or_default(),
                last: event.last_timestamp.or(event.event_time),
            },
        }
    }
}
