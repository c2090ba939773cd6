//! The pods affected worst.

use std::collections::BTreeSet;

use super::finding::{Finding, HazardCode};
use super::order::{urgency, workload};
use super::view::{ImpactReport, Pod};
use crate::assess::{Hazard, Severity};
use crate::naming::age::human_duration;
use crate::naming::phrase::{counted, few};

/// More than these are a table.
const WORST: usize = 5;

impl ImpactReport {
    /// The evicted workloads in a few lines, for whoever is about to agree to it, each with its risks in
    /// words: those with the worst hazard first ([`Hazard::rank`](crate::assess::Hazard::rank)), then those with more of them, then those
    /// that go first; how many more there are, and with which command all are shown, if there is one.
    /// Whoever is not made again is named however many others there are. Empty when none is evicted.
    #[must_use]
    pub fn worst_lines(&self, all: Option<&str>) -> Vec<String> {
        let evicted = self
            .affected_pods
            .iter()
            .filter(|pod| pod.outcome.is_evicted());
        let groups = groups(evicted.collect());
        let (shown, hidden) = groups.split_at(groups.len().min(WORST));
        let mut lines: Vec<String> = shown
            .iter()
            .map(|(name, pods)| describe(name, pods))
            .collect();
        if !hidden.is_empty() {
            let more = format!("and {} more", hidden.len());
            lines.push(match all {
                Some(command) => format!("{more}; to show all: {command}"),
                None => more,
            });
        }
        let lost: Vec<String> = hidden
            .iter()
            .filter(|(_, pods)| pods.iter().any(is_lost))
            .map(|(name, _)| name.clone())
            .collect();
        // What does not come back is named even where it is not among the first.
        if !lost.is_empty() {
            lines.push(format!("not recreated: {}", few(&lost)));
        }
        lines
    }

    /// The workloads that are hit worst, each with its severity and why, in a line: those with something
    /// that does not come back by itself, or that breaks something for others. Several pods without a
    /// controller in one namespace and with the same risks are one line.
    pub(super) fn worst_of_all(&self) -> Vec<String> {
        let evicted = self.affected_pods.iter();
        let evicted = evicted.filter(|pod| pod.outcome.is_evicted()).collect();
        // All evicted pods of a workload are counted, as before a change is confirmed, if one of them is at risk.
        let mut bad = groups(evicted);
        bad.retain(|(_, pods)| pods.iter().any(|pod| pod.severity >= Severity::Warning));
        let groups = with_bare_pods_together(bad);
        let mut lines: Vec<String> = groups
            .iter()
            .take(WORST)
            .map(|(group, pods)| describe(group, pods))
            .collect();
        let more = groups.len().saturating_sub(WORST);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines
    }
}

/// The pods by their workload, with its name: those with the worst hit pod first. A bare pod stands for
/// itself.
fn groups(mut pods: Vec<&Pod>) -> Vec<(String, Vec<&Pod>)> {
    // A group stands where its first pod does, so that sorted pods make sorted groups.
    pods.sort_by_cached_key(|pod| urgency(pod));
    let mut groups: Vec<(String, Vec<&Pod>)> = Vec::new();
    for pod in pods {
        let group = match workload(pod) {
            Some(workload) => format!("{} of {}", workload, pod.namespace),
            None => pod.full_name(),
        };
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, pods)) => pods.push(pod),
            None => groups.push((group, vec![pod])),
        }
    }
    groups
}

/// The groups, with pods without a controller that have the same namespace and risks in one: many of them would leave
/// no line for workloads.
fn with_bare_pods_together(groups: Vec<(String, Vec<&Pod>)>) -> Vec<(String, Vec<&Pod>)> {
    let is_alike = |one: &Pod, other: &Pod| {
        workload(one).is_none()
            && workload(other).is_none()
            && one.namespace == other.namespace
            && one.hazards == other.hazards
    };
    let mut together: Vec<(String, Vec<&Pod>)> = Vec::new();
    for (name, pods) in groups {
        // Every group was made with a pod, so that there is a first one.
        let known = together
            .iter_mut()
            .find(|(_, known)| is_alike(known[0], pods[0]));
        match known {
            Some((known_name, known)) => {
                *known_name = format!("pods without a controller in {}", pods[0].namespace);
                known.extend(pods);
            }
            None => together.push((name, pods)),
        }
    }
    together
}

/// Whether nothing creates the pod again.
fn is_lost(pod: &&Pod) -> bool {
    let mut hazards = pod.hazards.iter().filter_map(HazardCode::hazard);
    hazards.any(Hazard::is_for_good)
}

/// `SEVERITY   WORKLOAD: why`
fn describe(group: &str, pods: &[&Pod]) -> String {
    let severity = pods
        .iter()
        .map(|pod| pod.severity)
        .max()
        .unwrap_or_default()
        .as_str();
    let findings = pods
        .iter()
        .flat_map(|pod| &pod.findings)
        .filter(|finding| finding.severity >= Severity::Warning);
    let why = match by_code(findings).as_slice() {
        [] => when(pods),
        why => why.join("; "),
    };
    let pods = match pods {
        [_] => String::new(),
        pods => format!(" ({})", counted(pods.len(), "pod")),
    };
    format!("{severity:<7}   {group}{pods}: {why}")
}

/// What makes it bad: of each hazard the first message, and how many more like it there are, such as those of
/// claims that are gone with each of the pods.
fn by_code<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<String> {
    let mut codes: Vec<(&HazardCode, Vec<String>)> = Vec::new();
    for finding in findings {
        let message = finding.message.clone();
        match codes.iter_mut().find(|(code, _)| **code == finding.hazard) {
            // Pods of one workload have the same reason, word for word.
            Some((_, messages)) if messages.contains(&message) => {}
            Some((_, messages)) => messages.push(message),
            None => codes.push((&finding.hazard, vec![message])),
        }
    }
    let told = codes.into_iter().filter_map(|(_, messages)| {
        let (first, more) = messages.split_first()?;
        Some(match more.len() {
            0 => first.clone(),
            more => format!("{first} (and {more} more of this kind)"),
        })
    });
    told.collect()
}

/// When the first of the pods goes, and from where if that is one node.
fn when(pods: &[&Pod]) -> String {
    let first = pods.iter().filter_map(|pod| pod.evict_in_seconds).min();
    let when = match first {
        Some(seconds) if seconds > 0 => {
            let seconds = jiff::SignedDuration::from_secs(seconds);
            format!("evicted in {}", human_duration(seconds))
        }
        Some(_) | None => "evicted now".to_owned(),
    };
    let nodes: BTreeSet<&String> = pods.iter().filter_map(|pod| pod.node.as_ref()).collect();
    match nodes.iter().collect::<Vec<_>>().as_slice() {
        [node] => format!("{when}, on {node}"),
        _ => when,
    }
}
