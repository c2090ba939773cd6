//! How the pods that matter are kept current.
//!
//! Those that use a selected device are named by the claims that hold it; see `read/pods.rs`. Which
//! they are changes while one looks, so that places are watched and not names, and only what is in no
//! such place is asked for by name, each time anew.
//!
//! ```text
//! devices on few nodes                          the pods of these nodes
//! few pods elsewhere                            the pods of their nodes
//! many pods elsewhere, or pods of a PodGroup    all pods of the cluster
//! pods without a node, or that may not be listed  each by its name
//! a UID that no such name has, or a PodGroup whose pods may not be watched   the pods of that namespace
//! ```

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::feed::FeedScope;
use super::watched::Watched;
use crate::cluster::error::ClusterError;
use crate::cluster::read::claim_consumers::ClaimConsumers;
use crate::cluster::read::pods::{Found, Reader};
use crate::model::{DeviceId, Kind, NamespacedName, NodeName, Snapshot};
use crate::wire::Object;

/// Up to so many pods are read one by one.
const ONE_BY_ONE: usize = 50;
/// Up to so many nodes are watched one by one.
const NODE_BY_NODE: usize = 24;

/// The places to watch; none when it is better to ask by name.
fn places(wanted: &ClaimConsumers, snapshot: &Snapshot) -> Vec<FeedScope> {
    // A PodGroup does not name its pods, so only a list of all pods shows its members.
    if !wanted.groups.is_empty() {
        return vec![FeedScope::All];
    }
    match wanted.nodes(snapshot) {
        Some(nodes) if nodes.len() <= NODE_BY_NODE => {
            let nodes = nodes.iter();
            nodes
                .map(|node| FeedScope::Node(node.as_str().to_owned()))
                .collect()
        }
        Some(_) | None if wanted.pods.len() > ONE_BY_ONE => vec![FeedScope::All],
        Some(_) | None => Vec::new(),
    }
}

/// The nodes of the pods, as far as they are known. Only a watch tells how pods end, also where the devices are local to
/// no node or their driver is away.
fn homes(wanted: &ClaimConsumers, snapshot: &Snapshot) -> Vec<FeedScope> {
    let node_of = |name: &NamespacedName| {
        let pod = snapshot.pods.iter().find(|pod| pod.name == *name)?;
        pod.node.clone()
    };
    let nodes: BTreeSet<NodeName> = wanted.pods.keys().filter_map(node_of).collect();
    if nodes.len() > NODE_BY_NODE {
        return vec![FeedScope::All];
    }
    let nodes = nodes.into_iter();
    nodes
        .map(|node| FeedScope::Node(node.as_str().to_owned()))
        .collect()
}

impl Watched {
    /// Keeps, of now on, the pods that use a device that `selects` chooses.
    ///
    /// To be called before every look, since the claims name the pods, and they change. Costs nothing
    /// while all pods are in places that are watched. Whoever may not read them finds a gap in the
    /// reading.
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
        let mut missing = self.missing(&wanted);
        if missing.pods.len() > ONE_BY_ONE && !self.by_name.confined {
            self.watch_pods(FeedScope::All).await?;
            missing = self.missing(&wanted);
        }
        self.ask(missing).await?;
        if !self.asks_by_name() || self.by_name.confined {
            return Ok(());
        }
        let places = homes(&wanted, &self.reading.snapshot);
        for place in &places {
            self.watch_pods(place.clone()).await?;
        }
        if places.iter().any(|place| self.watches(Kind::Pod, place)) {
            self.ask(self.missing(&wanted)).await?;
        }
        Ok(())
    }

    /// Whether some pods are asked for each time anew, since no place that is watched has them.
    #[must_use]
    pub fn asks_by_name(&self) -> bool {
        !self.by_name.wanted.is_empty()
    }

    /// Whether the end of some pods cannot be seen, so that force deletions are not detected.
    #[must_use]
    pub fn misses_force_deletions(&self) -> bool {
        self.by_name.confined || self.pods_are_polled
    }

    /// Watches the pods in a place, unless that is done or not allowed.
    async fn watch_pods(&mut self, place: FeedScope) -> Result<(), ClusterError> {
        if self.by_name.confined || self.watches(Kind::Pod, &place) {
            return Ok(());
        }
        match self.open(Kind::Pod, place).await {
            // The permission to list does not depend on the node, so no other list is tried.
            Err(ClusterError::Forbidden { permission, .. }) => {
                self.by_name.confined = true;
                self.client.notice(&format!(
                    "no permission to {permission}: trying to read each pod by its name instead, and force-deleted pods \
                     are detected only if they were stuck in Terminating"
                ));
            }
            result => result?,
        }
        Ok(())
    }

    /// Those of `wanted` that no feed knows and that may still be there, by their own names where
    /// these are known.
    fn missing(&self, wanted: &ClaimConsumers) -> ClaimConsumers {
        let mut missing = ClaimConsumers::default();
        if self.watches(Kind::Pod, &FeedScope::All) {
            return missing;
        }
        let told = self.told_pods();
        for (name, uids) in &wanted.pods {
            for uid in uids.iter().filter(|uid| !told.contains(*uid)) {
                if let Some(name) = self.by_name.name_of(name, uid) {
                    missing.add(name.clone(), uid.clone());
                }
            }
        }
        // A PodGroup does not name its pods, so no feed can show that all of them are known.
        missing.groups.clone_from(&wanted.groups);
        missing
    }

    async fn ask(&mut self, missing: ClaimConsumers) -> Result<(), ClusterError> {
        if self.by_name.is_fresh() && missing == self.by_name.wanted {
            return Ok(());
        }
        let Some(version) = self.served.version_of(Kind::Pod) else {
            return Ok(());
        };
        let reader = Reader {
            client: &self.client,
            version,
            wanted: &missing,
            note: &|_| {},
        };
        let mut found = Found::default();
        reader
            .by_name(missing.pods.keys().collect(), &mut found)
            .await?;
        // After a gap, a pod that was not found may still exist, so none is declared gone.
        if found.gap.is_none() {
            self.by_name.saw(&missing, &found.pods);
        }
        let gone = self.by_name.known_to_be_gone();
        reader.in_namespaces(gone, &mut found).await?;
        if found.gap.is_none() {
            self.by_name.saw_all(&missing, &found.pods);
        }
        let told = self.told_pods();
        let pods = found.pods.into_values();
        let news = pods
            .filter(|pod| !told.contains(&pod.uid))
            .map(Object::Pod)
            .collect();
        self.pods_by_name(|shelf| shelf.replace(news));
        self.by_name.wanted = missing;
        self.by_name.asked = Some(Instant::now());
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
