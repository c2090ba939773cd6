//! List of rules.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::answer::{Answer, beside};
use super::bounds::Bounds;
use super::metadata::{Incomplete, Metadata, Warning, views};
use super::table::{
    Column, Headers, Heading, Section, Table, UNKNOWN_COUNT, View, count_cell, optional,
};
use crate::assess::{Basis, CountSubject, ReportCompleteness};
use crate::engine::rule_lifecycle::EvictionStatus;
use crate::engine::{Impact, RuleImpact};
use crate::model::{Count, DeviceTaintRule, Effect, Kind, ObjectName, RuleMetadata};
use crate::naming::duration::human_duration;
use crate::naming::phrase::counted;
use crate::naming::{device, rule};

/// The name of a rule as kubectl prints it.
pub fn resource_name(name: &str) -> String {
    rule::qualified(name)
}

/// Facts of a row of the list, besides the rule itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    /// The rule.
    pub rule: DeviceTaintRule,
    /// The published devices that it selects.
    pub devices: Count,
    /// The pods that it evicts, or would with effect NoExecute, without those that are terminating.
    pub pods: Count,
    /// Terminating pods that use its devices, deleted by any client.
    pub terminating: Count,
    /// The pods that use its devices and are not evicted by it.
    pub staying: Count,
    /// True if its device is published as other hardware than the rule notes.
    pub is_other_hardware: bool,
    /// Status of its evictions.
    pub evicting: EvictionStatus,
}

/// The rules of a cluster. As data it is the list of the objects as they were served, with a summary of each.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleList {
    rows: Vec<RuleRow>,
    objects: BTreeMap<String, Value>,
    now: Timestamp,
    headers: Headers,
    warnings: Vec<Warning>,
    incomplete: Vec<Incomplete>,
    origin: Vec<String>,
}

impl RuleList {
    /// The list of `rows` at `now`, with the objects by name as they were served.
    pub fn new(mut rows: Vec<RuleRow>, objects: BTreeMap<String, Value>, now: Timestamp) -> Self {
        rows.sort_by(|left, right| left.rule.name.cmp(&right.rule.name));
        Self {
            rows,
            objects,
            now,
            headers: Headers::Shown,
            warnings: Vec::new(),
            incomplete: Vec::new(),
            origin: Vec::new(),
        }
    }

    /// The list with the warnings and gaps of `impact`, from which its rows were made.
    #[must_use]
    pub fn from_answer(self, impact: &Impact<'_>, basis: &Basis<'_>) -> Self {
        let reading = basis.reading;
        Self {
            warnings: views(&[&reading.warnings, &impact.warnings]),
            incomplete: Incomplete::all(&ReportCompleteness::new(&reading.gaps)),
            origin: Metadata::new(basis).origin(),
            ..self
        }
    }

    /// Shows the names of the columns, or leaves them out.
    #[must_use]
    pub fn with_headers(self, headers: Headers) -> Self {
        Self { headers, ..self }
    }
}

impl Answer for RuleList {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    /// The table is made to be cut by scripts, and data are the rules alone.
    fn says_what_is_not_known(&self) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
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
                devices: completeness.count(CountSubject::Published, counts.published_devices),
                pods,
                terminating: of_pods(terminating),
                staying: of_pods(staying),
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
        let rules: Vec<RuleSummary> = self.rows.iter().map(RuleSummary::from).collect();
        // Beside the objects, which stay as they were served, so that they can be applied again.
        list["ruleSummaries"] = serde_json::to_value(rules).map_err(serde::ser::Error::custom)?;
        list.serialize(serializer)
    }
}

/// Counts and eviction status of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleSummary {
    /// The rule's name.
    pub rule: String,
    /// Published devices that the rule selects; null if unknown.
    pub published_device_count: Option<usize>,
    /// Pods that the rule evicts and that are not terminating yet; with effect None, pods that it would evict
    /// with NoExecute. Null if unknown.
    pub evicted_pod_count: Option<usize>,
    /// Pods that use devices of the rule and are already terminating; null if pods are unknown.
    pub terminating_pod_count: Option<usize>,
    /// Pods that use devices of the rule and stay, such as pods that tolerate its taint; terminating and ended pods
    /// are not counted. Null if pods are unknown.
    pub not_evicted_pod_count: Option<usize>,
    /// Eviction status of the rule, according to its condition EvictionInProgress.
    pub evicting: Evicting,
    /// For each count in this object that is null: its bounds. Absent if no count is null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
}

/// Eviction status of a rule, according to its condition EvictionInProgress, and whether the condition is
/// current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Evicting {
    /// The rule has no condition, or one whose status is neither True nor False.
    Unknown,
    /// Pods are being evicted.
    InProgress,
    /// No pod is being evicted.
    Idle,
    /// The condition is of an earlier generation of the rule.
    Outdated,
    /// The condition reports pending evictions, but no pod is left.
    NoPodsLeft,
}

impl From<EvictionStatus> for Evicting {
    fn from(evicting: EvictionStatus) -> Self {
        match evicting {
            EvictionStatus::Unknown => Self::Unknown,
            EvictionStatus::Yes => Self::InProgress,
            EvictionStatus::No => Self::Idle,
            EvictionStatus::Outdated => Self::Outdated,
            EvictionStatus::Leftover => Self::NoPodsLeft,
        }
    }
}

impl From<&RuleRow> for RuleSummary {
    fn from(row: &RuleRow) -> Self {
        Self {
            rule: row.rule.name.to_string(),
            published_device_count: row.devices.exact(),
            evicted_pod_count: row.pods.exact(),
            terminating_pod_count: row.terminating.exact(),
            not_evicted_pod_count: row.staying.exact(),
            evicting: row.evicting.into(),
            bounds: Bounds::of(&[
                ("publishedDeviceCount", row.devices),
                ("evictedPodCount", row.pods),
            ]),
        }
    }
}

/// Several objects, as `kubectl get -o json` prints them.
pub fn list_of(objects: &[Value]) -> Value {
    // With an empty resourceVersion, as kubectl prints a list that it has put together itself.
    json!({"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}})
}

impl View for RuleList {
    fn sections(&self) -> Vec<Section> {
        let table = Table {
            columns: columns(),
            rows: self.rows.iter().map(|row| cells(row, self.now)).collect(),
        };
        let mut sections: Vec<Section> = beside(&self.warnings, &self.incomplete).into();
        sections.push(Section::table(match self.headers {
            Headers::Shown => table,
            Headers::Left => table.without_headers(),
        }));
        sections
    }

    fn heading(&self) -> Heading {
        Heading {
            title: counted(self.rows.len(), "rule"),
            origin: self.origin.clone(),
        }
    }

    fn names(&self) -> Vec<String> {
        self.rows
            .iter()
            .map(|row| resource_name(row.rule.name.as_str()))
            .collect()
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("NAME"),
        Column::text("DEVICES"),
        Column::text("EFFECT"),
        Column::number("PODS"),
        Column::text("AGE"),
        Column::text("TAINT").wide(),
        Column::number("SELECTED").wide(),
        Column::number("TERMINATING").wide(),
        Column::number("STAYING").wide(),
        Column::text("REASON").wide(),
        Column::text("BY").wide(),
        Column::text("EXPIRES").wide(),
        Column::text("NOTE"),
    ]
}

fn cells(row: &RuleRow, now: Timestamp) -> Vec<String> {
    let rule = &row.rule;
    let annotation = |key: &str| optional(rule.metadata.annotation(key));
    let devices = rule.selector.as_ref().map(device::format);
    vec![
        rule.name.to_string(),
        optional(devices.as_deref()),
        rule.taint.effect.to_string(),
        pods(row),
        match rule.metadata.created {
            Some(created) => human_duration(now.duration_since(created)),
            None => UNKNOWN_COUNT.to_owned(),
        },
        taint(row),
        count_cell(row.devices),
        count_cell(row.terminating),
        count_cell(row.staying),
        annotation(RuleMetadata::REASON),
        annotation(RuleMetadata::CREATED_BY),
        annotation(RuleMetadata::EXPIRES),
        notes(row, now),
    ]
}

/// The pods that the rule evicts; in parentheses, those that it would evict with effect NoExecute.
fn pods(row: &RuleRow) -> String {
    match row.rule.taint.effect {
        Effect::NoExecute => count_cell(row.pods),
        Effect::NoSchedule => "-".to_owned(),
        Effect::None | Effect::Unknown(_) => format!("({})", count_cell(row.pods)),
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
        metadata.is_expired(now).then(|| "expired".to_owned()),
        named("drain", RuleMetadata::DRAIN),
        named("dedicated", RuleMetadata::DEDICATION),
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
            let is_over = row.terminating.exact() == Some(0);
            let is_under_way = row.terminating.least() > 0;
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
                message: String::new(),
                observed_generation: 1,
                last_transition: None,
            }),
            metadata: RuleMetadata::default(),
            managers: Vec::new(),
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
            devices,
            pods,
            terminating: completely(pods, 1),
            staying: completely(pods, 0),
            is_other_hardware: false,
            evicting,
        };
        let of = |row| {
            let list = RuleList::new(vec![row], BTreeMap::new(), testing::now());
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
            json!({"rule": "drain", "publishedDeviceCount": null, "evictedPodCount": null, "terminatingPodCount": null, "notEvictedPodCount": null, "evicting": "Unknown",
                "bounds": [{"field": "publishedDeviceCount", "atLeast": 2, "atMost": null}, {"field": "evictedPodCount", "atLeast": 0, "atMost": null}]})
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

    #[test]
    fn pods_and_notes_are_words_of_the_effect_and_the_condition() {
        let row = |effect: &str, evicting, terminating| {
            let mut rule = rule_of(gpu());
            rule.taint.effect = effect.into();
            let label = (RuleMetadata::DRAIN.to_owned(), "fw".to_owned());
            rule.metadata
                .labels
                .extend((effect == "NoSchedule").then_some(label));
            RuleRow {
                devices: Count::known(1),
                pods: Count::known(2),
                terminating,
                staying: Count::known(0),
                is_other_hardware: effect == "None",
                evicting,
                rule,
            }
        };
        let (none, some) = (Count::known(0), Count::known(1));
        for (effect, evicting, terminating, cells) in [
            ("NoExecute", EvictionStatus::Yes, none, "2 evicting"),
            ("NoExecute", EvictionStatus::No, some, "2 evicting"),
            ("NoExecute", EvictionStatus::No, none, "2 done"),
            ("NoExecute", EvictionStatus::No, Count::at_least(0), "2 "),
            ("NoExecute", EvictionStatus::Outdated, none, "2 stale"),
            ("NoSchedule", EvictionStatus::No, none, "- drain fw"),
            ("None", EvictionStatus::No, none, "(2) other hardware"),
        ] {
            let row = row(effect, evicting, terminating);
            let found = format!("{} {}", pods(&row), notes(&row, testing::now()));
            assert_eq!(found, cells, "{effect} {evicting:?}");
        }
    }
}
