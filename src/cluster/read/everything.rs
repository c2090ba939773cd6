//! Everything that a preview may need, as the server has it, to be saved.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::bodies::Fields;
use super::kinds::{Notes, Outcome, Reader};
use super::lists::Selection;
use super::owners::{SavedOwners, without_templates};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{Gap, Kind, Saving, Warning};
use crate::wire::Detail;

/// Everything that was read for saving.
#[derive(Debug, Default)]
pub struct Saved {
    /// One per kind that could be read, in the order of [`Kind::ALL`].
    pub lists: Vec<SavedList>,
    /// Kinds that the server does not have.
    pub warnings: Vec<Warning>,
    /// Data that could not be read.
    pub gaps: Vec<Gap>,
}

impl Saved {
    /// Counts of all objects, such as "2 resourceslices, 1 pod".
    pub fn counts(&self) -> String {
        let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
        for list in &self.lists {
            let count = counts.entry(list.kind).or_default();
            *count = count.saturating_add(list.items.len());
        }
        let counts: Vec<String> = counts
            .into_iter()
            .map(|(kind, count)| match count {
                1 => format!("1 {}", kind.as_str().to_ascii_lowercase()),
                _ => format!("{count} {}", kind.plural()),
            })
            .collect();
        counts.join(", ")
    }
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
    /// The objects as JSON, complete except for `metadata.managedFields` and the images of nodes, each with its
    /// `apiVersion` and `kind`, keys sorted, in the server's order.
    pub items: Vec<Box<RawValue>>,
}

/// Reads all objects of every kind that is saved: of pods those that use a claim, with all fields, and of
/// workloads those that are above such pods, without templates.
///
/// # Errors
///
/// When neither slices nor claims can be read, or any list not completely.
pub async fn read_everything(
    client: &ApiClient,
    served: &ServedKinds,
) -> Result<Saved, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail: Detail::Attributes,
    };
    let mut notes = Notes {
        warnings: served.findings.clone(),
        ..Notes::default()
    };
    let mut lists = Vec::new();
    let mut denied = BTreeMap::new();
    let mut owners = SavedOwners::default();
    // In the order of the table: `SavedOwners` has to see pods before their owners.
    let saved = Kind::ALL.into_iter();
    for kind in saved.filter(|kind| kind.saving() == Saving::Always) {
        let Some(listing) = reader.listing(kind, Selection::All) else {
            notes.absent(kind);
            continue;
        };
        match Outcome::new(kind, listing.served(|object| wanted(kind, object)).await)? {
            Outcome::Read(list) => lists.push(SavedList {
                kind,
                api_version: listing.version.api_version,
                resource_version: list.metadata.resource_version,
                items: owners.pass(kind, list.items),
            }),
            Outcome::Absent => notes.absent(kind),
            Outcome::Denied(error) => {
                notes.denied(kind, &error);
                denied.insert(kind, error);
            }
        }
    }
    // With neither claims nor slices, no command could use the snapshot.
    match denied.remove(&Kind::ResourceClaim) {
        Some(error) if denied.contains_key(&Kind::ResourceSlice) => Err(error),
        _ => Ok(Saved {
            lists,
            warnings: notes.warnings,
            gaps: notes.gaps,
        }),
    }
}

/// Takes away what is much and of no use to an answer: what only the server needs, and the images that
/// nodes have; `false` for a pod that uses no claim.
fn wanted(kind: Kind, object: &mut Fields) -> bool {
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("images");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    without_templates(kind, object);
    kind != Kind::Pod || uses_claim(object)
}

fn uses_claim(pod: &Fields) -> bool {
    let field = |part: &str, name: &str| pod.get(part).and_then(|part| part.get(name));
    let claims = field("spec", "resourceClaims").and_then(Value::as_array);
    claims.is_some_and(|claims| !claims.is_empty())
        || field("status", "extendedResourceClaimStatus").is_some_and(|claim| !claim.is_null())
}
