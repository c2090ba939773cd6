//! Health of pods' nodes, and the drivers that publish slices there.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt};
use serde::Deserialize;

use super::kinds::{Outcome, ReadResult, Reader, all, with};
use super::lists::{self, List, Listing, Selection, object};
use crate::cluster::client::api::ApiClient;
use crate::cluster::client::target::pod_path;
use crate::cluster::client::write::document_for;
use crate::cluster::discovery::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;
use crate::model::{
    DeviceClass, Gap, Kind, Namespace, NamespacedName, Node, NodeHealth, NodeName, ObjectName, Pod,
    Reading, ResourceSlice, Warning,
};
use crate::wire::{Detail, Fact};

/// Maximum number of nodes that are read one by one; more of them with one list, which has all nodes.
const ONE_BY_ONE: usize = 24;
/// Requests at a time.
const AT_ONCE: usize = 8;

/// Health of the nodes called `names`; one without conditions is not ready.
///
/// # Errors
///
/// As any read.
pub async fn node_health(
    client: &ApiClient,
    served: &ServedKinds,
    names: &BTreeSet<NodeName>,
) -> Result<ReadResult<BTreeMap<NodeName, NodeHealth>>, ClusterError> {
    let nodes = nodes(client, served, names).await?;
    Ok(ReadResult {
        facts: Node::health_of(&nodes.items, names),
        warnings: nodes.warnings,
    })
}

/// The nodes called `names`, as far as there are such; of many, all nodes that there are.
///
/// # Errors
///
/// As any read.
pub async fn read_nodes(
    client: &ApiClient,
    served: &ServedKinds,
    names: &BTreeSet<NodeName>,
) -> Result<Vec<Node>, ClusterError> {
    Ok(nodes(client, served, names).await?.items)
}

/// [`read_nodes`] with warnings about them.
///
/// # Errors
///
/// As any read.
pub(super) async fn nodes(
    client: &ApiClient,
    served: &ServedKinds,
    names: &BTreeSet<NodeName>,
) -> Result<List<Node>, ClusterError> {
    let reader = Reader::new(client, served);
    if names.len() > ONE_BY_ONE {
        match reader.required(Selection::All).await {
            Ok(nodes) => return Ok(nodes),
            // Without permission to list them, the user may still be allowed to read one.
            Err(ClusterError::Forbidden { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let version = reader.version::<Node>()?;
    let mut answers = stream::iter(names.iter().map(|name| async move {
        let name = NamespacedName {
            namespace: Namespace::from(""),
            name: ObjectName::from(name.as_str()),
        };
        lists::object(client, version, &name).await
    }))
    .buffer_unordered(AT_ONCE);
    let mut nodes: List<Node> = List::default();
    while let Some(answer) = answers.next().await {
        let node = answer?.unwrap_or_default().of_kind();
        nodes.items.extend(node.items);
        nodes.warnings.extend(node.warnings);
    }
    Ok(nodes)
}

/// All slices of the nodes called `names`, and those that belong to no single node.
///
/// # Errors
///
/// As any read.
pub async fn slices_of_nodes(
    client: &ApiClient,
    served: &ServedKinds,
    names: &BTreeSet<NodeName>,
) -> Result<Vec<ResourceSlice>, ClusterError> {
    let reader = Reader::new(client, served);
    let owners = names.iter().map(NodeName::as_str).chain([""]);
    let mut answers = stream::iter(owners.map(|name| async move {
        reader
            .required::<ResourceSlice>(Selection::on_node(name))
            .await
    }))
    .buffer_unordered(AT_ONCE);
    let mut slices = Vec::new();
    while let Some(answer) = answers.next().await {
        slices.extend(answer?.items);
    }
    Ok(slices)
}

/// Query for pods.
#[derive(Clone, Copy)]
pub enum PodQuery<'a> {
    /// The one of that name.
    One(&'a NamespacedName),
    /// Pods of that name, in any namespace.
    Called(&'a ObjectName),
    /// Pods of a namespace, or of all, that the function accepts.
    Chosen(Option<&'a str>, &'a (dyn Fn(&Pod) -> bool + Sync)),
}

/// Result of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodQueryResult {
    /// Pods that use a claim, with warnings about them.
    These(Vec<Pod>, Vec<Warning>),
    /// It is there, and uses no claim.
    WithoutClaims,
    /// There is none.
    Gone,
}

/// Every pod, of the type by which others choose too: what reads a list is long, and made for each.
const ALL: &(dyn Fn(&Pod) -> bool + Sync) = &|_| true;

/// Pods of the query.
///
/// # Errors
///
/// As any read.
pub async fn find_pods(
    client: &ApiClient,
    served: &ServedKinds,
    meant: PodQuery<'_>,
) -> Result<PodQueryResult, ClusterError> {
    let Some(version) = served.version_of(Kind::Pod) else {
        return Ok(PodQueryResult::Gone);
    };
    let list = |selection| Listing::new(client, version, selection, Detail::Names);
    let found: List<Pod> = match meant {
        PodQuery::One(name) => {
            let Some(list) = object(client, version, name).await? else {
                return Ok(PodQueryResult::Gone);
            };
            let list = list.of_kind::<Pod>();
            // The pod exists: conversion drops pods without claims.
            if list.items.is_empty() {
                return Ok(PodQueryResult::WithoutClaims);
            }
            list
        }
        PodQuery::Called(name) => {
            // Every resource can be selected by this field, without knowing the namespace.
            let selection = Selection::Fields(format!("metadata.name={name}"));
            list(selection).facts(ALL).await?
        }
        PodQuery::Chosen(namespace, chosen) => {
            let selection = match namespace {
                Some(namespace) => Selection::Namespace(namespace.to_owned()),
                None => Selection::All,
            };
            list(selection).facts(chosen).await?
        }
    };
    Ok(PodQueryResult::These(found.items, found.warnings))
}

/// Adds to `reading` what says where claims could be placed: device classes and nodes. Who may not read
/// them gets an answer without.
///
/// # Errors
///
/// When a list cannot be read completely, unless permission is missing.
pub async fn read_places(
    client: &ApiClient,
    served: &ServedKinds,
    reading: Reading,
    detail: NodeDetail,
) -> Result<Reading, ClusterError> {
    let places = PlacementInputs::read(client, served, reading.known.clone(), detail).await?;
    Ok(places.add_to(reading, Vec::new()))
}

/// A pod, as far as its place goes.
#[derive(Deserialize)]
struct Placed {
    spec: Place,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    node_name: Option<String>,
}

/// The node that a pod runs on, whatever it uses; nothing where there is no such pod, or it has none.
///
/// # Errors
///
/// As any read.
pub async fn node_of_pod(
    client: &ApiClient,
    pod: &NamespacedName,
) -> Result<Option<NodeName>, ClusterError> {
    let permission = Permission::new("get", Kind::Pod);
    match document_for::<Placed>(client, pod_path(pod), permission).await {
        Ok(placed) => Ok(placed.spec.node_name.as_deref().map(NodeName::from)),
        Err(ClusterError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The field selector of cordoned nodes.
///
/// Upstream: `NodeToSelectableFields` in `pkg/registry/core/node/strategy.go`.
const CORDONED: &str = "spec.unschedulable=true";

/// Detail in which nodes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeDetail {
    /// Names and labels, by which it is known where devices are; all of cordoned nodes.
    Metadata,
    /// Also taints, by which it is known where a pod can be scheduled.
    Whole,
}

/// Outcomes of both lists; of classes nothing where they were read before.
pub(super) struct PlacementInputs {
    classes: Option<Outcome<DeviceClass>>,
    nodes: Option<Outcome<Node>>,
}

impl PlacementInputs {
    /// Reads them side by side, without what is `known` already.
    pub(super) async fn read(
        client: &ApiClient,
        served: &ServedKinds,
        known: BTreeSet<Kind>,
        detail: NodeDetail,
    ) -> Result<Self, ClusterError> {
        let classes = async {
            if known.contains(&Kind::DeviceClass) {
                return Ok(None);
            }
            match all(client, served).await {
                // `Outcome::new` takes this for absence of optional kinds only, and some answers need device classes.
                Err(ClusterError::NotFound { .. }) => Ok(Some(Outcome::Absent)),
                outcome => outcome.map(Some),
            }
        };
        let (classes, nodes) = futures::try_join!(classes, all_nodes(client, served, detail))?;
        Ok(Self {
            classes,
            nodes: Some(nodes),
        })
    }

    /// These without the nodes.
    pub(super) fn without_nodes(self) -> Self {
        Self {
            nodes: None,
            ..self
        }
    }

    /// Adds them to `reading`, beside the nodes `of_pods`, which were read whole and count more.
    pub(super) fn add_to(self, reading: Reading, of_pods: Vec<Node>) -> Reading {
        let mut reading = match self.classes {
            Some(outcome) => or_gap(reading, outcome),
            None => reading,
        };
        let mut nodes: BTreeMap<NodeName, Node> = BTreeMap::new();
        if let Some(outcome) = self.nodes {
            reading = or_gap(reading, outcome);
            let listed = std::mem::take(&mut reading.snapshot.nodes);
            nodes.extend(listed.into_iter().map(|node| (node.name.clone(), node)));
        }
        // Last, so that they replace the nodes of the list, of which only metadata was read.
        nodes.extend(of_pods.into_iter().map(|node| (node.name.clone(), node)));
        reading.snapshot.nodes = nodes.into_values().collect();
        reading
    }
}

/// The reading with a kind without which it is only not known whether there are replacements.
fn or_gap<T: Fact>(mut reading: Reading, outcome: Outcome<T>) -> Reading {
    let reason = match outcome {
        Outcome::Read(_) => return with(reading, outcome),
        Outcome::Denied(error) => error.to_string(),
        Outcome::Absent => format!("the server does not serve {}", T::KIND.plural()),
    };
    reading.gaps.push(Gap::of_replacements(&reason));
    reading
}

async fn all_nodes(
    client: &ApiClient,
    served: &ServedKinds,
    detail: NodeDetail,
) -> Result<Outcome<Node>, ClusterError> {
    if detail == NodeDetail::Whole {
        return all(client, served).await;
    }
    let reader = Reader::new(client, served);
    let Some(listing) = reader.listing(Kind::Node, Selection::All) else {
        return Ok(Outcome::Absent);
    };
    let metadata = async { Outcome::new(Kind::Node, listing.metadata(Node::of).await) };
    let cordoned = reader.selected::<Node>(Selection::Fields(CORDONED.to_owned()));
    match futures::try_join!(metadata, cordoned)? {
        (Outcome::Read(mut nodes), Outcome::Read(cordoned)) => {
            // Last, so that they replace those of which only metadata was read: `add_to` keeps one node of a name.
            nodes.items.extend(cordoned.items);
            nodes.warnings.extend(cordoned.warnings);
            Ok(Outcome::Read(nodes))
        }
        (Outcome::Read(_), without) | (without, _) => Ok(without),
    }
}
