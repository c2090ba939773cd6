//! Devices, who holds them, and what taints them: everything but the pods.

use std::collections::BTreeMap;

use futures::join;

use super::lists::{List, Listing, Scope};
use super::read_pods;
use crate::cluster::{ApiClient, ClusterError, Served};
use crate::model::{
    DeviceClass, DeviceId, DeviceTaintRule, Gap, Kind, Reading, ResourceClaim, ResourceSlice,
    Snapshot, Source, Warning,
};
use crate::wire::{Detail, Object};

/// Reads what a preview of the devices that `selects` chooses needs.
///
/// # Errors
///
/// As [`read_devices`] and [`read_pods`].
pub async fn read_for_preview(
    client: &ApiClient,
    served: &Served,
    detail: Detail,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let reading = read_devices(client, served, detail).await?;
    read_pods(client, served, reading, selects).await
}

/// Reads all slices, claims and rules, side by side, and classes if a rule refers to one.
///
/// What the user may not read, or the server does not have, is a gap in the reading.
///
/// # Errors
///
/// When neither slices nor claims can be read, or any list not completely.
pub async fn read_devices(
    client: &ApiClient,
    served: &Served,
    detail: Detail,
) -> Result<Reading, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail,
    };
    let (slices, claims, rules) = join!(
        reader.list(Kind::ResourceSlice, slice),
        reader.list(Kind::ResourceClaim, claim),
        reader.rules(),
    );
    let (slices, claims, rules) = (slices?, claims?, rules?);
    let claims = match (&slices, claims) {
        (Outcome::Denied(_), Outcome::Denied(error)) => return Err(error),
        (_, claims) => claims,
    };
    let mut notes = Notes {
        warnings: served.findings.clone(),
        ..Notes::default()
    };
    let mut snapshot = Snapshot {
        slices: notes.take(Kind::ResourceSlice, slices),
        claims: notes.take(Kind::ResourceClaim, claims),
        rules: notes.take(Kind::DeviceTaintRule, rules),
        ..Snapshot::default()
    };
    if snapshot.rules.iter().any(refers_to_class) {
        let classes = reader.list(Kind::DeviceClass, class).await?;
        snapshot.classes = notes.take(Kind::DeviceClass, classes);
    }
    Ok(Reading {
        snapshot,
        source: Source::Cluster {
            context: client.context().map(str::to_owned),
            server_version: served.git_version.clone(),
        },
        observed_at: client.server_time(),
        version: served.version,
        resource_versions: notes.resource_versions,
        warnings: notes.warnings,
        gaps: notes.gaps,
    })
}

fn refers_to_class(rule: &DeviceTaintRule) -> bool {
    let selector = rule.selector.as_ref();
    selector.is_some_and(|selector| selector.device_class.is_some())
}

fn slice(object: Object) -> Option<ResourceSlice> {
    if let Object::ResourceSlice(slice) = object {
        Some(slice)
    } else {
        None
    }
}

fn claim(object: Object) -> Option<ResourceClaim> {
    if let Object::ResourceClaim(claim) = object {
        Some(claim)
    } else {
        None
    }
}

fn rule(object: Object) -> Option<DeviceTaintRule> {
    if let Object::DeviceTaintRule(rule) = object {
        Some(rule)
    } else {
        None
    }
}

fn class(object: Object) -> Option<DeviceClass> {
    if let Object::DeviceClass(class) = object {
        Some(class)
    } else {
        None
    }
}

/// What became of a list.
enum Outcome<T> {
    Read(List<T>),
    /// The server does not have the kind.
    Absent,
    /// The user may not read it.
    Denied(ClusterError),
}

impl<T> Outcome<T> {
    fn new(result: Result<List<T>, ClusterError>) -> Result<Self, ClusterError> {
        match result {
            Ok(list) => Ok(Self::Read(list)),
            Err(error @ ClusterError::Forbidden { .. }) => Ok(Self::Denied(error)),
            Err(error) => Err(error),
        }
    }
}

struct Reader<'a> {
    client: &'a ApiClient,
    served: &'a Served,
    detail: Detail,
}

impl Reader<'_> {
    async fn list<T>(
        &self,
        kind: Kind,
        choose: impl Fn(Object) -> Option<T>,
    ) -> Result<Outcome<T>, ClusterError> {
        match self.listing(kind) {
            Some(listing) => Outcome::new(listing.objects(choose).await),
            None => Ok(Outcome::Absent),
        }
    }

    /// Few, and the one kind whose unknown fields change what it means: so these are JSON.
    async fn rules(&self) -> Result<Outcome<DeviceTaintRule>, ClusterError> {
        match self.listing(Kind::DeviceTaintRule) {
            Some(listing) => Outcome::new(listing.documents().await.map(|list| list.choose(rule))),
            None => Ok(Outcome::Absent),
        }
    }

    fn listing(&self, kind: Kind) -> Option<Listing<'_>> {
        Some(Listing {
            client: self.client,
            version: self.served.version_of(kind)?,
            scope: Scope::All,
            detail: self.detail,
        })
    }
}

/// What there is to say about the lists.
#[derive(Default)]
struct Notes {
    warnings: Vec<Warning>,
    gaps: Vec<Gap>,
    resource_versions: BTreeMap<String, String>,
}

impl Notes {
    /// The objects, as far as there are any.
    fn take<T>(&mut self, kind: Kind, outcome: Outcome<T>) -> Vec<T> {
        match outcome {
            Outcome::Read(list) => {
                let version = list.metadata.resource_version;
                self.resource_versions
                    .insert(kind.plural().to_owned(), version);
                self.warnings.extend(list.warnings);
                return list.items;
            }
            Outcome::Denied(error) => self.gaps.push(gap(kind, &error.to_string())),
            // A server without rules has no rule that could be missing; that is a finding.
            Outcome::Absent if kind == Kind::DeviceTaintRule => {}
            Outcome::Absent => self.gaps.push(gap(kind, "the server does not serve them")),
        }
        Vec::new()
    }
}

/// What is missing from an answer without `kind`.
pub(in crate::cluster) fn gap(kind: Kind, reason: &str) -> Gap {
    let consequence = match kind {
        Kind::ResourceSlice => {
            "devices that no claim holds, and the drivers' own taints, are unknown"
        }
        Kind::ResourceClaim => "which devices are in use, and by whom, is unknown",
        Kind::DeviceTaintRule => "taints of existing rules are not counted",
        Kind::Pod => "who would be evicted is not fully known",
        Kind::DeviceClass => "which devices the rules mean that refer to one is unknown",
    };
    Gap {
        what: kind.plural().to_owned(),
        why: format!("{reason}: {consequence}"),
        affects: kind.affects(),
    }
}
