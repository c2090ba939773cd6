//! Workloads that own pods.
//!
//! Owner references lead upwards, a level at a time: of each kind, the few that are wanted by their
//! names, and more of them with one list, of which only those are kept. What stands between a pod and the
//! top tells by its metadata who is above it; how many pods there should be is asked of the top alone.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt};

use super::kinds::Reader;
use super::list::List;
use super::lists::{self, Listing, Selection};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{Gap, Kind, NamespacedName, Reading, Snapshot};
use crate::wire::{Detail, Object};

/// Up to so many objects of a kind are read one by one; more of them with one list.
const ONE_BY_ONE: usize = 8;
/// Requests at a time.
const AT_ONCE: usize = 8;
/// No chain of owners that makes sense is longer.
const LEVELS: usize = 6;

/// Adds to `reading` what the pods in it belong to, up to the top.
///
/// What the user may not read, or the server does not have, is a gap in the reading. An owner of a kind
/// that is not known here ends its chain.
///
/// # Errors
///
/// As any read, unless permission is missing.
pub async fn read_workloads(
    client: &ApiClient,
    served: &ServedKinds,
    mut reading: Reading,
) -> Result<Reading, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    let mut asked = BTreeSet::new();
    for _ in 0..LEVELS {
        let wanted = wanted(&reading.snapshot, &asked);
        if wanted.is_empty() {
            return Ok(reading);
        }
        reading = with_named(&reader, reading, &wanted).await?;
        asked.extend(
            wanted
                .into_iter()
                .flat_map(|(kind, names)| names.into_iter().map(move |name| (kind, name))),
        );
    }
    Ok(reading)
}

/// Adds to `reading` the workloads of these names, and nothing above them; gaps as in [`read_workloads`].
///
/// # Errors
///
/// As any read, unless permission is missing.
pub async fn read_named_workloads(
    client: &ApiClient,
    served: &ServedKinds,
    reading: Reading,
    names: &BTreeMap<Kind, BTreeSet<NamespacedName>>,
) -> Result<Reading, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    with_named(&reader, reading, names).await
}

async fn with_named(
    reader: &Reader<'_>,
    mut reading: Reading,
    names: &BTreeMap<Kind, BTreeSet<NamespacedName>>,
) -> Result<Reading, ClusterError> {
    let reads = names
        .iter()
        .map(|(kind, names)| async move { (*kind, of_kind(reader, *kind, names).await) });
    let mut answers = stream::iter(reads).buffer_unordered(AT_ONCE);
    while let Some((kind, answer)) = answers.next().await {
        match answer? {
            Ok(list) => {
                reading.known.insert(kind);
                reading.warnings.extend(list.warnings);
                for object in list.items {
                    object.add_to(&mut reading.snapshot);
                }
            }
            Err(gap) => {
                // A lower level may have read this kind; after a gap it is no longer complete.
                reading.known.remove(&kind);
                if !reading.gaps.contains(&gap) {
                    reading.gaps.push(gap);
                }
            }
        }
    }
    Ok(reading)
}

/// The objects of these names, or why they are not to be had.
async fn of_kind(
    reader: &Reader<'_>,
    kind: Kind,
    names: &BTreeSet<NamespacedName>,
) -> Result<Result<List<Object>, Gap>, ClusterError> {
    let Some(version) = reader.served.version_of(kind) else {
        return Ok(Err(Gap::of(kind, "the server does not serve them")));
    };
    let read = if names.len() > ONE_BY_ONE {
        let listing = Listing {
            client: reader.client,
            version,
            selection: place(names),
            detail: reader.detail,
        };
        let keep = |object: Object| {
            let workload = object.workload()?;
            names.contains(&workload.name).then_some(object)
        };
        // Most of them stand between a pod and the top, and each has a whole template.
        if kind == Kind::ReplicaSet {
            listing.metadata(keep).await
        } else {
            listing.objects(keep).await
        }
    } else {
        by_name(reader, version, names).await
    };
    match read {
        Ok(list) => Ok(Ok(list)),
        Err(error @ ClusterError::Forbidden { .. }) => Ok(Err(Gap::of(kind, &error.to_string()))),
        // The list of a kind of which there is one version says whether it is served: where it is not
        // installed, there is none, whatever a pod says.
        Err(ClusterError::NotFound { .. }) => Ok(Ok(List::default())),
        Err(error) => Err(error),
    }
}

async fn by_name(
    reader: &Reader<'_>,
    version: &'static crate::wire::Version,
    names: &BTreeSet<NamespacedName>,
) -> Result<List<Object>, ClusterError> {
    let reads = names
        .iter()
        .map(|name| lists::object(reader.client, version, name));
    let mut answers = stream::iter(reads).buffer_unordered(AT_ONCE);
    let mut found: List<Object> = List::default();
    while let Some(answer) = answers.next().await {
        let list = answer?.unwrap_or_default();
        found.items.extend(list.items);
        found.warnings.extend(list.warnings);
    }
    Ok(found)
}

/// Where they are: one namespace, if that is all.
fn place(names: &BTreeSet<NamespacedName>) -> Selection {
    let namespaces: BTreeSet<_> = names.iter().map(|name| &name.namespace).collect();
    match namespaces.first() {
        Some(only) if namespaces.len() == 1 => Selection::Namespace(only.to_string()),
        Some(_) | None => Selection::All,
    }
}

/// What the pods and workloads so far belong to, without what was asked for already.
fn wanted(
    snapshot: &Snapshot,
    asked: &BTreeSet<(Kind, NamespacedName)>,
) -> BTreeMap<Kind, BTreeSet<NamespacedName>> {
    let mut wanted = snapshot.named_workloads();
    // Named by their pods, so that they need not wait for the ReplicaSets between.
    for pod in &snapshot.pods {
        if let Some(name) = pod.deployment() {
            let namespace = pod.name.namespace.clone();
            let names = wanted.entry(Kind::Deployment).or_default();
            names.insert(NamespacedName { namespace, name });
        }
    }
    for (kind, names) in &mut wanted {
        names.retain(|name| !asked.contains(&(*kind, name.clone())));
    }
    wanted.retain(|_, names| !names.is_empty());
    wanted
}
