//! The rules of a driver as the server has them, read past the program.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::cluster::rules::support::World;
use crate::harness::Reference;

/// Facts about a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub resource_version: String,
    pub generation: i64,
    pub effect: String,
    pub value: String,
    pub deleted: bool,
    pub finalizers: usize,
    pub labels: Value,
    pub annotations: Value,
}

/// Rules by their names.
pub type State = BTreeMap<String, Stored>;

/// All rules of the world's driver.
pub async fn state(world: &World<'_>) -> State {
    let path = world.plane.path(&Reference::rule("x")).await;
    let path = path.trim_end_matches("/x");
    let list = world.plane.request(http::Method::GET, path, None).await;
    let list = list.expect("an answer").success().expect("a list");
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let ours = |rule: &&Value| rule["spec"]["deviceSelector"]["driver"] == *world.driver;
    let stored = items.iter().filter(ours).map(|rule| {
        let metadata = &rule["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let stored = Stored {
            resource_version: text(&metadata["resourceVersion"]),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
            effect: text(&rule["spec"]["taint"]["effect"]),
            value: text(&rule["spec"]["taint"]["value"]),
            deleted: metadata["deletionTimestamp"].is_string(),
            finalizers: metadata["finalizers"].as_array().map_or(0, Vec::len),
            labels: metadata["labels"].clone(),
            annotations: metadata["annotations"].clone(),
        };
        (text(&metadata["name"]), stored)
    });
    stored.collect()
}

/// A rule to begin with: a device of the world, an effect, and a value.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub name: String,
    pub device: &'static str,
    pub value: &'static str,
    pub effect: &'static str,
    pub label: String,
    pub hold: Hold,
}

/// Obstacle to the end of a deleted rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Nothing,
    Finalizer,
    /// A finalizer, and it is deleted already.
    Leaving,
}

impl Wanted {
    fn object(&self, world: &World<'_>, key: &str) -> Value {
        let finalizers = match self.hold {
            Hold::Nothing => json!([]),
            Hold::Finalizer | Hold::Leaving => json!(["test.example.com/hold"]),
        };
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule",
            "metadata": {"name": self.name, "labels": {"lane": self.label}, "finalizers": finalizers},
            "spec": {
                "deviceSelector": {"driver": world.driver, "pool": world.node, "device": self.device},
                "taint": {"key": key, "value": self.value, "effect": self.effect},
            },
        })
    }

    fn fits(&self, stored: &Stored) -> bool {
        let labels = json!({"lane": self.label});
        stored.effect == self.effect
            && stored.value == self.value
            && stored.deleted == (self.hold == Hold::Leaving)
            && (stored.finalizers == 0) == (self.hold == Hold::Nothing)
            && stored.labels == labels
            && stored.annotations.is_null()
    }
}

/// Restores the rules, and returns them as the server has them then.
pub async fn reset(world: &World<'_>, wanted: &[Wanted], key: &str) -> State {
    let found = state(world).await;
    let keep: Vec<&str> = wanted
        .iter()
        .filter(|rule| found.get(&rule.name).is_some_and(|found| rule.fits(found)))
        .map(|rule| rule.name.as_str())
        .collect();
    for (name, rule) in found
        .iter()
        .filter(|(name, _)| !keep.contains(&name.as_str()))
    {
        if rule.finalizers > 0 {
            let released = json!({"metadata": {"finalizers": null}});
            world.plane.patch(&Reference::rule(name), &released).await;
        }
        if !rule.deleted {
            world.plane.delete(&Reference::rule(name)).await;
        }
    }
    let missing = wanted
        .iter()
        .filter(|rule| !keep.contains(&rule.name.as_str()));
    let missing: Vec<&Wanted> = missing.collect();
    let objects: Vec<Value> = missing.iter().map(|rule| rule.object(world, key)).collect();
    world.plane.create(&objects).await;
    for rule in missing {
        let condition = json!({"conditions": [{
            "type": "EvictionInProgress", "status": "False", "reason": "NotStarted",
            "message": "", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]});
        let reference = Reference::rule(&rule.name);
        world.plane.patch_status(&reference, &condition).await;
        if rule.hold == Hold::Leaving {
            world.plane.delete(&reference).await;
        }
    }
    state(world).await
}

/// Differences after a run, for the report of a violation.
pub fn changes(before: &State, after: &State) -> String {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let shown = names.into_iter().filter_map(|name| {
        let (before, after) = (before.get(name), after.get(name));
        (before != after).then(|| format!("  {name}: {before:?}\n    is now {after:?}\n"))
    });
    shown.collect()
}
