//! Data for the consequences of pods that lose devices.

use std::collections::BTreeSet;

use super::kinds::{Outcome, Reader, all, with};
use super::lists::List;
use super::nodes::{NodeDetail, PlacementInputs, nodes};
use super::pods::{ArrivingPods, list_early, read_noted_pods};
use super::workloads::{OwnersSoFar, all_of_kind, with_owner_lists, workloads_with};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{
    DeviceId, Gap, Kind, Node, NodeName, Pod, PodDisruptionBudget, Reading, ResourceClaimTemplate,
    SliceNodes, Snapshot,
};
use crate::wire::Detail;

/// Data for such a report that is read before its pods are known: budgets, claim templates, device classes, nodes, and
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
