//! What was reported about a rule.

use jiff::Timestamp;
use serde::Deserialize;

use super::lists::escaped;
use crate::cluster::client::api::{JSON, Read};
use crate::cluster::client::document::Collect;
use crate::cluster::client::retry::Failure;
use crate::cluster::{ApiClient, ClusterError, Permission};

/// Something that a component noted about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEvent {
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    last_timestamp: Option<Timestamp>,
    #[serde(default)]
    event_time: Option<Timestamp>,
}

/// The events about the rule called `name`, oldest first.
///
/// # Errors
///
/// As any read.
pub async fn rule_events(client: &ApiClient, name: &str) -> Result<Vec<ObjectEvent>, ClusterError> {
    let selector = format!("involvedObject.kind=DeviceTaintRule,involvedObject.name={name}");
    let read = Read {
        path: format!("/api/v1/events?fieldSelector={}", escaped(&selector)),
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
    let mut events: Vec<ObjectEvent> = list.items.into_iter().map(ObjectEvent::from).collect();
    events.sort_by(|left, right| (left.last, &left.reason).cmp(&(right.last, &right.reason)));
    Ok(events)
}

impl From<Event> for ObjectEvent {
    fn from(event: Event) -> Self {
        Self {
            kind: event.r#type.unwrap_or_default(),
            reason: event.reason.unwrap_or_default(),
            message: event.message.unwrap_or_default(),
            last: event.last_timestamp.or(event.event_time),
        }
    }
}
