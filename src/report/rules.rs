//! Which rules are there, and what do they do?

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::answer::Answer;
use super::knowledge::Knowledge;
use super::metadata::{Basis, Incomplete, Warning, views};
use super::table::{Column, NONE, Section, Table, View, optional};
use super::time::human_duration;
use crate::engine::life::Evicting;
use crate::engine::{Counts, Impact};
use crate::model::{DeviceTaintRule, ObjectName, RuleMetadata};
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
    /// What the controller would count; absent where devices and pods could not be read.
    pub counts: Option<Counts>,
    /// What its condition is worth.
    pub evicting: Evicting,
}

/// What the rows are ordered by; rows that are equal in that, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// By name.
    #[default]
    Name,
    /// By key and value of the taint.
    Taint,
    /// By effect.
    Effect,
    /// By driver, pool and device.
    Device,
    /// Most pods first.
    Pods,
    /// Oldest first.
    Age,
    /// What should be gone first, first; rules without a time last.
    Expires,
}

impl SortBy {
    /// Every order, by the word after `--sort-by`.
    pub const ALL: [(&str, Self); 9] = [
        ("name", Self::Name),
        ("taint", Self::Taint),
        ("effect", Self::Effect),
        ("device", Self::Device),
        ("pods", Self::Pods),
        ("age", Self::Age),
        ("expires", Self::Expires),
        (".metadata.name", Self::Name),
        (".metadata.creationTimestamp", Self::Age),
    ];
}

/// Whether a table begins with the names of its columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Headers {
    /// It does.
    #[default]
    Shown,
    /// It does not: for scripts that cut columns.
    Left,
}

/// The rules of a cluster. As data it is the list of the objects as they were served.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleList {
    rows: Vec<RuleRow>,
    objects: BTreeMap<String, Value>,
    now: Timestamp,
    headers: Headers,
    warnings: Vec<Warning>,
    incomplete: Vec<Incomplete>,
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
        }
    }

    /// The same in another order.
    #[must_use]
    pub fn sorted_by(mut self, order: SortBy) -> Self {
        let rows = &mut self.rows;
        match order {
            SortBy::Name => {}
            SortBy::Taint => rows.sort_by_key(taint),
            SortBy::Effect => rows.sort_by_key(|row| row.rule.taint.effect.clone()),
            SortBy::Device => rows.sort_by_key(|row| row.rule.selector.clone()),
            SortBy::Pods => {
                rows.sort_by_key(|row| std::cmp::Reverse(row.counts.map(|counts| counts.pods)));
            }
            SortBy::Age => rows.sort_by_key(|row| row.rule.metadata.created),
            SortBy::Expires => rows.sort_by_key(|row| {
                let expires = row.rule.metadata.expires();
                (expires.is_none(), expires)
            }),
        }
        self
    }

    /// The list with what was odd and what was not known when its rows were made from `impact`.
    #[must_use]
    pub fn from_answer(self, impact: &Impact<'_>, basis: &Basis<'_>) -> Self {
        let reading = basis.reading;
        let gaps = reading.gaps.iter().chain(&impact.gaps);
        Self {
            warnings: views(&[&reading.warnings, &impact.warnings]),
            incomplete: Incomplete::all(&Knowledge::new(gaps, basis.semantics)),
            ..self
        }
    }

    /// The same with or without the names of the columns.
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

/// The rows of `rules`, all of which were considered in `impact`, by name; without an impact nothing
/// is known about devices and pods.
#[must_use]
pub fn rows(rules: Vec<DeviceTaintRule>, impact: Option<&Impact<'_>>) -> Vec<RuleRow> {
    let counts: BTreeMap<&ObjectName, Counts> = impact
        .iter()
        .flat_map(|impact| &impact.rules)
        .filter_map(|rule| Some((rule.considered.rule.as_ref()?, rule.counts)))
        .collect();
    rules
        .into_iter()
        .map(|rule| {
            let counts = counts.get(&rule.name).copied();
            let pods = counts.map_or(1, |counts| counts.pods);
            RuleRow {
                evicting: Evicting::of(&rule, pods),
                counts,
                rule,
            }
        })
        .collect()
}

impl Serialize for RuleList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let objects = self
            .rows
            .iter()
            .filter_map(|row| self.objects.get(row.rule.name.as_str()));
        list_of(&objects.cloned().collect::<Vec<_>>()).serialize(serializer)
    }
}

/// Objects as `kubectl get` prints several of them.
#[must_use]
pub fn list_of(objects: &[Value]) -> Value {
    json!({"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}})
}

impl View for RuleList {
    fn sections(&self) -> Vec<Section> {
        let table = Table {
            columns: columns(),
            rows: self.rows.iter().map(|row| cells(row, self.now)).collect(),
        };
        vec![Section::table(match self.headers {
            Headers::Shown => table,
            Headers::Left => table.without_headers(),
        })]
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
        Column::text("TAINT"),
        Column::text("EFFECT"),
        Column::text("DRIVER"),
        Column::text("POOL"),
        Column::text("DEVICE"),
        Column::number("DEVICES"),
        Column::number("PODS"),
        Column::text("EVICTING"),
        Column::prose("REASON").wide(),
        Column::text("TICKET").wide(),
        Column::text("BY").wide(),
        Column::text("EXPIRES").wide(),
        Column::text("AGE"),
    ]
}

fn cells(row: &RuleRow, now: Timestamp) -> Vec<String> {
    let rule = &row.rule;
    let number = |of: fn(&Counts) -> usize| match &row.counts {
        Some(counts) => of(counts).to_string(),
        None => "<unknown>".to_owned(),
    };
    let note = |key: &str| optional(rule.metadata.annotation(key));
    let [driver, pool, device] = selected(rule);
    vec![
        rule.name.to_string(),
        taint(row),
        rule.taint.effect.to_string(),
        driver,
        pool,
        device,
        number(|counts| counts.published_devices),
        number(|counts| counts.pods),
        row.evicting.to_string(),
        note(RuleMetadata::REASON),
        note(RuleMetadata::TICKET),
        note(RuleMetadata::CREATED_BY),
        expires(rule, now),
        match rule.metadata.created {
            Some(created) => human_duration(now.duration_since(created)),
            None => "<unknown>".to_owned(),
        },
    ]
}

fn taint(row: &RuleRow) -> String {
    let taint = &row.rule.taint;
    if taint.value.is_empty() {
        taint.key.clone()
    } else {
        format!("{}={}", taint.key, taint.value)
    }
}

/// Driver, pool and device; `*` for any, class and expressions after the device, and what there is to
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
        None => optional(text),
    }
}

impl fmt::Display for Evicting {
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
            let name = object["metadata"]["name"].as_str();
            resource_name(name.unwrap_or_default())
        };
        self.0.iter().map(name).collect()
    }
}
