//! Discovery of the kinds a server has, and of their API versions.
//!
//! Each kind is used at the newest version that the server serves and `wire` knows, whatever the
//! others are at: rules may be missing, or older, where devices are not. A kind of which one version is
//! known leaves nothing to choose, so nothing is asked about it: its list says whether it is served.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::{join, join_all};
use serde::Deserialize;

use super::enablement;
use super::resources::{Resources, resources_of};
use crate::cluster::client::api::ApiClient;
use crate::cluster::client::document::document;
use crate::cluster::error::ClusterError;
use crate::cluster::path::path_of;
use crate::model::{Kind, Minor, Warning};
use crate::wire::{Version, versions_of};

/// Kinds and versions that a server serves.
#[derive(Clone, Debug, Default)]
pub struct ServedKinds {
    kinds: BTreeMap<Kind, &'static Version>,
    /// The server's own version, such as `v1.36.2-gke.100`, if known.
    pub git_version: Option<String>,
    /// The version as numbers, when they can be read.
    pub version: Option<Minor>,
    /// Missing kinds that are no reason to give up, such as rules.
    pub findings: Vec<Warning>,
}

impl ServedKinds {
    /// The version at which `kind` is read, or `None` when it is not served.
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
pub async fn discover(client: &ApiClient) -> Result<ServedKinds, ClusterError> {
    let served = served_kinds(client).await?;
    if !has_devices(&served.kinds) {
        return Err(ClusterError::NotServed {
            server: Arc::clone(client.server()),
            kind: Kind::ResourceSlice,
            advice: enablement::how_to_serve_devices(served.version),
        });
    }
    Ok(served)
}

/// True if the server serves anything that reports about devices could be made from.
fn has_devices(kinds: &BTreeMap<Kind, &'static Version>) -> bool {
    kinds.contains_key(&Kind::ResourceSlice) || kinds.contains_key(&Kind::ResourceClaim)
}

/// Kinds and versions that a server serves, including admission policies, which most commands never ask for.
///
/// # Errors
///
/// When the server cannot be asked.
pub async fn with_admission(
    client: &ApiClient,
    mut served: ServedKinds,
) -> Result<ServedKinds, ClusterError> {
    let group = Kind::MutatingAdmissionPolicy.group();
    served.kinds.extend(served_in(client, group).await?);
    Ok(served)
}

/// As [`discover`], for who wants to know what there is even if that is nothing.
///
/// # Errors
///
/// When the server cannot be asked.
pub async fn served_kinds(client: &ApiClient) -> Result<ServedKinds, ClusterError> {
    let found = join_all(groups().into_iter().map(|group| served_in(client, group)));
    let server = git_version(client);
    let (found, server) = join(found, server).await;
    let git_version = server?;
    let mut kinds = kinds_of_one_version();
    for (group, found) in groups().into_iter().zip(found) {
        kinds.extend(match found {
            // A server that lacks the group says so as any server would; by now it may be known as an
            // API server, whose word counts.
            Err(ClusterError::Undecodable { .. }) if client.is_api_server() => {
                served_in(client, group).await?
            }
            found => found?,
        });
    }
    let version = git_version.as_deref().and_then(Minor::parse);
    Ok(ServedKinds {
        findings: findings(&kinds, version),
        kinds,
        git_version,
        version,
    })
}

/// The server's own version, if known.
async fn git_version(client: &ApiClient) -> Result<Option<String>, ClusterError> {
    match document::<ServerVersion>(client, "/version".to_owned()).await {
        Ok(server) => {
            client.note_version(&server.git_version);
            Ok(Some(server.git_version))
        }
        // Only a luxury: everything else works without it.
        Err(ClusterError::Forbidden { .. } | ClusterError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The versions of a group that are known, the newest first.
fn versions_in(group: &'static str) -> Vec<&'static str> {
    let mut versions: Vec<&'static str> = Vec::new();
    for version in kinds_of(group).flat_map(versions_of) {
        if !versions.contains(&version.api_version) {
            versions.push(version.api_version);
        }
    }
    versions
}

/// The kinds about which there is nothing to ask.
fn kinds_of_one_version() -> BTreeMap<Kind, &'static Version> {
    let kinds = Kind::ALL.into_iter();
    kinds
        .filter_map(|kind| Some((kind, only_version(kind)?)))
        .collect()
}

fn findings(kinds: &BTreeMap<Kind, &'static Version>, version: Option<Minor>) -> Vec<Warning> {
    if kinds.contains_key(&Kind::DeviceTaintRule) {
        return Vec::new();
    }
    if !has_devices(kinds) {
        return vec![Warning {
            code: "devices-not-served",
            message: "the server does not serve resourceslices, so there are no devices to taint"
                .to_owned(),
            fix: Some(enablement::how_to_serve_devices(version)),
        }];
    }
    vec![Warning {
        code: "rules-not-served",
        message: "the server does not serve devicetaintrules: only taints set by drivers have an \
            effect"
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
    let several = |kind: &Kind| only_version(*kind).is_none() && !kind.is_discovered_apart();
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
    let asked = document::<Group>(client, format!("/apis/{group}"));
    // Most servers have the newest version, so that is asked for at once: a round trip less.
    let newest = versions_in(group).into_iter().next();
    let newest = async {
        let version = newest?;
        Some((version, resources_of(client, version).await))
    };
    let (found, newest) = join(asked, newest).await;
    match found {
        Ok(found) => kinds_of_group(client, group, &found, newest).await,
        Err(ClusterError::NotFound { .. }) => match newest {
            // Whatever says otherwise: what a version has is there.
            Some((version, Ok(found))) => Ok(choose(group, &BTreeMap::from([(version, found)]))),
            Some((_, Err(_))) | None => Ok(BTreeMap::new()),
        },
        Err(ClusterError::Forbidden { .. }) => probe(client, group).await,
        Err(error) => Err(error),
    }
}

/// The newest known version of each kind, asking for older ones only when a kind is missing.
async fn kinds_of_group(
    client: &ApiClient,
    group: &'static str,
    found: &Group,
    newest: Option<(&'static str, Result<Resources, ClusterError>)>,
) -> Result<BTreeMap<Kind, &'static Version>, ClusterError> {
    let offered: BTreeSet<&str> = found
        .versions
        .iter()
        .map(|v| v.group_version.as_str())
        .collect();
    // In the order of the table of kinds: the server puts its preferred version first, which may not be the newest.
    let mut wanted = versions_in(group);
    wanted.retain(|version| offered.contains(version));
    let mut resources: BTreeMap<&'static str, Resources> = BTreeMap::new();
    if let Some((&first, rest)) = wanted.split_first() {
        let answered = match newest {
            Some((version, answered)) if version == first => answered,
            Some(_) | None => resources_of(client, first).await,
        };
        resources.insert(first, answered?);
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

fn choose(
    group: &str,
    resources: &BTreeMap<&'static str, Resources>,
) -> BTreeMap<Kind, &'static Version> {
    let has = |version: &Version| {
        let found = resources.get(version.api_version);
        found.is_some_and(|found| found.can_list(version.kind.resource()))
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
