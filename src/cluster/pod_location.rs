//! The node a pod runs on.

use serde::Deserialize;

use super::client::api::ApiClient;
use super::client::document::document_for;
use super::error::ClusterError;
use super::path::escaped;
use super::permission::Permission;
use crate::model::{Kind, NamespacedName, NodeName};

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
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}",
        escaped(pod.namespace.as_str()),
        escaped(pod.name.as_str())
    );
    let permission = Permission::new("get", Kind::Pod);
    match document_for::<Placed>(client, path, permission).await {
        Ok(placed) => Ok(placed.spec.node_name.as_deref().map(NodeName::from)),
        Err(ClusterError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
