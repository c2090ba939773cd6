//! How the pods that matter are kept current.
//!
//! Those that use a selected device are named by the claims that hold it; see `read/pods.rs`. Which
//! they are changes while one looks, so that places are watched and not names, and only what is in no
//! such place is asked for by name, each time anew.
//!
//! ```text
//! devices on few nodes                          the pods of these nodes
//! many pods elsewhere, or pods of a PodGroup    all pods of the cluster
//! few pods elsewhere                            each by its name
//! ```

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt};
use tokio::time::Instant;

use super::Watched;
use super::feed::Range;
use crate::cluster::ClusterError;
use crate::cluster::read::lists;
use crate::cluster::read::nodes_of;
use crate::model::{DeviceId, Gap, Kind, NamespacedName, NodeName, Snapshot, Uid};
use crate::wire::Object;

/// Up to so many pods are read one by one.
const ONE_BY_ONE: usize = 50;
/// Up to so many nodes are watched one by one.
const NODE_BY_NODE: usize = 24;
/// Requests at a time.
const AT_ONCE: usize = 8;

/// Which pods matter, and where they are.
struct Wanted {
    pods: BTreeMap<NamespacedName, BTreeSet<Uid>>,
    /// A claim is reserved for a PodGroup, which does not name its pods.
    groups: bool,
    /// Where the devices are, if all of them are local to a node.
    nodes: Option<BTreeSet<NodeName>>,
}

impl Wanted {
    fn new(snapshot: &Snapshot, selects: impl Fn(&DeviceId) -> bool) -> Self {
        let mut pods: BTreeMap<NamespacedName, BTreeSet<Uid>> = BTreeMap::new();
        let mut groups = false;
        let mut held = BTreeSet::new();
        for claim in &snapshot.claims {
            let results = claim.allocation.iter().flat_map(|found| &found.results);
            let ids = results.map(|result| &result.device);
            let mut selected = ids.filter(|id| selects(id)).peekable();
            if selected.peek().is_none() {
                continue;
            }
            held.extend(selected);
            for consumer in &claim.reserved_for {
                match (&*consumer.api_group, &*consumer.resource) {
                    ("", "pods") => {
                        let name = NamespacedName {
                            namespace: claim.name.namespace.clone(),
                            name: consumer.name.clone(),
                        };
                        pods.entry(name).or_default().insert(consumer.uid.clone());
                    }
                    ("scheduling.k8s.io", "podgroups") => groups = true,
                    _ => {}
                }
            }
        }
        let nodes = nodes_of(snapshot, &held);
        Self {
            pods,
            groups,
            nodes,
        }
    }

    /// The places to watch; none when it is better to ask by name.
    fn places(&self) -> Vec<Range> {
        if self.groups {
            return vec![Range::All];
        }
        match &self.nodes {
            Some(nodes) if nodes.len() <= NODE_BY_NODE => {
                let nodes = nodes.iter();
                nodes
                    .map(|node| Range::Node(node.as_str().to_owned()))
                    .collect()
            }
            Some(_) | None if self.pods.len() > ONE_BY_ONE => vec![Range::All],
            Some(_) | None => Vec::new(),
        }
    }
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
        if self.watches(Kind::Pod, &Range::All) {
            return Ok(());
        }
        let wanted = Wanted::new(&self.reading.snapshot, selects);
        for place in wanted.places() {
            self.watch_pods(place).await?;
        }
        let mut missing = self.missing(&wanted);
        if missing.len() > ONE_BY_ONE && !self.by_name.confined {
            self.watch_pods(Range::All).await?;
            missing = self.missing(&wanted);
        }
        self.ask_by_name(missing).await
    }

    /// Whether some pods are asked for each time anew, since no place that is watched has them.
    #[must_use]
    pub fn asks_by_name(&self) -> bool {
        !self.by_name.wanted.is_empty()
    }

    /// Watches the pods in a place, unless that is done or not allowed.
    async fn watch_pods(&mut self, place: Range) -> Result<(), ClusterError> {
        if self.by_name.confined || self.watches(Kind::Pod, &place) {
            return Ok(());
        }
        match self.open(Kind::Pod, place).await {
            Err(ClusterError::Forbidden { .. }) => self.by_name.confined = true,
            result => result?,
        }
        Ok(())
    }

    /// The pods that no feed knows and that may still be there.
    fn missing(&self, wanted: &Wanted) -> BTreeMap<NamespacedName, BTreeSet<Uid>> {
        if self.watches(Kind::Pod, &Range::All) {
            return BTreeMap::new();
        }
        let pods = wanted.pods.iter();
        pods.filter(|(name, uids)| {
            !self.knows_pod(&name.to_string()) && !uids.is_subset(&self.by_name.gone)
        })
        .map(|(name, uids)| (name.clone(), uids.clone()))
        .collect()
    }

    async fn ask_by_name(
        &mut self,
        missing: BTreeMap<NamespacedName, BTreeSet<Uid>>,
    ) -> Result<(), ClusterError> {
        let recent = self.by_name.is_fresh();
        if recent && missing == self.by_name.wanted {
            return Ok(());
        }
        let Some(version) = self.served.version_of(Kind::Pod) else {
            return Ok(());
        };
        let client = self.client.clone();
        let mut answers = stream::iter(missing.keys().map(|name| {
            let client = &client;
            async move { (name, lists::object(client, version, name).await) }
        }))
        .buffer_unordered(AT_ONCE);
        let mut found = Vec::new();
        let mut denied = None;
        let mut gone = BTreeSet::new();
        while let Some((name, answer)) = answers.next().await {
            match answer {
                Ok(list) => {
                    let pods = list.unwrap_or_default().items;
                    let wanted = missing.get(name).cloned().unwrap_or_default();
                    let there = uids_of(&pods);
                    gone.extend(wanted.into_iter().filter(|uid| !there.contains(uid)));
                    found.extend(pods);
                }
                Err(error @ ClusterError::Forbidden { .. }) => denied = Some(error),
                Err(error) => return Err(error),
            }
        }
        drop(answers);
        self.pods_by_name(|shelf| shelf.replace(found));
        self.by_name.gone.extend(gone);
        self.by_name.wanted = missing;
        self.by_name.asked = Some(Instant::now());
        let gaps = &mut self.reading.gaps;
        gaps.retain(|gap| gap.what != Kind::Pod.plural());
        gaps.extend(denied.map(|error| Gap::of(Kind::Pod, &error.to_string())));
        Ok(())
    }
}

fn uids_of(objects: &[Object]) -> BTreeSet<Uid> {
    let uids = objects.iter().filter_map(|object| {
        if let Object::Pod(pod) = object {
            Some(pod.uid.clone())
        } else {
            None
        }
    });
    uids.collect()
}
