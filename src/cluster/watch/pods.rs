//! Watch of the pods of selected devices.
//!
//! Pods that use a selected device are named by the claims that hold it. These change during the watch, so that
//! places are watched and not names:
//!
//! ```text
//! devices on few nodes                      the pods of these nodes
//! devices elsewhere, or pods that no such node has   all pods of the cluster
//! pods that may not be listed               each by its name, every time anew
//! ```

use std::time::Duration;

use tokio::time::Instant;

use super::feed::FeedScope;
use super::watched::Watched;
use crate::cluster::error::ClusterError;
use crate::cluster::read::claim_consumers::ClaimConsumers;
use crate::cluster::read::pods::{Found, Reader};
use crate::model::{DeviceId, Kind, Snapshot};

/// Maximum number of nodes that are watched one by one.
const NODE_BY_NODE: usize = 24;
/// Pods are asked for by name once in so long at most.
const INTERVAL: Duration = Duration::from_secs(1);

/// The places to watch.
fn places(wanted: &ClaimConsumers, snapshot: &Snapshot) -> Vec<FeedScope> {
    match wanted.nodes(snapshot) {
        // A PodGroup does not name its pods, so only a list of all pods shows its members.
        Some(nodes) if nodes.len() <= NODE_BY_NODE && wanted.groups.is_empty() => {
            let nodes = nodes.iter();
            nodes
                .map(|node| FeedScope::Node(node.as_str().to_owned()))
                .collect()
        }
        Some(_) | None => vec![FeedScope::All],
    }
}

impl Watched {
    /// Keeps, of now on, the pods that use a device that `selects` chooses.
    ///
    /// To be called before every look, since the claims name the pods, and they change. Costs nothing
    /// while all pods are in places that are watched. Without permission to read them, the reading has a gap.
    ///
    /// # Errors
    ///
    /// When pods cannot be read, unless permission is missing.
    pub async fn keep_pods(
        &mut self,
        selects: impl Fn(&DeviceId) -> bool,
    ) -> Result<(), ClusterError> {
        if self.watches(Kind::Pod, &FeedScope::All) {
            return Ok(());
        }
        let wanted = ClaimConsumers::new(&self.reading.snapshot, selects);
        for place in places(&wanted, &self.reading.snapshot) {
            self.watch_pods(place).await?;
        }
        if !self.missing(&wanted).is_empty() {
            self.watch_pods(FeedScope::All).await?;
        }
        if self.confined {
            self.ask(self.missing(&wanted)).await?;
        }
        Ok(())
    }

    /// True if some pods are read each time anew, since they cannot be watched.
    pub fn asks_by_name(&self) -> bool {
        !self.by_name.is_empty()
    }

    /// True if the end of some pods cannot be seen, so that force deletions are not detected.
    pub fn misses_force_deletions(&self) -> bool {
        self.confined || self.pods_are_polled
    }

    /// Watches the pods in a place, unless that is done or not allowed.
    async fn watch_pods(&mut self, place: FeedScope) -> Result<(), ClusterError> {
        if self.confined || self.watches(Kind::Pod, &place) {
            return Ok(());
        }
        match self.open(Kind::Pod, place).await {
            // The permission to list does not depend on the node, so no other list is tried.
            Err(ClusterError::Forbidden { permission, .. }) => {
                self.confined = true;
                self.forget_pods();
                self.client.notice(&format!(
                    "no permission to {permission}: reading each pod by its name; force deletions are not detected"
                ));
                Ok(())
            }
            result => result,
        }
    }

    /// Those of `wanted` that are not among the pods of the reading and may still exist: no other pod is ever given the
    /// UID of one that is gone.
    fn missing(&self, wanted: &ClaimConsumers) -> ClaimConsumers {
        let known = self.reading.snapshot.pods.iter().map(|pod| &pod.uid);
        let known: std::collections::BTreeSet<_> = known.filter(|_| !self.confined).collect();
        let mut missing = ClaimConsumers::default();
        for (name, uids) in &wanted.pods {
            for uid in uids {
                if !known.contains(uid) && !self.gone.contains(uid) {
                    missing.add(name.clone(), uid.clone());
                }
            }
        }
        missing.groups.clone_from(&wanted.groups);
        missing
    }

    async fn ask(&mut self, wanted: ClaimConsumers) -> Result<(), ClusterError> {
        let is_fresh = self.asked.is_some_and(|at| at.elapsed() < INTERVAL);
        let Some(version) = self.served.version_of(Kind::Pod) else {
            return Ok(());
        };
        if is_fresh && wanted == self.by_name {
            return Ok(());
        }
        let reader = Reader {
            client: &self.client,
            version,
            wanted: &wanted,
            note: &|_| {},
        };
        let mut found = Found::default();
        let names = wanted.pods.keys().collect();
        reader.by_name(names, &mut found).await?;
        reader.in_namespaces(&self.gone, &mut found).await?;
        // After a gap, a pod that was not found may still exist.
        if found.gap.is_none() {
            let pods = found.pods.values();
            let there: std::collections::BTreeSet<_> = pods.map(|pod| &pod.uid).collect();
            let uids = wanted.uids().map(|(_, uid)| uid);
            let gone: Vec<_> = uids.filter(|uid| !there.contains(uid)).cloned().collect();
            self.gone.extend(gone);
        }
        self.reading.snapshot.pods = found.pods.into_values().collect();
        self.by_name = wanted;
        self.asked = Some(Instant::now());
        for warning in found.warnings {
            if !self.reading.warnings.contains(&warning) {
                self.reading.warnings.push(warning);
            }
        }
        let gaps = &mut self.reading.gaps;
        gaps.retain(|gap| gap.what != Kind::Pod.plural());
        gaps.extend(found.gap);
        Ok(())
    }
}
