//! Kinds that only some answers use.

use std::collections::BTreeSet;

use super::kinds::{Notes, Outcome, Reader};
use super::list::List;
use super::nodes::nodes;
use super::pods::read_pods;
use super::workloads::read_workloads;
use crate::cluster::{ApiClient, ClusterError, Served};
use crate::model::{DeviceId, Gap, Kind, Node, NodeName, PodDisruptionBudget, Reading};
use crate::wire::{Detail, Fact};

/// Adds to `reading` all facts of a kind that answers can do without, for one that uses it.
///
/// What the user may not read, or the server does not have, is a gap in the reading.
///
/// # Errors
///
/// When the list cannot be read completely, unless permission is missing.
pub async fn read_optional<T: Fact>(
    client: &ApiClient,
    served: &Served,
    reading: Reading,
) -> Result<Reading, ClusterError> {
    Ok(with(reading, all::<T>(client, served).await?))
}

/// Adds to `reading` the pods that use a device that `selects` chooses, as [`read_pods`] does, and
/// beside them all budgets, then what these pods belong to and their nodes: for an answer that says how
/// badly their loss would hurt.
///
/// # Errors
///
/// As [`read_pods`], [`read_optional`] and [`read_workloads`].
pub async fn read_pods_and_stakes(
    client: &ApiClient,
    served: &Served,
    reading: Reading,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let pods = read_pods(client, served, reading, selects);
    let (reading, budgets) = futures::try_join!(pods, all::<PodDisruptionBudget>(client, served))?;
    let reading = with(reading, budgets);
    let names: BTreeSet<NodeName> = reading
        .snapshot
        .pods
        .iter()
        .filter_map(|pod| pod.node.clone())
        .collect();
    let nodes = nodes_called(client, served, &names);
    let workloads = read_workloads(client, served, reading);
    let (mut reading, nodes) = futures::try_join!(workloads, nodes)?;
    if names.is_empty() {
        return Ok(reading);
    }
    match nodes {
        Ok(nodes) => {
            reading.known.insert(Kind::Node);
            reading.snapshot.nodes = nodes.items;
            reading.warnings.extend(nodes.warnings);
        }
        Err(error) => reading.gaps.push(Gap::of(Kind::Node, &error.to_string())),
    }
    Ok(reading)
}

/// The nodes of these names, or why they may not be read.
async fn nodes_called(
    client: &ApiClient,
    served: &Served,
    names: &BTreeSet<NodeName>,
) -> Result<Result<List<Node>, ClusterError>, ClusterError> {
    match nodes(client, served, names).await {
        Ok(nodes) => Ok(Ok(nodes)),
        Err(error @ ClusterError::Forbidden { .. }) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

async fn all<T: Fact>(client: &ApiClient, served: &Served) -> Result<Outcome<T>, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    reader.all::<T>().await
}

fn with<T: Fact>(mut reading: Reading, outcome: Outcome<T>) -> Reading {
    let mut notes = Notes::default();
    *T::all(&mut reading.snapshot) = notes.take(T::KIND, outcome);
    reading.known.extend(notes.known);
    reading.warnings.extend(notes.warnings);
    reading.gaps.extend(notes.gaps);
    reading.resource_versions.extend(notes.resource_versions);
    reading
}
