//! List of rules.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::description::RuleDescription;
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use super::table::{Column, Section, Table, UNKNOWN_COUNT, View, count_cell, optional};
use crate::assess::{Basis, CountSubject, Number, ReportCompleteness};
use crate::engine::rule_lifecycle::EvictionStatus;
use crate::engine::{Impact, RuleImpact};
use crate::model::{self, Count, DeviceTaintRule, Effect, Kind, ObjectName};
use crate::naming::duration::human_duration;
use crate::naming::keys;
use crate::naming::{device, rule};

/// The name of a rule as kubectl prints it.
pub fn resource_name(name: &str) -> String {
    rule::qualified(name)
}

/// A row of the list: counts and eviction status of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleRow {
    /// The rule; as data, its name.
    #[serde(serialize_with = "name_of")]
    pub rule: DeviceTaintRule,
    /// Published devices that the rule selects.
    pub published_device_count: Number,
    /// Pods that the rule evicts and that are not terminating yet; with effect None, pods that it would evict
    /// with NoExecute.
    pub evicted_pod_count: Number,
    /// Pods that use devices of the rule and are already terminating.
    pub terminating_pod_count: Number,
    /// Pods that use devices of the rule and stay, such as pods that tolerate its taint; terminating and ended pods
    /// are not counted.
    pub not_evicted_pod_count: Number,
    /// True if its device is published as other hardware than the rule notes.
    #[serde(skip)]
    pub is_other_hardware: bool,
    /// Eviction status of the rule, according to its condition EvictionInProgress.
    pub evicting: EvictionStatus,
}

fn name_of<S: Serializer>(rule: &DeviceTaintRule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.name.as_str())
}

/// The rules of a cluster. As data it is the list of the objects as they were served, with a summary of each.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleList {
    rows: Vec<RuleRow>,
    objects: BTreeMap<String, Value>,
    now: Timestamp,
    warnings: Vec<Warning>,
    incomplete: Vec<Incomplete>,
}

impl RuleList {
    /// The list of `rows`, which were made from `impact`, with the objects by name as they were served.
    pub fn new(
        mut rows: Vec<RuleRow>,
        objects: BTreeMap<String, Value>,
        impact: &Impact<'_>,
        basis: &Basis<'_>,
    ) -> Self {
        let reading = basis.reading;
        rows.sort_by(|left, right| left.rule.name.cmp(&right.rule.name));
        Self {
            rows,
            objects,
            now: basis.now,
            warnings: views(&[&reading.warnings, &impact.warnings]),
            incomplete: Incomplete::all(&ReportCompleteness::new(&reading.gaps)),
        }
    }
}

/// The rows of `rules`, all of which were considered in `impact`; those of `other_hardware` get a note.
pub fn rows(
    rules: Vec<DeviceTaintRule>,
    impact: &Impact<'_>,
    other_hardware: &BTreeSet<ObjectName>,
    completeness: &ReportCompleteness<'_>,
) -> Vec<RuleRow> {
    let found: BTreeMap<&ObjectName, &RuleImpact<'_>> = impact
        .rules
        .iter()
        .filter_map(|rule| Some((rule.proposed.rule.as_ref()?, rule)))
        .collect();
    rules
        .into_iter()
        .map(|rule| {
            let found = found.get(&rule.name);
            let (counts, terminating, staying) = found
                .map(|found| (found.counts, found.terminating, found.staying))
                .unwrap_or_default();
            let of_pods = |number| completeness.count(CountSubject::Pods, number);
            let pods = evicted_by(&rule.taint.effect, of_pods(counts.pods));
            RuleRow {
                evicting: EvictionStatus::judged(&rule, pods.is_none()),
                published_device_count: completeness
                    .count(CountSubject::Published, counts.published_devices)
                    .into(),
                evicted_pod_count: pods.into(),
                terminating_pod_count: of_pods(terminating).into(),
                not_evicted_pod_count: of_pods(staying).into(),
                is_other_hardware: other_hardware.contains(&rule.name),
                rule,
            }
        })
        .collect()
}

/// The pods that a rule with this effect evicts, or would with effect NoExecute, of `counted`.
fn evicted_by(effect: &Effect, counted: Count) -> Count {
    match effect {
        // Evicts no pod, also none that could not be read.
        Effect::NoSchedule => Count::known(0),
        Effect::None | Effect::NoExecute | Effect::Unknown(_) => counted,
    }
}

impl Serialize for RuleList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let objects = self
            .rows
            .iter()
            .filter_map(|row| self.objects.get(row.rule.name.as_str()));
        let mut list = list_of(&objects.cloned().collect::<Vec<_>>());
        // Beside the objects, which stay as they were served, so that they can be applied again.
        list["ruleSummaries"] =
            serde_json::to_value(&self.rows).map_err(serde::ser::Error::custom)?;
        list.serialize(serializer)
    }
}

/// Several objects, as `kubectl get -o json` prints them.
pub fn list_of(objects: &[Value]) -> Value {
    // With an empty resourceVersion, as kubectl prints a list that it has put together itself.
    json!({"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}})
}

impl View for RuleList {
    fn sections(&self) -> Vec<Section> {
        let annotation = |row: &RuleRow, key| optional(row.rule.metadata.annotation(key));
        let age = |row: &RuleRow| {
            let created = row.rule.metadata.created;
            created.map(|created| human_duration(self.now.duration_since(created)))
        };
        let table = Table::of(&self.rows)
            .column(Column::text("NAME"), |row| row.rule.name.to_string())
            .column(Column::text("DEVICES"), |row| {
                optional(row.rule.selector.as_ref().map(device::format).as_deref())
            })
            .column(Column::text("EFFECT"), |row| {
                row.rule.taint.effect.to_string()
            })
            .column(Column::number("PODS"), |row| pods(row))
            .column(Column::text("AGE"), |row| {
                age(row).unwrap_or_else(|| UNKNOWN_COUNT.to_owned())
            })
            .column(Column::text("TAINT").wide(), |row| taint(row))
            .column(Column::number("SELECTED").wide(), |row| {
                count_cell(*row.published_device_count)
            })
            .column(Column::number("TERMINATING").wide(), |row| {
                count_cell(*row.terminating_pod_count)
            })
            .column(Column::number("STAYING").wide(), |row| {
                count_cell(*row.not_evicted_pod_count)
            })
            .column(Column::text("REASON").wide(), |row| {
                annotation(row, keys::REASON)
            })
            .column(Column::text("BY").wide(), |row| {
                annotation(row, keys::CREATED_BY)
            })
            .column(Column::text("EXPIRES").wide(), |row| {
                annotation(row, keys::EXPIRES)
            })
            .column(Column::text("NOTE"), |row| notes(row, self.now))
            .table();
        vec![Section::table(table)]
    }

    fn names(&self) -> Vec<String> {
        self.rows
            .iter()
            .map(|row| resource_name(row.rule.name.as_str()))
            .collect()
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }

    /// The table is made to be cut by scripts, and data are the rules alone.
    fn lists_missing_data(&self) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The pods that the rule evicts; in parentheses, those that it would evict with effect NoExecute.
fn pods(row: &RuleRow) -> String {
    match row.rule.taint.effect {
        Effect::NoExecute => count_cell(*row.evicted_pod_count),
        Effect::NoSchedule => "-".to_owned(),
        Effect::None | Effect::Unknown(_) => format!("({})", count_cell(*row.evicted_pod_count)),
    }
}

fn notes(row: &RuleRow, now: Timestamp) -> String {
    let metadata = &row.rule.metadata;
    let named = |noun: &str, label: &str| {
        let name = metadata.labels.get(label)?;
        Some(format!("{noun} {name}"))
    };
    let notes = [
        eviction(row).map(str::to_owned),
        keys::is_expired(metadata, now).then(|| "expired".to_owned()),
        named("drain", keys::DRAIN),
        named("dedicated", keys::DEDICATION),
        row.is_other_hardware.then(|| "other hardware".to_owned()),
    ];
    notes.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Progress of the evictions, by the condition and the pods.
fn eviction(row: &RuleRow) -> Option<&'static str> {
    match (row.evicting, &row.rule.taint.effect) {
        (EvictionStatus::Outdated, _) => Some("stale"),
        (EvictionStatus::Yes, _) => Some("evicting"),
        (EvictionStatus::No | EvictionStatus::Leftover, Effect::NoExecute) => {
            // The controller has done its part, and the pods have not.
            let is_over = row.terminating_pod_count.exact() == Some(0);
            let is_under_way = row.terminating_pod_count.least() > 0;
            is_over
                .then_some("done")
                .or(is_under_way.then_some("evicting"))
        }
        (EvictionStatus::No | EvictionStatus::Leftover | EvictionStatus::Unknown, _) => None,
    }
}

fn taint(row: &RuleRow) -> String {
    let taint = &row.rule.taint;
    if taint.value.is_empty() {
        taint.key.clone()
    } else {
        format!("{}={}", taint.key, taint.value)
    }
}

/// Rules as they were served, for `-o json`, `yaml` and `name`; a single one is no list.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectList(pub Vec<Value>);

impl Serialize for ObjectList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [only] => only.serialize(serializer),
            several => list_of(several).serialize(serializer),
        }
    }
}

impl View for ObjectList {
    fn sections(&self) -> Vec<Section> {
        vec![Section::sentences(self.names())]
    }

    fn names(&self) -> Vec<String> {
        let name = |object: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (name, kind) = (text(&object["metadata"]["name"]), text(&object["kind"]));
            if kind == Kind::DeviceTaintRule.as_str() {
                return resource_name(&name);
            }
            // As `kubectl -o name`: kind and group, without the version.
            let version = text(&object["apiVersion"]);
            let group = version.split_once('/').map_or("", |(group, _)| group);
            format!("{}.{group}/{name}", kind.to_ascii_lowercase())
        };
        self.0.iter().map(name).collect()
    }
}

/// Report of `describe` for several rules.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RuleDescriptionList")]
pub struct RuleDescriptions {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// Kind of the report.
    #[schemars(extend("const" = "RuleDescriptionList"))]
    kind: &'static str,
    /// The cluster, and the data that was read.
    metadata: Metadata,
    /// The descriptions, in the order of the arguments.
    items: Vec<RuleDescription>,
    /// Warnings that do not prevent the report.
    warnings: Vec<Warning>,
    /// Data that could not be read.
    incomplete: Vec<Incomplete>,
}

impl RuleDescriptions {
    /// All of `items`, in that order.
    pub fn new(
        items: Vec<RuleDescription>,
        warnings: &[&[model::Warning]],
        completeness: &ReportCompleteness<'_>,
        basis: &Basis<'_>,
    ) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "RuleDescriptionList",
            metadata: Metadata::new(basis),
            items,
            warnings: views(warnings),
            incomplete: Incomplete::all(completeness),
        }
    }
}

impl View for RuleDescriptions {
    fn sections(&self) -> Vec<Section> {
        let items = self.items.iter();
        items.flat_map(RuleDescription::sections).collect()
    }

    fn names(&self) -> Vec<String> {
        let items = self.items.iter();
        items.map(|rule| resource_name(&rule.name)).collect()
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceSelector, EvictionCondition};
    use crate::report::testing;

    fn rule_of(selector: DeviceSelector) -> DeviceTaintRule {
        DeviceTaintRule {
            name: "drain".into(),
            uid: "uid".into(),
            resource_version: "1".to_owned(),
            generation: 1,
            selector: Some(selector),
            taint: testing::TAINT.clone(),
            condition: Some(EvictionCondition {
                status: "False".to_owned(),
                reason: "Completed".to_owned(),
                observed_generation: 1,
                ..EvictionCondition::default()
            }),
            ..DeviceTaintRule::default()
        }
    }

    fn gpu() -> DeviceSelector {
        DeviceSelector {
            driver: Some("gpu.example.com".into()),
            ..DeviceSelector::default()
        }
    }

    #[test]
    fn data_have_the_columns_of_the_table_and_an_unknown_is_null() {
        let completely = |pods: Count, number| match pods.exact() {
            Some(_) => Count::known(number),
            None => Count::at_least(number),
        };
        let row = |devices, pods, evicting| RuleRow {
            rule: rule_of(gpu()),
            published_device_count: Number(devices),
            evicted_pod_count: Number(pods),
            terminating_pod_count: completely(pods, 1).into(),
            not_evicted_pod_count: completely(pods, 0).into(),
            is_other_hardware: false,
            evicting,
        };
        let of = |row| {
            let (reading, semantics) = (testing::reading(), testing::semantics(37));
            let basis = Basis::new(&reading, &semantics, testing::now());
            let impact = testing::impact(Vec::new());
            let list = RuleList::new(vec![row], BTreeMap::new(), &impact, &basis);
            serde_json::to_value(list).expect("JSON")["ruleSummaries"][0].clone()
        };
        assert_eq!(
            of(row(
                Count::known(2),
                Count::known(0),
                EvictionStatus::Leftover
            )),
            json!({"rule": "drain", "publishedDeviceCount": 2, "evictedPodCount": 0, "terminatingPodCount": 1, "notEvictedPodCount": 0, "evicting": "NoPodsLeft"})
        );
        assert_eq!(
            of(row(
                Count::at_least(2),
                Count::at_least(0),
                EvictionStatus::Unknown
            )),
            json!({"rule": "drain", "publishedDeviceCount": null, "evictedPodCount": null, "terminatingPodCount": null, "notEvictedPodCount": null, "evicting": "Unknown"})
        );
    }

    #[test]
    fn a_rule_without_evictions_evicts_none_of_the_pods_that_could_not_be_read() {
        let counted = Count::at_least(0);
        assert_eq!(evicted_by(&Effect::NoSchedule, counted), Count::known(0));
        for effect in [Effect::None, Effect::NoExecute] {
            assert_eq!(evicted_by(&effect, counted), counted, "{effect}");
        }
    }
}
