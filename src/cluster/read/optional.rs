//! Kinds that only some answers use.

use std::collections::BTreeSet;

use super::kinds::{Notes, Outcome, Reader};
use super::list::List;
use super::nodes::nodes;
use super::pods::read_pods;
use super::workloads::read_workloads;
use crate::cluster::{ApiClient, ClusterError, Served};
use crate::model::{
    DeviceId, Gap, Kind, Node, NodeName, PodDisruptionBudget, Reading, SliceNodes, Snapshot,
};
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
    let likely = nodes_of_users(&reading.snapshot, &selects);
    let early = nodes_called(client, served, &likely);
    let budgets = all::<PodDisruptionBudget>(client, served);
    let pods = read_pods(client, served, reading, selects);
    let (reading, budgets, early) = futures::try_join!(pods, budgets, early)?;
    let reading = with(reading, budgets);
    let names = reading.snapshot.pods.iter();
    let names: BTreeSet<NodeName> = names.filter_map(|pod| pod.node.clone()).collect();
    let others: BTreeSet<NodeName> = names.difference(&likely).cloned().collect();
    let late = nodes_called(client, served, &others);
    let workloads = read_workloads(client, served, reading);
    let (mut reading, late) = futures::try_join!(workloads, late)?;
    if names.is_empty() {
        return Ok(reading);
    }
    match early.and_then(|early| Ok((early, late?))) {
        Ok((early, late)) => {
            reading.known.insert(Kind::Node);
            let mut nodes = early.items;
            nodes.extend(late.items);
            // Of many, all were read, maybe twice.
            nodes.sort_by(|left, right| left.name.cmp(&right.name));
            nodes.dedup_by(|left, right| left.name == right.name);
            reading.snapshot.nodes = nodes;
            reading.warnings.extend(early.warnings);
            reading.warnings.extend(late.warnings);
        }
        Err(error) => reading.gaps.push(Gap::of(Kind::Node, &error.to_string())),
    }
    Ok(reading)
}

/// The nodes on which pods are that use a selected device, as far as slices tell: they can be read
/// beside the pods.
fn nodes_of_users(snapshot: &Snapshot, selects: &impl Fn(&DeviceId) -> bool) -> BTreeSet<NodeName> {
    let used = snapshot.claims.iter();
    let used = used.filter(|claim| !claim.reserved_for.is_empty());
    let results = used.flat_map(|claim| claim.allocation.iter());
    let results = results.flat_map(|allocation| &allocation.results);
    let pools: BTreeSet<_> = results
        .filter(|result| selects(&result.device))
        .map(|result| (&result.device.driver, &result.device.pool))
        .collect();
    let slices = snapshot.slices.iter();
    slices
        .filter(|slice| pools.contains(&(&slice.driver, &slice.pool.name)))
        .filter_map(|slice| match &slice.nodes {
            SliceNodes::One(node) => Some(node.clone()),
            SliceNodes::PerDevice | SliceNodes::Several => None,
        })
        .collect()
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
