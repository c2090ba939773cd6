//! Rows of an impact report: pods, or workloads where the pods are many.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use jiff::SignedDuration;

use super::finding::HazardCode;
use super::view::{ImpactReport, Pod};
use crate::assess::{Hazard, Outcome};
use crate::naming::duration::exact_duration;
use crate::naming::phrase::{each_once, first_and_more};
use crate::report::table::{Column, Section, Shown, Table, Tone, first_of, optional};

/// More pods than these are rolled up by workload, and more workloads are counted: with the verdict they fit 24 lines.
const ROWS: usize = 18;

/// Rows above a question.
const ASKED: usize = 10;

/// Values of SEVERITY, the worst first.
const SEVERITIES: &[(&str, Option<Tone>)] = &[
    ("danger", Some(Tone::Bad)),
    ("warning", Some(Tone::Doubtful)),
    ("notice", None),
    ("ok", Some(Tone::Good)),
    ("stays", None),
    ("ending", Some(Tone::Doubtful)),
];

/// The pods in the order of their rows: the worst first, those that stay last.
pub(super) fn sorted<'a>(pods: impl Iterator<Item = &'a Pod>) -> Vec<&'a Pod> {
    let mut pods: Vec<&Pod> = pods.collect();
    pods.sort_by_cached_key(|pod| {
        let hazards = pod.outcome.is_evicted().then(|| {
            let worst = pod.hazards.iter().map(rank).min();
            let more = Reverse(pod.hazards.len());
            (worst.unwrap_or(u8::MAX), more, pod.evict_in_seconds)
        });
        let last = (pod.namespace.clone(), pod.name.clone());
        (standing(pod), hazards, last)
    });
    pods
}

/// Place of an outcome among the rows.
fn standing(pod: &Pod) -> u8 {
    match pod.outcome {
        Outcome::EvictedNow | Outcome::EvictedLater => 0,
        Outcome::Tolerates | Outcome::NotEvicted => 1,
        Outcome::Terminating => 2,
    }
}

/// Rank of a hazard; codes of a later version come last.
fn rank(code: &HazardCode) -> u8 {
    code.hazard().map_or(u8::MAX, Hazard::rank)
}

/// The rows of one table: several pods have one row, of which the first is the worst.
type Rows<'a> = Vec<(String, Vec<&'a Pod>)>;

fn by_pod<'a>(pods: &[&'a Pod]) -> Rows<'a> {
    let rows = pods.iter().map(|pod| (pod.full_name(), vec![*pod]));
    rows.collect()
}

/// A row a workload, in the order of its first pod; pods without a controller are one row a namespace.
fn by_workload<'a>(pods: &[&'a Pod]) -> Rows<'a> {
    let mut rows: Rows<'a> = Vec::new();
    let mut places: HashMap<(u8, String), usize> = HashMap::new();
    for pod in pods {
        let owner = pod.top_owner().map(ToString::to_string);
        let owner = owner.unwrap_or_else(|| "pods without a controller".to_owned());
        let name = format!("{}/{owner}", pod.namespace);
        let place = *places
            .entry((standing(pod), name.clone()))
            .or_insert(rows.len());
        match rows.get_mut(place) {
            Some((_, pods)) => pods.push(pod),
            None => rows.push((name, vec![pod])),
        }
    }
    for (name, pods) in &mut rows {
        if let ([only], true) = (pods.as_slice(), pods[0].top_owner().is_none()) {
            *name = only.full_name();
        }
    }
    rows
}

/// The table of the pods for each format, and a line about monitors.
pub(super) fn sections(report: &ImpactReport) -> Vec<Section> {
    let all = sorted(report.affected_pods.iter());
    let (monitors, pods): (Vec<&Pod>, Vec<&Pod>) = all.iter().partition(|pod| is_monitor(pod));
    let is_rolled_up = report.by_workload || pods.len() > ROWS;
    let rows = if is_rolled_up {
        by_workload(&pods)
    } else {
        by_pod(&pods)
    };
    let more = rows.len().saturating_sub(ROWS);
    let mut lines = Vec::new();
    if more > 0 {
        lines.push(format!("more workloads: {more} (all pods: -o wide)"));
    }
    lines.extend(monitor_line(&monitors));
    let few = rows.into_iter().take(ROWS).collect();
    let wide = if report.by_workload {
        by_workload(&all)
    } else {
        by_pod(&all)
    };
    let overview = if is_rolled_up && !report.by_workload {
        by_workload(&all)
    } else {
        Vec::new()
    };
    vec![
        Section::table(table(report, few, is_rolled_up)).shown(Shown::Narrow),
        Section::sentences(lines).shown(Shown::Narrow),
        Section::table(table(report, overview, true))
            .captioned("Workloads")
            .shown(Shown::Page),
        Section::table(table(report, wide, report.by_workload))
            .captioned("Pods")
            .shown(Shown::Wide),
    ]
}

/// True if all that the pod has of selected devices is admin access.
pub(super) fn is_monitor(pod: &Pod) -> bool {
    let claims = pod.used_claims.iter();
    let mut held = claims.flat_map(|claim| &claim.allocations).peekable();
    held.peek().is_some() && held.all(|held| held.admin_access)
}

fn monitor_line(monitors: &[&Pod]) -> Option<String> {
    let names: Vec<String> = monitors.iter().map(|pod| pod.full_name()).collect();
    let evicted = monitors.iter().filter(|pod| pod.outcome.is_evicted());
    let evicted = match evicted.count() {
        0 => String::new(),
        number => format!(" (evicted: {number})"),
    };
    (!names.is_empty()).then(|| format!("admin access: {}{evicted}", first_and_more(&names)))
}

fn table(report: &ImpactReport, rows: Rows<'_>, is_rolled_up: bool) -> Table {
    let found = Replaceable::of(report);
    let row = |(name, pods): (String, Vec<&Pod>)| {
        let each =
            |value: fn(&Pod) -> String| first_of(&each_once(pods.iter().map(|pod| value(pod))));
        let devices = each_once(pods.iter().flat_map(|pod| devices(pod)));
        vec![
            severity(&pods).to_owned(),
            when(&pods),
            name,
            if is_rolled_up {
                pods.len().to_string()
            } else {
                each(|pod| optional(pod.top_owner().map(ToString::to_string).as_deref()))
            },
            each(|pod| optional(pod.node.as_deref())),
            first_of(&devices),
            found.cell(&pods).to_owned(),
            optional(Some(&risks(&pods).join("; "))),
        ]
    };
    let (name, beside) = if is_rolled_up {
        ("WORKLOAD", Column::number("PODS"))
    } else {
        ("POD", Column::text("WORKLOAD").wide())
    };
    Table {
        columns: vec![
            Column::text("SEVERITY").of_words(SEVERITIES),
            Column::text("WHEN"),
            Column::text(name),
            beside,
            Column::text("NODE").wide(),
            Column::text("DEVICE").wide(),
            Column::text("REPLACEMENT").wide(),
            Column::items("RISKS"),
        ],
        rows: rows.into_iter().map(row).collect(),
    }
}

fn severity(pods: &[&Pod]) -> &'static str {
    match pods.first().map(|pod| pod.outcome) {
        Some(Outcome::EvictedNow | Outcome::EvictedLater) | None => {
            let worst = pods.iter().map(|pod| pod.severity).max();
            worst.unwrap_or_default().as_str()
        }
        Some(Outcome::Tolerates | Outcome::NotEvicted) => "stays",
        Some(Outcome::Terminating) => "ending",
    }
}

/// Time of the first eviction.
fn when(pods: &[&Pod]) -> String {
    let first = pods.iter().filter_map(|pod| pod.evict_in_seconds).min();
    first.map_or_else(|| "-".to_owned(), after)
}

/// `now`, or `+10m30s`.
pub(super) fn after(seconds: i64) -> String {
    if seconds <= 0 {
        return "now".to_owned();
    }
    format!("+{}", exact_duration(SignedDuration::from_secs(seconds)))
}

/// Hazards of the evictions, the worst first, and each once; of pods that stay, their reasons.
fn risks(pods: &[&Pod]) -> Vec<String> {
    let evicted = pods.iter().filter(|pod| pod.outcome.is_evicted());
    let findings = evicted.flat_map(|pod| &pod.findings);
    let mut risks: BTreeMap<(u8, &str), &String> = BTreeMap::new();
    for finding in findings {
        let key = (rank(&finding.hazard), finding.hazard.as_str());
        risks.entry(key).or_insert(&finding.message);
    }
    let stay = pods.iter().filter(|pod| !pod.outcome.is_evicted());
    let notes = stay.flat_map(|pod| &pod.notes).map(|note| &note.message);
    each_once(risks.into_values().chain(notes).cloned())
}

/// The selected devices of a pod, each once.
fn devices(pod: &Pod) -> Vec<String> {
    let held = pod.used_claims.iter().flat_map(|claim| &claim.allocations);
    each_once(held.map(|held| held.device.clone()))
}

/// Claims by namespace and name, with true if they can be reallocated.
struct Replaceable<'a>(HashMap<(&'a str, &'a str), Option<bool>>);

impl<'a> Replaceable<'a> {
    fn of(report: &'a ImpactReport) -> Self {
        let claims = report.replacements.claim_replacements.iter();
        let known = claims.map(|it| ((&*it.namespace, &*it.name), it.placeable));
        Self(known.collect())
    }

    /// The worst over the claims of evicted pods.
    fn cell(&self, pods: &[&Pod]) -> &'static str {
        let evicted = pods.iter().filter(|pod| pod.outcome.is_evicted());
        let claims = evicted.flat_map(|pod| {
            let claims = pod.used_claims.iter();
            claims.map(|claim| (&*pod.namespace, &*claim.name))
        });
        let found: Vec<Option<bool>> = claims.filter_map(|it| self.0.get(&it).copied()).collect();
        if found.is_empty() {
            "-"
        } else if found.contains(&Some(false)) {
            "none"
        } else if found.contains(&None) {
            "?"
        } else {
            "found"
        }
    }
}

impl ImpactReport {
    /// The first rows as lines of equal columns, for a question; empty if nothing is evicted.
    pub fn row_lines(&self) -> Vec<String> {
        let all = sorted(self.affected_pods.iter());
        if !all.iter().any(|pod| pod.outcome.is_evicted()) {
            return Vec::new();
        }
        let (monitors, pods): (Vec<&Pod>, Vec<&Pod>) = all.iter().partition(|pod| is_monitor(pod));
        let rows = if pods.len() > ASKED {
            by_workload(&pods)
        } else {
            by_pod(&pods)
        };
        let shown = rows.iter().take(ASKED);
        let width = shown.clone().map(|(name, _)| name.chars().count()).max();
        let width = width.unwrap_or_default();
        let line = |(name, pods): &(String, Vec<&Pod>)| {
            let (severity, when, risk) = (severity(pods), when(pods), first_of(&risks(pods)));
            format!("{severity:<8}  {when:<6}  {name:<width$}  {risk}")
        };
        let mut lines: Vec<String> = shown.map(line).collect();
        let more = rows.len().saturating_sub(ASKED);
        if more > 0 {
            lines.push(format!("more workloads: {more}"));
        }
        lines.extend(monitor_line(&monitors));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Severity;
    use crate::report::testing::Example;

    #[test]
    fn pods_are_in_the_order_of_their_severity_and_those_that_stay_are_last() {
        let report = Example::new().report();
        let model = &report.affected_pods[0];
        let pod = |name: &str, seconds, hazard: &str, outcome| Pod {
            name: name.to_owned(),
            outcome,
            evict_in_seconds: Some(seconds),
            hazards: vec![hazard.parse().unwrap()],
            severity: Severity::Warning,
            ..model.clone()
        };
        let pods = [
            pod("late", 300, "PdbViolated", Outcome::EvictedLater),
            pod("soon", 5, "LocalData", Outcome::EvictedLater),
            pod("stays", 0, "Critical", Outcome::Tolerates),
            pod("third", 60, "Unmanaged", Outcome::EvictedLater),
        ];
        let names: Vec<&str> = sorted(pods.iter()).iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["late", "third", "soon", "stays"]);
    }

    #[test]
    fn workloads_have_a_row_each_and_a_pod_without_a_controller_keeps_its_name() {
        let report = Example::new().report();
        let rows = by_workload(&sorted(report.affected_pods.iter()));
        let rows: Vec<(&str, usize)> = rows.iter().map(|(name, it)| (&**name, it.len())).collect();
        assert_eq!(
            rows,
            [
                ("team-b/bare-0", 1),
                ("team-a/ReplicaSet/train-6d", 2),
                ("team-a/ReplicaSet/train-6d", 2),
                ("team-a/ReplicaSet/train-6d", 1),
            ]
        );
    }
}
