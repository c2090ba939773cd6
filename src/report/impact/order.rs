//! Sorting and grouping of pods.

use std::cmp::Reverse;

use super::arrangement::{Grouping, Order};
use super::finding::HazardCode;
use super::view::Pod;
use crate::assess::Hazard;

impl Order {
    /// Puts pods in this order; those that stay come last in any of them.
    pub(super) fn sort(self, pods: &mut [&Pod]) {
        let stays = |pod: &Pod| !pod.outcome.is_evicted();
        let name = |pod: &Pod| (pod.namespace.clone(), pod.name.clone());
        match self {
            Self::Severity => pods.sort_by_cached_key(|pod| (stays(pod), urgency(pod))),
            Self::Time => {
                pods.sort_by_cached_key(|pod| (stays(pod), pod.evict_in_seconds, name(pod)));
            }
            Self::Namespace => pods.sort_by_cached_key(|pod| (stays(pod), name(pod))),
            Self::Workload => {
                pods.sort_by_cached_key(|pod| {
                    let workload = Grouping::Workload.groups(pod);
                    (stays(pod), pod.namespace.clone(), workload, name(pod))
                });
            }
        }
    }
}

impl Grouping {
    /// The groups that `pod` is in, by name: one, or as many as it uses devices or claims.
    pub(super) fn groups(self, pod: &Pod) -> Vec<String> {
        let mut groups = match self {
            Self::Pod => vec![pod.full_name()],
            Self::Workload => vec![workload(pod).map_or_else(
                || format!("{}, no workload", pod.namespace),
                |workload| format!("{} of {}", workload, pod.namespace),
            )],
            Self::Namespace => vec![pod.namespace.clone()],
            Self::Node => vec![pod.node.clone().unwrap_or_else(|| "no node".to_owned())],
            Self::Device => {
                let devices = pod.used_claims.iter().flat_map(|claim| &claim.allocations);
                devices.map(|device| device.device.clone()).collect()
            }
            Self::Claim => {
                let claims = pod.used_claims.iter();
                claims
                    .map(|claim| format!("{}/{}", pod.namespace, claim.name))
                    .collect()
            }
        };
        groups.sort_unstable();
        // Several shares of one device, or several results of it, put a pod into its group once.
        groups.dedup();
        groups
    }
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
    fn pods_are_in_the_order_that_was_asked_for_and_those_that_stay_are_last() {
        let report = report();
        for (order, names) in [
            (Order::Severity, ["late", "third", "soon"]),
            (Order::Time, ["soon", "third", "late"]),
            (Order::Namespace, ["soon", "third", "late"]),
            (Order::Workload, ["third", "soon", "late"]),
        ] {
            let mut pods: Vec<&Pod> = report.affected_pods.iter().collect();
            order.sort(&mut pods);
            let found: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
            assert_eq!(found[..3], names, "{order:?}");
            assert_eq!(found[3], "a-stays", "{order:?}");
        }
    }

    #[test]
    fn a_pod_is_in_every_group_that_it_belongs_to_once() {
        let report = Example::new().report();
        let pod = &report.affected_pods[0];
        for (_, by) in Grouping::ALL {
            let groups = by.groups(pod);
            assert!(!groups.is_empty(), "{by:?}");
            let mut once = groups.clone();
            once.dedup();
            assert_eq!(groups, once, "{by:?}");
        }
        let twice = Pod {
            used_claims: [pod.used_claims.clone(), pod.used_claims.clone()].concat(),
            ..pod.clone()
        };
        assert_eq!(
            Grouping::Device.groups(&twice),
            Grouping::Device.groups(pod)
        );
        let homeless = Pod {
            node: None,
            owner: None,
            workload: None,
            ..pod.clone()
        };
        assert_eq!(Grouping::Node.groups(&homeless), ["no node"]);
        let bare = format!("{}, no workload", homeless.namespace);
        assert_eq!(Grouping::Workload.groups(&homeless), [bare]);
    }
}
