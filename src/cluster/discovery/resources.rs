//! Resources of an API version.

use serde::Deserialize;

use crate::cluster::client::api::ApiClient;
use crate::cluster::client::request::{JSON, Read};
use crate::cluster::client::retry::AttemptFailure;
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;

/// The resources of one version.
#[derive(Default, Deserialize)]
pub(super) struct Resources {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    #[serde(default)]
    verbs: Vec<String>,
}

impl Resources {
    /// True if all objects of the resource can be listed.
    pub(super) fn can_list(&self, plural: &str) -> bool {
        let mut resources = self.resources.iter();
        resources.any(|found| found.name == plural && found.verbs.iter().any(|verb| verb == "list"))
    }
}

/// Resources of a version, as the server lists them; nothing when it does not have the version.
///
/// # Errors
///
/// As any read.
pub(super) async fn resources_of(
    client: &ApiClient,
    api_version: &str,
) -> Result<Resources, ClusterError> {
    let path = format!("/apis/{api_version}");
    let read = Read {
        permission: Permission {
            verb: "get",
            group: String::new(),
            resource: path.clone(),
        },
        path,
        accept: JSON,
    };
    let body = match client.json(&read).await {
        Ok(body) => body,
        // Not served, or turned off between two requests.
        Err(ClusterError::NotFound { .. }) => return Ok(Resources::default()),
        Err(error) => return Err(error),
    };
    serde_json::from_slice(&body)
        .map_err(|error| client.error(&read, AttemptFailure::Unreadable(error.to_string())))
}
