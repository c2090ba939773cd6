//! Health of pods' nodes, and the drivers that publish slices there.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt};

use super::kinds::Reader;
use super::list::List;
use super::lists::{self, Selection};
use super::read_result::ReadResult;
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{
    Namespace, NamespacedName, Node, NodeHealth, NodeName, ObjectName, ResourceSlice,
};
use crate::wire::Detail;

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
    Ok(health_of(&nodes, names))
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
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
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
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
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

fn health_of(
    nodes: &List<Node>,
    names: &BTreeSet<NodeName>,
) -> ReadResult<BTreeMap<NodeName, NodeHealth>> {
    ReadResult {
        facts: Node::health_of(&nodes.items, names),
        warnings: nodes.warnings.clone(),
    }
}
