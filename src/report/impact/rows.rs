//! The pods of an impact report, a row each.

use std::collections::{BTreeMap, BTreeSet};

use super::cells::{hazards, risks, when};
use super::order::{sorted, workload, workload_group};
use super::rollup;
use super::view::{ImpactReport, Pod};
use crate::assess::Outcome;
use crate::naming::phrase::{counted, each_once};
use crate::report::table::{Column, NONE, Section, Shown, Table, Tone, first_of, optional};
use crate::report::taint::TaintSource;

/// The words for how badly a pod is hit, the worst first.
const SEVERITIES: &[(&str, Option<Tone>)] = &[
    ("danger", Some(Tone::Bad)),
    ("warning", Some(Tone::Doubtful)),
    ("notice", None),
    ("ok", Some(Tone::Good)),
];

/// The pods that would be evicted, in one table or in one for each workload; of a workload of which nobody is
/// evicted, who stays and why.
pub(super) fn sections(report: &ImpactReport, shared: &SharedValues) -> Vec<Section> {
    let evicted = in_order(report, |pod| pod.outcome.is_evicted());
    if !report.by_workload {
        if evicted.len() <= rollup::ROWS {
            return vec![flat(&evicted, shared)];
        }
        let mut sections = rollup::sections(report, &evicted, SEVERITIES);
        // Every pod has a row where there is room, as the last line of the short form promises.
        sections.push(flat(&evicted, shared).shown(Shown::Wide));
        return sections;
    }
    let stay = in_order(report, |pod| !pod.outcome.is_evicted());
    let shared = &shared.within_workload();
    let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for pod in &report.affected_pods {
        groups
            .entry(workload_group(pod))
            .or_default()
            .insert(&pod.uid);
    }
    let section = |(group, pods): (&String, &BTreeSet<&str>)| {
        let is_in = |pod: &&&Pod| pods.contains(pod.uid.as_str());
        let rows: Vec<&Pod> = evicted.iter().filter(is_in).copied().collect();
        let title = format!("{group} ({})", in_numbers(&rows, pods.len()));
        if rows.is_empty() {
            let who: Vec<String> = stay.iter().filter(is_in).map(|pod| stays(pod)).collect();
            return Section::list("", who).titled(title);
        }
        Section::table(table(&rows, shared)).titled(title)
    };
    groups.iter().map(section).collect()
}

fn flat(evicted: &[&Pod], shared: &SharedValues) -> Section {
    Section::table(table(evicted, shared)).captioned("Pods that would be evicted")
}

/// `3 pods, 2 evicted now, 1 later`, of a group with so many pods in all.
fn in_numbers(evicted: &[&Pod], all: usize) -> String {
    let now = evicted
        .iter()
        .filter(|pod| pod.outcome == Outcome::EvictedNow)
        .count();
    let later = evicted.len().saturating_sub(now);
    let stay = all.saturating_sub(evicted.len());
    let parts: Vec<(usize, &str)> = [
        (now, "evicted now"),
        (later, "evicted later"),
        (stay, "not evicted"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .collect();
    match parts.as_slice() {
        [(_, what)] => format!("{}, {what}", counted(all, "pod")),
        several => {
            let several = several
                .iter()
                .map(|(number, what)| format!(", {number} {what}"));
            counted(all, "pod") + &several.collect::<String>()
        }
    }
}

/// The pods that stay, and why, a line each.
pub(super) fn staying(report: &ImpactReport) -> Vec<String> {
    let staying = in_order(report, |pod| !pod.outcome.is_evicted());
    staying.into_iter().map(stays).collect()
}

fn stays(pod: &Pod) -> String {
    format!("{}: {}", pod.full_name(), why_it_stays(pod))
}

fn in_order(report: &ImpactReport, is_meant: impl Fn(&Pod) -> bool) -> Vec<&Pod> {
    sorted(report.affected_pods.iter().filter(|pod| is_meant(pod)))
}

/// What is the same of all pods that would be evicted, so that it stands once and not in every row.
#[derive(Default)]
pub(super) struct SharedValues {
    node: Option<String>,
    device: Option<String>,
    cause: Option<String>,
    workload: Option<String>,
    pods: usize,
}

impl SharedValues {
    /// What the pods of `report` share.
    pub(super) fn of(report: &ImpactReport) -> Self {
        let evicted: Vec<&Pod> = report
            .affected_pods
            .iter()
            .filter(|pod| pod.outcome.is_evicted())
            .collect();
        let same = |value: fn(&Pod) -> String| {
            let mut values = evicted.iter().map(|pod| value(pod));
            let first = values.next()?;
            values.all(|other| other == first).then_some(first)
        };
        Self {
            node: same(|pod| optional(pod.node.as_deref())),
            device: same(|pod| first_of(&devices(pod))),
            cause: same(cause),
            workload: None,
            pods: evicted.len(),
        }
    }

    /// What the pods of one workload share: the workload stands above them, too.
    fn within_workload(&self) -> Self {
        Self {
            node: self.node.clone(),
            device: self.device.clone(),
            cause: self.cause.clone(),
            workload: Some(String::new()),
            pods: self.pods,
        }
    }

    /// In a sentence; nothing where nothing is shared.
    pub(super) fn sentence(&self) -> Option<String> {
        // Pods without a node share none, although the cell is the same.
        let node = self.node.as_ref().filter(|node| *node != NONE);
        let (pods, are, use_) = if self.pods == 1 {
            ("The evicted pod", "is", "uses")
        } else {
            ("All evicted pods", "are", "use")
        };
        let node = node.map(|node| format!("{are} on {node}"));
        let device = self.device.as_ref();
        let device = device.map(|device| format!("{use_} {device}"));
        let parts: Vec<String> = node.into_iter().chain(device).collect();
        (!parts.is_empty()).then(|| format!("{pods} {}.", parts.join(", and ")))
    }
}

fn table(pods: &[&Pod], shared: &SharedValues) -> Table {
    // Wide output keeps the column, so that its rows can be read by themselves.
    let unless = |shared: &Option<String>, column: Column| {
        if shared.is_some() {
            column.wide()
        } else {
            column
        }
    };
    Table {
        columns: vec![
            Column::text("SEVERITY").of_words(SEVERITIES),
            Column::text("WHEN"),
            Column::long("POD"),
            unless(&shared.node, Column::text("NODE").leaves(1)),
            unless(&shared.device, Column::long("DEVICE").leaves(2)),
            unless(&shared.workload, Column::long("WORKLOAD").leaves(3)),
            unless(&shared.cause, Column::text("CAUSE").leaves(4)),
            Column::prose("RISKS").narrow(),
            Column::text("RISKS").wide(),
            Column::text("OUTCOME").wide(),
            Column::text("QOS").wide(),
            Column::number("PRIORITY").wide(),
            Column::number("GRACE").wide(),
            Column::text("CLAIM").wide(),
            Column::text("UID").wide(),
        ],
        rows: pods.iter().map(|pod| row(pod)).collect(),
    }
}

fn row(pod: &Pod) -> Vec<String> {
    let claims: Vec<_> = pod
        .used_claims
        .iter()
        .map(|claim| claim.name.clone())
        .collect();
    let hazards = hazards(pod);
    vec![
        pod.severity.as_str().to_owned(),
        when(pod),
        pod.full_name(),
        optional(pod.node.as_deref()),
        first_of(&devices(pod)),
        optional(workload(pod).as_deref()),
        cause(pod),
        risks(&hazards),
        optional(Some(&hazards.join(","))),
        pod.outcome.as_str().to_owned(),
        optional(pod.qos_class.as_deref()),
        pod.priority.to_string(),
        format!("{}s", pod.grace_period_seconds),
        first_of(&claims),
        pod.uid.clone(),
    ]
}

/// The selected devices of a pod, each once; those that evict it first come first.
fn devices(pod: &Pod) -> Vec<String> {
    let held = pod.used_claims.iter().flat_map(|claim| &claim.allocations);
    let held: Vec<_> = held.map(|held| &held.device).collect();
    let evicting = pod.causes.iter().map(|cause| &cause.device);
    // A cause of another taint may lie on a device that was not asked about.
    let evicting = evicting.filter(|device| held.contains(device));
    each_once(evicting.chain(held.iter().copied()).cloned())
}

/// Whose taints evict the pod, earliest first.
fn cause(pod: &Pod) -> String {
    let causes = pod.causes.iter();
    let whose = causes.map(|cause| match cause.taint.source {
        TaintSource::ResourceSlice => "the driver's taint".to_owned(),
        TaintSource::DeviceTaintRule => cause.taint.owner(),
    });
    optional(Some(&each_once(whose).join(", ")))
}

/// Why the pod stays, and who evicts it all the same.
fn why_it_stays(pod: &Pod) -> String {
    let reason = pod.notes.first().map(|note| note.message.as_str());
    let reason = optional(reason);
    match (pod.outcome, cause(pod)) {
        (Outcome::Tolerates | Outcome::NotEvicted, whose) if whose != NONE => {
            format!("{reason}; evicted anyway, by {whose}")
        }
        (
            Outcome::Tolerates
            | Outcome::NotEvicted
            | Outcome::Terminating
            | Outcome::EvictedNow
            | Outcome::EvictedLater,
            _,
        ) => reason,
    }
}
