//! Events about a rule, and about the pods that it evicts.

use super::kinds::Reader;
use super::list::List;
use super::lists::Selection;
use super::read_result::ReadResult;
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::Event;
use crate::wire::Detail;

/// The events about the rule called `name`, oldest first.
///
/// # Errors
///
/// As any read.
pub async fn rule_events(
    client: &ApiClient,
    served: &ServedKinds,
    name: &str,
) -> Result<ReadResult<Vec<Event>>, ClusterError> {
    let selector = format!("involvedObject.kind=DeviceTaintRule,involvedObject.name={name}");
    events(client, served, selector).await
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
pub async fn eviction_events(
    client: &ApiClient,
    served: &ServedKinds,
) -> Result<ReadResult<Vec<Event>>, ClusterError> {
    let selector = "involvedObject.kind=Pod,reason=DeviceTaintManagerEviction";
    events(client, served, selector.to_owned()).await
}

async fn events(
    client: &ApiClient,
    served: &ServedKinds,
    selector: String,
) -> Result<ReadResult<Vec<Event>>, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    let mut events: List<Event> = reader.required(Selection::Fields(selector)).await?;
    events
        .items
        .sort_by(|left, right| (left.last, &left.reason).cmp(&(right.last, &right.reason)));
    Ok(ReadResult {
        facts: events.items,
        warnings: events.warnings,
    })
}
