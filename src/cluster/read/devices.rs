//! Devices, who holds them, and what taints them: everything but the pods.

use futures::join;

use super::lists::{List, Listing, Scope};
use super::read_pods;
use crate::cluster::{ApiClient, ClusterError, Served};
use crate::model::{DeviceId, DeviceTaintRule, Gap, Kind, Reading, Snapshot, Source, Warning};
use crate::wire::Object;

/// Reads what a preview of the devices that `selects` chooses needs.
///
/// # Errors
///
/// As [`read_devices`] and [`read_pods`].
pub async fn read_for_preview(
    client: &ApiClient,
    served: &Served,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let reading = read_devices(client, served).await?;
    read_pods(client, served, reading, selects).await
}

/// Reads all slices, claims and rules, side by side, and classes if a rule refers to one.
///
/// What the user may not read, or the server does not have, is a gap in the reading.
///
/// # Errors
///
/// When neither slices nor claims can be read, or any list not completely.
pub async fn read_devices(client: &ApiClient, served: &Served) -> Result<Reading, ClusterError> {
    let (slices, claims, rules) = join!(
        read_kind(client, served, Kind::ResourceSlice),
        read_kind(client, served, Kind::ResourceClaim),
        read_kind(client, served, Kind::DeviceTaintRule),
    );
    let (slices, claims, rules) = (slices?, claims?, rules?);
    let claims = match (&slices, claims) {
        (Outcome::Denied(_), Outcome::Denied(error)) => return Err(error),
        (_, claims) => claims,
    };
    let mut parts = Parts::default();
    parts.warnings.extend(served.findings.iter().cloned());
    parts.add(Kind::ResourceSlice, slices);
    parts.add(Kind::ResourceClaim, claims);
    parts.add(Kind::DeviceTaintRule, rules);
    if parts.snapshot.rules.iter().any(refers_to_class) {
        let classes = read_kind(client, served, Kind::DeviceClass).await?;
        parts.add(Kind::DeviceClass, classes);
    }
    Ok(parts.reading(client, served))
}

fn refers_to_class(rule: &DeviceTaintRule) -> bool {
    let selector = rule.selector.as_ref();
    selector.is_some_and(|selector| selector.device_class.is_some())
}

/// What became of a list.
enum Outcome {
    Read(List<Object>),
    /// The server does not have the kind.
    Absent,
    /// The user may not read it.
    Denied(ClusterError),
}

async fn read_kind(
    client: &ApiClient,
    served: &Served,
    kind: Kind,
) -> Result<Outcome, ClusterError> {
    let Some(version) = served.version_of(kind) else {
        return Ok(Outcome::Absent);
    };
    let listing = Listing {
        client,
        version,
        scope: Scope::All,
    };
    let result = match kind {
        // Few, and the one kind whose unknown fields change what it means.
        Kind::DeviceTaintRule => listing.documents().await,
        Kind::ResourceSlice | Kind::ResourceClaim | Kind::Pod | Kind::DeviceClass => {
            listing.objects(|_| true).await
        }
    };
    match result {
        Ok(list) => Ok(Outcome::Read(list)),
        Err(error @ ClusterError::Forbidden { .. }) => Ok(Outcome::Denied(error)),
        Err(error) => Err(error),
    }
}

/// What is known so far.
#[derive(Default)]
struct Parts {
    snapshot: Snapshot,
    warnings: Vec<Warning>,
    gaps: Vec<Gap>,
    resource_versions: std::collections::BTreeMap<String, String>,
}

impl Parts {
    fn add(&mut self, kind: Kind, outcome: Outcome) {
        match outcome {
            Outcome::Read(list) => {
                self.resource_versions
                    .insert(kind.plural().to_owned(), list.metadata.resource_version);
                self.warnings.extend(list.warnings);
                for object in list.items {
                    self.insert(object);
                }
            }
            Outcome::Denied(error) => self.gaps.push(gap(kind, &error.to_string())),
            // A server without rules has no rule that could be missing; that is a finding.
            Outcome::Absent if kind == Kind::DeviceTaintRule => {}
            Outcome::Absent => self.gaps.push(gap(kind, "the server does not serve them")),
        }
    }

    fn insert(&mut self, object: Object) {
        match object {
            Object::ResourceSlice(slice) => self.snapshot.slices.push(slice),
            Object::ResourceClaim(claim) => self.snapshot.claims.push(claim),
            Object::DeviceTaintRule(rule) => self.snapshot.rules.push(rule),
            Object::Pod(pod) => self.snapshot.pods.push(pod),
            Object::DeviceClass(class) => self.snapshot.classes.push(class),
        }
    }

    fn reading(self, client: &ApiClient, served: &Served) -> Reading {
        Reading {
            snapshot: self.snapshot,
            source: Source::Cluster {
                context: client.context().map(str::to_owned),
                server_version: served.git_version.clone(),
            },
            observed_at: client.server_time(),
            version: served.version,
            resource_versions: self.resource_versions,
            warnings: self.warnings,
            gaps: self.gaps,
        }
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
    }
}
