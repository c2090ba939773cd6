//! Permissions that a command needs for all of its work, checked before anything is changed.

use std::collections::BTreeSet;

use futures::future::try_join_all;

use super::connect::failed;
use crate::cluster::{
    AccessQuery, ApiClient, ClusterError, Purpose, WriteAnswer, WriteMode, evict, is_allowed,
    user_name,
};
use crate::decide::drain::EvictionReply;
use crate::error::Failure;
use crate::model::{NamespacedName, Uid};

/// Refuses to begin where the user may not do one of these things.
///
/// # Errors
///
/// Something is not allowed, all of which is named; or the server does not say whether it is.
pub(crate) async fn refuse_missing(
    queries: impl IntoIterator<Item = AccessQuery>,
    purpose: Purpose,
    client: &ApiClient,
) -> Result<(), Failure> {
    let asked = queries.into_iter().map(async |query| {
        let is_allowed = is_allowed(client, &query).await;
        is_allowed.map(|is_allowed| (query, is_allowed))
    });
    // All at once, so that every missing permission is listed and not only the first.
    let answers = try_join_all(asked).await;
    let answers = answers.map_err(|error| {
        failed(error)
            .context("cannot check whether you have the required permissions")
            .detail("nothing was changed")
    })?;
    let missing = answers.into_iter().filter(|(_, is_allowed)| !is_allowed);
    let mut missing = missing.map(|(query, _)| query);
    let Some(first) = missing.next() else {
        return Ok(());
    };
    let place = |query: &AccessQuery| match &query.namespace {
        Some(namespace) => format!(" in namespace {namespace}"),
        None => String::new(),
    };
    let first_place = place(&first);
    let denied = failed(ClusterError::Forbidden {
        permission: first.permission,
        user: user_name(client).await,
        purpose: Some(purpose),
    });
    let denied = if first_place.is_empty() {
        denied
    } else {
        denied.detail(format!("needed{first_place}"))
    };
    let others = missing.fold(denied, |failure, query| {
        let text = format!("also missing: {}{}", query.permission, place(&query));
        failure.detail(text)
    });
    Err(others.detail("nothing was changed"))
}

/// Tries one eviction in each namespace without carrying it out: permissions are granted by namespace, and admission may
/// refuse an eviction. A budget that refuses now may allow the eviction later.
///
/// # Errors
///
/// An eviction is not permitted, or cannot be tried. Nothing was changed.
pub(crate) async fn try_evictions<'p>(
    pods: impl IntoIterator<Item = (&'p NamespacedName, &'p Uid)>,
    client: &ApiClient,
) -> Result<(), Failure> {
    let mut namespaces = BTreeSet::new();
    for (pod, uid) in pods {
        if namespaces.insert(&pod.namespace) {
            let tried = evict(client, pod, uid, None, WriteMode::DryRun).await;
            tried.map_err(|error| failed(error).detail("nothing was changed"))?;
        }
    }
    Ok(())
}

/// Evicts a pod through the Eviction API, with this grace period or its own.
///
/// # Errors
///
/// The request was not answered by the API.
pub(crate) async fn evict_pod(
    client: &ApiClient,
    pod: &NamespacedName,
    uid: &Uid,
    grace: Option<i64>,
) -> Result<EvictionReply, Failure> {
    let answer = evict(client, pod, uid, grace, WriteMode::Store).await;
    answer.map(reply).map_err(failed)
}

/// A reply of the Eviction API, or to a deletion.
pub(crate) fn reply(answer: WriteAnswer) -> EvictionReply {
    match answer {
        WriteAnswer::Accepted => EvictionReply::Accepted,
        WriteAnswer::Outdated => EvictionReply::Gone,
        WriteAnswer::Refused(message) => EvictionReply::Refused(message),
        WriteAnswer::Unknown(error) => EvictionReply::Unknown(error.to_string()),
    }
}
