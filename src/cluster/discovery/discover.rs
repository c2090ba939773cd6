//! Which kinds does the server have, and at which version of their API?
//!
//! Each kind is used at the newest version that the server serves and `wire` knows, whatever the
//! others are at: rules may be missing, or older, where devices are not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::{join, join_all};
use serde::Deserialize;

use super::{enablement, version};
use crate::cluster::client::document::document;
use crate::cluster::{ApiClient, ClusterError};
use crate::model::{Kind, Minor, Warning};
use crate::wire::{Version, versions_of};

const GROUP: &str = "resource.k8s.io";

/// What a server has.
#[derive(Clone, Debug, Default)]
pub struct Served {
    kinds: BTreeMap<Kind, &'static Version>,
    /// The server's own version, such as `v1.36.2-gke.100`, when it tells.
    pub git_version: Option<String>,
    /// The same as numbers, when they can be read.
    pub version: Option<Minor>,
    /// What is missing and yet no reason to give up, such as rules.
    pub findings: Vec<Warning>,
}

impl Served {
    /// The version at which `kind` is read, or `None` when it is not served.
    #[must_use]
    pub fn version_of(&self, kind: Kind) -> Option<&'static Version> {
        match kind {
            Kind::Pod => versions_of(Kind::Pod).next(),
            Kind::ResourceSlice
            | Kind::ResourceClaim
            | Kind::DeviceTaintRule
            | Kind::DeviceClass => self.kinds.get(&kind).copied(),
        }
    }
}

#[derive(Default, Deserialize)]
struct Group {
    #[serde(default)]
    versions: Vec<GroupVersion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
}

#[derive(Default, Deserialize)]
struct Resources {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerVersion {
    git_version: String,
}

/// Asks the server what it has.
///
/// A user who may not ask gets the versions that answer to a list of one object.
///
/// # Errors
///
/// When there are neither slices nor claims, or the server cannot be asked.
pub async fn discover(client: &ApiClient) -> Result<Served, ClusterError> {
    let group = document::<Group>(client, format!("/apis/{GROUP}"));
    let server = document::<ServerVersion>(client, "/version".to_owned());
    let (mut group, server) = join(group, server).await;
    if matches!(group, Err(ClusterError::Foreign { .. })) && client.is_api_server() {
        // A server that lacks the group says so as any server would; by now it may be known as an API
        // server, whose word counts.
        group = document::<Group>(client, format!("/apis/{GROUP}")).await;
    }
    let git_version = match server {
        Ok(server) => Some(server.git_version),
        // Only a luxury: everything else works without it.
        Err(ClusterError::Forbidden { .. } | ClusterError::NotFound { .. }) => None,
        Err(error) => return Err(error),
    };
    let kinds = match group {
        Ok(group) => served_kinds(client, &group).await?,
        Err(ClusterError::NotFound { .. }) => BTreeMap::new(),
        Err(ClusterError::Forbidden { .. }) => probe(client).await?,
        Err(error) => return Err(error),
    };
    let version = git_version.as_deref().and_then(version::parse);
    if !kinds.contains_key(&Kind::ResourceSlice) && !kinds.contains_key(&Kind::ResourceClaim) {
        return Err(ClusterError::NotServed {
            server: Arc::clone(client.server()),
            kind: Kind::ResourceSlice,
            advice: enablement::how_to_serve_devices(version),
        });
    }
    Ok(Served {
        findings: findings(&kinds, version),
        kinds,
        git_version,
        version,
    })
}

fn findings(kinds: &BTreeMap<Kind, &'static Version>, version: Option<Minor>) -> Vec<Warning> {
    if kinds.contains_key(&Kind::DeviceTaintRule) {
        return Vec::new();
    }
    vec![Warning {
        code: "rules-not-served",
        message: "the server serves no devicetaintrules: only taints of the drivers themselves act"
            .to_owned(),
        fix: Some(enablement::how_to_serve_rules(version)),
    }]
}

/// The newest known version of each kind, asking for older ones only when a kind is missing.
async fn served_kinds(
    client: &ApiClient,
    group: &Group,
) -> Result<BTreeMap<Kind, &'static Version>, ClusterError> {
    let offered: BTreeSet<&str> = group
        .versions
        .iter()
        .map(|v| v.group_version.as_str())
        .collect();
    let mut wanted: Vec<&'static str> = Vec::new();
    for version in kinds().flat_map(versions_of) {
        if offered.contains(version.api_version) && !wanted.contains(&version.api_version) {
            wanted.push(version.api_version);
        }
    }
    let mut resources: BTreeMap<&'static str, Resources> = BTreeMap::new();
    if let Some((&first, rest)) = wanted.split_first() {
        resources.insert(first, resources_of(client, first).await?);
        if choose(&resources).len() < kinds().count() {
            let asked = rest.iter().map(|&older| async move {
                resources_of(client, older)
                    .await
                    .map(|found| (older, found))
            });
            for found in join_all(asked).await {
                let (older, found) = found?;
                resources.insert(older, found);
            }
        }
    }
    Ok(choose(&resources))
}

async fn resources_of(client: &ApiClient, api_version: &str) -> Result<Resources, ClusterError> {
    match document(client, format!("/apis/{api_version}")).await {
        // Turned off between the two requests.
        Err(ClusterError::NotFound { .. }) => Ok(Resources::default()),
        result => result,
    }
}

fn choose(resources: &BTreeMap<&'static str, Resources>) -> BTreeMap<Kind, &'static Version> {
    let has = |version: &Version| {
        resources.get(version.api_version).is_some_and(|found| {
            found.resources.iter().any(|resource| {
                resource.name == version.kind.plural() && resource.verbs.iter().any(|v| v == "list")
            })
        })
    };
    kinds()
        .filter_map(|kind| Some((kind, versions_of(kind).find(|version| has(version))?)))
        .collect()
}

fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| *kind != Kind::Pod)
}

/// For each kind the first version whose list is not "not found".
///
/// The server checks permissions before it looks whether a version exists, so "forbidden" says
/// nothing about the version; the list itself will say it again, with the permission to ask for.
async fn probe(client: &ApiClient) -> Result<BTreeMap<Kind, &'static Version>, ClusterError> {
    let found = join_all(kinds().map(|kind| probe_kind(client, kind))).await;
    let mut served = BTreeMap::new();
    for version in found {
        if let Some(version) = version? {
            served.insert(version.kind, version);
        }
    }
    Ok(served)
}

async fn probe_kind(
    client: &ApiClient,
    kind: Kind,
) -> Result<Option<&'static Version>, ClusterError> {
    for version in versions_of(kind) {
        let path = format!("/apis/{}/{}?limit=1", version.api_version, kind.plural());
        match document::<serde::de::IgnoredAny>(client, path).await {
            Ok(_) | Err(ClusterError::Forbidden { .. }) => return Ok(Some(version)),
            Err(ClusterError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
