//! Everything that a preview may need, as the server has it, to be saved.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::devices::gap;
use super::lists::{List, Listing, Scope};
use crate::cluster::client::consume::{Collector, Consume};
use crate::cluster::client::request::JSON;
use crate::cluster::client::retry::Failure;
use crate::cluster::{ApiClient, ClusterError, Served};
use crate::model::{Gap, Kind, Warning};
use crate::wire::{Detail, ListMeta, Version};

/// Everything that was read for saving.
#[derive(Debug, Default)]
pub struct Saved {
    /// One per kind that could be read, in the order of [`Kind::ALL`].
    pub lists: Vec<SavedList>,
    /// What the server does not have.
    pub warnings: Vec<Warning>,
    /// What could not be read.
    pub gaps: Vec<Gap>,
}

/// All objects of one kind.
#[derive(Debug)]
pub struct SavedList {
    /// Their kind.
    pub kind: Kind,
    /// Group and version of each of them.
    pub api_version: &'static str,
    /// The state of the list; opaque.
    pub resource_version: String,
    /// The objects as JSON, complete except for `metadata.managedFields`, each with its
    /// `apiVersion` and `kind`, keys sorted, in the server's order.
    pub items: Vec<Box<RawValue>>,
}

/// Reads all slices, claims, rules and classes, and all pods that use a claim, with all fields.
///
/// # Errors
///
/// When neither slices nor claims can be read, or any list not completely.
pub async fn read_everything(client: &ApiClient, served: &Served) -> Result<Saved, ClusterError> {
    let mut saved = Saved {
        warnings: served.findings.clone(),
        ..Saved::default()
    };
    for kind in Kind::ALL {
        let Some(version) = served.version_of(kind) else {
            if kind != Kind::DeviceTaintRule {
                saved.gaps.push(gap(kind, "the server does not serve them"));
            }
            continue;
        };
        match read_list(client, version).await {
            Ok(list) => saved.lists.push(SavedList {
                kind,
                api_version: version.api_version,
                resource_version: list.metadata.resource_version,
                items: list.items,
            }),
            Err(error @ ClusterError::Forbidden { .. }) => {
                if kind == Kind::ResourceClaim && saved.lists.is_empty() {
                    return Err(error);
                }
                saved.gaps.push(gap(kind, &error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(saved)
}

async fn read_list(
    client: &ApiClient,
    version: &'static Version,
) -> Result<List<Box<RawValue>>, ClusterError> {
    let listing = Listing {
        client,
        version,
        scope: Scope::All,
        detail: Detail::Attributes,
    };
    let start = || Page {
        version,
        body: Collector::of_page(),
    };
    listing.restarting(JSON, start).await
}

/// One page of a list in JSON.
struct Page {
    version: &'static Version,
    body: Collector,
}

#[derive(Deserialize)]
struct Body<'a> {
    kind: String,
    metadata: Metadata,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    continue_token: String,
}

impl Consume for Page {
    type Output = List<Box<RawValue>>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.body.push(bytes)
    }

    fn finish(self) -> Result<Self::Output, Failure> {
        let body: Body<'_> =
            serde_json::from_slice(self.body.bytes()).map_err(|error| broken(&error))?;
        if body.kind != format!("{}List", self.version.kind) {
            return Err(Failure::Broken(format!(
                "it is a {} and not a list",
                body.kind
            )));
        }
        let items = body.items.unwrap_or_default();
        let items: Result<Vec<_>, _> = items
            .into_iter()
            .filter_map(|item| complete(self.version, item).transpose())
            .collect();
        Ok(List {
            items: items.map_err(|error| broken(&error))?,
            metadata: ListMeta {
                resource_version: body.metadata.resource_version,
                continue_token: body.metadata.continue_token,
                ..ListMeta::default()
            },
            warnings: Vec::new(),
        })
    }
}

fn broken(error: &serde_json::Error) -> Failure {
    Failure::Broken(error.to_string())
}

/// The object as it can stand alone, or `None` if it is a pod that uses no claim.
fn complete(
    version: &Version,
    item: &RawValue,
) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    let mut object: Value = serde_json::from_str(item.get())?;
    if version.kind == Kind::Pod && !uses_claim(&object) {
        return Ok(None);
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), version.api_version.into());
        fields.insert("kind".to_owned(), version.kind.as_str().into());
    }
    serde_json::value::to_raw_value(&object).map(Some)
}

fn uses_claim(pod: &Value) -> bool {
    let claims = pod
        .pointer("/spec/resourceClaims")
        .and_then(Value::as_array);
    claims.is_some_and(|claims| !claims.is_empty())
        || pod
            .pointer("/status/extendedResourceClaimStatus")
            .is_some_and(|s| !s.is_null())
}
