//! Pending evictions and releases of a rule, in words.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::table::first_of;
use super::taint::Taint;
use crate::engine::rule_lifecycle::{
    DeviceRelease, EvictionObstacle, NodeSchedulability, PendingEviction, TerminationFacts,
    pending_evictions,
};
use crate::engine::settle::Observation;
use crate::engine::termination_blocker::{
    DriverPresence, Publishers, TerminationBlocker, UnreleasedDriver,
};
use crate::engine::{DeviceTaint, Impact, Verdict};
use crate::model::{Affects, Gap, Kind, NodeHealth, Pod};
use crate::naming::duration::{exact_duration, human_duration};
use crate::naming::phrase::{counted, few, node_taints};

/// Advice if the controller writes no condition of a rule.
pub const NO_CONDITION: &str = "if this persists, check that kube-controller-manager runs \
    device-taint-eviction-controller, with the feature gate DRADeviceTaintRules enabled";

/// Remaining pod and its blocker, in one line.
pub fn remaining_line(remaining: &PendingEviction<'_>, now: Timestamp) -> String {
    let pod = remaining.pod;
    let node = match &pod.node {
        Some(node) => format!(" on {node}"),
        None => String::new(),
    };
    format!("{}{node}: {}", pod.name, why(&remaining.obstacle, now))
}

/// Obstacle of a pod, in words.
pub fn why(obstacle: &EvictionObstacle, now: Timestamp) -> String {
    let ago = |since: Timestamp| human_duration(now.duration_since(since));
    let left = |until: Timestamp| exact_duration(until.duration_since(now));
    match obstacle {
        // Less than a second is no delay that could be held against the controller.
        EvictionObstacle::Controller { since } if now.duration_since(*since).as_secs() == 0 => {
            "waits for eviction by the controller, due now".to_owned()
        }
        EvictionObstacle::Controller { since } => {
            format!(
                "waits for eviction by the controller, overdue by {}",
                ago(*since)
            )
        }
        EvictionObstacle::Tolerates { until } => {
            format!(
                "tolerates the taint for another {}, until {until}",
                left(*until)
            )
        }
        EvictionObstacle::GracePeriod { since, until, away } => format!(
            "terminating for {}, its grace period ends in {}{}",
            ago(*since),
            left(*until),
            match away {
                Some(NodeHealth::Gone) => ", and its node does not exist",
                Some(NodeHealth::NotReady) => ", and its node is not ready",
                Some(NodeHealth::Ready) | None => "",
            }
        ),
        EvictionObstacle::Stuck(blocker) => stuck(blocker, now),
        EvictionObstacle::Finalizers(names) => {
            let noun = if names.len() == 1 {
                "finalizer"
            } else {
                "finalizers"
            };
            format!("terminating, waits for {noun} {}", names.join(", "))
        }
        EvictionObstacle::Node(NodeHealth::Gone) => {
            "terminating, its node does not exist".to_owned()
        }
        EvictionObstacle::Node(NodeHealth::NotReady | NodeHealth::Ready) => {
            "terminating, its node is not ready".to_owned()
        }
        EvictionObstacle::Kubelet { since } => format!(
            "terminating, its grace period ended {} ago and its node has not reported the \
             termination",
            ago(*since)
        ),
    }
}

/// Time since when the pod waits for its blocker, and the latest end.
pub fn times(left: &PendingEviction<'_>) -> (Option<Timestamp>, Option<Timestamp>) {
    // Waiting beyond the grace period counts from its end.
    let overdue = left.pod.deletion.as_ref().map(|deletion| deletion.at);
    match &left.obstacle {
        EvictionObstacle::Controller { since } => (Some(*since), None),
        EvictionObstacle::Tolerates { until } => (None, Some(*until)),
        EvictionObstacle::GracePeriod { since, until, .. } => (Some(*since), Some(*until)),
        EvictionObstacle::Kubelet { since }
        | EvictionObstacle::Stuck(
            TerminationBlocker::Driver { since, .. } | TerminationBlocker::Sandbox { since },
        ) => (Some(*since), None),
        EvictionObstacle::Finalizers(_) | EvictionObstacle::Node(_) => (overdue, None),
    }
}

/// Advice about a driver that holds devices.
const DRIVER_ADVICE: &str = "force deletion would release the claim in the API, but not the device";

/// Blocker of a pod whose containers have ended, in words.
pub(in crate::report) fn stuck(blocker: &TerminationBlocker, now: Timestamp) -> String {
    let ago = |since: &Timestamp| human_duration(now.duration_since(*since));
    match blocker {
        TerminationBlocker::Driver { holders, since } if holders.is_empty() => format!(
            "its containers have ended, but an unknown driver has not released its devices for {}",
            ago(since)
        ),
        TerminationBlocker::Driver { holders, since } => {
            let holders: Vec<String> = holders.iter().map(|one| holder(one, now)).collect();
            format!(
                "its containers have ended, and its devices have not been released for {}: restart {}; \
                 {DRIVER_ADVICE}",
                ago(since),
                holders.join(", or ")
            )
        }
        TerminationBlocker::Sandbox { since } => format!(
            "its containers have ended, and its sandbox has not been stopped for {}: check the pod's \
             events; the usual cause is the network plugin",
            ago(since)
        ),
    }
}

/// A driver that may hold devices, and whether it works.
fn holder(holder: &UnreleasedDriver, now: Timestamp) -> String {
    let driver = &holder.driver;
    match holder.presence {
        DriverPresence::Published => {
            format!("driver {driver}, which may hang, fail, or have stopped less than a minute ago")
        }
        DriverPresence::Gone { seen: None } => {
            format!("driver {driver}, which no longer publishes devices on the node")
        }
        DriverPresence::Gone { seen: Some(seen) } => format!(
            "driver {driver}, which has published no devices on the node for at least {}",
            human_duration(now.duration_since(seen))
        ),
        DriverPresence::Unknown => format!("driver {driver}"),
    }
}

/// Progress of an eviction: `3 gone, 1 terminating, 2 not yet evicted`. A pod to be evicted that has ended is
/// gone but for its object.
pub fn progress_line(remaining: &[PendingEviction<'_>], seen: &Observation<'_>) -> String {
    let terminating = remaining
        .iter()
        .filter(|left| left.obstacle.is_terminating())
        .count();
    let waiting = remaining.len().saturating_sub(terminating);
    // Pods that are no longer evicted are still there, and not gone.
    let there = remaining.len().saturating_add(seen.spared);
    let gone = seen.all.saturating_sub(there).saturating_sub(seen.ended);
    let more: String = [
        (seen.ended, "ended"),
        (seen.spared, "no longer to be evicted"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!(", {count} {what}"))
    .collect();
    format!("{gone} gone, {terminating} terminating, {waiting} not yet evicted{more}")
}

/// The pod that will take longest as far as that can be known: one without a time, else the one with the latest.
pub fn slowest<'r, 'a>(remaining: &'r [PendingEviction<'a>]) -> Option<&'r PendingEviction<'a>> {
    // First by the next event, from the controller's turn to repairs by hand: only times of one kind compare.
    let key = |left: &&PendingEviction<'_>| match &left.obstacle {
        EvictionObstacle::Controller { since } => (0, *since),
        EvictionObstacle::GracePeriod { until, .. } => (1, *until),
        EvictionObstacle::Tolerates { until } => (2, *until),
        EvictionObstacle::Kubelet { since } => (3, *since),
        EvictionObstacle::Node(_) => (4, Timestamp::MAX),
        EvictionObstacle::Finalizers(_) => (5, Timestamp::MAX),
        EvictionObstacle::Stuck(_) => (6, Timestamp::MAX),
    };
    remaining.iter().max_by_key(key)
}

/// Devices that the removal of taints frees, and the reasons why others stay unallocatable, a line each; nothing is free
/// where one of these kinds is `unread`.
pub fn release_lines(released: &[DeviceRelease<'_>], unread: &BTreeSet<Kind>) -> Vec<String> {
    // By reason, so that a cordoned node with many devices is one line; free devices come first.
    let mut reasons: BTreeMap<(bool, String), Vec<String>> = BTreeMap::new();
    for device in released {
        let why = not_free(device, unread);
        let reason = why.clone().unwrap_or("schedulable again".to_owned());
        let devices = reasons.entry((why.is_some(), reason)).or_default();
        devices.push(device.device.to_string());
    }
    let lines = reasons.into_iter();
    lines
        .map(|((_, why), devices)| {
            let count = counted(devices.len(), "device");
            format!("{count} {why}: {}", few(&devices))
        })
        .collect()
}

/// Reason that keeps a device from being allocated, or for which that is unknown.
fn not_free(device: &DeviceRelease<'_>, unread: &BTreeSet<Kind>) -> Option<String> {
    // Slices and rules hold the other taints of a device; a claim holds it whatever taints it.
    let deciding = [Kind::ResourceSlice, Kind::DeviceTaintRule];
    if let Some(kind) = deciding.iter().find(|kind| unread.contains(kind)) {
        return Some(format!("perhaps still tainted, {kind}s could not be read"));
    }
    if !device.remaining.is_empty() {
        let taints: Vec<String> = device.remaining.iter().map(whose).collect();
        return Some(format!("still tainted by {}", taints.join(", ")));
    }
    let claims = device.claims.iter().map(|claim| claim.name.to_string());
    if let claims @ [_, ..] = &*claims.collect::<Vec<String>>() {
        let claims = first_of(claims);
        return Some(format!("untainted, still allocated to {claims}"));
    }
    if unread.contains(&Kind::ResourceClaim) {
        return Some("untainted, allocation unknown".to_owned());
    }
    unallocatable(device).map(|why| format!("untainted, {why}"))
}

/// Other reasons that keep a device from being allocated that no claim holds and nothing taints.
fn unallocatable(device: &DeviceRelease<'_>) -> Option<String> {
    if !device.is_published {
        return Some("not published by its driver".to_owned());
    }
    // Use comes before the state of the node: uncordoning it would not free a device in use.
    if !device.partition_pods.is_empty() {
        let pods = device.partition_pods.len();
        return Some(format!(
            "but in use through partitions (pods per device: {pods})"
        ));
    }
    if device.is_blocked_partition {
        return Some(
            "but other devices of the same hardware use up the shared counters".to_owned(),
        );
    }
    let node = device.node.as_ref()?;
    let name = &node.name;
    match &node.schedulability {
        NodeSchedulability::Open => None,
        NodeSchedulability::Cordoned => Some(format!("but node {name} is cordoned")),
        NodeSchedulability::NotReady => Some(format!("but node {name} is not ready")),
        // Without its name, so that many nodes that are reserved alike are one line.
        NodeSchedulability::Tainted(keys) => Some(format!(
            "schedulable only for pods that tolerate {}",
            node_taints(keys)
        )),
        NodeSchedulability::Gone => Some(format!("but node {name} does not exist")),
        NodeSchedulability::Unknown => Some(format!("but the status of node {name} is unknown")),
    }
}

/// Observation of a lowered effect.
#[derive(Clone, Copy, Debug)]
pub struct DowngradeObservation {
    /// The server's clock before the first rule was changed; nothing where it is not known.
    pub pulled: Option<Timestamp>,
    /// True if the controller has observed the rules as they are since.
    pub confirmed: bool,
    /// Time of the observation.
    pub now: Timestamp,
}

impl DowngradeObservation {
    /// True if the pod had its node before the effect was lowered: pods scheduled since, on devices that
    /// became schedulable by it, were never to be evicted.
    fn was_there(&self, pod: &Pod) -> bool {
        let said = pod.scheduling.as_ref().and_then(|it| it.said.as_ref());
        let placed = said.and_then(|said| said.since);
        placed
            .zip(self.pulled)
            // Where a time is unknown the pod counts as one that was there: leaving it out might hide an eviction.
            .is_none_or(|(placed, pulled)| placed < pulled)
    }
}

/// Result of a deescalation for the pods of its rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DowngradeImpact {
    /// Pods that were to be evicted, and are not.
    pub cancelled: usize,
    /// True if the controller has observed the rules as they are since.
    pub confirmed: bool,
    /// Pods that will be evicted all the same, by other taints.
    pub still: usize,
    /// Pods that were evicted already and are terminating, by name.
    pub terminating: Vec<String>,
    /// Missing data: there may be more of each.
    pub unknown: Vec<String>,
}

impl DowngradeImpact {
    /// Evictions that the considered rules of `impact` would have done, with the gaps.
    pub fn of(impact: &Impact<'_>, gaps: &[Gap], downgrade: &DowngradeObservation) -> Self {
        let evicted = impact.pods.iter().filter(|pod| match pod.verdict {
            Verdict::Evicted { .. } => downgrade.was_there(pod.pod),
            Verdict::Tolerates | Verdict::Terminating | Verdict::NotEvicted(_) => false,
        });
        let (still, cancelled): (Vec<_>, Vec<_>) = evicted.partition(|pod| pod.has_foreign_cause());
        // A terminating pod is known without the facts around it.
        let around = TerminationFacts {
            claims: &[],
            nodes: &BTreeMap::new(),
            publishers: &Publishers::default(),
        };
        let left = pending_evictions(impact, &around, downgrade.now);
        let terminating = left.iter().filter(|left| left.obstacle.is_terminating());
        let unknown = gaps.iter().filter(|gap| gap.affects == Affects::Evictions);
        Self {
            cancelled: cancelled.len(),
            confirmed: downgrade.confirmed,
            still: still.len(),
            terminating: terminating.map(|left| left.pod.name.to_string()).collect(),
            unknown: unknown.map(|gap| gap.what.clone()).collect(),
        }
    }
}

/// Line about the evictions of rules whose effect was lowered.
pub fn downgraded_line(downgraded: &DowngradeImpact) -> String {
    let cancelled = if downgraded.confirmed {
        "evictions cancelled"
    } else {
        "evictions pending, not yet confirmed as cancelled by the controller"
    };
    let mut parts = vec![format!("{cancelled}: {}", downgraded.cancelled)];
    if !downgraded.terminating.is_empty() {
        let names = few(&downgraded.terminating);
        // In front of the others, since nothing can be done about these pods any more.
        parts.insert(
            0,
            format!("already terminating, which cannot be undone: {names}"),
        );
    }
    if downgraded.still > 0 {
        parts.push(format!(
            "pods still evicted, by other taints: {}",
            downgraded.still
        ));
    }
    if !downgraded.unknown.is_empty() {
        let unknown = downgraded.unknown.join(", ");
        parts.push(format!(
            "not read, so there may be more evictions: {unknown}"
        ));
    }
    parts.join("; ")
}

fn whose(taint: &DeviceTaint<'_>) -> String {
    Taint::present(taint, &[]).cell()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    fn seen(pulled: Option<Timestamp>, confirmed: bool) -> DowngradeObservation {
        DowngradeObservation {
            pulled,
            confirmed,
            now: testing::now(),
        }
    }

    #[test]
    fn what_the_scheduler_placed_after_the_brake_was_never_to_be_evicted() {
        let placed = |name: &str, seconds: i64| {
            let mut pod = testing::pod("team-a", name);
            pod.scheduling = Some(Box::new(crate::model::Scheduling {
                said: Some(crate::model::Scheduled {
                    is_scheduled: true,
                    since: Some(testing::after(seconds)),
                    ..crate::model::Scheduled::default()
                }),
                ..crate::model::Scheduling::default()
            }));
            pod
        };
        let pods = [placed("before", -60), placed("with", 0), placed("after", 1)];
        let evicted = pods.iter().map(|pod| testing::evicted(pod, 0)).collect();
        let impact = testing::impact(evicted);
        let downgraded = |pulled, confirmed| {
            let seen = seen(pulled, confirmed);
            DowngradeImpact::of(&impact, &[], &seen)
        };
        let pulled = Some(testing::after(0));
        assert_eq!(downgraded(pulled, true).cancelled, 1);
        assert_eq!(
            downgraded_line(&downgraded(pulled, true)),
            "evictions cancelled: 1"
        );
        // The cancellation was not observed.
        assert_eq!(
            downgraded_line(&downgraded(pulled, false)),
            "evictions pending, not yet confirmed as cancelled by the controller: 1"
        );
        assert_eq!(downgraded(None, false).cancelled, 3);
    }

    #[test]
    fn the_brake_says_what_it_cannot_know() {
        let example = testing::Example::new();
        let impact = example.impact();
        let downgraded =
            |kind| DowngradeImpact::of(&impact, &[Gap::of(kind, "denied")], &seen(None, true));
        assert_eq!(downgraded(Kind::ResourceClaim).unknown, ["resourceclaims"]);
        let without_slices = downgraded(Kind::ResourceSlice);
        assert!(without_slices.unknown.is_empty(), "slices do not decide");
        assert!(without_slices.cancelled > 0, "{without_slices:?}");
    }

    #[test]
    fn who_waits_for_somebody_else_is_slower_than_who_waits_for_a_time() {
        let pod = testing::pod("team-a", "train-0");
        let left = |obstacle| PendingEviction {
            pod: &pod,
            obstacle,
        };
        let all = [
            left(EvictionObstacle::Finalizers(vec!["a/b".to_owned()])),
            left(EvictionObstacle::Tolerates {
                until: testing::after(300),
            }),
            left(EvictionObstacle::Controller {
                since: testing::now(),
            }),
        ];
        assert_eq!(slowest(&all), Some(&all[0]));
    }
}
