//! List of rules.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::answer::{Answer, beside};
use super::bounds::Bounds;
use super::metadata::{Incomplete, Metadata, Warning, views};
use super::rule_summary::RuleSummary;
use super::table::{Column, Folding, Headers, Heading, NONE, Section, Table, View, optional};
use crate::assess::{Basis, CountSubject, ReportCompleteness};
use crate::engine::rule_lifecycle::EvictionStatus;
use crate::engine::{Impact, RuleImpact};
use crate::model::{self, DeviceTaintRule, Effect, Kind, ObjectName, RuleMetadata};
use crate::model::{Count, UNKNOWN};
use crate::naming::age::human_duration;
use crate::naming::phrase::counted;
use crate::naming::{device, rule};

/// The name of a rule as kubectl prints it.
#[must_use]
pub fn resource_name(name: &str) -> String {
    rule::qualified(name)
}

/// What a row of the list is about, besides the rule itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    /// The rule.
    pub rule: DeviceTaintRule,
    /// The published devices that it selects.
    pub devices: Count,
    /// The pods that it evicts, or would with effect NoExecute, without those that are terminating.
    pub pods: Count,
    /// The pods that use its devices and are on their way out already, whoever deleted them.
    pub terminating: Count,
    /// The pods that use its devices and are not evicted by it.
    pub staying: Count,
    /// The pods that use the hardware of its devices through other devices, such as partitions.
    pub beside: Option<usize>,
    /// What its condition is worth.
    pub evicting: EvictionStatus,
}

/// Which columns are there however much room there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notes {
    /// What the rules do; what people noted on them only where there is room.
    #[default]
    WhereThereIsRoom,
    /// When each should be gone, whose it is and why, too.
    Always,
}

/// The rules of a cluster. As data it is the list of the objects as they were served, with what each does.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleList {
    rows: Vec<RuleRow>,
    objects: BTreeMap<String, Value>,
    now: Timestamp,
    headers: Headers,
    warnings: Vec<Warning>,
    incomplete: Vec<Incomplete>,
    notes: Notes,
    origin: Vec<String>,
}

impl RuleList {
    /// The list of `rows` at `now`, with the objects by name as they were served.
    #[must_use]
    pub fn new(mut rows: Vec<RuleRow>, objects: BTreeMap<String, Value>, now: Timestamp) -> Self {
        rows.sort_by(|left, right| left.rule.name.cmp(&right.rule.name));
        Self {
            rows,
            objects,
            now,
            headers: Headers::Shown,
            warnings: Vec::new(),
            incomplete: Vec::new(),
            notes: Notes::default(),
            origin: Vec::new(),
        }
    }

    /// The list with what was odd and what was not known when its rows were made from `impact`.
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

    /// The list with more that is odd.
    #[must_use]
    pub fn with_warnings(mut self, more: &[model::Warning]) -> Self {
        self.warnings.extend(more.iter().map(Warning::from));
        self
    }

    /// Shows what people noted on the rules, or leaves it out.
    #[must_use]
    pub fn with_notes(self, notes: Notes) -> Self {
        Self { notes, ..self }
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

/// The rows of `rules`, all of which were considered in `impact`, by name; so many pods are `beside` the
/// devices of each.
#[must_use]
pub fn rows(
    rules: Vec<DeviceTaintRule>,
    impact: &Impact<'_>,
    beside: &BTreeMap<ObjectName, usize>,
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
                // Which devices are partitions of others is known from slices.
                beside: completeness
                    .is_complete(CountSubject::Inventory)
                    .then(|| beside.get(&rule.name).copied().unwrap_or_default()),
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

impl From<&RuleRow> for RuleSummary {
    fn from(row: &RuleRow) -> Self {
        Self {
            rule: row.rule.name.to_string(),
            published_device_count: row.devices.exact(),
            evicted_pod_count: row.pods.exact(),
            terminating_pod_count: row.terminating.exact(),
            not_evicted_pod_count: row.staying.exact(),
            // Counted from the same pods as these.
            partition_pod_count: row.staying.exact().and(row.beside),
            evicting: row.evicting.into(),
            bounds: Bounds::of(&[
                ("publishedDeviceCount", row.devices),
                ("evictedPodCount", row.pods),
            ]),
        }
    }
}

/// Several objects, as `kubectl get -o json` prints them.
#[must_use]
pub fn list_of(objects: &[Value]) -> Value {
    // With an empty resourceVersion, as kubectl prints a list that it has put together itself.
    json!({"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}})
}

impl View for RuleList {
    fn sections(&self) -> Vec<Section> {
        let table = Table {
            columns: columns(self.notes),
            rows: self.rows.iter().map(|row| cells(row, self.now)).collect(),
        };
        let mut sections: Vec<Section> = beside(&self.warnings, &self.incomplete).into();
        sections.push(match self.headers {
            Headers::Shown => Section::folding(Folding {
                table,
                head: HEAD.to_vec(),
            }),
            // Not folded, since scripts that cut columns need a row in one line.
            Headers::Left => Section::table(table.without_headers()),
        });
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

/// What stays in one line on a terminal that is too narrow for all: name, effect, pods, and whether it
/// evicts.
const HEAD: [usize; 4] = [0, 2, 7, 8];

fn columns(notes: Notes) -> Vec<Column> {
    let noted = |column: Column| match notes {
        Notes::WhereThereIsRoom => column.wide(),
        Notes::Always => column,
    };
    vec![
        Column::text("NAME"),
        Column::text("TAINT"),
        Column::text("EFFECT"),
        Column::text("DRIVER"),
        Column::text("POOL"),
        Column::text("DEVICE"),
        Column::number("DEVICES"),
        Column::number("PODS"),
        Column::text("EVICTING"),
        noted(Column::prose("REASON")),
        noted(Column::text("BY")),
        noted(Column::text("EXPIRES")),
        Column::text("AGE"),
    ]
}

fn cells(row: &RuleRow, now: Timestamp) -> Vec<String> {
    let rule = &row.rule;
    let note = |key: &str| optional(rule.metadata.annotation(key));
    let [driver, pool, device] = selected(rule);
    vec![
        rule.name.to_string(),
        taint(row),
        rule.taint.effect.to_string(),
        driver,
        pool,
        device,
        row.devices.to_string(),
        pods(row),
        evicting(row),
        note(RuleMetadata::REASON),
        note(RuleMetadata::CREATED_BY),
        expires(rule, now),
        match rule.metadata.created {
            Some(created) => human_duration(now.duration_since(created)),
            None => UNKNOWN.to_owned(),
        },
    ]
}

/// Those who are still to be evicted, those who are on their way, and those who stay: a device is not free while
/// one of them is there.
fn pods(row: &RuleRow) -> String {
    // Of pods that could not all be read there may be more.
    let least = if row.staying.exact().is_some() {
        ""
    } else {
        "at least "
    };
    // No number at all is no zero.
    let of_staying = row.staying.exact().or(match row.staying.least() {
        0 => None,
        least => Some(least),
    });
    let more = [
        (Some(row.terminating.least()), "terminating"),
        (of_staying, "staying"),
        (row.beside, "on partitions"),
    ];
    let knows_pods = !row.pods.is_unknown();
    // Beside an unknown number another one says nothing.
    let more: Vec<String> = more
        .into_iter()
        .filter(|(count, _)| count.map_or(knows_pods, |count| count > 0))
        .map(|(count, what)| match count {
            Some(count) if least.is_empty() => format!("+{count} {what}"),
            Some(count) => format!("{least}{count} {what}"),
            None => format!("{UNKNOWN} {what}"),
        })
        .collect();
    if more.is_empty() {
        return row.pods.to_string();
    }
    format!("{} ({})", row.pods, more.join(", "))
}

fn evicting(row: &RuleRow) -> String {
    match (row.evicting, row.terminating.least()) {
        // The controller has done its part, and the pods have not.
        (EvictionStatus::No, 1..) => "no (terminating)".to_owned(),
        (evicting, _) => evicting.to_string(),
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

/// Driver, pool and device; `*` for any, unknown fields after the device, and what there is to
/// say about a rule without a selector.
fn selected(rule: &DeviceTaintRule) -> [String; 3] {
    let Some(selector) = &rule.selector else {
        return [NONE, NONE, NONE].map(str::to_owned);
    };
    let conditions = device::conditions(selector);
    let or_any = |name: Option<String>| name.unwrap_or_else(|| "*".to_owned());
    let device = or_any(selector.device.as_ref().map(ToString::to_string));
    [
        or_any(selector.driver.as_ref().map(ToString::to_string)),
        or_any(selector.pool.as_ref().map(ToString::to_string)),
        format!("{device}{conditions}"),
    ]
}

fn expires(rule: &DeviceTaintRule, now: Timestamp) -> String {
    let text = rule.metadata.annotation(RuleMetadata::EXPIRES);
    match rule.metadata.expires() {
        Some(at) if at <= now => format!("{at} (expired)"),
        Some(at) => at.to_string(),
        // What is no time is shown as it was noted, so that it can be corrected.
        None => optional(text),
    }
}

impl fmt::Display for EvictionStatus {
    /// As the column EVICTING says it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Unknown => NONE,
            Self::Yes => "yes",
            Self::No => "no",
            Self::Outdated => "stale",
            Self::Leftover => "yes (stale)",
        })
    }
}

/// Rules as they were served, for `-o json`, `yaml` and `name`; one alone stands for itself.
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

    /// A row of 1 device with 2 pods.
    fn row_of(rule: DeviceTaintRule) -> RuleRow {
        RuleRow {
            devices: Count::known(1),
            pods: Count::known(2),
            terminating: Count::known(0),
            staying: Count::known(0),
            beside: Some(0),
            evicting: EvictionStatus::No,
            rule,
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
            beside: Some(0),
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
            json!({"rule": "drain", "publishedDeviceCount": 2, "evictedPodCount": 0, "terminatingPodCount": 1, "notEvictedPodCount": 0,
                "partitionPodCount": 0, "evicting": "NoPodsLeft"})
        );
        assert_eq!(
            of(row(
                Count::at_least(2),
                Count::at_least(0),
                EvictionStatus::Unknown
            )),
            json!({"rule": "drain", "publishedDeviceCount": null, "evictedPodCount": null, "terminatingPodCount": null, "notEvictedPodCount": null,
                "partitionPodCount": null, "evicting": "Unknown",
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
        let row = RuleRow {
            pods: Count::known(0),
            staying: Count::at_least(1),
            ..row_of(rule_of(gpu()))
        };
        assert_eq!(pods(&row), "0 (at least 1 staying)");
        let row = RuleRow {
            staying: Count::at_least(0),
            ..row
        };
        assert_eq!(pods(&row), "0 (<unknown> staying)");
    }
}
