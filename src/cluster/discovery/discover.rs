//! Which kinds does the server have, and at which version of their API?
//!
//! Each kind is used at the newest version that the server serves and `wire` knows, whatever the
//! others are at: rules may be missing, or older, where devices are not. A kind of which one version is
//! known leaves nothing to choose, so nothing is asked about it: its list says whether it is served.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::{join, join_all};
use serde::Deserialize;

use super::enablement;
use crate::cluster::client::document::document;
use crate::cluster::path::path_of;
use crate::cluster::{ApiClient, ClusterError};
use crate::model::{Kind, Minor, Warning};
use crate::wire::{Version, versions_of};

/// What a server has.
#[derive(Clone, Debug, Default)]
pub struct Served {
    kinds: BTreeMap<Kind, &'static Version>,
    /// The server's own version, such as `v1.36.2-gke.100`, when it tells.
    pub git_version: Option<String>,
    /// The version as numbers, when they can be read.
    pub version: Option<Minor>,
    /// What is missing and yet no reason to give up, such as rules.
    pub findings: Vec<Warning>,
}

impl Served {
    /// The version at which `kind` is read, or `None` when it is not served.
    #[must_use]
    pub fn version_of(&self, kind: Kind) -> Option<&'static Version> {
        self.kinds.get(&kind).copied()
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
    let found = join_all(groups().into_iter().map(|group| served_in(client, group)));
    let server = document::<ServerVersion>(client, "/version".to_owned());
    let (found, server) = join(found, server).await;
    let git_version = match server {
        Ok(server) => Some(server.git_version),
        // Only a luxury: everything else works without it.
        Err(ClusterError::Forbidden { .. } | ClusterError::NotFound { .. }) => None,
        Err(error) => return Err(error),
    };
    let mut kinds: BTreeMap<Kind, &'static Version> = Kind::ALL
        .into_iter()
        .filter_map(|kind| Some((kind, only_version(kind)?)))
        .collect();
    for (group, found) in groups().into_iter().zip(found) {
        kinds.extend(match found {
            // A server that lacks the group says so as any server would; by now it may be known as an
            // API server, whose word counts.
            Err(ClusterError::Foreign { .. }) if client.is_api_server() => {
                served_in(client, group).await?
            }
            found => found?,
        });
    }
    let version = git_version.as_deref().and_then(Minor::parse);
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

/// The one version of `kind` that is known, if there is no other.
fn only_version(kind: Kind) -> Option<&'static Version> {
    let mut versions = versions_of(kind);
    versions.next().filter(|_| versions.next().is_none())
}

/// The groups that have a kind of which several versions are known.
fn groups() -> BTreeSet<&'static str> {
    let several = |kind: &Kind| only_version(*kind).is_none();
    Kind::ALL
        .into_iter()
        .filter(several)
        .map(Kind::group)
        .collect()
}

/// The kinds of a group of which several versions are known.
fn kinds_of(group: &str) -> impl Iterator<Item = Kind> {
    let several = |kind: &Kind| only_version(*kind).is_none();
    Kind::ALL
        .into_iter()
        .filter(several)
        .filter(move |kind| kind.group() == group)
}

/// The kinds of a group, each at the newest version that is served and known.
async fn served_in(
    client: &ApiClient,
    group: &'static str,
) -> Result<BTreeMap<Kind, &'static Version>, ClusterError> {
    match document::<Group>(client, format!("/apis/{group}")).await {
        Ok(found) => served_kinds(client, group, &found).await,
        Err(ClusterError::NotFound { .. }) => Ok(BTreeMap::new()),
        Err(ClusterError::Forbidden { .. }) => probe(client, group).await,
        Err(error) => Err(error),
    }
}

/// The newest known version of each kind, asking for older ones only when a kind is missing.
async fn served_kinds(
    client: &ApiClient,
    group: &str,
    found: &Group,
) -> Result<BTreeMap<Kind, &'static Version>, ClusterError> {
    let offered: BTreeSet<&str> = found
        .versions
        .iter()
        .map(|v| v.group_version.as_str())
        .collect();
    let mut wanted: Vec<&'static str> = Vec::new();
    for version in kinds_of(group).flat_map(versions_of) {
        if offered.contains(version.api_version) && !wanted.contains(&version.api_version) {
            wanted.push(version.api_version);
        }
    }
    let mut resources: BTreeMap<&'static str, Resources> = BTreeMap::new();
    if let Some((&first, rest)) = wanted.split_first() {
        resources.insert(first, resources_of(client, first).await?);
        if choose(group, &resources).len() < kinds_of(group).count() {
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
    Ok(choose(group, &resources))
}

async fn resources_of(client: &ApiClient, api_version: &str) -> Result<Resources, ClusterError> {
    match document(client, format!("/apis/{api_version}")).await {
        // Turned off between the two requests.
        Err(ClusterError::NotFound { .. }) => Ok(Resources::default()),
        result => result,
    }
}

fn choose(
    group: &str,
    resources: &BTreeMap<&'static str, Resources>,
) -> BTreeMap<Kind, &'static Version> {
    let has = |version: &Version| {
        resources.get(version.api_version).is_some_and(|found| {
            found.resources.iter().any(|resource| {
                resource.name == version.kind.plural() && resource.verbs.iter().any(|v| v == "list")
            })
        })
    };
    kinds_of(group)
        .filter_map(|kind| Some((kind, versions_of(kind).find(|version| has(version))?)))
        .collect()
}

/// For each kind the first version whose list is not "not found".
///
/// The server checks permissions before it looks whether a version exists, so "forbidden" says
/// nothing about the version; the list itself will say it again, with the permission to ask for.
async fn probe(
    client: &ApiClient,
    group: &str,
) -> Result<BTreeMap<Kind, &'static Version>, ClusterError> {
    let found = join_all(kinds_of(group).map(|kind| probe_kind(client, kind))).await;
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
        let path = format!("{}?limit=1", path_of(version, None));
        match document::<serde::de::IgnoredAny>(client, path).await {
            Ok(_) | Err(ClusterError::Forbidden { .. }) => return Ok(Some(version)),
            Err(ClusterError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
