//! From facts of many files to one snapshot: duplicates, what is present and what is missing.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::model::{Gap, Kind, Need, Snapshot, Warning};
use crate::wire::Item;

/// Puts facts together; of two states of one object, the newer counts.
#[derive(Debug, Default)]
pub(in crate::cluster) struct Gathering {
    items: Vec<Item>,
    places: BTreeMap<(Kind, String), usize>,
    /// Oddities, in the order in which they were met.
    pub(in crate::cluster) warnings: Vec<Warning>,
}

impl Gathering {
    /// Adds a fact.
    pub(in crate::cluster) fn add(&mut self, item: Item) {
        match self.places.entry((item.object.kind(), item.object.name())) {
            Entry::Vacant(place) => {
                place.insert(self.items.len());
                self.items.push(item);
            }
            Entry::Occupied(place) => {
                let known = &mut self.items[*place.get()];
                self.warnings.push(duplicate(known, &item));
                if is_newer(&item.resource_version, &known.resource_version) {
                    *known = item;
                }
            }
        }
    }

    /// The facts by kind.
    pub(in crate::cluster) fn snapshot(self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for item in self.items {
            item.object.add_to(&mut snapshot);
        }
        snapshot
    }
}

/// Rules as they are written; of two states of one, the newer counts, as for the facts.
#[derive(Debug, Default)]
pub(in crate::cluster) struct Written(BTreeMap<String, Value>);

impl Written {
    /// Adds those of one file.
    pub(in crate::cluster) fn add(&mut self, objects: Vec<Value>) {
        for object in objects {
            match self.0.entry(text(&object, "name").to_owned()) {
                Entry::Vacant(place) => {
                    place.insert(object);
                }
                Entry::Occupied(mut place) => {
                    let version = |object| text(object, "resourceVersion");
                    if is_newer(version(&object), version(place.get())) {
                        place.insert(object);
                    }
                }
            }
        }
    }

    /// All of them.
    pub(in crate::cluster) fn by_name(self) -> BTreeMap<String, Value> {
        self.0
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
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
            "{} {} occurs twice, at resourceVersion {} and {}; {} counts",
            which.object.kind(),
            which.object.name(),
            shown(known),
            shown(other),
            shown(used),
        ),
        fix: Some("leave out the older file".to_owned()),
    }
}

fn shown(version: &str) -> &str {
    if version.is_empty() {
        "<none>"
    } else {
        version
    }
}

/// What is missing from every answer, because a kind that it needs was nowhere in the input. What
/// answers can do without is asked for by those that use it: see [`Reading::without`].
///
/// [`Reading::without`]: crate::model::Reading::without
pub(in crate::cluster) fn gaps(present: &BTreeSet<Kind>, snapshot: &Snapshot) -> Vec<Gap> {
    Kind::ALL
        .into_iter()
        .filter(|kind| !present.contains(kind))
        .filter(|kind| match kind.need() {
            Need::Always | Need::WhereServed => true,
            Need::WhenReferredTo => refers_to_class(snapshot),
            Need::Optional => false,
        })
        .map(|kind| Gap::of(kind, &format!("the input holds no {kind}")))
        .collect()
}

fn refers_to_class(snapshot: &Snapshot) -> bool {
    snapshot
        .rules
        .iter()
        .filter_map(|rule| rule.selector.as_ref())
        .any(|selector| selector.device_class.is_some())
}
