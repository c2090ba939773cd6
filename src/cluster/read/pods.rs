//! The pods that matter: those that use a selected device.
//!
//! A pod uses a device when a claim that holds it is reserved for the pod, so the claims name the
//! pods, and nothing else is read. Pods are matched by the UID of a reservation: where no pod of its name
//! has that UID, it is looked for in the namespace. Pods that merely refer to such a claim (not scheduled yet, or
//! their reservation withdrawn) do not use it, cannot be evicted from it, and are left out.
//!
//! ```text
//! few pods          each by its name, several at a time
//! on few nodes      the pods of these nodes, then by name those that are elsewhere
//! many              all pods of the cluster, in one list
//! all devices of a driver   all pods of the cluster that refer to claims, beside the claims; what is new by name
//! reserved for a PodGroup, or for a UID that no such name has   the pods of that namespace
//! ```

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt};

use super::devices::ClaimConsumers;
use super::lists::{self, List, Listing, Selection};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{
    DeviceId, Gap, Kind, Namespace, NamespacedName, Pod, Reading, Snapshot, Uid, Warning,
};
use crate::wire::{Detail, Version};

/// Maximum number of pods that are read one by one.
const ONE_BY_ONE: usize = 50;
/// Maximum number of nodes whose pods are read node by node.
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
    served: &ServedKinds,
    reading: Reading,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let arriving = ArrivingPods {
        early: None,
        note: &|_| {},
    };
    read_noted_pods(client, served, reading, arriving, selects).await
}

/// Lists all pods of the cluster that may have a claim, before it is known which claims are selected; `None` where that
/// is denied.
///
/// # Errors
///
/// When the pods cannot be read completely.
pub(super) async fn list_early(
    client: &ApiClient,
    served: &ServedKinds,
) -> Result<Option<List<Pod>>, ClusterError> {
    let Some(version) = served.version_of(Kind::Pod) else {
        return Ok(None);
    };
    let listing = Listing::new(client, version, Selection::All, Detail::Names);
    let may_have_claim = |pod: &Pod| {
        !pod.claims.is_empty() || pod.extended_resource_claim.is_some() || pod.pod_group.is_some()
    };
    match listing.facts(may_have_claim).await {
        Ok(list) => Ok(Some(list)),
        Err(ClusterError::Forbidden { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Pods that were listed already, and the recipient of others.
pub(super) struct ArrivingPods<'a> {
    /// Pods that [`list_early`] returned; they are not read again.
    pub(super) early: Option<List<Pod>>,
    /// Receives each pod that is kept from a list, when it arrives.
    pub(super) note: &'a (dyn Fn(&Pod) + Sync),
}

/// As [`read_pods`], with pods that are `arriving`.
pub(super) async fn read_noted_pods(
    client: &ApiClient,
    served: &ServedKinds,
    reading: Reading,
    arriving: ArrivingPods<'_>,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let mut reading = reading;
    let Some(version) = served.version_of(Kind::Pod) else {
        return Ok(reading);
    };
    let wanted = ClaimConsumers::new(&reading.snapshot, selects);
    let reader = Reader {
        client,
        version,
        wanted: &wanted,
        note: arriving.note,
    };
    let found = reader.read(&reading.snapshot, arriving.early).await?;
    reading.snapshot.pods = found.pods.into_values().collect();
    reading.warnings.extend(found.warnings);
    reading.gaps.extend(found.gap);
    reading.resource_versions.extend(
        found
            .resource_version
            .map(|version| (Kind::Pod.plural().to_owned(), version)),
    );
    // The responses with the pods are newer than those from which the reading has its time.
    reading.observed_at = client.server_time();
    Ok(reading)
}

/// Pods that were read.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) pods: BTreeMap<NamespacedName, Pod>,
    pub(crate) warnings: Vec<Warning>,
    /// Reason why pods may be missing.
    pub(crate) gap: Option<Gap>,
    resource_version: Option<String>,
}

impl Found {
    fn add(&mut self, list: List<Pod>) {
        self.warnings.extend(list.warnings);
        self.pods
            .extend(list.items.into_iter().map(|pod| (pod.name.clone(), pod)));
    }
}

/// Reads the pods that are wanted.
pub(crate) struct Reader<'a> {
    pub(crate) client: &'a ApiClient,
    pub(crate) version: &'static Version,
    pub(crate) wanted: &'a ClaimConsumers,
    /// Receives each pod that is kept from a list, when it arrives.
    pub(crate) note: &'a (dyn Fn(&Pod) + Sync),
}

impl Reader<'_> {
    async fn read(
        &self,
        snapshot: &Snapshot,
        early: Option<List<Pod>>,
    ) -> Result<Found, ClusterError> {
        let wanted = self.wanted;
        let mut found = Found::default();
        if let Some(mut list) = early {
            // A pod that had no node yet when it was listed may have one now that a claim is reserved for it.
            list.items
                .retain(|pod| pod.node.is_some() && wanted.contains(pod));
            list.items.iter().for_each(self.note);
            found.resource_version = Some(list.metadata.resource_version.clone());
            found.add(list);
        } else if wanted.pods.len() > ONE_BY_ONE {
            match wanted.nodes(snapshot) {
                Some(nodes) if nodes.len() <= NODE_BY_NODE => {
                    let on_nodes = nodes.iter().map(|node| Selection::on_node(node.as_str()));
                    self.lists(on_nodes, &mut found).await?;
                }
                Some(_) | None => {
                    // `None` means denied: a role for single namespaces may still allow the pods by name.
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
        // A role may also allow the list but not single pods.
        if found.gap.is_some()
            && let Some(all) = self.all().await?
        {
            return Ok(all);
        }
        self.in_namespaces(&BTreeSet::new(), &mut found).await?;
        Ok(found)
    }

    /// The pods of the groups that are wanted, and those that are not called what their reservations
    /// say; those that are known to be `gone` are not looked for.
    ///
    /// # Errors
    ///
    /// As any list, unless permission is missing, which is a gap.
    pub(crate) async fn in_namespaces(
        &self,
        gone: &BTreeSet<Uid>,
        found: &mut Found,
    ) -> Result<(), ClusterError> {
        let groups = self.wanted.groups.iter().map(|(namespace, _)| namespace);
        let mut namespaces: BTreeSet<&Namespace> = groups.collect();
        // A gap is known already to a user who may not read pods by name.
        if found.gap.is_none() {
            namespaces.extend(self.astray(gone, found));
        }
        let namespaces = namespaces.into_iter().map(|name| name.as_str().to_owned());
        self.lists(namespaces.map(Selection::Namespace), found)
            .await
    }

    /// Namespaces of UIDs that none of the found pods has: the pod is gone, or has another name.
    fn astray(&self, gone: &BTreeSet<Uid>, found: &Found) -> BTreeSet<&Namespace> {
        let known: BTreeSet<&Uid> = found.pods.values().map(|pod| &pod.uid).collect();
        let wanted = self.wanted.uids();
        wanted
            .filter(|(_, uid)| !known.contains(uid) && !gone.contains(*uid))
            .map(|(namespace, _)| namespace)
            .collect()
    }

    fn missing(&self, found: &Found) -> Vec<&NamespacedName> {
        let names = self.wanted.pods.keys();
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
        let (wanted, note) = (self.wanted, self.note);
        // One way of choosing for all who list pods: what reads a list is long, and made for each.
        let keep: &(dyn Fn(&Pod) -> bool + Sync) = &|pod: &Pod| {
            let is_wanted = wanted.contains(pod);
            if is_wanted {
                note(pod);
            }
            is_wanted
        };
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
        Listing::new(self.client, self.version, selection, Detail::Names)
    }

    /// The pods of these names, as far as there are any.
    ///
    /// # Errors
    ///
    /// As any read, unless permission is missing, which is a gap.
    pub(crate) async fn by_name(
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
            let reason = format!("{error} in namespaces: {}", namespaces.join(", "));
            found.gap = Some(Gap::of(Kind::Pod, &reason));
        }
        Ok(())
    }
}
