//! Order of pods in tables, and their workloads.

use std::cmp::Reverse;

use super::finding::HazardCode;
use super::view::Pod;
use crate::assess::Hazard;

/// The pods in the order in which tables have them: the worst hit first, and those that stay last.
pub(super) fn sorted<'a>(pods: impl Iterator<Item = &'a Pod>) -> Vec<&'a Pod> {
    let mut pods: Vec<&Pod> = pods.collect();
    pods.sort_by_cached_key(|pod| (!pod.outcome.is_evicted(), urgency(pod)));
    pods
}

/// The group of the pod's workload in its namespace.
pub(super) fn workload_group(pod: &Pod) -> String {
    workload(pod).map_or_else(
        || format!("{}, no workload", pod.namespace),
        |workload| format!("{} of {}", workload, pod.namespace),
    )
}

/// The top of the pod's owners as far as it is known, as `KIND/NAME`.
pub(super) fn workload(pod: &Pod) -> Option<String> {
    let owner = pod.top_owner()?;
    Some(owner.to_string())
}

/// By what pods are told, the worst hit first: the worst hazard, how many there are, who goes first.
pub(super) fn urgency(pod: &Pod) -> impl Ord + use<> {
    (
        worst(pod),
        Reverse(pod.hazards.len()),
        pod.evict_in_seconds,
        pod.namespace.clone(),
        pod.name.clone(),
    )
}

/// The rank of the pod's worst hazard; last for a pod that has none.
fn worst(pod: &Pod) -> u8 {
    let known = pod.hazards.iter().filter_map(HazardCode::hazard);
    let ranks = known.map(Hazard::rank);
    ranks.min().unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Outcome;
    use crate::assess::Severity;
    use crate::report::impact::ImpactReport;
    use crate::report::reference::Owner;
    use crate::report::testing::Example;

    fn report() -> ImpactReport {
        let mut report = Example::new().report();
        let model = report.affected_pods[0].clone();
        let pod = |namespace: &str, name: &str, seconds, hazard: &str, owner: &str| Pod {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            outcome: Outcome::EvictedLater,
            evict_in_seconds: Some(seconds),
            hazards: vec![hazard.parse().unwrap()],
            severity: Severity::Warning,
            workload: Some(Owner {
                kind: "Deployment".to_owned(),
                name: owner.to_owned(),
            }),
            ..model.clone()
        };
        report.affected_pods = vec![
            pod("b", "late", 300, "PdbViolated", "x"),
            pod("a", "soon", 5, "LocalData", "z"),
            Pod {
                outcome: Outcome::Tolerates,
                evict_in_seconds: None,
                ..pod("a", "a-stays", 0, "Critical", "a")
            },
            pod("a", "third", 60, "Unmanaged", "y"),
        ];
        report
    }

    #[test]
    fn pods_are_in_the_order_of_their_severity_and_those_that_stay_are_last() {
        let report = report();
        let pods = sorted(report.affected_pods.iter()).into_iter();
        let names: Vec<&str> = pods.map(|pod| pod.name.as_str()).collect();
        assert_eq!(names, ["late", "third", "soon", "a-stays"]);
    }
}
