//! Devices, who holds them, and what taints them: everything but the pods.

use std::collections::{BTreeMap, BTreeSet};

use futures::join;

use super::disruption_inputs::EarlyInputs;
use super::kinds::{Notes, Outcome, Reader};
use super::lists::List;
use super::pods::read_pods;
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{
    DeviceId, DeviceTaintRule, Kind, Namespace, NamespacedName, NodeName, ObjectName, Pod, Reading,
    ResourceClaim, ResourceSlice, Snapshot, Source, Uid,
};
use crate::wire::Detail;

/// Reads what a preview of the devices that `selects` chooses needs.
///
/// # Errors
///
/// As [`read_devices`] and [`read_pods`].
pub async fn read_for_preview(
    client: &ApiClient,
    served: &ServedKinds,
    detail: Detail,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let reading = read_devices(client, served, detail).await?;
    read_pods(client, served, reading, selects).await
}

/// Data that is read at the same time as the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMore {
    /// Devices alone.
    No,
    /// Inputs of a report about evictions, whatever is evicted.
    EarlyInputs,
    /// The same with all pods that have claims, since most of them are expected to be concerned.
    EarlyInputsAndPods,
}

/// Reads devices as [`read_devices`], and beside them what is asked for `more`.
///
/// # Errors
///
/// As [`read_devices`].
pub async fn read_devices_and(
    client: &ApiClient,
    served: &ServedKinds,
    detail: Detail,
    more: ReadMore,
) -> Result<(Reading, Option<EarlyInputs>), ClusterError> {
    let early = async {
        let with_pods = match more {
            ReadMore::No => return None,
            ReadMore::EarlyInputs => false,
            ReadMore::EarlyInputsAndPods => true,
        };
        Some(EarlyInputs::read(client, served, BTreeSet::new(), with_pods).await)
    };
    let (reading, early) = join!(read_devices(client, served, detail), early);
    Ok((reading?, early))
}

/// Reads all slices, claims and rules, side by side.
///
/// Data that the user may not read, or the server does not have, is a gap in the reading.
///
/// # Errors
///
/// When neither slices nor claims can be read, or any list not completely.
pub async fn read_devices(
    client: &ApiClient,
    served: &ServedKinds,
    detail: Detail,
) -> Result<Reading, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail,
    };
    read_with(&reader, reader.all()).await
}

/// As [`read_devices`], with rules that are read otherwise.
///
/// # Errors
///
/// As [`read_devices`], and as the `rules`.
pub(crate) async fn read_devices_beside(
    client: &ApiClient,
    served: &ServedKinds,
    rules: impl Future<Output = Result<List<DeviceTaintRule>, ClusterError>>,
) -> Result<Reading, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    read_with(&reader, async { Ok(Outcome::Read(rules.await?)) }).await
}

/// Reads slices and claims beside the `rules`.
async fn read_with(
    reader: &Reader<'_>,
    rules: impl Future<Output = Result<Outcome<DeviceTaintRule>, ClusterError>>,
) -> Result<Reading, ClusterError> {
    let Reader { client, served, .. } = *reader;
    let (slices, claims, rules) = join!(
        reader.all::<ResourceSlice>(),
        reader.all::<ResourceClaim>(),
        rules,
    );
    let (slices, claims, rules) = (slices?, claims?, rules?);
    let claims = match (&slices, claims) {
        // Slices or claims alone allow a partial answer; without both there is nothing to report.
        (Outcome::Denied(_), Outcome::Denied(error)) => return Err(error),
        (_, claims) => claims,
    };
    let mut notes = Notes {
        warnings: served.findings.clone(),
        ..Notes::default()
    };
    let snapshot = Snapshot {
        slices: notes.take(Kind::ResourceSlice, slices),
        claims: notes.take(Kind::ResourceClaim, claims),
        rules: notes.take(Kind::DeviceTaintRule, rules),
        ..Snapshot::default()
    };
    Ok(reading_of(client, served, snapshot, notes))
}

/// A reading of the cluster that `client` asks.
pub(crate) fn reading_of(
    client: &ApiClient,
    served: &ServedKinds,
    snapshot: Snapshot,
    notes: Notes,
) -> Reading {
    Reading {
        snapshot,
        source: Source::Cluster {
            context: client.context().map(str::to_owned),
            server: Some(client.server().url.clone()),
            server_version: served.git_version.clone(),
        },
        // The server's clock, because deadlines count from times that its components wrote.
        observed_at: client.server_time(),
        is_time_guessed: false,
        version: served.version,
        known: notes.known,
        resource_versions: notes.resource_versions,
        warnings: notes.warnings,
        gaps: notes.gaps,
    }
}

/// The pods for which devices are reserved, and where those are.
///
/// Pods are matched by the UID of a reservation: its name may lead to another pod, or to none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClaimConsumers {
    /// The pods by the names of their reservations.
    pub(crate) pods: BTreeMap<NamespacedName, BTreeSet<Uid>>,
    /// The PodGroups, which do not name their pods.
    pub(crate) groups: BTreeSet<(Namespace, ObjectName)>,
    uids: BTreeSet<(Namespace, Uid)>,
    held: BTreeSet<DeviceId>,
}

impl ClaimConsumers {
    /// Consumers of a device that `selects` chooses.
    pub(crate) fn new(snapshot: &Snapshot, selects: impl Fn(&DeviceId) -> bool) -> Self {
        let mut wanted = Self::default();
        for claim in &snapshot.claims {
            let results = claim.allocation.iter().flat_map(|found| &found.results);
            let ids = results.map(|result| &result.device);
            let mut selected = ids.filter(|id| selects(id)).peekable();
            if selected.peek().is_some() {
                wanted.held.extend(selected.cloned());
                wanted.add_consumers(claim);
            }
        }
        wanted
    }

    /// True if no pod is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.groups.is_empty()
    }

    /// A pod by the name under which it is to be looked for.
    pub(crate) fn add(&mut self, name: NamespacedName, uid: Uid) {
        self.uids.insert((name.namespace.clone(), uid.clone()));
        self.pods.entry(name).or_default().insert(uid);
    }

    /// True if it includes a pod, by its name, its UID or its group.
    pub(crate) fn contains(&self, pod: &Pod) -> bool {
        let namespace = || pod.name.namespace.clone();
        let group = pod.pod_group.as_ref();
        // A superset on purpose: the name shows who took over a stale reservation, and the UID decides later.
        self.pods.contains_key(&pod.name)
            || self.uids.contains(&(namespace(), pod.uid.clone()))
            || group.is_some_and(|group| self.groups.contains(&(namespace(), group.clone())))
    }

    /// The UIDs that are wanted, each with the namespace in which it is.
    pub(crate) fn uids(&self) -> impl Iterator<Item = (&Namespace, &Uid)> {
        self.uids.iter().map(|(namespace, uid)| (namespace, uid))
    }

    /// The nodes of all devices, or `None` when one of them is not local to a node.
    pub(crate) fn nodes(&self, snapshot: &Snapshot) -> Option<BTreeSet<NodeName>> {
        let nodes = self.published(snapshot);
        let held = self.held.iter();
        held.map(|id| nodes.get(id)?.cloned()).collect()
    }

    /// The devices that are published, each with the node to which it is local.
    fn published<'a>(&self, snapshot: &'a Snapshot) -> BTreeMap<DeviceId, Option<&'a NodeName>> {
        let mut nodes = BTreeMap::new();
        for slice in &snapshot.slices {
            for device in &slice.devices {
                let id = slice.id_of(device);
                if self.held.contains(&id) {
                    nodes.insert(id, slice.node_of(device));
                }
            }
        }
        nodes
    }

    fn add_consumers(&mut self, claim: &ResourceClaim) {
        let namespace = &claim.name.namespace;
        for consumer in &claim.reserved_for {
            match (&*consumer.api_group, &*consumer.resource) {
                ("", "pods") => {
                    let name = NamespacedName {
                        namespace: namespace.clone(),
                        name: consumer.name.clone(),
                    };
                    self.add(name, consumer.uid.clone());
                }
                ("scheduling.k8s.io", "podgroups") => {
                    let group = (namespace.clone(), consumer.name.clone());
                    self.groups.insert(group);
                }
                // Consumers of other kinds do not lead to pods.
                _ => {}
            }
        }
    }
}
