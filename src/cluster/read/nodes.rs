//! Can a pod's node end it?

use serde::Deserialize;

use super::lists::escaped;
use crate::cluster::client::api::{JSON, Read};
use crate::cluster::client::document::Collect;
use crate::cluster::client::retry::Failure;
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
    let read = Read {
        path: format!("/api/v1/nodes/{}", escaped(node.as_str())),
        accept: JSON,
        permission: Permission {
            verb: "get",
            group: String::new(),
            resource: "nodes".to_owned(),
        },
    };
    let body = match client.read(&read, Collect::default).await {
        Ok(body) => body,
        Err(ClusterError::NotFound { .. }) => return Ok(NodeHealth::Gone),
        Err(error) => return Err(error),
    };
    let node: Node = serde_json::from_slice(&body)
        .map_err(|error| client.error(&read, Failure::Unreadable(error.to_string())))?;
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
