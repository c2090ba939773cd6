//! Everything that a preview may need, as the server has it, to be saved.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_json::value::RawValue;

use super::bodies::Fields;
use super::kinds::{Notes, Outcome, Reader};
use super::lists::Selection;
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{Gap, Kind, Pod, Saving, Warning};
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

/// The owners and groups of what was saved so far; kinds come in the order of their table, in which owners
/// stand behind what they own.
#[derive(Debug, Default)]
pub(super) struct SavedOwners {
    uids: BTreeSet<String>,
    /// By namespace and name.
    names: BTreeSet<(String, String)>,
}

impl SavedOwners {
    /// Notes who is above these pods, or keeps of these workloads those that are above what was noted;
    /// other kinds stay as they are.
    pub(super) fn pass(&mut self, kind: Kind, items: Vec<Box<RawValue>>) -> Vec<Box<RawValue>> {
        if kind != Kind::Pod && !kind.is_workload() {
            return items;
        }
        let mut items = items;
        items.retain(|item| {
            // A body that is no object does not match the request, and was refused already.
            let object: Fields = serde_json::from_str(item.get()).unwrap_or_default();
            let is_kept = kind == Kind::Pod || self.has(&object);
            if is_kept {
                self.note(&object);
            }
            is_kept
        });
        items
    }

    fn has(&self, object: &Fields) -> bool {
        let metadata = object.get("metadata");
        let text = |name: &str| text(metadata.and_then(|metadata| metadata.get(name)));
        self.uids.contains(&text("uid")) || self.names.contains(&(text("namespace"), text("name")))
    }

    fn note(&mut self, object: &Fields) {
        let metadata = object.get("metadata");
        let field = |name: &str| metadata.and_then(|metadata| metadata.get(name));
        let owners = field("ownerReferences")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        self.uids.extend(owners.map(|owner| text(owner.get("uid"))));
        let namespace = text(field("namespace"));
        // PodGroups and LeaderWorkerSets are named by a field or a label, not by an owner reference.
        let group = object
            .get("spec")
            .and_then(|spec| spec.get("schedulingGroup"))
            .and_then(|group| group.get("podGroupName"));
        let set = field("labels").and_then(|labels| labels.get(Pod::LEADER_WORKER_SET));
        let plugin = field("labels").and_then(|labels| labels.get(Pod::COSCHEDULING_GROUP));
        for name in [group, set, plugin].into_iter().flatten() {
            self.names.insert((namespace.clone(), text(Some(name))));
        }
    }
}

/// Takes the templates of pods away, and what repeats them: they are most of a workload, may hold secrets,
/// and no answer depends on them.
pub(super) fn without_templates(kind: Kind, object: &mut Fields) {
    if !kind.is_workload() {
        return;
    }
    let fields = |object: &mut Fields, part: &str, names: &[&str]| {
        if let Some(part) = object.get_mut(part).and_then(Value::as_object_mut) {
            for name in names {
                part.remove(*name);
            }
        }
    };
    fields(object, "metadata", &["annotations"]);
    let templates = [
        "template",
        "jobTemplate",
        "replicatedJobs",
        "volumeClaimTemplates",
    ];
    fields(object, "spec", &templates);
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let templates = ["leaderTemplate", "workerTemplate"];
        fields(spec, "leaderWorkerTemplate", &templates);
    }
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    fn named(name: &str, owners: &str) -> Value {
        json!({"metadata": {
            "name": name, "namespace": "ml", "uid": format!("uid-{name}"),
            "ownerReferences": [{"uid": format!("uid-{owners}")}],
        }})
    }

    fn names(owners: &mut SavedOwners, kind: Kind, objects: &[Value]) -> Vec<String> {
        let items = objects
            .iter()
            .map(|object| to_raw_value(object).expect("JSON"));
        let kept = owners.pass(kind, items.collect()).into_iter();
        kept.map(|item| {
            let object: Value = serde_json::from_str(item.get()).expect("JSON");
            text(object["metadata"].get("name"))
        })
        .collect()
    }

    #[test]
    fn what_is_above_the_pods_stays_and_the_rest_goes() {
        let mut owners = SavedOwners::default();
        let mut grouped = named("rank-0", "nobody");
        grouped["spec"] = json!({"schedulingGroup": {"podGroupName": "ranks"}});
        grouped["metadata"]["labels"] = json!({Pod::LEADER_WORKER_SET: "serve"});
        let pods = [named("train-0", "train-6d"), grouped];
        assert_eq!(names(&mut owners, Kind::Pod, &pods).len(), 2);
        let sets = [named("train-6d", "train"), named("web-1a", "web")];
        assert_eq!(names(&mut owners, Kind::ReplicaSet, &sets), ["train-6d"]);
        let deployments = [named("train", "none"), named("web", "none")];
        assert_eq!(
            names(&mut owners, Kind::Deployment, &deployments),
            ["train"]
        );
        let groups = [named("ranks", "none"), named("other", "none")];
        assert_eq!(names(&mut owners, Kind::PodGroup, &groups), ["ranks"]);
        let sets = [named("serve", "none")];
        assert_eq!(names(&mut owners, Kind::LeaderWorkerSet, &sets), ["serve"]);
        let nodes = [named("node", "none")];
        assert_eq!(names(&mut owners, Kind::Node, &nodes), ["node"]);
    }

    #[test]
    fn no_template_of_pods_is_kept_and_the_numbers_are() {
        let mut object = json!({
            "metadata": {"name": "train", "annotations": {"last-applied": "PASSWORD"}},
            "spec": {
                "replicas": 3, "template": {"env": "PASSWORD"}, "jobTemplate": {"env": "PASSWORD"},
                "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"env": "PASSWORD"}},
            },
        });
        let fields = object.as_object_mut().expect("an object");
        without_templates(Kind::Deployment, fields);
        assert_eq!(fields["spec"]["replicas"], 3);
        assert_eq!(fields["spec"]["leaderWorkerTemplate"]["size"], 2);
        assert!(!json!(fields).to_string().contains("PASSWORD"));
    }
}
