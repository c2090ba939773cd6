//! Lists of owners that are requested while pods still arrive.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;

use super::workloads::{is_listed_everywhere, workloads_of};
use crate::cluster::error::ClusterError;
use crate::model::{Kind, NamespacedName, Pod};

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
    use super::super::workloads::ONE_BY_ONE;
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
