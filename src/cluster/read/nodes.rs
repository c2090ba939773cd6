//! Can a pod's node end it?

use serde::Deserialize;

use crate::cluster::client::document::document_for;
use crate::cluster::path::escaped;
use crate::cluster::{ApiClient, ClusterError, Permission};
use crate::model::{NodeHealth, NodeName};

#[derive(Default, Deserialize)]
struct Node {
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Default, Deserialize)]
struct NodeStatus {
    #[serde(default)]
    conditions: Vec<NodeCondition>,
}

#[derive(Deserialize)]
struct NodeCondition {
    r#type: String,
    status: String,
}

/// How the node is; a node that has not said anything yet is not ready.
///
/// # Errors
///
/// As any read.
pub async fn node_health(client: &ApiClient, node: &NodeName) -> Result<NodeHealth, ClusterError> {
    let path = format!("/api/v1/nodes/{}", escaped(node.as_str()));
    let permission = Permission {
        verb: "get",
        group: String::new(),
        resource: "nodes".to_owned(),
    };
    let node: Node = match document_for(client, path, permission).await {
        Ok(node) => node,
        Err(ClusterError::NotFound { .. }) => return Ok(NodeHealth::Gone),
        Err(error) => return Err(error),
    };
    let ready = node
        .status
        .conditions
        .iter()
        .any(|condition| condition.r#type == "Ready" && condition.status == "True");
    Ok(if ready {
        NodeHealth::Ready
    } else {
        NodeHealth::NotReady
    })
}
