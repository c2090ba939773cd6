//! Devices, what holds them, and what taints them; and beside their pods, the inputs of a report about evictions.

use std::collections::{BTreeMap, BTreeSet};

use futures::join;

use super::kinds::{Notes, Outcome, Reader, all, with};
use super::lists::List;
use super::nodes::{NodeDetail, PlacementInputs, nodes};
use super::pods::{ArrivingPods, list_early, read_noted_pods, read_pods};
use super::workloads::{OwnersSoFar, all_of_kind, with_owner_lists, workloads_with};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{
    DeviceId, DeviceTaintRule, Gap, Kind, Namespace, NamespacedName, Node, NodeName, ObjectName,
    Pod, PodDisruptionBudget, Reading, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
    SliceNodes, Snapshot, Source, Uid,
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

/// Data for a report about evictions that is read before its pods are known: budgets, claim templates, device classes, nodes, and
/// all pods with claims if most of them are expected to be concerned. Failures are those of the answer that uses it.
pub struct EarlyInputs {
    pods: Result<Option<List<Pod>>, ClusterError>,
    budgets: Result<Outcome<PodDisruptionBudget>, ClusterError>,
    templates: Result<Outcome<ResourceClaimTemplate>, ClusterError>,
    places: Result<PlacementInputs, ClusterError>,
}

impl EarlyInputs {
    /// Reads them side by side, pods only if asked for; of classes nothing where they are among what is `known` already.
    pub(crate) async fn read(
        client: &ApiClient,
        served: &ServedKinds,
        known: BTreeSet<Kind>,
        with_pods: bool,
    ) -> Self {
        let budgets = all::<PodDisruptionBudget>(client, served);
        let templates = all::<ResourceClaimTemplate>(client, served);
        let places = PlacementInputs::read(client, served, known, NodeDetail::Metadata);
        let pods = async {
            if with_pods {
                list_early(client, served).await
            } else {
                Ok(None)
            }
        };
        let (budgets, templates, places, pods) = futures::join!(budgets, templates, places, pods);
        Self {
            pods,
            budgets,
            templates,
            places,
        }
    }
}

/// Adds to `reading` the pods that use a device that `selects` chooses, as `read_pods` does, and
/// beside them all budgets and what says where claims could be placed again, then what these pods
/// belong to and their nodes: for an answer that says how badly their loss would hurt. Where these pods belong to many
/// workloads, those are listed while the pods arrive. What was read `early` is not read again.
///
/// # Errors
///
/// As `read_pods` and `read_workloads`, and when any other list cannot be read completely, unless
/// permission is missing.
pub async fn read_pods_and_disruption_inputs(
    client: &ApiClient,
    served: &ServedKinds,
    reading: Reading,
    early: Option<EarlyInputs>,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let known = reading.known.clone();
    let likely = nodes_of_selected(&reading.snapshot, &selects);
    let first = nodes_called(client, served, &likely);
    let (early_pods, early) = match early {
        Some(EarlyInputs {
            pods,
            budgets,
            templates,
            places,
        }) => (pods?, Some((budgets, templates, places))),
        None => (None, None),
    };
    let inputs = async {
        let (budgets, templates, places) = match early {
            Some(early) => early,
            None => {
                let read = EarlyInputs::read(client, served, known, false).await;
                (read.budgets, read.templates, read.places)
            }
        };
        Ok((budgets?, templates?, places?))
    };
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    let owners = OwnersSoFar::default();
    let arriving = ArrivingPods {
        early: early_pods,
        note: &|pod: &Pod| owners.note(pod),
    };
    let pods = read_noted_pods(client, served, reading, arriving, selects);
    let pods = with_owner_lists(&owners, pods, |kind| all_of_kind(&reader, kind));
    let ((reading, listed), (budgets, templates, places), first) =
        futures::try_join!(pods, inputs, first)?;
    let reading = with(with(reading, budgets), templates);
    let names: BTreeSet<NodeName> = reading
        .snapshot
        .pods
        .iter()
        .filter_map(|pod| pod.node.clone())
        .collect();
    let others: BTreeSet<NodeName> = names.difference(&likely).cloned().collect();
    let late = nodes_called(client, served, &others);
    let workloads = workloads_with(&reader, reading, listed);
    let (mut reading, late) = futures::try_join!(workloads, late)?;
    match first.and_then(|first| Ok((first, late?))) {
        Ok((first, late)) => {
            if !names.is_empty() {
                reading.known.insert(Kind::Node);
            }
            reading.warnings.extend(first.warnings);
            reading.warnings.extend(late.warnings);
            let of_pods = first.items.into_iter().chain(late.items).collect();
            Ok(places.add_to(reading, of_pods))
        }
        // Nodes without their conditions would look as if their kubelets were silent.
        Err(error) if !names.is_empty() => {
            reading.gaps.push(Gap::of(Kind::Node, &error.to_string()));
            Ok(places.without_nodes().add_to(reading, Vec::new()))
        }
        Err(_) => Ok(places.add_to(reading, Vec::new())),
    }
}

/// The nodes of the selected devices, as far as slices tell: they can be read beside the pods.
///
/// Those of idle devices as well, since a device plugin may offer the same hardware there.
fn nodes_of_selected(
    snapshot: &Snapshot,
    selects: &impl Fn(&DeviceId) -> bool,
) -> BTreeSet<NodeName> {
    let claims = snapshot
        .claims
        .iter()
        .filter(|claim| !claim.reserved_for.is_empty());
    let results = claims
        .flat_map(|claim| claim.allocation.iter())
        .flat_map(|allocation| &allocation.results);
    // Pods may use devices that are no longer published.
    let pools: BTreeSet<_> = results
        .filter(|result| selects(&result.device))
        .map(|result| (&result.device.driver, &result.device.pool))
        .collect();
    let nodes = snapshot.slices.iter().flat_map(|slice| {
        let of_pool = match &slice.nodes {
            SliceNodes::One(node) => {
                Some(node).filter(|_| pools.contains(&(&slice.driver, &slice.pool.name)))
            }
            SliceNodes::PerDevice | SliceNodes::Selected(_) | SliceNodes::Several => None,
        };
        let published = slice.devices.iter();
        let published = published.filter(|device| selects(&slice.id_of(device)));
        of_pool
            .into_iter()
            .chain(published.filter_map(|device| slice.node_of(device)))
    });
    nodes.cloned().collect()
}

/// The nodes of these names, or why they may not be read.
async fn nodes_called(
    client: &ApiClient,
    served: &ServedKinds,
    names: &BTreeSet<NodeName>,
) -> Result<Result<List<Node>, ClusterError>, ClusterError> {
    match nodes(client, served, names).await {
        Ok(nodes) => Ok(Ok(nodes)),
        // A missing permission becomes a gap, which only the caller can judge; other errors end the reading.
        Err(error @ ClusterError::Forbidden { .. }) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}
