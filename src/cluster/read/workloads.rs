//! Workloads that own pods.
//!
//! Owner references lead upwards, a level at a time: of each kind, the few that are wanted by their
//! names, and more of them with one list, of which only those are kept. What stands between a pod and the
//! top tells by its metadata who is above it; how many pods there should be is asked of the top alone.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::stream::{self, FuturesUnordered, StreamExt};
use tokio::sync::Notify;

use super::kinds::Reader;
use super::lists::{self, List, Selection};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{Gap, Kind, NamespacedName, Pod, Reading, Snapshot};
use crate::wire::Object;

/// Maximum number of objects of a kind that are read one by one; more of them with one list.
pub(super) const ONE_BY_ONE: usize = 8;
/// Requests at a time.
const AT_ONCE: usize = 8;
/// No chain of owners that makes sense is longer.
const LEVELS: usize = 6;

/// Workloads of one kind that were read, or the reason why they were not.
pub(super) type OwnerList = Result<List<Object>, Gap>;

/// Adds to `reading` what the pods in it belong to, up to the top.
///
/// Data that the user may not read, or the server does not have, is a gap in the reading. An owner of a kind
/// that is not known here ends its chain.
///
/// # Errors
///
/// As any read, unless permission is missing.
pub async fn read_workloads(
    client: &ApiClient,
    served: &ServedKinds,
    reading: Reading,
) -> Result<Reading, ClusterError> {
    let reader = Reader::new(client, served);
    workloads_with(&reader, reading, BTreeMap::new()).await
}

/// As [`read_workloads`], where some kinds were listed before, while the pods were read.
///
/// # Errors
///
/// As [`read_workloads`].
pub(super) async fn workloads_with(
    reader: &Reader<'_>,
    mut reading: Reading,
    mut listed: BTreeMap<Kind, OwnerList>,
) -> Result<Reading, ClusterError> {
    let mut asked = BTreeSet::new();
    for _ in 0..LEVELS {
        let wanted = wanted(&reading.snapshot, &asked);
        if wanted.is_empty() {
            return Ok(reading);
        }
        reading = with_named(reader, reading, &wanted, &mut listed).await?;
        asked.extend(
            wanted
                .into_iter()
                .flat_map(|(kind, names)| names.into_iter().map(move |name| (kind, name))),
        );
    }
    Ok(reading)
}

async fn with_named(
    reader: &Reader<'_>,
    mut reading: Reading,
    names: &BTreeMap<Kind, BTreeSet<NamespacedName>>,
    listed: &mut BTreeMap<Kind, OwnerList>,
) -> Result<Reading, ClusterError> {
    let reads = names.iter().map(|(kind, names)| {
        let listed = listed.remove(kind);
        async move { (*kind, beside_listed(reader, *kind, names, listed).await) }
    });
    let reads: Vec<_> = reads.collect();
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

/// The objects of these names, from what was `listed` of the kind before and, where that does not have them, from the server.
async fn beside_listed(
    reader: &Reader<'_>,
    kind: Kind,
    names: &BTreeSet<NamespacedName>,
    listed: Option<OwnerList>,
) -> Result<OwnerList, ClusterError> {
    let mut list = match listed {
        Some(Ok(list)) => list,
        Some(Err(gap)) => return Ok(Err(gap)),
        None => return of_kind(reader, kind, names).await,
    };
    list.items
        .retain(|object| workload_name(object).is_some_and(|name| names.contains(name)));
    let known: BTreeSet<&NamespacedName> = list.items.iter().filter_map(workload_name).collect();
    let missing: BTreeSet<NamespacedName> = names
        .iter()
        .filter(|name| !known.contains(name))
        .cloned()
        .collect();
    if missing.is_empty() {
        return Ok(Ok(list));
    }
    // Pods of a later list may belong to what was created in the meantime.
    let others = of_kind(reader, kind, &missing).await?;
    Ok(others.map(|others| {
        list.items.extend(others.items);
        list.warnings.extend(others.warnings);
        list
    }))
}

fn workload_name(object: &Object) -> Option<&NamespacedName> {
    Some(&object.workload()?.name)
}

/// The objects of these names, or why they are not to be had.
async fn of_kind(
    reader: &Reader<'_>,
    kind: Kind,
    names: &BTreeSet<NamespacedName>,
) -> Result<OwnerList, ClusterError> {
    if names.len() > ONE_BY_ONE {
        let keep = |object: &Object| workload_name(object).is_some_and(|name| names.contains(name));
        return listed(reader, kind, place(names), keep).await;
    }
    let Some(version) = reader.served.version_of(kind) else {
        return Ok(Err(unserved(kind)));
    };
    had(kind, by_name(reader, version, names).await)
}

/// All objects of the kind in the cluster, or why they are not to be had.
///
/// # Errors
///
/// As any read, unless permission is missing.
pub(super) async fn all_of_kind(
    reader: &Reader<'_>,
    kind: Kind,
) -> Result<OwnerList, ClusterError> {
    listed(reader, kind, Selection::All, |_| true).await
}

/// The objects of a list that are to be kept, or why they are not to be had.
async fn listed(
    reader: &Reader<'_>,
    kind: Kind,
    selection: Selection,
    keep: impl Fn(&Object) -> bool,
) -> Result<OwnerList, ClusterError> {
    let Some(listing) = reader.listing(kind, selection) else {
        return Ok(Err(unserved(kind)));
    };
    let keep = |object: Object| Some(object).filter(&keep);
    // Most of them stand between a pod and the top, and each has a whole template.
    let read = if kind == Kind::ReplicaSet {
        listing.metadata(keep).await
    } else {
        listing.objects(keep).await
    };
    had(kind, read)
}

fn unserved(kind: Kind) -> Gap {
    Gap::of(kind, "the server does not serve them")
}

/// Workloads of a kind that were read, or the reason why they were not.
fn had(kind: Kind, read: Result<List<Object>, ClusterError>) -> Result<OwnerList, ClusterError> {
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

/// Selection that includes all of them: one namespace, if that is all.
fn place(names: &BTreeSet<NamespacedName>) -> Selection {
    // Namespaces come first in the order of names.
    match (names.first(), names.last()) {
        (Some(first), Some(last)) if first.namespace == last.namespace => {
            Selection::Namespace(first.namespace.to_string())
        }
        (Some(_) | None, _) => Selection::All,
    }
}

/// True if objects of these names are read with one list of the whole cluster, also if there are more of them.
pub(super) fn is_listed_everywhere(names: &BTreeSet<NamespacedName>) -> bool {
    names.len() > ONE_BY_ONE && matches!(place(names), Selection::All)
}

/// The workloads that a pod names: what it says it belongs to, and its Deployment.
pub(super) fn workloads_of(pod: &Pod) -> impl Iterator<Item = (Kind, NamespacedName)> + '_ {
    let deployment = deployment_of(pod).map(|name| (Kind::Deployment, name));
    pod.workloads().chain(deployment)
}

/// The Deployment of a pod, as its ReplicaSet is called.
fn deployment_of(pod: &Pod) -> Option<NamespacedName> {
    let namespace = pod.name.namespace.clone();
    pod.deployment()
        .map(|name| NamespacedName { namespace, name })
}

/// Owners of the pods and workloads so far, without those that were requested already.
fn wanted(
    snapshot: &Snapshot,
    asked: &BTreeSet<(Kind, NamespacedName)>,
) -> BTreeMap<Kind, BTreeSet<NamespacedName>> {
    let mut wanted = snapshot.named_workloads();
    // Named by their pods, so that they need not wait for the ReplicaSets between.
    let deployments: BTreeSet<_> = snapshot.pods.iter().filter_map(deployment_of).collect();
    wanted
        .entry(Kind::Deployment)
        .or_default()
        .extend(deployments);
    for (kind, names) in &mut wanted {
        names.retain(|name| !asked.contains(&(*kind, name.clone())));
    }
    wanted.retain(|_, names| !names.is_empty());
    wanted
}

/// The owners of the pods that have arrived so far: of each kind as many as decide that the kind is listed in the whole
/// cluster.
#[derive(Debug, Default)]
pub(super) struct OwnersSoFar {
    names: Mutex<BTreeMap<Kind, BTreeSet<NamespacedName>>>,
    grown: Notify,
}

impl OwnersSoFar {
    /// Notes to which workloads a pod belongs.
    pub(super) fn note(&self, pod: &Pod) {
        for (kind, name) in workloads_of(pod) {
            let mut names = self.names();
            let of_kind = names.entry(kind).or_default();
            if !is_listed_everywhere(of_kind)
                && of_kind.insert(name)
                && is_listed_everywhere(of_kind)
            {
                self.grown.notify_one();
            }
        }
    }

    /// The kinds that are listed in the whole cluster, whatever other owners are still to come.
    fn listed_kinds(&self) -> Vec<Kind> {
        let names = self.names();
        let listed = names
            .iter()
            .filter(|(_, names)| is_listed_everywhere(names));
        listed.map(|(kind, _)| *kind).collect()
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<Kind, BTreeSet<NamespacedName>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Result of `pods`, and results of `list` for the kinds listed in the whole cluster for the owners `so_far`:
/// each kind is listed as soon as that is so. Each list is newer than the pods from which the names of owners came.
///
/// # Errors
///
/// The first of `pods` and `list`.
pub(super) async fn with_owner_lists<T, L, F>(
    so_far: &OwnersSoFar,
    pods: impl Future<Output = Result<T, ClusterError>>,
    list: impl Fn(Kind) -> F,
) -> Result<(T, BTreeMap<Kind, L>), ClusterError>
where
    F: Future<Output = Result<L, ClusterError>>,
{
    let mut pods = pin!(pods);
    let mut requested: BTreeSet<Kind> = BTreeSet::new();
    let mut reads = FuturesUnordered::new();
    let mut lists = BTreeMap::new();
    let read = loop {
        tokio::select! {
            read = &mut pods => break read?,
            () = so_far.grown.notified() => {
                let kinds = so_far.listed_kinds().into_iter();
                let new = kinds.filter(|kind| requested.insert(*kind));
                reads.extend(new.map(|kind| {
                    let list = list(kind);
                    async move { (kind, list.await) }
                }));
            }
            Some((kind, list)) = reads.next() => {
                lists.insert(kind, list?);
            }
        }
    };
    while let Some((kind, list)) = reads.next().await {
        lists.insert(kind, list?);
    }
    Ok((read, lists))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::pod;
    use crate::model::Controller;

    /// Pods of so many ReplicaSets, which are in these namespaces in turn.
    fn pods(sets: usize, namespaces: &[&str]) -> Vec<Pod> {
        let sets = 0..sets;
        sets.map(|set| Pod {
            controller: Some(Controller {
                api_version: "apps/v1".into(),
                kind: "ReplicaSet".into(),
                name: format!("set-{set}").as_str().into(),
                uid: format!("uid-{set}").as_str().into(),
            }),
            ..pod(namespaces[set % namespaces.len()], &format!("pod-{set}"))
        })
        .collect()
    }

    /// The kinds that are listed before the last of these pods arrives, which waits for the first list where one `is_expected`.
    async fn listed_meanwhile(sets: usize, namespaces: &[&str], is_expected: bool) -> Vec<Kind> {
        let (so_far, listed) = (OwnersSoFar::default(), Notify::new());
        let arriving = async {
            for pod in pods(sets, namespaces) {
                so_far.note(&pod);
                so_far.note(&pod);
                tokio::task::yield_now().await;
            }
            if is_expected {
                listed.notified().await;
            }
            Ok("pods")
        };
        let list = |kind| {
            listed.notify_one();
            async move { Ok(kind) }
        };
        let (read, lists) = with_owner_lists(&so_far, arriving, list)
            .await
            .expect("nothing fails");
        assert_eq!(read, "pods");
        lists.into_values().collect()
    }

    #[tokio::test]
    async fn owners_are_listed_before_all_pods_are_there_where_they_are_many() {
        let many = ONE_BY_ONE + 1;
        assert_eq!(
            listed_meanwhile(ONE_BY_ONE, &["ml", "web"], false).await,
            []
        );
        // One namespace is listed alone, which is known only when all pods are there.
        assert_eq!(listed_meanwhile(many, &["ml"], false).await, []);
        let listed = listed_meanwhile(many, &["ml", "web"], true).await;
        assert_eq!(listed, [Kind::ReplicaSet]);
    }
}
