//! Pods that cannot terminate while their node or driver is not running, and when the others are gone.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use super::facts::UnitPod;
use crate::engine::termination_blocker::{Publishers, driver_away, is_silent};
use crate::engine::{Impact, PodImpact};
use crate::model::{Kind, NodeName, Reading, Uid};
use crate::naming::phrase::{counted, few};

/// Whether the pods of a drain can terminate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terminations {
    /// The pods that cannot, with the reason, a line each.
    pub stuck: Vec<String>,
    /// Whether nodes could not be read, so that there may be more.
    pub is_unknown: bool,
}

impl Terminations {
    /// Those of `pods`, which are evicted or terminating; `impact` has them with their devices.
    #[must_use]
    pub fn of(pods: &[&UnitPod], impact: &Impact<'_>, reading: &Reading) -> Self {
        let uids: BTreeSet<&Uid> = pods.iter().map(|pod| &pod.uid).collect();
        let found = impact.pods.iter();
        let found: Vec<&PodImpact<'_>> = found.filter(|it| uids.contains(&it.pod.uid)).collect();
        let nodes: BTreeSet<NodeName> = found.iter().filter_map(|it| it.pod.node.clone()).collect();
        let publishers = Publishers::of(reading, &nodes);
        let published = impact.devices.iter().filter(|device| device.published);
        let published = published.map(|device| &device.id).collect();
        let obstacle = |it: &PodImpact<'_>| -> Option<String> {
            let name = it.pod.node.as_ref()?;
            let mut all = reading.snapshot.nodes.iter();
            let node = all.find(|node| node.name == *name);
            if is_silent(node, reading.known.contains(&Kind::Node)) {
                return Some(match node {
                    Some(_) => format!("node {name} is NotReady"),
                    None => format!("node {name} does not exist"),
                });
            }
            let driver = driver_away(it, &published, &publishers)?;
            Some(format!(
                "driver {driver} publishes no devices on node {name}"
            ))
        };
        let stuck = found.iter().filter_map(|it| {
            let why = obstacle(it)?;
            Some(format!("{} ({why})", it.pod.name))
        });
        Self {
            stuck: stuck.collect(),
            is_unknown: !nodes.is_empty() && reading.without(Kind::Node).is_some(),
        }
    }

    /// The expected time of a drain whose grace periods, and tolerations of effect NoExecute if it `tolerates`, last this
    /// long, in words.
    #[must_use]
    pub fn expected_time(&self, length: &str, tolerates: bool) -> String {
        if !self.stuck.is_empty() {
            return format!(
                "unknown, because {} cannot terminate until nodes and drivers are running again: {}",
                counted(self.stuck.len(), "pod"),
                few(&self.stuck)
            );
        }
        let caveat = if self.is_unknown {
            "; longer if a node is not running (nodes could not be read)"
        } else {
            ""
        };
        let what = if tolerates {
            "tolerations and grace periods"
        } else {
            "grace periods"
        };
        format!("up to {length} for {what}, plus the time until replacements are ready{caveat}")
    }
}

/// The time until the grace periods of terminating pods are over.
#[must_use]
pub fn rest_of_grace(pods: &[UnitPod], now: Timestamp) -> Duration {
    let ends = pods.iter().filter(|pod| pod.is_terminating);
    let rest = ends.filter_map(|pod| {
        let rest = pod.grace_period_end?.duration_since(now);
        Duration::try_from(rest).ok()
    });
    rest.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::pod_class::PodClass;
    use crate::decide::drain::testing::{unit_pod, used};
    use crate::engine::Verdict;
    use crate::model::{Gap, Node};
    use crate::report::testing::{after, impact, node, now, pod as running, reading, with_verdict};

    fn pod(name: &str, end: Option<Timestamp>) -> UnitPod {
        UnitPod {
            is_terminating: end.is_some(),
            grace_period_end: end,
            ..unit_pod(&running("team-a", name), PodClass::Unmanaged)
        }
    }

    fn reading_of(nodes: Vec<Node>) -> Reading {
        let mut reading = reading();
        reading.known.extend([Kind::Node, Kind::ResourceSlice]);
        reading.snapshot.nodes = nodes;
        reading
    }

    fn found(reading: &Reading) -> Terminations {
        let running = running("team-a", "train");
        let used = used();
        let mut of_pod = with_verdict(&running, Verdict::Evicted { at: now() });
        of_pod.claims = vec![used.claim_use()];
        let impact = impact(vec![of_pod]);
        Terminations::of(&[&pod("train", None)], &impact, reading)
    }

    #[test]
    fn a_pod_on_a_node_that_is_not_ready_cannot_terminate_nor_one_whose_driver_is_away() {
        let place = running("team-a", "train").node.expect("a node");
        let there = node(place.as_str());
        let mut lost = there.clone();
        lost.conditions[0].status = "Unknown".to_owned();
        let stuck = |reading: &Reading| found(reading).stuck.join(", ");
        assert_eq!(
            stuck(&reading_of(vec![lost])),
            format!("team-a/train (node {place} is NotReady)")
        );
        assert_eq!(
            stuck(&reading_of(Vec::new())),
            format!("team-a/train (node {place} does not exist)")
        );
        // Nothing is published on the node.
        let mut away = reading_of(vec![there]);
        away.snapshot.slices.clear();
        assert_eq!(
            stuck(&away),
            format!("team-a/train (driver gpu.example.com publishes no devices on node {place})")
        );
        let mut unread = reading_of(Vec::new());
        unread.known.remove(&Kind::Node);
        unread.known.remove(&Kind::ResourceSlice);
        unread.gaps = vec![Gap::of(Kind::Node, "denied")];
        let unread = found(&unread);
        assert_eq!((unread.stuck.len(), unread.is_unknown), (0, true));
        assert_eq!(
            unread.expected_time("30s", false),
            "up to 30s for grace periods, plus the time until replacements are ready; longer if a \
             node is not running (nodes could not be read)"
        );
    }

    #[test]
    fn the_rest_of_grace_periods_is_that_of_the_last_terminating_pod() {
        let rest = |pods: &[UnitPod]| rest_of_grace(pods, now()).as_secs();
        assert_eq!(rest(&[]), 0);
        assert_eq!(rest(&[pod("a", None), pod("b", Some(after(-60)))]), 0);
        assert_eq!(
            rest(&[pod("a", Some(after(20))), pod("b", Some(after(5)))]),
            20
        );
    }
}
