//! The pods that matter: those that use a selected device.
//!
//! A pod uses a device when a claim that holds it is reserved for the pod, so the claims name the
//! pods, and nothing else is read. What counts is the UID of a reservation: where its name leads to
//! nobody who has it, it is looked for in the namespace. Pods that merely refer to such a claim (not scheduled yet, or
//! their reservation withdrawn) do not use it, cannot be evicted from it, and are left out.
//!
//! ```text
//! few pods          each by its name, several at a time
//! on few nodes      the pods of these nodes, then by name those that are elsewhere
//! many              all pods of the cluster, in one list
//! reserved for a PodGroup, or for a UID that no such name has   the pods of that namespace
//! ```

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt};

use super::list::List;
use super::lists::{self, Listing, Selection};
use crate::cluster::{ApiClient, ClusterError, Served};
use crate::model::{
    DeviceId, Gap, Kind, Namespace, NamespacedName, NodeName, ObjectName, Pod, Reading,
    ResourceClaim, Snapshot, Uid, Warning,
};
use crate::wire::{Detail, Version};

/// Up to so many pods are read one by one.
const ONE_BY_ONE: usize = 50;
/// Up to so many nodes' pods are read node by node.
const NODE_BY_NODE: usize = 24;
/// Requests at a time.
const AT_ONCE: usize = 8;

/// Adds to `reading` the pods that use a device that `selects` chooses.
///
/// A pod that is gone is simply not there; its reservation then shows as out of date.
///
/// # Errors
///
/// When the pods cannot be read completely, unless permission is missing, which is a gap.
pub async fn read_pods(
    client: &ApiClient,
    served: &Served,
    reading: Reading,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let mut reading = reading;
    let Some(version) = served.version_of(Kind::Pod) else {
        return Ok(reading);
    };
    let wanted = Wanted::new(&reading.snapshot, selects);
    let reader = Reader {
        client,
        version,
        wanted: &wanted,
    };
    let found = reader.read().await?;
    reading.snapshot.pods = found.pods.into_values().collect();
    reading.warnings.extend(found.warnings);
    reading.gaps.extend(found.gap);
    reading.resource_versions.extend(
        found
            .resource_version
            .map(|version| (Kind::Pod.plural().to_owned(), version)),
    );
    reading.observed_at = client.server_time();
    Ok(reading)
}

/// Which pods to read.
#[derive(Debug, Default)]
struct Wanted {
    names: BTreeSet<NamespacedName>,
    uids: BTreeSet<(Namespace, Uid)>,
    groups: BTreeSet<(Namespace, ObjectName)>,
    /// Where the devices are, if all of them are local to a node.
    nodes: Option<BTreeSet<NodeName>>,
}

impl Wanted {
    fn new(snapshot: &Snapshot, selects: impl Fn(&DeviceId) -> bool) -> Self {
        let mut wanted = Self::default();
        let mut held = BTreeSet::new();
        for claim in &snapshot.claims {
            let results = claim
                .allocation
                .iter()
                .flat_map(|allocation| &allocation.results);
            let mut selected = results
                .map(|result| &result.device)
                .filter(|id| selects(id))
                .peekable();
            if selected.peek().is_some() {
                held.extend(selected);
                wanted.add_consumers(claim);
            }
        }
        if wanted.names.len() > ONE_BY_ONE {
            wanted.nodes = nodes_of(snapshot, &held);
        }
        wanted
    }

    fn add_consumers(&mut self, claim: &ResourceClaim) {
        let namespace = &claim.name.namespace;
        for consumer in &claim.reserved_for {
            match (&*consumer.api_group, &*consumer.resource) {
                ("", "pods") => {
                    self.names.insert(NamespacedName {
                        namespace: namespace.clone(),
                        name: consumer.name.clone(),
                    });
                    self.uids.insert((namespace.clone(), consumer.uid.clone()));
                }
                ("scheduling.k8s.io", "podgroups") => {
                    self.groups
                        .insert((namespace.clone(), consumer.name.clone()));
                }
                _ => {}
            }
        }
    }

    fn contains(&self, pod: &Pod) -> bool {
        let uid = || (pod.name.namespace.clone(), pod.uid.clone());
        self.names.contains(&pod.name) || self.uids.contains(&uid()) || self.is_in_group(pod)
    }

    fn is_in_group(&self, pod: &Pod) -> bool {
        let group = pod.pod_group.as_ref();
        group.is_some_and(|group| {
            self.groups
                .contains(&(pod.name.namespace.clone(), group.clone()))
        })
    }
}

/// The nodes of all of `devices`, or `None` when one of them is not local to a node.
pub(in crate::cluster) fn nodes_of(
    snapshot: &Snapshot,
    devices: &BTreeSet<&DeviceId>,
) -> Option<BTreeSet<NodeName>> {
    let mut nodes: BTreeMap<DeviceId, Option<NodeName>> = BTreeMap::new();
    for slice in &snapshot.slices {
        for device in &slice.devices {
            let id = slice.id_of(device);
            if devices.contains(&id) {
                nodes.insert(id, slice.node_of(device).cloned());
            }
        }
    }
    devices.iter().map(|id| nodes.get(*id)?.clone()).collect()
}

/// What was read.
#[derive(Debug, Default)]
struct Found {
    pods: BTreeMap<NamespacedName, Pod>,
    warnings: Vec<Warning>,
    gap: Option<Gap>,
    resource_version: Option<String>,
}

impl Found {
    fn add(&mut self, list: List<Pod>) {
        self.warnings.extend(list.warnings);
        self.pods
            .extend(list.items.into_iter().map(|pod| (pod.name.clone(), pod)));
    }
}

struct Reader<'a> {
    client: &'a ApiClient,
    version: &'static Version,
    wanted: &'a Wanted,
}

impl Reader<'_> {
    async fn read(&self) -> Result<Found, ClusterError> {
        let wanted = self.wanted;
        let mut found = Found::default();
        if wanted.names.len() > ONE_BY_ONE {
            match &wanted.nodes {
                Some(nodes) if nodes.len() <= NODE_BY_NODE => {
                    let on_nodes = nodes.iter().map(|node| Selection::on_node(node.as_str()));
                    self.lists(on_nodes, &mut found).await?;
                }
                Some(_) | None => {
                    if let Some(all) = self.all().await? {
                        return Ok(all);
                    }
                }
            }
        }
        let missing = self.missing(&found);
        if missing.len() > ONE_BY_ONE
            && found.gap.is_none()
            && let Some(all) = self.all().await?
        {
            return Ok(all);
        }
        // Everything that lists did not show is asked for by name, so a list that was denied
        // leaves no gap.
        found.gap = None;
        self.by_name(missing, &mut found).await?;
        if found.gap.is_some()
            && let Some(all) = self.all().await?
        {
            return Ok(all);
        }
        let groups = wanted.groups.iter().map(|(namespace, _)| namespace);
        let mut namespaces: BTreeSet<&Namespace> = groups.collect();
        // Whoever may not read pods by name knows by now that somebody may be missing.
        if found.gap.is_none() {
            namespaces.extend(self.astray(&found));
        }
        let namespaces = namespaces.into_iter().map(|name| name.as_str().to_owned());
        self.lists(namespaces.map(Selection::Namespace), &mut found)
            .await?;
        Ok(found)
    }

    /// Where a UID is wanted that no pod has that was found: the pod is gone, or has another name.
    fn astray(&self, found: &Found) -> BTreeSet<&Namespace> {
        let known: BTreeSet<&Uid> = found.pods.values().map(|pod| &pod.uid).collect();
        let wanted = self.wanted.uids.iter();
        wanted
            .filter(|(_, uid)| !known.contains(uid))
            .map(|(namespace, _)| namespace)
            .collect()
    }

    fn missing(&self, found: &Found) -> Vec<&NamespacedName> {
        let names = self.wanted.names.iter();
        names
            .filter(|name| !found.pods.contains_key(*name))
            .collect()
    }

    /// All wanted pods from the list of all of the cluster, or `None` when that is denied.
    async fn all(&self) -> Result<Option<Found>, ClusterError> {
        let mut found = Found::default();
        self.lists(std::iter::once(Selection::All), &mut found)
            .await?;
        Ok(Some(found).filter(|found| found.gap.is_none()))
    }

    async fn lists(
        &self,
        selections: impl Iterator<Item = Selection>,
        found: &mut Found,
    ) -> Result<(), ClusterError> {
        let wanted = self.wanted;
        let keep = |pod: &Pod| wanted.contains(pod);
        let listings: Vec<Listing<'_>> = selections.map(|some| self.listing(some)).collect();
        let mut answers = stream::iter(listings.iter().map(|listing| async move {
            let whole = matches!(listing.selection, Selection::All);
            (whole, listing.facts(keep).await)
        }))
        .buffer_unordered(AT_ONCE);
        while let Some((whole, answer)) = answers.next().await {
            match answer {
                Ok(list) => {
                    if whole {
                        found.resource_version = Some(list.metadata.resource_version.clone());
                    }
                    found.add(list);
                }
                Err(error @ ClusterError::Forbidden { .. }) => {
                    found.gap = Some(Gap::of(Kind::Pod, &error.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn listing(&self, selection: Selection) -> Listing<'_> {
        Listing {
            client: self.client,
            version: self.version,
            selection,
            detail: Detail::Names,
        }
    }

    async fn by_name(
        &self,
        names: Vec<&NamespacedName>,
        found: &mut Found,
    ) -> Result<(), ClusterError> {
        let mut denied: BTreeSet<&Namespace> = BTreeSet::new();
        let mut reason = None;
        let mut answers = stream::iter(names.into_iter().map(|name| async move {
            (name, lists::object(self.client, self.version, name).await)
        }))
        .buffer_unordered(AT_ONCE);
        while let Some((name, answer)) = answers.next().await {
            match answer {
                Ok(list) => found.add(list.unwrap_or_default().of_kind()),
                Err(error @ ClusterError::Forbidden { .. }) => {
                    denied.insert(&name.namespace);
                    reason = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = reason {
            let namespaces: Vec<&str> = denied.iter().map(|name| name.as_str()).collect();
            let reason = format!("{error} in {}", namespaces.join(", "));
            found.gap = Some(Gap::of(Kind::Pod, &reason));
        }
        Ok(())
    }
}
