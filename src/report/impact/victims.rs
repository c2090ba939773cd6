//! Whom does it hit worst?

use super::finding::{Finding, HazardCode};
use super::order::{urgency, workload};
use super::view::{ImpactReport, Pod};
use crate::assess::Outcome;
use crate::assess::Severity;
use crate::model::Uid;
use crate::naming::age::human_duration;
use crate::naming::phrase::counted;

/// More than these nobody reads before a question, which has to fit a terminal of 24 lines with them.
const SHOWN: usize = 8;

/// More than these are a table.
const WORST: usize = 5;

impl ImpactReport {
    /// The pods that are evicted, now or later.
    #[must_use]
    pub fn evicted(&self) -> Vec<Uid> {
        let evicted = self.pods.iter().filter(|pod| pod.outcome.is_evicted());
        evicted.map(|pod| pod.uid.as_str().into()).collect()
    }

    /// The evicted pods in a few lines, for whoever is about to agree to it: those with the worst
    /// hazard first ([`Hazard::rank`](crate::report::hazard::Hazard::rank)), then those with more of them, then those that go first; how
    /// many more there are, and where a rule is there already, how to see them all. Empty when none is
    /// evicted.
    #[must_use]
    pub fn worst_lines(&self) -> Vec<String> {
        let evicted = self.pods.iter().filter(|pod| pod.outcome.is_evicted());
        let mut evicted: Vec<&Pod> = evicted.collect();
        evicted.sort_by_cached_key(|pod| urgency(pod));
        let mut lines: Vec<String> = evicted.iter().take(SHOWN).map(|pod| line(pod)).collect();
        let more = evicted.len().saturating_sub(SHOWN);
        if more > 0 {
            lines.push(format!("  and {more} more{}", self.where_all_are()));
        }
        lines
    }

    /// The workloads that are hit worst, each with its severity and why, in a line: those with something
    /// that does not come back by itself, or that breaks something for others. A bare pod stands for
    /// itself.
    pub(super) fn worst_of_all(&self) -> Vec<String> {
        let is_bad = |pod: &&Pod| pod.outcome.is_evicted() && pod.severity >= Severity::Warning;
        let mut hit: Vec<&Pod> = self.pods.iter().filter(is_bad).collect();
        hit.sort_by_cached_key(|pod| urgency(pod));
        let mut groups: Vec<(String, Vec<&Pod>)> = Vec::new();
        for pod in hit {
            let group = match workload(pod) {
                Some(workload) => format!("{} of {}", workload, pod.namespace),
                None => pod.full_name(),
            };
            match groups.iter_mut().find(|(known, _)| *known == group) {
                Some((_, pods)) => pods.push(pod),
                None => groups.push((group, vec![pod])),
            }
        }
        let lines = groups.iter().take(WORST);
        let mut lines: Vec<String> = lines.map(|(group, pods)| told(group, pods)).collect();
        let more = groups.len().saturating_sub(WORST);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines
    }

    /// The command that shows all of it; rules that do not exist yet have none that is shorter than
    /// the one that asks.
    fn where_all_are(&self) -> String {
        let rules: Option<Vec<String>> = self
            .taints
            .iter()
            .map(|taint| Some(format!("--rule {}", taint.rule.as_ref()?)))
            .collect();
        match rules {
            Some(rules) if !rules.is_empty() => {
                format!(
                    "; all of them: kubectl devicetaint preview {}",
                    rules.join(" ")
                )
            }
            Some(_) | None => String::new(),
        }
    }
}

/// `SEVERITY   WORKLOAD: why`
fn told(group: &str, pods: &[&Pod]) -> String {
    let severity = pods.iter().map(|pod| pod.severity).max();
    let severity = severity.unwrap_or_default().as_str();
    let findings = pods.iter().flat_map(|pod| &pod.findings);
    let findings = findings.filter(|finding| finding.severity >= Severity::Warning);
    let why = by_code(findings);
    let pods = match pods {
        [_] => String::new(),
        pods => format!(" ({})", counted(pods.len(), "pod")),
    };
    format!("{severity:<7}   {group}{pods}: {}", why.join("; "))
}

/// What makes it bad: of each hazard the first message, and how many more like it there are, such as those of
/// claims that are gone with each of the pods.
fn by_code<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<String> {
    let mut codes: Vec<(&HazardCode, Vec<String>)> = Vec::new();
    for finding in findings {
        let message = finding.message.clone();
        match codes.iter_mut().find(|(code, _)| **code == finding.code) {
            Some((_, messages)) if messages.contains(&message) => {}
            Some((_, messages)) => messages.push(message),
            None => codes.push((&finding.code, vec![message])),
        }
    }
    let told = codes.into_iter().filter_map(|(_, messages)| {
        let (first, more) = messages.split_first()?;
        Some(match more.len() {
            0 => first.clone(),
            more => format!("{first} ({more} more like it)"),
        })
    });
    told.collect()
}

/// `  NAMESPACE/NAME on NODE, now: HAZARDS`
fn line(pod: &Pod) -> String {
    let node = pod.node.as_ref();
    let node = node.map_or_else(String::new, |node| format!(" on {node}"));
    let when = match (pod.outcome, pod.evict_in_seconds) {
        (Outcome::EvictedLater, Some(seconds)) => {
            format!(
                "in {}",
                human_duration(jiff::SignedDuration::from_secs(seconds))
            )
        }
        (Outcome::EvictedLater, None) => "later".to_owned(),
        (Outcome::EvictedNow, _) => "now".to_owned(),
        (Outcome::Tolerates | Outcome::Terminating | Outcome::NotEvicted, _) => "never".to_owned(),
    };
    let hazards: Vec<&str> = pod.hazards.iter().map(HazardCode::as_str).collect();
    let hazards = hazards.join(", ");
    let hazards = match hazards.as_str() {
        "" => String::new(),
        hazards => format!(": {hazards}"),
    };
    format!("  {}/{}{node}, {when}{hazards}", pod.namespace, pod.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::Example;

    #[test]
    fn the_worst_come_first_and_the_rest_is_counted() {
        let mut report = Example::new().report();
        let lines = report.worst_lines();
        assert_eq!(lines.len(), report.summary.pods, "{lines:?}");
        assert!(lines[0].contains(": "), "has a hazard: {lines:?}");
        let evicted = report.pods.iter().find(|pod| pod.outcome.is_evicted());
        let mut worse = evicted.unwrap().clone();
        for number in 0..12 {
            worse.name = format!("worse-{number}");
            let codes = ["critical", "unmanaged", "x"];
            worse.hazards = codes.map(|code| code.parse().unwrap()).into();
            report.pods.push(worse.clone());
        }
        let lines = report.worst_lines();
        assert_eq!(lines.len(), SHOWN + 1);
        assert!(lines[0].contains("worse-0"), "{lines:?}");
        assert_eq!(
            lines[SHOWN],
            format!("  and {} more", report.summary.pods + 12 - SHOWN)
        );
    }

    #[test]
    fn one_bad_hazard_is_worse_than_two_harmless_ones() {
        let mut report = Example::new().report();
        report.taints[0].rule = Some("drain".to_owned());
        let evicted = report.pods.iter().find(|pod| pod.outcome.is_evicted());
        let pod = evicted.unwrap().clone();
        let with = |name: &str, hazards: &[&str]| Pod {
            name: name.to_owned(),
            hazards: hazards.iter().map(|code| code.parse().unwrap()).collect(),
            ..pod.clone()
        };
        report.pods = vec![
            with("harmless", &["daemonset", "foreign-taint"]),
            with("system", &["critical"]),
            with("plain", &[]),
        ];
        for number in 0..10 {
            report.pods.push(with(&format!("z-{number}"), &[]));
        }
        let lines = report.worst_lines();
        assert!(lines[0].contains("/system "), "{lines:?}");
        assert!(lines[1].contains("/harmless "), "{lines:?}");
        assert_eq!(
            lines[SHOWN],
            "  and 5 more; all of them: kubectl devicetaint preview --rule drain"
        );
    }

    #[test]
    fn nobody_is_shown_where_nobody_is_evicted() {
        let mut report = Example::new().report();
        report.pods.clear();
        assert!(report.worst_lines().is_empty());
    }
}
