//! From facts of many files to one snapshot: duplicates, what is present and what is missing.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::model::{Gap, Kind, Need, Snapshot, Warning};
use crate::wire::Item;

/// Puts facts together; of two states of one object, the newer counts.
#[derive(Debug, Default)]
pub(in crate::cluster) struct SnapshotBuilder {
    items: Vec<Item>,
    places: BTreeMap<(Kind, String), usize>,
    /// Warnings, in the order in which they were met.
    pub(in crate::cluster) warnings: Vec<Warning>,
}

impl SnapshotBuilder {
    /// Adds a fact.
    pub(in crate::cluster) fn add(&mut self, item: Item) {
        match self.places.entry((item.object.kind(), item.object.name())) {
            Entry::Vacant(place) => {
                place.insert(self.items.len());
                self.items.push(item);
            }
            Entry::Occupied(place) => {
                let known = &mut self.items[*place.get()];
                if !is_same_state(known, &item) {
                    self.warnings.push(duplicate(known, &item));
                }
                if is_newer(&item.resource_version, &known.resource_version) {
                    *known = item;
                }
            }
        }
    }

    /// The facts by kind, and the objects that are kept as they are written, in the order in which they
    /// were met.
    pub(in crate::cluster) fn finish(self) -> (Snapshot, Vec<SerializedObject>) {
        let mut snapshot = Snapshot::default();
        let mut written = Vec::new();
        for item in self.items {
            if let Some(object) = item.written {
                written.push(SerializedObject {
                    kind: item.object.kind(),
                    name: item.object.name(),
                    object: *object,
                });
            }
            item.object.add_to(&mut snapshot);
        }
        (snapshot, written)
    }
}

/// An object as it is written, with all its fields.
#[derive(Debug)]
pub(in crate::cluster) struct SerializedObject {
    pub(in crate::cluster) kind: Kind,
    /// With the namespace, where there is one.
    pub(in crate::cluster) name: String,
    pub(in crate::cluster) object: Value,
}

/// True if two objects of one name are the same version: then either will do, without a
/// warning. Folders that programs make hold many such pairs.
fn is_same_state(one: &Item, other: &Item) -> bool {
    // Manifests that were never applied have no resourceVersion, so only their facts can be compared.
    if one.resource_version.is_empty() && other.resource_version.is_empty() {
        return one.object == other.object;
    }
    one.resource_version == other.resource_version
}

/// Resource versions are opaque by contract and growing numbers in practice (and by contract since
/// 1.35); of two that are no numbers, neither is newer.
fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<u128>(), than.parse::<u128>()) {
        (Ok(version), Ok(than)) => version > than,
        (Ok(_), Err(_)) => true,
        (Err(_), _) => false,
    }
}

fn duplicate(known: &Item, other: &Item) -> Warning {
    let (known, other, which) = (&known.resource_version, &other.resource_version, known);
    let used = if is_newer(other, known) { other } else { known };
    Warning {
        code: "duplicate-object",
        message: format!(
            "{} {} occurs twice, with resourceVersion {} and {}; the one with {} is used",
            which.object.kind(),
            which.object.name(),
            shown(known),
            shown(other),
            shown(used),
        ),
        fix: Some("remove the other one from the input".to_owned()),
    }
}

fn shown(version: &str) -> &str {
    if version.is_empty() {
        "<none>"
    } else {
        version
    }
}

/// Gaps of every answer, because a required kind was nowhere in the input. Optional
/// kinds are requested by their users: see [`Reading::without`].
///
/// [`Reading::without`]: crate::model::Reading::without
pub(in crate::cluster) fn gaps(present: &BTreeSet<Kind>) -> Vec<Gap> {
    Kind::ALL
        .into_iter()
        .filter(|kind| !present.contains(kind))
        .filter(|kind| match kind.need() {
            Need::Always | Need::WhereServed => true,
            Need::Optional => false,
        })
        // `kubectl get a,b -o json` puts all objects into one list, which says nothing about a kind
        // of which there is none: either it has no objects, or the user was not allowed to list it.
        .map(Gap::not_in_input)
        .collect()
}

/// Gap where claims are reserved for pods that are not there: only the pods of some namespaces
/// were saved, as by a must-gather. The cluster may have lost such a pod only a moment ago.
pub(in crate::cluster) fn missing_pods(snapshot: &Snapshot) -> Option<Gap> {
    let known: BTreeSet<_> = snapshot.pods.iter().map(|pod| &pod.uid).collect();
    let missing: BTreeSet<String> = snapshot
        .claims
        .iter()
        .flat_map(|claim| {
            let consumers = claim.reserved_for.iter();
            let pods = consumers.filter(|consumer| &*consumer.resource == Kind::Pod.plural());
            let missing = pods.filter(|consumer| !known.contains(&consumer.uid));
            missing.map(|consumer| format!("{}/{}", claim.name.namespace, consumer.name))
        })
        .collect();
    let first = missing.first()?;
    let reason = match missing.len() {
        1 => format!("the input lacks pod {first}, for which a claim is reserved"),
        several => {
            format!("the input lacks {several} pods for which claims are reserved, such as {first}")
        }
    };
    Some(Gap::of(Kind::Pod, &reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Documents;

    fn warnings(pods: &[(&str, &str)]) -> usize {
        let mut gathering = SnapshotBuilder::default();
        for (version, node) in pods {
            let pod = format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","namespace":"ml","uid":"1","resourceVersion":"{version}"}},
                "spec":{{"nodeName":"{node}","resourceClaims":[{{"name":"gpu","resourceClaimName":"gpu"}}]}}}}"#
            );
            let mut documents = Documents::new();
            documents.decode_json(&pod).expect("a pod");
            for item in documents.finish().items {
                gathering.add(item);
            }
        }
        gathering.warnings.len()
    }

    #[test]
    fn one_state_of_an_object_may_occur_any_number_of_times() {
        for (name, pods, expected) in [
            ("same state", &[("7", "n"), ("7", "n"), ("7", "n")][..], 0),
            ("no states, same content", &[("", "n"), ("", "n")], 0),
            ("no states, other content", &[("", "n"), ("", "m")], 1),
            ("another state", &[("7", "n"), ("8", "n")], 1),
            ("one without a state", &[("7", "n"), ("", "n")], 1),
        ] {
            assert_eq!(warnings(pods), expected, "{name}");
        }
    }
}
