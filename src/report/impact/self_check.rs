//! Consistency of a saved report: edits by hand are found.
//!
//! The digest covers whom the taints hit. When each eviction is due stands in the report more than
//! once, and the summary follows from the pods: whoever edits one of them by hand, or by a script,
//! leaves a contradiction.

use std::collections::BTreeSet;

use super::view::{ImpactReport, Pod, Summary};
use crate::assess::{ImpactFacts, Outcome};
use crate::report::time::Time;

/// What in the report contradicts what else is in it; nothing in one that is as it was written.
pub(super) fn contradiction(report: &ImpactReport) -> Option<String> {
    let facts = ImpactFacts::from(report);
    let hardware = facts.hardware_digest();
    // Reports of earlier releases do not have one.
    let hardware = hardware.filter(|_| report.hardware_digest.is_some());
    if facts.digest() != report.digest || hardware != report.hardware_digest {
        return Some("its digest does not match its content".to_owned());
    }
    let observed_at = report.metadata.observed();
    if let Some(pod) = report
        .affected_pods
        .iter()
        .find(|pod| !has_one_time(pod, observed_at))
    {
        return Some(format!(
            "the outcome, evictionTime, evictInSeconds and causes of pod {}/{} do not match each other",
            pod.namespace, pod.name
        ));
    }
    (counted(report) != report.summary)
        .then(|| "the counts in its summary do not match the pods that it lists".to_owned())
}

/// The summary as it follows from the rest of the report.
fn counted(report: &ImpactReport) -> Summary {
    let with = |outcome| {
        let pods = report.affected_pods.iter();
        pods.filter(|pod| pod.outcome == outcome).count()
    };
    let evicted = || {
        report
            .affected_pods
            .iter()
            .filter(|pod| pod.outcome.is_evicted())
    };
    let times = || evicted().filter_map(|pod| pod.eviction_time);
    let claims = report.replacements.claim_replacements.iter();
    let available = report.replacements.available.as_ref();
    let budgets = report.budgets.iter();
    let workloads = report.workloads.iter();
    Summary {
        device_count: report.selected_devices.len(),
        claim_count: distinct(
            report
                .selected_devices
                .iter()
                .flat_map(|device| &device.claims),
        ),
        evicted_pod_count: evicted().count(),
        evicted_now_pod_count: with(Outcome::EvictedNow),
        evicted_later_pod_count: with(Outcome::EvictedLater),
        tolerating_pod_count: with(Outcome::Tolerates),
        terminating_pod_count: with(Outcome::Terminating),
        not_evicted_pod_count: with(Outcome::NotEvicted),
        namespace_count: distinct(evicted().map(|pod| &pod.namespace)),
        node_count: distinct(evicted().filter_map(|pod| pod.node.as_ref())),
        workload_count: distinct(evicted().map(top_owner)),
        violated_budget_count: budgets.filter(|budget| budget.is_violated()).count(),
        down_workload_count: workloads
            .filter(|workload| workload.ready_replicas_left == Some(0))
            .count(),
        unplaceable_claim_count: claims
            .filter(|claim| claim.placeable == Some(false))
            .count(),
        available_device_count: available.map_or(0, |available| available.available_device_count),
        class_device_count: available.map_or(0, |available| available.class_device_count),
        first_eviction_time: times().min(),
        last_eviction_time: times().max(),
        // What was not known when it was written cannot be told from its pods.
        bounds: report.summary.bounds.clone(),
        // Reports of earlier releases do not have these, and nobody agrees to them.
        critical_pod_count: report.summary.critical_pod_count,
        unmanaged_pod_count: report.summary.unmanaged_pod_count,
        severities: report.summary.severities,
    }
}

fn distinct<T: Ord>(things: impl Iterator<Item = T>) -> usize {
    things.collect::<BTreeSet<_>>().len()
}

/// Namespace, kind and name of what would create the pod again, or of the pod itself.
fn top_owner(pod: &Pod) -> (&str, &str, &str) {
    let (kind, name) = match pod.top_owner() {
        Some(owner) => (owner.kind.as_str(), owner.name.as_str()),
        None => ("Pod", pod.name.as_str()),
    };
    (&pod.namespace, kind, name)
}

/// Whether outcome, time, seconds and causes of a pod are about the same moment.
fn has_one_time(pod: &Pod, observed_at: Time) -> bool {
    let Some(at) = pod.eviction_time else {
        return !pod.outcome.is_evicted() && pod.evict_in_seconds.is_none();
    };
    let outcome = if at <= observed_at {
        Outcome::EvictedNow
    } else {
        Outcome::EvictedLater
    };
    let seconds = at.seconds_from(observed_at);
    // The digest does not cover times: what was changed by hand contradicts one of the places that repeat it.
    let earliest = pod.causes.iter().map(|cause| cause.eviction_time).min();
    pod.outcome == outcome && pod.evict_in_seconds == Some(seconds) && earliest == Some(at)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::report::testing::Example;

    fn contradiction_after(change: impl FnOnce(&mut ImpactReport)) -> Option<String> {
        let mut report = Example::new().report();
        change(&mut report);
        contradiction(&report)
    }

    fn evicted_later(report: &mut ImpactReport) -> &mut Pod {
        let mut pods = report.affected_pods.iter_mut();
        pods.find(|pod| pod.outcome == Outcome::EvictedLater)
            .unwrap()
    }

    fn later(time: Time) -> Time {
        Time(time.0 + SignedDuration::from_secs(1))
    }

    #[test]
    fn a_report_as_it_was_written_has_no_contradiction() {
        assert_eq!(contradiction_after(|_| ()), None);
        // What else may be read and is not compared, may be left out.
        assert_eq!(contradiction_after(|report| report.warnings.clear()), None);
    }

    #[test]
    fn every_time_that_is_edited_alone_contradicts_the_others() {
        type Edit = fn(&mut ImpactReport);
        let edits: [(&str, Edit); 9] = [
            ("time", |report| {
                let pod = evicted_later(report);
                pod.eviction_time = pod.eviction_time.map(later);
            }),
            ("seconds", |report| {
                let pod = evicted_later(report);
                pod.evict_in_seconds = pod.evict_in_seconds.map(|seconds| seconds - 60);
            }),
            ("no seconds", |report| {
                evicted_later(report).evict_in_seconds = None;
            }),
            ("no time", |report| {
                evicted_later(report).eviction_time = None
            }),
            ("time and seconds", |report| {
                let pod = evicted_later(report);
                pod.eviction_time = pod.eviction_time.map(later);
                pod.evict_in_seconds = pod.evict_in_seconds.map(|seconds| seconds + 1);
            }),
            ("causes", |report| evicted_later(report).causes.clear()),
            ("observed", |report| {
                let observed_at = &mut report.metadata.observed_time;
                *observed_at = observed_at.map(later);
            }),
            ("first", |report| {
                report.summary.first_eviction_time = report.summary.last_eviction_time;
            }),
            ("count", |report| report.summary.evicted_pod_count += 1),
        ];
        for (name, edit) in edits {
            assert!(contradiction_after(edit).is_some(), "{name}");
        }
    }

    #[test]
    fn a_time_for_a_pod_that_stays_is_a_contradiction() {
        let said = contradiction_after(|report| {
            let mut pods = report.affected_pods.iter_mut();
            let stays = pods.find(|pod| !pod.outcome.is_evicted()).unwrap();
            stays.evict_in_seconds = Some(0);
        });
        let said = said.unwrap();
        assert!(
            said.starts_with("the outcome, evictionTime, evictInSeconds and causes of pod team-a/"),
            "{said}"
        );
    }
}
