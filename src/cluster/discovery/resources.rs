//! What a version of an API has, told by the server or remembered.

use serde::Deserialize;

use crate::cluster::cache::Cache;
use crate::cluster::client::api::ApiClient;
use crate::cluster::client::request::{JSON, Read};
use crate::cluster::client::retry::AttemptFailure;
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;

/// The resources of one version.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resources {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    group_version: String,
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
    /// What kubectl or this program remembers, if that is a description of this version.
    pub(super) fn remembered(cache: &Cache, api_version: &str) -> Option<Self> {
        let body = cache.resources(api_version)?;
        let found: Self = serde_json::from_slice(&body).ok()?;
        let fits = found.kind == "APIResourceList" && found.group_version == api_version;
        (fits && !found.resources.is_empty()).then_some(found)
    }

    /// Whether all objects of the resource can be asked for.
    pub(super) fn can_list(&self, plural: &str) -> bool {
        let mut resources = self.resources.iter();
        resources.any(|found| found.name == plural && found.verbs.iter().any(|verb| verb == "list"))
    }
}

/// What the server says that a version has; nothing when it does not have the version.
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
    let found: Resources = serde_json::from_slice(&body)
        .map_err(|error| client.error(&read, AttemptFailure::Unreadable(error.to_string())))?;
    // kubectl reads this cache too, and would believe an empty list for six hours.
    if let Some(cache) = client.cache()
        && !found.resources.is_empty()
    {
        cache.keep_resources(api_version, &body);
    }
    Ok(found)
}
