//! Discovery of the kinds a server has, and of their API versions.
//!
//! Each kind is used at the newest version that the server serves and `wire` knows, whatever the
//! others are at: rules may be missing, or older, where devices are not. A kind of which one version is
//! known leaves nothing to choose, so nothing is asked about it: its list says whether it is served.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::{join, join_all};
use serde::Deserialize;

use crate::cluster::client::ApiClient;
use crate::cluster::client::target::path_of;
use crate::cluster::client::write::document;
use crate::cluster::error::ClusterError;
use crate::model::{Kind, Minor, Serving, Warning};
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
            advice: how_to_serve_devices(served.version),
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
            fix: Some(how_to_serve_devices(version)),
        }];
    }
    vec![Warning {
        code: "rules-not-served",
        message: "the server does not serve devicetaintrules: only taints set by drivers have an \
            effect"
            .to_owned(),
        fix: Some(how_to_serve_rules(version)),
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

/// Advice to get a kind from a server of version `minor` that does not serve it.
pub(crate) fn how_to_serve(kind: Kind, minor: Option<Minor>) -> String {
    match kind.serving() {
        Serving::Rules => how_to_serve_rules(minor),
        Serving::Devices => how_to_serve_devices(minor),
        Serving::MutatingPolicies => how_to_serve_mutating_policies(minor),
        Serving::Always => {
            format!(
                "every Kubernetes version that has device taints serves {} by default: check whether \
                 --runtime-config of kube-apiserver disables this API",
                kind.plural()
            )
        }
        Serving::ByController => "install their controller".to_owned(),
        Serving::PodGroups => {
            "in 1.37, start kube-apiserver with --runtime-config=scheduling.k8s.io/v1beta1=true"
                .to_owned()
        }
    }
}

/// Advice to get slices and claims from a server of version `minor` that has none.
pub(crate) fn how_to_serve_devices(minor: Option<Minor>) -> String {
    match minor {
        Some(found) if found.minor < 34 => unsupported(found.minor),
        Some(_) | None => "check --runtime-config and the feature gate DynamicResourceAllocation of \
                           kube-apiserver: Kubernetes 1.34 and later serve resource.k8s.io/v1 by default"
            .to_owned(),
    }
}

/// Advice for a version that is not supported.
fn unsupported(minor: u32) -> String {
    format!("upgrade the cluster: Kubernetes 1.{minor} is not supported, 1.35 and later are")
}

/// Advice to get rules from a server of version `minor` that has devices and no rules.
pub(crate) fn how_to_serve_rules(minor: Option<Minor>) -> String {
    let (version, gates) = match minor.map(|found| found.minor) {
        Some(minor @ 0..=34) => return unsupported(minor),
        Some(35) => ("v1alpha3", "gates DRADeviceTaints and DRADeviceTaintRules"),
        // DRADeviceTaints is on by default since 1.36.
        Some(36) => ("v1beta2", "gate DRADeviceTaintRules"),
        Some(_) | None => {
            return "check --runtime-config of kube-apiserver: Kubernetes 1.37 and later serve \
                    DeviceTaintRules by default, 1.35 and 1.36 with the feature gate DRADeviceTaintRules"
                .to_owned();
        }
    };
    format!(
        "start kube-apiserver with --runtime-config=resource.k8s.io/{version}=true, and turn on the feature \
         {gates} in kube-apiserver, kube-scheduler and kube-controller-manager"
    )
}

/// Advice to get mutating admission policies from a server of version `minor` that has none.
fn how_to_serve_mutating_policies(minor: Option<Minor>) -> String {
    if minor.is_some_and(|found| found.minor == 35) {
        "start kube-apiserver with --runtime-config=admissionregistration.k8s.io/v1beta1=true and the feature \
         gate MutatingAdmissionPolicy"
            .to_owned()
    } else {
        "check --runtime-config of kube-apiserver: Kubernetes 1.36 and later serve MutatingAdmissionPolicies by \
         default"
            .to_owned()
    }
}

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
    match document(client, format!("/apis/{api_version}")).await {
        // Not served, or turned off between two requests.
        Err(ClusterError::NotFound { .. }) => Ok(Resources::default()),
        resources => resources,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_advised_on_by_itself() {
        let version = Some(Minor {
            minor: 36,
            patch: None,
        });
        for kind in Kind::ALL {
            let advice = how_to_serve(kind, version);
            let is_installed = kind.serving() == Serving::ByController;
            let way = if is_installed {
                "install"
            } else {
                "--runtime-config"
            };
            assert!(advice.contains(way), "{kind}: {advice}");
            let about_rules = advice.contains("DRADeviceTaintRules");
            assert_eq!(about_rules, kind == Kind::DeviceTaintRule, "{kind}");
        }
    }

    #[test]
    fn what_is_missing_depends_on_the_version() {
        let advice = |minor| how_to_serve_rules(Some(Minor { minor, patch: None }));
        for (minor, word) in [
            (34, "1.34 is not supported"),
            (35, "DRADeviceTaintRules"),
            (36, "v1beta2=true"),
            (37, "by default"),
            (40, "by default"),
        ] {
            assert!(advice(minor).contains(word), "{minor}: {}", advice(minor));
        }
    }
}
