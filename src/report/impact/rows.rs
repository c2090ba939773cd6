//! Rows of an impact report: pods, or workloads where the pods are many.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::view::{ImpactReport, Note, Pod};
use crate::assess::{Finding, Hazard, Outcome};
use crate::engine::{NotEvicted, Origin, PodImpact, Verdict};
use crate::naming::duration::{exact_duration, human_duration};
use crate::naming::phrase::{each_once, few};
use crate::report::table::{Column, Section, Shown, Table, Tone, first_of, optional};

/// More pods than these are rolled up by workload, and more workloads are counted: with the verdict they fit 24 lines.
const ROWS: usize = 18;

/// Rows above a question.
const ASKED: usize = 10;

/// Values of SEVERITY with a tone.
const SEVERITIES: &[(&str, Tone)] = &[
    ("danger", Tone::Bad),
    ("warning", Tone::Doubtful),
    ("ok", Tone::Good),
    ("ending", Tone::Doubtful),
];

/// The pods in the order of their rows: the worst first, those that stay last.
pub(super) fn sorted<'a>(pods: impl Iterator<Item = &'a Pod>) -> Vec<&'a Pod> {
    let mut pods: Vec<&Pod> = pods.collect();
    pods.sort_by_cached_key(|pod| {
        let hazards = pod.outcome.is_evicted().then(|| {
            let worst = pod.hazards.iter().min().copied();
            let more = Reverse(pod.hazards.len());
            (worst.is_none(), worst, more, pod.evict_in_seconds)
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
    vec![
        Section::table(table(report, few, is_rolled_up)).shown(Shown::Narrow),
        Section::sentences(lines).shown(Shown::Narrow),
        Section::table(table(report, wide, report.by_workload)).shown(Shown::Wide),
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
    (!names.is_empty()).then(|| format!("admin access: {}{evicted}", few(&names)))
}

fn table(report: &ImpactReport, rows: Rows<'_>, is_rolled_up: bool) -> Table {
    let found = Replaceable::of(report);
    let each = |pods: &[&Pod], value: fn(&Pod) -> String| {
        first_of(&each_once(pods.iter().map(|pod| value(pod))))
    };
    let owner = |pod: &Pod| optional(pod.top_owner().map(ToString::to_string).as_deref());
    let rows = Table::of(rows)
        .column(
            Column::text("SEVERITY").of_words(SEVERITIES),
            |(_, pods)| severity(pods).to_owned(),
        )
        .column(Column::text("WHEN"), |(_, pods)| when(pods));
    let rows = if is_rolled_up {
        rows.column(Column::text("WORKLOAD"), |(name, _)| name.clone())
            .column(Column::number("PODS"), |(_, pods)| pods.len().to_string())
    } else {
        rows.column(Column::text("POD"), |(name, _)| name.clone())
            .column(Column::text("WORKLOAD").wide(), |(_, pods)| {
                each(pods, owner)
            })
    };
    rows.column(Column::text("NODE").wide(), |(_, pods)| {
        each(pods, |pod| optional(pod.node.as_deref()))
    })
    .column(Column::text("DEVICE").wide(), |(_, pods)| {
        first_of(&devices(pods))
    })
    .column(Column::text("REPLACEMENT").wide(), |(_, pods)| {
        found.cell(pods).to_owned()
    })
    .column(Column::items("RISKS"), |(_, pods)| {
        optional(Some(&risks(pods).join("; ")))
    })
    .table()
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
    let mut risks: BTreeMap<Hazard, &String> = BTreeMap::new();
    for finding in findings {
        risks.entry(finding.hazard).or_insert(&finding.message);
    }
    let stay = pods.iter().filter(|pod| !pod.outcome.is_evicted());
    let notes = stay.flat_map(|pod| &pod.notes).map(|note| &note.message);
    each_once(risks.into_values().chain(notes).cloned())
}

/// The selected devices of the pods, each once.
fn devices(pods: &[&Pod]) -> Vec<String> {
    let claims = pods.iter().flat_map(|pod| &pod.used_claims);
    let held = claims.flat_map(|claim| &claim.allocations);
    each_once(held.map(|held| held.device.clone()))
}

/// Claims by namespace and name, with true if they can be reallocated.
struct Replaceable(HashMap<String, Option<bool>>);

impl Replaceable {
    fn of(report: &ImpactReport) -> Self {
        let claims = report.assessment.replacements.claims.iter();
        let known = claims.map(|it| (it.name.to_string(), it.placeable));
        Self(known.collect())
    }

    /// The worst over the claims of evicted pods; a pod whose Job fails comes back nowhere.
    fn cell(&self, pods: &[&Pod]) -> &'static str {
        let returns = |pod: &&&Pod| {
            let fails = |finding: &Finding| finding.hazard == Hazard::JobFails;
            pod.outcome.is_evicted() && !pod.findings.iter().any(fails)
        };
        let claims = pods.iter().filter(returns).flat_map(|pod| {
            let claims = pod.used_claims.iter();
            claims.map(|claim| format!("{}/{}", pod.namespace, claim.name))
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

/// Subject of a note. Codes are stable; new ones may be added within a schema version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum NoteCode {
    /// The pod tolerates the considered taints.
    Tolerates,
    /// The pod is terminating.
    Terminating,
    /// Something else than the considered taints evicts the pod, whether they do or not.
    EvictedAnyway,
    /// The pod stays for this reason.
    #[serde(untagged)]
    Stays(NotEvicted),
}

impl NoteCode {
    fn note(self, message: impl Into<String>) -> Note {
        Note {
            reason: self,
            message: message.into(),
        }
    }
}

/// Notes on a pod, the reason to stay first.
pub(super) fn notes(impact: &PodImpact<'_>, now: Timestamp) -> Vec<Note> {
    let reason = match &impact.verdict {
        Verdict::Evicted { .. } => None,
        Verdict::Tolerates => Some(NoteCode::Tolerates.note("tolerates the taint")),
        Verdict::Terminating => Some(terminating(impact.pod, now)),
        Verdict::NotEvicted(reason) => Some(not_evicted(*reason)),
    };
    reason
        .into_iter()
        .chain(evicted_anyway(impact, now))
        .collect()
}

/// State of a pod that is terminating.
pub(in crate::report) fn terminating(pod: &crate::model::Pod, now: Timestamp) -> Note {
    let message = match &pod.deletion {
        // Its kubelet is done with it: it waits for neither the grace period nor the node.
        Some(deletion) if pod.phase.is_terminal() && !deletion.finalizers.is_empty() => {
            let finalizers = deletion.finalizers.iter().map(ToString::to_string);
            format!(
                "ended, finalizers {}",
                finalizers.collect::<Vec<_>>().join(", ")
            )
        }
        Some(deletion) if deletion.at > now => {
            let left = deletion.at.duration_since(now);
            format!("grace period ends {}", after(left.as_secs()))
        }
        Some(deletion) => {
            let since = human_duration(now.duration_since(deletion.at));
            format!("grace over since {since}")
        }
        None => "terminating".to_owned(),
    };
    NoteCode::Terminating.note(message)
}

fn evicted_anyway(impact: &PodImpact<'_>, now: Timestamp) -> Option<Note> {
    // A pod that is terminating is not evicted again.
    if impact.verdict == Verdict::Terminating {
        return None;
    }
    let (owner, at) = impact.causes.iter().find_map(|cause| {
        let owner = match cause.origin {
            // The note is about a taint that evicts the pod even without the proposed ones.
            Origin::Proposed(_) => return None,
            Origin::Rule(name) => format!("rule {name}"),
            Origin::ResourceSlice(_) => format!("taint {} of the driver", cause.taint),
        };
        Some((owner, cause.at))
    })?;
    let when = after(at.as_second().saturating_sub(now.as_second()));
    Some(NoteCode::EvictedAnyway.note(format!("{owner} evicts it {when}")))
}

/// Reason why the controller does not evict a pod.
pub(in crate::report) fn not_evicted(reason: NotEvicted) -> Note {
    let message = match reason {
        NotEvicted::EffectDoesNotEvict => "no taint that evicts",
        NotEvicted::NotScheduled => "no node yet",
        NotEvicted::PodGroupReservation => "claim reserved only for its PodGroup",
        NotEvicted::NotOwned => "claim not generated for this pod",
        NotEvicted::ExtendedResource => "extended resource",
        NotEvicted::HiddenByStaleReservation => "hidden by an outdated entry in reservedFor",
        NotEvicted::ClaimNotInStatus => "for now: claim missing in its status",
    };
    NoteCode::Stays(reason).note(message)
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
        let pod = |name: &str, seconds, hazard: Hazard, outcome| Pod {
            name: name.to_owned(),
            outcome,
            evict_in_seconds: Some(seconds),
            hazards: vec![hazard],
            severity: Severity::Warning,
            ..model.clone()
        };
        let pods = [
            pod("late", 300, Hazard::PdbViolated, Outcome::EvictedLater),
            pod("soon", 5, Hazard::LocalData, Outcome::EvictedLater),
            pod("stays", 0, Hazard::Critical, Outcome::Tolerates),
            pod("third", 60, Hazard::Unmanaged, Outcome::EvictedLater),
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
