//! Past evictions of a rule, as far as events and pods still show them.
//!
//! From events, pods, what makes pods, and their conditions. Events name pods and no rule, and are forgotten after an
//! hour: what they leave open is said.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::earlier_evictions::{EVICTS, evicted_earlier, is_since, may_have_evicted};
use super::evicted::{self, EvictedPod};
use super::evicted_again::{Evictions, with_repetitions};
use super::evicted_daemon;
use super::evicted_workload::{
    EvictedWorkload, Makers, Tops, is_pending, name_of, outcome_of_replacement, pending_since,
};
use super::reference::{self, Owner};
use super::table::Table;
use super::time::Time;
use crate::assess::EvictedOutcome;
use crate::engine::condition::evicted_since_controller_start;
use crate::engine::{Cause, Impact, PodImpact};
use crate::model::{
    DeviceTaintRule, Effect, Event, JobEnd, Kind, NamespacedName, NodeName, Pod, Reading, Uid,
};
use crate::naming::phrase::{counted, few};

/// How long a server keeps events, unless it is told otherwise: `--event-ttl` of kube-apiserver.
const KEPT: SignedDuration = SignedDuration::from_hours(1);

/// Past evictions of a rule that can still be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleHistory {
    /// Whether events about evictions could be read; if false, evictedPods is empty although the rule may
    /// have evicted pods.
    pub events_known: bool,
    /// Number of pods that the rule has evicted since the eviction controller started, according to the rule's
    /// status; null if the status has no count.
    pub controller_evicted_pod_count: Option<usize>,
    /// Pods that the rule evicted, or may have evicted (see `certain`), the earliest eviction first.
    pub evicted_pods: Vec<EvictedPod>,
    /// Pods that no longer exist, and whose eviction the controller announced and then cancelled: it may have evicted them.
    #[serde(skip)]
    pub cancelled_evictions: Vec<EvictedPod>,
    /// Failed Jobs of the pods in `evictedPods`, each with the reason.
    pub failed_jobs: Vec<FailedJob>,
    /// Pods that replace pods in `evictedPods` and are not running yet.
    pub pending_pods: Vec<PendingPod>,
    /// What is unknown about past evictions, and why, as text: data could not be read, is no longer available, or was
    /// never recorded. Empty if nothing is unknown.
    pub unknown: Vec<String>,
}

/// A Job that has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedJob {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Reason of the Job's condition; empty if it has none.
    pub reason: String,
}

/// A pod that does not run yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingPod {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// UID of the pod; a later pod of the same name has another UID. Null if unknown.
    pub uid: Option<String>,
    /// The controller of the pod, such as a ReplicaSet.
    pub workload: Owner,
}

/// What a history is made from.
#[derive(Clone, Copy, Debug)]
pub struct HistorySources<'a> {
    /// The rule.
    pub rule: &'a DeviceTaintRule,
    /// What it does now, as the only considered taint.
    pub impact: &'a Impact<'a>,
    /// What was reported about evictions.
    pub events: &'a [Event],
    /// All pods that use claims, and what makes pods.
    pub reading: &'a Reading,
    /// What the server's clock said.
    pub now: Timestamp,
}

/// What the controller noted on a pod since the rule is there.
struct PodEvents<'a> {
    /// The last event: the controller may cancel a deletion that it has announced.
    last: &'a Event,
    /// Whether one of the events announced the deletion.
    announced: bool,
}

/// The events of pods by UID and name, which only together identify a pod: event writers may set any UID.
type EventsOfPods<'a> = BTreeMap<(&'a Uid, &'a NamespacedName), PodEvents<'a>>;

/// Pods by their UIDs: events are many.
struct KnownPods<'a> {
    /// Those that are there.
    there: BTreeMap<&'a Uid, &'a Pod>,
    /// Those that the rule hits, with all that evicts each.
    hit: BTreeMap<&'a Uid, &'a PodImpact<'a>>,
    /// Those for which an allocated claim is reserved.
    holding: BTreeSet<&'a Uid>,
}

impl RuleHistory {
    /// What the rule has done.
    #[must_use]
    pub fn new(sources: &HistorySources<'_>) -> Self {
        let known = sources.known();
        let events = sources.pod_events();
        let evictions = sources.evictions(&events, &known);
        let cancelled = sources.cancelled(&events, &known);
        let gone: BTreeSet<&Uid> = evictions.iter().map(|event| &event.about.uid).collect();
        let makers = Makers::of(sources.reading, &gone);
        let evicted: Vec<EvictedPod> = evictions
            .iter()
            .map(|event| sources.evicted(event, &known, &makers, &gone))
            .collect();
        let cancelled_evictions = cancelled
            .iter()
            .map(|event| sources.evicted(event, &known, &makers, &gone))
            .collect();
        let Makers {
            workloads, tops, ..
        } = &makers;
        let rule_nodes = sources.rule_nodes();
        let Evictions {
            pods: mut evicted,
            replacements,
        } = with_repetitions(evicted, workloads, tops, rule_nodes.as_ref());
        // By what is counted: a pod of any ReplicaSet of a Deployment replaces those of the others.
        let mut first: BTreeMap<(&str, Owner), Option<Timestamp>> = BTreeMap::new();
        for pod in &evicted {
            let at = pod.eviction_time.map(|at| at.0);
            if let Some(workload) = &pod.workload {
                let known = first
                    .entry((pod.namespace.as_str(), tops.get(&pod.namespace, workload)))
                    .or_insert(at);
                // An unknown time is less than any other: then no pending pod is ruled out as too early.
                *known = (*known).min(at);
            }
        }
        let is_of_them = |namespace: &str, workload: &Owner| {
            first.contains_key(&(namespace, tops.get(namespace, workload)))
        };
        // A pod that could not be scheduled before the first eviction replaces nobody.
        let is_later = |pod: &Pod, workload: &Owner| {
            let namespace = pod.name.namespace.as_str();
            let first = first.get(&(namespace, tops.get(namespace, workload)));
            first
                .copied()
                .flatten()
                .zip(pending_since(pod))
                .is_none_or(|(first, since)| since >= first)
        };
        let failed = workloads.iter().filter_map(|maker| {
            let workload = maker.workload;
            let namespace = workload.name.namespace.as_str();
            let reason = match workload.failure.as_ref()?.ended.as_ref()? {
                JobEnd::Failed(reason) => reason.clone(),
                JobEnd::Complete => return None,
            };
            is_of_them(namespace, &name_of(maker.kind, workload)).then(|| FailedJob {
                namespace: namespace.to_owned(),
                name: workload.name.name.to_string(),
                reason,
            })
        });
        let pending = sources.reading.snapshot.pods.iter().filter_map(|pod| {
            let workload = Owner::from(pod.controller.as_ref()?);
            let namespace = pod.name.namespace.as_str();
            let replaces = is_of_them(namespace, &workload) && is_later(pod, &workload);
            // A DaemonSet's pod replaces only one of the same node.
            let is_of_node =
                replacements.contains(&pod.uid) || !workloads.iter().any(|it| it.is_daemon_of(pod));
            let is_new = is_pending(pod) && !gone.contains(&pod.uid);
            (replaces && is_of_node && is_new).then(|| PendingPod {
                namespace: namespace.to_owned(),
                name: pod.name.name.to_string(),
                uid: reference::known(&pod.uid),
                workload,
            })
        });
        let failed_jobs = failed.collect();
        let pending: Vec<PendingPod> = pending.collect();
        share_out(&pending, &mut evicted, tops);
        Self {
            failed_jobs,
            pending_pods: pending,
            controller_evicted_pod_count: evicted_since_controller_start(sources.rule),
            events_known: sources.reading.without(Kind::Event).is_none(),
            unknown: sources.not_known(&evicted, &cancelled, &makers),
            evicted_pods: evicted,
            cancelled_evictions,
        }
    }

    /// The history in a few lines.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.known_lines();
        lines.extend(self.unknown.iter().map(|line| format!("unknown: {line}")));
        lines
    }

    /// The history for a report that has already given the reason why events could not be read.
    #[must_use]
    pub fn lines_without_event_gap(&self) -> Vec<String> {
        // Without events, the first unknown thing is all past evictions, with that reason.
        let reasons = usize::from(!self.events_known);
        let mut lines = self.known_lines();
        if !self.events_known {
            lines.push("past evictions: unknown".to_owned());
        }
        let unknown = self.unknown.iter().skip(reasons);
        lines.extend(unknown.map(|line| format!("unknown: {line}")));
        lines
    }

    /// The lines of what is known; none about evictions if there are no events.
    fn known_lines(&self) -> Vec<String> {
        let certain = self.evicted_pods.iter().filter(|pod| pod.certain).count();
        let possible = self.evicted_pods.len().saturating_sub(certain);
        let evicted = match (certain, possible) {
            (0, 0) if !self.events_known => None,
            (0, 0) => Some("no eviction found".to_owned()),
            (certain, 0) => Some(format!(
                "{} evicted, according to existing events",
                counted(certain, "pod")
            )),
            (0, possible) => Some(format!(
                "{} evicted by this rule or another taint, according to existing events",
                counted(possible, "pod")
            )),
            (certain, possible) => Some(format!(
                "{} evicted by this rule, {possible} more by this rule or by another taint (which of them is unknown), according \
                 to existing events",
                counted(certain, "pod")
            )),
        };
        let mut lines: Vec<String> = evicted.into_iter().collect();
        // Events do not name the rule; its status counts its own evictions, until the controller starts anew.
        if let Some(counted_by_status) = self.controller_evicted_pod_count
            && possible > 0
        {
            lines.push(format!(
                "the rule's status, which is updated with a delay, counts {} evicted by this rule since the \
                 eviction controller started",
                counted(counted_by_status, "pod")
            ));
        }
        let jobs = self.failed_jobs.iter().map(|job| {
            let reason = match job.reason.as_str() {
                "" => String::new(),
                reason => format!(": {reason}"),
            };
            format!("Job {}/{} has failed{reason}", job.namespace, job.name)
        });
        lines.extend(jobs);
        let pending = self.pending_pods.iter().map(|pod| {
            let (namespace, name, workload) = (&pod.namespace, &pod.name, &pod.workload);
            format!("pod {namespace}/{name} of {workload} is pending")
        });
        lines.extend(pending);
        lines
    }

    /// The evicted pods, a row each, but for many that came to the same.
    #[must_use]
    pub fn table(&self) -> Table {
        evicted::table(&self.evicted_pods)
    }

    /// One line for each of these rows.
    #[must_use]
    pub fn evicted_lines(&self) -> Vec<String> {
        evicted::lines(&self.evicted_pods)
    }
}

impl<'a> HistorySources<'a> {
    /// The controller's events about each pod since the rule is there.
    fn pod_events(&self) -> EventsOfPods<'a> {
        let created = self.rule.metadata.created;
        let mut found: EventsOfPods<'a> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.about.kind == "Pod") {
            let is_older = event.last.zip(created).is_some_and(|(at, made)| at < made);
            // Its only change gave it the effect that evicts; after more changes it may have had it before.
            let was_harmless = self.rule.generation == 2 && !is_since(event, self.rule);
            if is_older || was_harmless {
                continue;
            }
            let key = (&event.about.uid, &event.about.name);
            let of_pod = found.entry(key).or_insert(PodEvents {
                last: event,
                announced: false,
            });
            of_pod.announced |= event.message.starts_with(EVICTS);
            // Times have a precision of seconds: of two events in one second, the later of the list counts.
            if of_pod.last.last <= event.last {
                of_pod.last = event;
            }
        }
        found
    }

    /// Whether the rule has or may have had an effect that evicts.
    fn may_have_evicted(&self) -> bool {
        // A rule that is gone may have had any effect, and says none.
        self.is_gone() || may_have_evicted(self.rule)
    }

    /// Whether nothing is known of the rule but its name.
    fn is_gone(&self) -> bool {
        self.rule.generation == 0
    }

    /// The last event of each evicted pod, unless the controller cancelled the deletion; without pods that still exist
    /// and that another rule evicts.
    fn evictions(&self, events: &EventsOfPods<'a>, known: &KnownPods<'_>) -> Vec<&'a Event> {
        let may_have = self.may_have_evicted();
        let earlier = evicted_earlier(self.rule, self.impact, self.events).into_iter();
        let earlier: BTreeSet<&Uid> = earlier.map(|pod| &pod.uid).collect();
        let is_ours = |event: &&Event| {
            let uid = &event.about.uid;
            // A pod that holds devices shows which taints evict it; of one that is gone or has released them, only the past
            // of the rule is known.
            event.message.starts_with(EVICTS)
                && match known.there.get(uid) {
                    Some(pod) if pod.deletion.is_none() => known.hit.contains_key(uid),
                    // A rule that is gone selects no device any more that would show it.
                    Some(_) if !self.is_gone() && known.holding.contains(uid) => {
                        known.hit.contains_key(uid) || earlier.contains(uid)
                    }
                    Some(_) | None => may_have,
                }
        };
        let last = events.values().map(|of_pod| of_pod.last);
        let mut evictions: Vec<&'a Event> = last.filter(is_ours).collect();
        evictions.sort_by_key(|event| (event.last, event.about.name.clone()));
        evictions
    }

    /// The last events of pods that no longer exist, and whose deletion was announced and then cancelled.
    ///
    /// The controller announces a deletion before it sends it, and cancels it if the claim is released before it has
    /// noted its success: the pod may have been evicted, or deleted later by another client.
    ///
    /// Upstream: `maybeDeletePod` and `cancelWorkWithEvent` in `device_taint_eviction.go`.
    fn cancelled(&self, events: &EventsOfPods<'a>, known: &KnownPods<'_>) -> Vec<&'a Event> {
        if !self.may_have_evicted() {
            return Vec::new();
        }
        let cancelled = events.iter().filter(|((uid, _), of_pod)| {
            let is_cancelled = of_pod.announced && !of_pod.last.message.starts_with(EVICTS);
            is_cancelled && !known.there.contains_key(*uid)
        });
        cancelled.map(|(_, of_pod)| of_pod.last).collect()
    }

    fn known(&self) -> KnownPods<'a> {
        let there = self.reading.snapshot.pods.iter();
        let hit = self
            .impact
            .pods
            .iter()
            .filter(|pod| pod.causes.iter().any(Cause::is_proposed));
        let allocated = self.reading.snapshot.claims.iter();
        let allocated = allocated.filter(|claim| claim.allocation.is_some());
        let users = allocated.flat_map(|claim| &claim.reserved_for);
        KnownPods {
            holding: users.map(|user| &user.uid).collect(),
            there: there.map(|pod| (&pod.uid, pod)).collect(),
            hit: hit.map(|pod| (&pod.pod.uid, pod)).collect(),
        }
    }

    /// The nodes of the rule's devices; absent if it selects none, or one that is local to no node.
    fn rule_nodes(&self) -> Option<BTreeSet<NodeName>> {
        let nodes = self
            .impact
            .devices
            .iter()
            .map(|device| device.node.cloned());
        let nodes: Option<BTreeSet<NodeName>> = nodes.collect();
        nodes.filter(|nodes| !nodes.is_empty())
    }

    fn evicted(
        &self,
        event: &Event,
        known: &KnownPods<'_>,
        makers: &Makers<'_>,
        gone: &BTreeSet<&Uid>,
    ) -> EvictedPod {
        let name = &event.about.name;
        let there = known.there.get(&event.about.uid);
        let maker = makers.maker_of(name);
        let of_pod = there.and_then(|pod| pod.controller.as_ref());
        EvictedPod {
            namespace: name.namespace.to_string(),
            name: name.name.to_string(),
            uid: reference::known(&event.about.uid),
            eviction_time: event.last.map(Time),
            workload: of_pod
                .map(Owner::from)
                .or_else(|| maker.map(|maker| name_of(maker.kind, maker.workload))),
            node: there.and_then(|pod| pod.node.as_ref().map(ToString::to_string)),
            after_eviction: match there {
                Some(_) => EvictedOutcome::Terminating,
                // Deployments that were not read may have made it.
                None if maker.is_none() && makers.may_be_of_unread_deployment(name) => {
                    EvictedOutcome::Unknown
                }
                None => self.outcome(event, maker, gone),
            },
            certain: known
                .hit
                .get(&event.about.uid)
                .is_some_and(|pod| !pod.has_foreign_cause()),
        }
    }

    /// What became of a pod that is gone and that the workload made, if any did.
    fn outcome(
        &self,
        event: &Event,
        maker: Option<&EvictedWorkload<'_>>,
        gone: &BTreeSet<&Uid>,
    ) -> EvictedOutcome {
        let pods = &self.reading.snapshot.pods;
        // A StatefulSet gives the name to the next pod, which may have been evicted since as well, and which it may be
        // deleting by now.
        let mut others = pods
            .iter()
            .filter(|pod| !gone.contains(&pod.uid) && (maker.is_none() || pod.deletion.is_none()));
        if let Some(again) = others.find(|pod| pod.name == event.about.name) {
            return outcome_of_replacement(again);
        }
        let Some(maker) = maker else {
            // The workload of the pod may be among those that were not read.
            let is_all_known = self.unread().is_empty();
            return if is_all_known {
                EvictedOutcome::NotCreatedAgain
            } else {
                EvictedOutcome::Unknown
            };
        };
        let ended = maker.workload.failure.as_ref();
        match ended.and_then(|job| job.ended.as_ref()) {
            Some(JobEnd::Complete) => return EvictedOutcome::JobComplete,
            Some(JobEnd::Failed(_)) => return EvictedOutcome::NotCreatedAgain,
            None => {}
        }
        // A pod that was pending before the eviction replaces another one.
        let is_later = |pod: &Pod| {
            let times = event.last.zip(pending_since(pod));
            is_pending(pod) && times.is_none_or(|(at, since)| since >= at)
        };
        let wanted = maker.wanted();
        if wanted == Some(0) {
            return EvictedOutcome::ScaledDown;
        }
        // In an incomplete list, pods that are missing may exist.
        if self.reading.without(Kind::Pod).is_some() {
            return EvictedOutcome::Unknown;
        }
        match wanted {
            None => EvictedOutcome::Unknown,
            Some(wanted) if maker.live.len() < wanted => EvictedOutcome::Missing,
            // It is a pod of this name that would replace it, and the other pods are all that are desired.
            Some(_) if maker.kind == Kind::StatefulSet => EvictedOutcome::ScaledDown,
            Some(_) if maker.live.iter().any(|pod| is_later(pod)) => EvictedOutcome::Pending,
            Some(_) => EvictedOutcome::CreatedAgain,
        }
    }

    /// Whether another rule or a driver evicts too, which leaves open whose doing it was.
    fn others_evict(&self) -> bool {
        let snapshot = &self.reading.snapshot;
        let mut rules = snapshot.rules.iter();
        let mut devices = snapshot.slices.iter().flat_map(|slice| &slice.devices);
        rules.any(|rule| rule.uid != self.rule.uid && rule.taint.effect == Effect::NoExecute)
            || devices.any(|device| {
                let mut taints = device.taints.iter();
                taints.any(|taint| taint.effect == Effect::NoExecute)
            })
    }

    /// The kinds that tell what became of a pod, as far as they were not read.
    fn unread(&self) -> Vec<Kind> {
        let kinds = Kind::POD_MAKERS.into_iter().chain([Kind::Pod]);
        kinds
            .filter(|kind| self.reading.without(*kind).is_some())
            .collect()
    }

    fn not_known(
        &self,
        evicted: &[EvictedPod],
        cancelled: &[&Event],
        makers: &Makers<'_>,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(gap) = self.reading.without(Kind::Event) {
            // The gap ends with its consequence, which this line begins with.
            let reason = gap.why.strip_suffix(Kind::Event.without());
            let reason = reason.and_then(|reason| reason.strip_suffix(": "));
            lines.push(format!(
                "past evictions, because {}",
                reason.unwrap_or(&gap.why)
            ));
        }
        if !cancelled.is_empty() {
            let cancelled = cancelled.iter().map(|event| event.about.name.to_string());
            let cancelled: Vec<String> = cancelled.collect();
            lines.push(format!(
                "whether the controller evicted {}: it announced an eviction and then cancelled it, so \
                 another client may have deleted the pod",
                few(&cancelled)
            ));
        }
        let from = self.now.checked_sub(KEPT).unwrap_or(Timestamp::MIN);
        let created = self.rule.metadata.created;
        // No event about a rule that is younger has been deleted yet, by the default of the server.
        if created.is_none_or(|created| created < from) {
            // Without a time of its own: a wait that looks again says it once.
            lines.push(
                "evictions more than an hour ago: the server deletes events after an hour, unless \
                 configured otherwise"
                    .to_owned(),
            );
        }
        if self.others_evict() && evicted.iter().any(|pod| !pod.certain) {
            lines.push(
                "which rule evicted pods that no longer exist: other taints evict too, and events \
                 do not record the rule"
                    .to_owned(),
            );
        }
        let mut unread = self.unread();
        if makers.needs_deployments(evicted) {
            unread.push(Kind::Deployment);
        }
        if unread.is_empty() {
            lines.extend(evicted_daemon::unknown_nodes(evicted));
            lines.extend(makers.unknown_replacements(evicted));
        }
        // Without events there is no evicted pod whose outcome could be asked for.
        if !unread.is_empty() && self.reading.without(Kind::Event).is_none() {
            let kinds: Vec<&str> = unread.iter().map(|kind| kind.plural()).collect();
            lines.push(format!(
                "the outcome of evicted pods, because {} were not read",
                kinds.join(" and ")
            ));
        }
        lines
    }
}

/// Lets one pending pod stand for one evicted pod of its workload, the last ones: the others run again.
fn share_out(pending: &[PendingPod], evicted: &mut [EvictedPod], tops: &Tops) {
    let mut left: BTreeMap<(&str, Option<Owner>), usize> = BTreeMap::new();
    for pod in pending {
        let top = tops.get(&pod.namespace, &pod.workload);
        let workload = (pod.namespace.as_str(), Some(top));
        let count = left.entry(workload).or_default();
        *count = count.saturating_add(1);
    }
    // The pods of a DaemonSet are already told apart by their nodes.
    let of_workloads = evicted.iter_mut().filter(|pod| {
        let workload = pod.workload.as_ref();
        workload.is_some_and(|owner| owner.kind != Kind::DaemonSet.as_str())
    });
    let is_pending = |pod: &&mut EvictedPod| pod.after_eviction == EvictedOutcome::Pending;
    for pod in of_workloads.filter(is_pending).rev() {
        let workload = pod.workload.as_ref();
        let top = workload.map(|workload| tops.get(&pod.namespace, workload));
        let left = left.get_mut(&(pod.namespace.as_str(), top));
        match left.filter(|left| **left > 0) {
            Some(left) => *left = left.saturating_sub(1),
            None => pod.after_eviction = EvictedOutcome::CreatedAgain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{self, ProposedTaint};
    use crate::model::{
        Controller, DaemonSet, Deletion, Deployment, DisruptionAction, EventSubject,
        EvictionCondition, FailurePolicy, Job, NodeRequirement, NodeSelector, NodeTerm, Phase,
        ReplicaSet, RuleMetadata, Scheduled, Scheduling, Snapshot, StatefulSet, Workload,
    };
    use crate::report::testing;

    fn rule(name: &str, created: i64) -> DeviceTaintRule {
        let proposed = testing::proposed(Some(name));
        DeviceTaintRule {
            name: name.into(),
            uid: name.into(),
            resource_version: "1".to_owned(),
            generation: 1,
            selector: proposed.selector,
            taint: crate::model::Taint {
                effect: Effect::NoExecute,
                ..proposed.taint
            },
            condition: None,
            metadata: RuleMetadata {
                created: Some(testing::after(created)),
                ..RuleMetadata::default()
            },
            managers: Vec::new(),
        }
    }

    fn event(pod: &str, at: i64, message: &str) -> Event {
        Event {
            name: testing::name("ml", pod),
            about: EventSubject {
                kind: "Pod".to_owned(),
                name: testing::name("ml", pod),
                uid: format!("old-{pod}").as_str().into(),
            },
            kind: "Normal".to_owned(),
            reason: "DeviceTaintManagerEviction".to_owned(),
            message: message.to_owned(),
            last: Some(testing::after(at)),
        }
    }

    fn workload(name: &str, replicas: i32, ended: Option<JobEnd>) -> Workload {
        Workload {
            name: testing::name("ml", name),
            uid: name.into(),
            controller: None,
            replicas: Some(replicas),
            ready: Some(0),
            min_members: None,
            failure: ended.map(|ended| FailurePolicy {
                backoff_limit: 0,
                limit_per_index: None,
                failed: 1,
                disruption: DisruptionAction::Count,
                ended: Some(ended),
            }),
            rollout: None,
        }
    }

    fn of(name: &str, kind: &str, workload: &str, phase: Phase) -> Pod {
        Pod {
            phase,
            controller: Some(Controller {
                api_version: "apps/v1".into(),
                kind: kind.into(),
                name: workload.into(),
                uid: workload.into(),
            }),
            ..testing::pod("ml", name)
        }
    }

    fn reading(rules: Vec<DeviceTaintRule>) -> Reading {
        let mut reading = testing::reading();
        reading.known.extend(Kind::POD_MAKERS);
        reading.known.extend([Kind::Pod, Kind::Event]);
        reading.snapshot = Snapshot {
            rules,
            replica_sets: vec![
                ReplicaSet(workload("embed-5f6b", 2, None)),
                ReplicaSet(workload("chat-77", 1, None)),
            ],
            stateful_sets: vec![StatefulSet(workload("llm", 1, None))],
            jobs: vec![Job(workload(
                "sweep",
                1,
                Some(JobEnd::Failed("BackoffLimitExceeded".to_owned())),
            ))],
            pods: vec![
                of("embed-5f6b-new", "ReplicaSet", "embed-5f6b", Phase::Running),
                of("llm-0", "StatefulSet", "llm", Phase::Pending),
                of("chat-77-new", "ReplicaSet", "chat-77", Phase::Running),
            ],
            ..Snapshot::default()
        };
        reading
    }

    fn history(reading: &Reading, events: &[Event]) -> RuleHistory {
        let semantics = testing::semantics(37);
        let rule = &reading.snapshot.rules[0];
        let proposed = [ProposedTaint::of_rule(rule, testing::now())];
        let impact = engine::preview(&reading.snapshot, &proposed, testing::now(), &semantics);
        RuleHistory::new(&HistorySources {
            rule,
            impact: &impact,
            events,
            reading,
            now: testing::now(),
        })
    }

    fn events() -> Vec<Event> {
        vec![
            event("embed-5f6b-x1", -50, EVICTS),
            event("chat-77-x1", -45, EVICTS),
            event("llm-0", -40, EVICTS),
            event("sweep-abc", -30, EVICTS),
            event("notebook", -20, EVICTS),
            event("spared", -20, EVICTS),
            event("spared", -10, "Cancelling deletion of Pod ml/spared"),
            event("before", -500, EVICTS),
        ]
    }

    #[test]
    fn what_became_of_evicted_pods_is_told_with_the_time_of_their_eviction() {
        let reading = reading(vec![rule("drain", -60)]);
        let history = history(&reading, &events());
        let told: Vec<(&str, EvictedOutcome, bool)> = history
            .evicted_pods
            .iter()
            .map(|pod| (pod.name.as_str(), pod.after_eviction, pod.certain))
            .collect();
        assert_eq!(
            told,
            [
                ("embed-5f6b-x1", EvictedOutcome::Missing, false),
                ("chat-77-x1", EvictedOutcome::CreatedAgain, false),
                ("llm-0", EvictedOutcome::Pending, false),
                ("sweep-abc", EvictedOutcome::NotCreatedAgain, false),
                ("notebook", EvictedOutcome::NotCreatedAgain, false),
            ]
        );
        assert_eq!(
            history.evicted_pods[0].eviction_time,
            Some(Time(testing::after(-50)))
        );
        assert_eq!(
            history.evicted_pods[0]
                .workload
                .as_ref()
                .map(ToString::to_string)
                .as_deref(),
            Some("ReplicaSet/embed-5f6b")
        );
        assert_eq!(history.failed_jobs[0].reason, "BackoffLimitExceeded");
        let pending: Vec<&str> = history
            .pending_pods
            .iter()
            .map(|pod| pod.name.as_str())
            .collect();
        assert_eq!(pending, ["llm-0"]);
        assert_eq!(
            history.unknown,
            [
                "whether the controller evicted ml/spared: it announced an eviction and then \
                 cancelled it, so another client may have deleted the pod"
            ]
        );
        // A wait for recovery counts it.
        let cancelled = history.cancelled_evictions.iter();
        let cancelled: Vec<(&str, bool)> = cancelled
            .map(|pod| (pod.name.as_str(), pod.certain))
            .collect();
        assert_eq!(cancelled, [("spared", false)]);
    }

    #[test]
    fn a_cancelled_deletion_of_a_pod_that_still_exists_is_no_eviction() {
        let mut reading = reading(vec![rule("drain", -60)]);
        let mut there = testing::pod("ml", "spared");
        there.uid = "old-spared".into();
        reading.snapshot.pods.push(there);
        let history = history(&reading, &events());
        assert!(history.unknown.is_empty(), "{:?}", history.unknown);
        assert_eq!(history.cancelled_evictions, []);
    }

    #[test]
    fn the_reason_for_unknown_evictions_is_given_once() {
        let mut reading = reading(vec![rule("drain", -60)]);
        reading.known.remove(&Kind::Event);
        let history = history(&reading, &[]);
        assert_eq!(
            history.lines(),
            ["unknown: past evictions, because the input contains no Event"]
        );
        assert_eq!(
            history.lines_without_event_gap(),
            ["past evictions: unknown"]
        );
    }

    #[test]
    fn a_pod_whose_replacement_was_evicted_too_is_told_as_that() {
        let reading = reading(vec![rule("drain", -60)]);
        let events: Vec<Event> = (0..4)
            .map(|number| event(&format!("embed-5f6b-x{number}"), 2 * number - 50, EVICTS))
            .collect();
        let history = history(&reading, &events);
        // The ReplicaSet wants two and has one: of the last two, one is missing.
        let outcomes: Vec<EvictedOutcome> = history
            .evicted_pods
            .iter()
            .map(|pod| pod.after_eviction)
            .collect();
        assert_eq!(
            outcomes,
            [
                EvictedOutcome::EvictedAgain,
                EvictedOutcome::EvictedAgain,
                EvictedOutcome::CreatedAgain,
                EvictedOutcome::Missing,
            ]
        );
    }

    /// What became of the pods, by their names, first to last.
    fn outcomes(reading: &Reading, events: &[Event]) -> Vec<(String, EvictedOutcome)> {
        let pods = history(reading, events).evicted_pods;
        pods.into_iter()
            .map(|pod| (pod.name, pod.after_eviction))
            .collect()
    }

    fn outcome(name: &str, outcome: EvictedOutcome) -> (String, EvictedOutcome) {
        (name.to_owned(), outcome)
    }

    #[test]
    fn a_pod_whose_workload_was_scaled_down_is_not_said_to_run_again() {
        let mut reading = reading(vec![rule("drain", -60)]);
        let snapshot = &mut reading.snapshot;
        snapshot.pods.clear();
        snapshot.replica_sets = vec![ReplicaSet(workload("embed-5f6b", 0, None))];
        snapshot.stateful_sets = vec![StatefulSet(workload("llm", 2, None))];
        for name in ["llm-0", "llm-1"] {
            snapshot
                .pods
                .push(of(name, "StatefulSet", "llm", Phase::Running));
        }
        let events = [
            event("embed-5f6b-x1", -50, EVICTS),
            event("embed-5f6b-x2", -50, EVICTS),
            event("llm-2", -40, EVICTS),
        ];
        assert_eq!(
            outcomes(&reading, &events),
            [
                outcome("embed-5f6b-x1", EvictedOutcome::ScaledDown),
                outcome("embed-5f6b-x2", EvictedOutcome::ScaledDown),
                outcome("llm-2", EvictedOutcome::ScaledDown),
            ]
        );
    }

    /// A Deployment that was rolled out after a pod of its first ReplicaSet was evicted; the pods are those that stay.
    fn rolled_out(desired: i32, pods: Vec<Pod>) -> Reading {
        let mut reading = reading(vec![rule("drain", -60)]);
        reading.known.insert(Kind::Deployment);
        let owned = |name: &str, replicas| {
            ReplicaSet(Workload {
                controller: Some(testing::controller("Deployment", "infer")),
                ..workload(name, replicas, None)
            })
        };
        let snapshot = &mut reading.snapshot;
        snapshot.deployments = vec![Deployment(workload("infer", desired, None))];
        snapshot.replica_sets = vec![owned("infer-6dc955bc4b", 0), owned("infer-9f4", desired)];
        snapshot.pods = pods;
        reading
    }

    #[test]
    fn after_a_rollout_the_pods_of_the_deployment_tell_what_became_of_a_pod() {
        let live = |phase| of("infer-9f4-22222", "ReplicaSet", "infer-9f4", phase);
        let evicted = "infer-6dc955bc4b-xt9tk";
        let events = [event(evicted, -50, EVICTS)];
        for (desired, pods, expected) in [
            (1, vec![live(Phase::Running)], EvictedOutcome::CreatedAgain),
            (1, vec![live(Phase::Pending)], EvictedOutcome::Pending),
            (1, vec![], EvictedOutcome::Missing),
            (0, vec![], EvictedOutcome::ScaledDown),
        ] {
            let mut reading = rolled_out(desired, pods);
            assert_eq!(outcomes(&reading, &events), [outcome(evicted, expected)]);
            let history_of = history(&reading, &events);
            let is_pending = expected == EvictedOutcome::Pending;
            assert_eq!(history_of.pending_pods.len(), usize::from(is_pending));
            // Its ReplicaSet is deleted later.
            reading.snapshot.replica_sets.remove(0);
            assert_eq!(outcomes(&reading, &events), [outcome(evicted, expected)]);
            let of = history(&reading, &events).evicted_pods[0].workload.clone();
            let of = of.map(|owner| owner.to_string());
            assert_eq!(of.as_deref(), Some("Deployment/infer"));
        }
    }

    #[test]
    fn a_deployment_whose_pods_are_older_than_an_eviction_is_not_said_to_be_scaled_down() {
        let mut live = of("infer-9f4-22222", "ReplicaSet", "infer-9f4", Phase::Running);
        live.scheduling = Some(Box::new(Scheduling {
            said: Some(Scheduled {
                is_scheduled: true,
                since: Some(testing::after(-300)),
                reason: "".into(),
                message: "".into(),
            }),
            ..Scheduling::default()
        }));
        let mut reading = rolled_out(1, vec![live]);
        let old = event("infer-6dc955bc4b-xt9tk", -50, EVICTS);
        let new = event("infer-9f4-xt9tk", -50, EVICTS);
        let expected = outcome("infer-6dc955bc4b-xt9tk", EvictedOutcome::CreatedAgain);
        assert_eq!(
            outcomes(&reading, std::slice::from_ref(&old)),
            std::slice::from_ref(&expected)
        );
        assert_eq!(
            outcomes(&reading, &[new]),
            [outcome("infer-9f4-xt9tk", EvictedOutcome::ScaledDown)]
        );
        reading.snapshot.replica_sets.remove(0);
        assert_eq!(outcomes(&reading, &[old]), [expected]);
    }

    #[test]
    fn without_deployments_nobody_knows_what_became_of_the_pods_of_their_replica_sets() {
        let live = of("infer-9f4-22222", "ReplicaSet", "infer-9f4", Phase::Running);
        let mut reading = rolled_out(1, vec![live]);
        reading.known.remove(&Kind::Deployment);
        reading.snapshot.deployments.clear();
        let evicted = "infer-6dc955bc4b-xt9tk";
        let events = [
            event(evicted, -50, EVICTS),
            event("embed-5f6b", -50, EVICTS),
        ];
        let line = "the outcome of evicted pods, because deployments were not read";
        let is_open = |reading: &Reading| {
            let found = history(reading, &events);
            assert_eq!(found.unknown, [line]);
            let found: Vec<EvictedOutcome> = found
                .evicted_pods
                .iter()
                .map(|pod| pod.after_eviction)
                .collect();
            found
        };
        let expected = [EvictedOutcome::NotCreatedAgain, EvictedOutcome::Unknown];
        assert_eq!(is_open(&reading), expected, "of an old ReplicaSet");
        reading.snapshot.replica_sets.remove(0);
        assert_eq!(is_open(&reading), expected, "of one that is gone");
        let bare = [event("embed-5f6b", -50, EVICTS)];
        assert!(history(&reading, &bare).unknown.is_empty());
        // The pods of a Deployment are those of its ReplicaSets.
        let mut unread = rolled_out(1, Vec::new());
        unread.known.remove(&Kind::ReplicaSet);
        unread.snapshot.replica_sets.clear();
        assert_eq!(
            outcomes(&unread, &events[..1]),
            [outcome(evicted, EvictedOutcome::Unknown)]
        );
    }

    #[test]
    fn pods_of_several_replica_sets_of_a_deployment_replace_each_other() {
        let live = of("infer-9f4-22222", "ReplicaSet", "infer-9f4", Phase::Pending);
        let reading = rolled_out(1, vec![live]);
        let (old, new) = ("infer-6dc955bc4b-xt9tk", "infer-9f4-xt9tk");
        let events = [event(old, -50, EVICTS), event(new, -30, EVICTS)];
        assert_eq!(
            outcomes(&reading, &events),
            [
                outcome(old, EvictedOutcome::EvictedAgain),
                outcome(new, EvictedOutcome::Pending),
            ]
        );
    }

    #[test]
    fn a_pod_of_a_stateful_set_is_evicted_again_only_under_its_own_name() {
        let mut reading = reading(vec![rule("drain", -60)]);
        let snapshot = &mut reading.snapshot;
        snapshot.stateful_sets = vec![StatefulSet(workload("llm", 0, None))];
        // The replacement was never evicted, and is deleted since the set was scaled to 0.
        snapshot.pods = vec![of("llm-0", "StatefulSet", "llm", Phase::Running)];
        snapshot.pods[0].deletion = Some(Deletion {
            at: testing::now(),
            grace_period_seconds: Some(30),
            finalizers: Vec::new(),
        });
        let mut events = vec![event("llm-0", -50, EVICTS), event("llm-1", -49, EVICTS)];
        assert_eq!(
            outcomes(&reading, &events),
            [
                outcome("llm-0", EvictedOutcome::ScaledDown),
                outcome("llm-1", EvictedOutcome::ScaledDown),
            ]
        );
        let mut again = event("llm-0", -40, EVICTS);
        again.about.uid = "second".into();
        events.push(again);
        assert_eq!(
            outcomes(&reading, &events),
            [
                outcome("llm-0", EvictedOutcome::EvictedAgain),
                outcome("llm-1", EvictedOutcome::ScaledDown),
                outcome("llm-0", EvictedOutcome::ScaledDown),
            ]
        );
    }

    /// A pod of DaemonSet exporter that was scheduled, or is not yet.
    fn exporter(node: &str, since: i64, is_scheduled: bool) -> Pod {
        let phase = if is_scheduled {
            Phase::Running
        } else {
            Phase::Pending
        };
        let mut pod = of(
            &format!("exporter-on-{node}"),
            "DaemonSet",
            "exporter",
            phase,
        );
        pod.node = is_scheduled.then(|| node.into());
        let field = NodeRequirement {
            key: "metadata.name".into(),
            operator: "In".into(),
            values: vec![node.into()],
        };
        let selector = NodeSelector {
            terms: vec![NodeTerm {
                fields: vec![field],
                ..NodeTerm::default()
            }],
        };
        pod.scheduling = Some(Box::new(Scheduling {
            said: Some(Scheduled {
                is_scheduled,
                since: Some(testing::after(since)),
                reason: "".into(),
                message: "".into(),
            }),
            nodes: (!is_scheduled).then_some(selector).into_iter().collect(),
            ..Scheduling::default()
        }));
        pod
    }

    /// DaemonSet exporter on three nodes, of which the rule's device is on node-7.
    fn with_exporters(pods: Vec<Pod>) -> Reading {
        let mut reading = reading(vec![rule("drain", -60)]);
        let device = crate::engine::testing::published("gpu-0", &[]);
        reading.snapshot.slices = vec![crate::engine::testing::slice(vec![device])];
        reading.snapshot.daemon_sets = vec![DaemonSet(workload("exporter", 3, None))];
        reading.snapshot.pods = pods;
        reading
    }

    fn storm() -> [Event; 3] {
        [
            event("exporter-a", -50, EVICTS),
            event("exporter-b", -48, EVICTS),
            event("exporter-c", -46, EVICTS),
        ]
    }

    #[test]
    fn pods_of_a_daemon_set_that_are_evicted_one_after_another_on_a_node_are_evicted_again() {
        let others = || {
            vec![
                exporter("node-5", -600, true),
                exporter("node-6", -600, true),
            ]
        };
        let ending_with = |last| {
            [
                outcome("exporter-a", EvictedOutcome::EvictedAgain),
                outcome("exporter-b", EvictedOutcome::EvictedAgain),
                outcome("exporter-c", last),
            ]
        };
        let missing = with_exporters(others());
        assert_eq!(
            outcomes(&missing, &storm()),
            ending_with(EvictedOutcome::Missing)
        );
        let mut pods = others();
        pods.push(exporter("node-7", -44, true));
        let running = with_exporters(pods);
        assert_eq!(
            outcomes(&running, &storm()),
            ending_with(EvictedOutcome::CreatedAgain)
        );
    }

    #[test]
    fn a_pending_pod_of_a_daemon_set_replaces_none_of_another_node() {
        let reading = with_exporters(vec![
            exporter("node-5", -600, true),
            exporter("node-6", -45, false),
            exporter("node-7", -44, true),
        ]);
        let found = history(&reading, &storm());
        let last = found.evicted_pods.last().map(|pod| pod.after_eviction);
        assert_eq!(last, Some(EvictedOutcome::CreatedAgain));
        assert_eq!(found.pending_pods, []);
        // Of its own node, it does.
        let pending = with_exporters(vec![
            exporter("node-5", -600, true),
            exporter("node-6", -600, true),
            exporter("node-7", -45, false),
        ]);
        let found = history(&pending, &storm());
        let last = found.evicted_pods.last().map(|pod| pod.after_eviction);
        assert_eq!(last, Some(EvictedOutcome::Pending));
        assert_eq!(found.pending_pods.len(), 1);
    }

    #[test]
    fn where_the_node_of_an_evicted_pod_decides_and_is_unknown_so_is_the_outcome() {
        let mut reading = with_exporters(vec![
            exporter("node-5", -600, true),
            exporter("node-6", -45, false),
            exporter("node-7", -44, true),
        ]);
        // Without slices, the rule may be about devices of any node.
        reading.snapshot.slices.clear();
        let found = history(&reading, &storm());
        let last = found.evicted_pods.last().map(|pod| pod.after_eviction);
        assert_eq!(last, Some(EvictedOutcome::Unknown));
        let line = "unknown: the replacement of each evicted pod of DaemonSet/exporter in ml, because \
            events do not record the nodes of evicted pods";
        assert!(
            found.lines().iter().any(|told| told == line),
            "{:?}",
            found.lines()
        );
    }

    #[test]
    fn pods_that_stayed_replace_none_that_was_evicted_later() {
        let mut reading = reading(vec![rule("drain", -60)]);
        let mut stayed = of("embed-5f6b-old", "ReplicaSet", "embed-5f6b", Phase::Running);
        stayed.scheduling = exporter("node-7", -600, true).scheduling;
        reading.snapshot.pods = vec![stayed];
        let events = [
            event("embed-5f6b-x1", -50, EVICTS),
            event("embed-5f6b-x2", -48, EVICTS),
        ];
        assert_eq!(
            outcomes(&reading, &events),
            [
                outcome("embed-5f6b-x1", EvictedOutcome::EvictedAgain),
                outcome("embed-5f6b-x2", EvictedOutcome::Missing),
            ]
        );
    }

    #[test]
    fn pods_that_were_evicted_together_do_not_replace_each_other() {
        let evicted = |seconds: [i64; 2]| {
            let mut reading = reading(vec![rule("drain", -60)]);
            let replacement = of("embed-5f6b-new", "ReplicaSet", "embed-5f6b", Phase::Running);
            reading.snapshot.pods = vec![replacement];
            for set in &mut reading.snapshot.replica_sets {
                set.0.replicas = Some(1);
            }
            let events = [
                event("embed-5f6b-x1", seconds[0], EVICTS),
                event("embed-5f6b-x2", seconds[1], EVICTS),
            ];
            outcomes(&reading, &events)[0].clone()
        };
        let first = |after| outcome("embed-5f6b-x1", after);
        assert_eq!(evicted([-50, -49]), first(EvictedOutcome::Unknown));
        assert_eq!(evicted([-50, -45]), first(EvictedOutcome::EvictedAgain));
    }

    #[test]
    fn pods_that_are_evicted_again_and_again_in_one_second_are_not_told_apart() {
        let mut reading = reading(vec![rule("drain", -60)]);
        let stays = |name: &str, since: i64| {
            let mut pod = of(name, "ReplicaSet", "embed-5f6b", Phase::Running);
            pod.scheduling = exporter("node-7", since, true).scheduling;
            pod
        };
        reading.snapshot.pods = vec![stays("embed-5f6b-y1", -50), stays("embed-5f6b-y2", -35)];
        for set in &mut reading.snapshot.replica_sets {
            set.0.replicas = Some(2);
        }
        let events = [
            ("embed-5f6b-x1", -50),
            ("embed-5f6b-x2", -50),
            ("embed-5f6b-x3", -35),
            ("embed-5f6b-x4", -35),
        ];
        let evicted = events.map(|(name, at)| event(name, at, EVICTS));
        let unknown = events.map(|(name, _)| outcome(name, EvictedOutcome::Unknown));
        assert_eq!(outcomes(&reading, &evicted), unknown);
        insta::assert_snapshot!(
            history(&reading, &evicted).unknown.join("\n"),
            @"which of the evicted pods of ReplicaSet/embed-5f6b in ml were replaced by pods that were evicted, too: events do not record which pod replaced which"
        );
        // One at each time: the first of them may live on in the pod that was made then.
        let apart = [&evicted[0], &evicted[2]].map(Clone::clone);
        assert_eq!(
            outcomes(&reading, &apart),
            [0, 2].map(|place| outcome(events[place].0, EvictedOutcome::CreatedAgain))
        );
        // Nothing that stays was made when the first ones were evicted.
        reading.snapshot.pods[0].scheduling = exporter("node-7", -35, true).scheduling;
        let again = outcomes(&reading, &evicted);
        assert_eq!(
            again[0],
            outcome("embed-5f6b-x1", EvictedOutcome::EvictedAgain)
        );
        assert_eq!(
            again[3],
            outcome("embed-5f6b-x4", EvictedOutcome::CreatedAgain)
        );
    }

    #[test]
    fn only_a_pod_that_nothing_else_evicts_was_evicted_by_this_rule_for_sure() {
        let told = |rules: Vec<DeviceTaintRule>| {
            let mut reading = reading(rules);
            let mut there = testing::pod("ml", "notebook");
            there.uid = "old-notebook".into();
            let claim = testing::claim(&there);
            there.claims = vec![crate::model::PodClaim {
                name: "gpu".into(),
                source: crate::model::ClaimSource::Claim(claim.name.name.clone()),
            }];
            reading.snapshot.claims = vec![claim];
            reading.snapshot.claims[0].reserved_for = vec![crate::model::ConsumerReference {
                api_group: "".into(),
                resource: "pods".into(),
                name: there.name.name.clone(),
                uid: there.uid.clone(),
            }];
            reading.snapshot.pods.push(there);
            let history = history(&reading, &[event("notebook", -20, EVICTS)]);
            history.evicted_pods[0].certain
        };
        assert!(told(vec![rule("drain", -60)]));
        assert!(!told(vec![rule("drain", -60), rule("other", -60)]));
    }

    #[test]
    fn an_evicted_pod_that_has_released_its_claims_is_still_one() {
        let mut reading = reading(vec![rule("drain", -60)]);
        let mut leaving = testing::pod("ml", "notebook");
        leaving.uid = "old-notebook".into();
        leaving.deletion = Some(Deletion {
            at: testing::now(),
            grace_period_seconds: None,
            finalizers: Vec::new(),
        });
        let mut claim = testing::claim_in_use(&leaving);
        reading.snapshot.pods = vec![leaving.clone()];
        let evicted = |reading: &Reading| {
            let found = history(reading, &[event("notebook", -20, EVICTS)]).evicted_pods;
            found.iter().map(|pod| pod.certain).collect::<Vec<_>>()
        };
        // No claim is left that shows which taint evicted it.
        assert_eq!(evicted(&reading), [false]);
        let allocation = claim.allocation.as_mut().expect("an allocation");
        allocation.results[0].device.device = "gpu-7".into();
        reading.snapshot.claims = vec![claim];
        assert_eq!(evicted(&reading), [false; 0], "its device is another");
        reading.snapshot.claims[0].allocation = None;
        assert_eq!(evicted(&reading), [false]);
        leaving.deletion = None;
        reading.snapshot.pods = vec![leaving];
        assert_eq!(evicted(&reading), [false; 0], "it is not evicted");
    }

    #[test]
    fn a_pod_that_still_terminates_was_evicted_also_after_the_effect_was_lowered() {
        let mut lowered = rule("drain", -60);
        lowered.taint.effect = Effect::NoSchedule;
        lowered.generation = 3;
        let mut reading = reading(vec![lowered]);
        let mut pod = testing::pod("ml", "train-0");
        pod.deletion = Some(Deletion {
            at: testing::after(30),
            grace_period_seconds: Some(60),
            finalizers: Vec::new(),
        });
        let claim = testing::claim_in_use(&pod);
        pod.claims = vec![crate::model::PodClaim {
            name: "gpu".into(),
            source: crate::model::ClaimSource::Claim(claim.name.name.clone()),
        }];
        reading.snapshot.claims = vec![claim];
        let mut evicted = event("train-0", -20, EVICTS);
        evicted.about.uid = pod.uid.clone();
        reading.snapshot.pods = vec![pod];
        let events = [evicted];
        let expected = [outcome("train-0", EvictedOutcome::Terminating)];
        assert_eq!(outcomes(&reading, &events), expected);
        reading.snapshot.rules[0].generation = 1;
        assert_eq!(outcomes(&reading, &events), [], "it never evicted");
        // The rule was deleted meanwhile, and may have been any.
        reading.snapshot.rules = vec![crate::decide::recovery::gone_rule("drain")];
        assert_eq!(outcomes(&reading, &events), expected);
        reading.snapshot.pods[0].deletion = None;
        assert_eq!(outcomes(&reading, &events), [], "it is not deleted yet");
    }

    #[test]
    fn where_events_leave_the_rule_open_the_count_of_its_status_is_told() {
        let mut counted = rule("drain", -60);
        counted.condition = Some(EvictionCondition {
            status: "False".to_owned(),
            reason: "NotStarted".to_owned(),
            message: String::new(),
            observed_generation: 1,
            last_transition: None,
        });
        let lines = |rule| {
            let reading = reading(vec![rule]);
            history(&reading, &events()).lines().join("\n")
        };
        let line = "counts 0 pods evicted by this rule since the eviction controller started";
        let told = lines(counted.clone());
        assert!(told.contains(line), "{told}");
        // The status is updated later than the pods are evicted, so it does not contradict the events.
        assert!(
            told.contains(
                "5 pods evicted by this rule or another taint, according to existing events\n"
            ),
            "{told}"
        );
        let condition = counted.condition.as_mut().unwrap();
        condition.message = "2 pods evicted since starting the controller.".to_owned();
        let told = lines(counted);
        assert!(
            told.contains("5 pods evicted by this rule or another"),
            "{told}"
        );
        let told = lines(rule("drain", -60));
        assert!(!told.contains("controller started"), "{told}");
        assert!(
            told.contains("5 pods evicted by this rule or another"),
            "{told}"
        );
    }

    #[test]
    fn a_rule_that_never_evicted_has_no_evictions_of_others() {
        let mut quiet = rule("quiet", -60);
        quiet.taint.effect = Effect::None;
        let reading = reading(vec![quiet]);
        assert_eq!(history(&reading, &events()).evicted_pods, []);
    }

    #[test]
    fn what_cannot_be_seen_any_more_is_said() {
        let mut reading = reading(vec![rule("drain", -7200), rule("other", -60)]);
        reading.known.remove(&Kind::ReplicaSet);
        let history = history(&reading, &events());
        assert!(history.evicted_pods.iter().all(|pod| !pod.certain));
        let notebook = history
            .evicted_pods
            .iter()
            .find(|pod| pod.name == "notebook");
        assert_eq!(notebook.unwrap().after_eviction, EvictedOutcome::Unknown);
        let lines = history.lines().join("\n");
        for part in [
            "6 pods evicted by this rule or another taint, according to existing events",
            "unknown: evictions more than an hour ago",
            "unknown: which rule evicted",
            "unknown: the outcome of evicted pods, because replicasets were not read",
            "Job ml/sweep has failed: BackoffLimitExceeded",
            "pod ml/llm-0 of StatefulSet/llm is pending",
        ] {
            assert!(lines.contains(part), "{part}: {lines}");
        }
    }

    #[test]
    fn a_pod_that_is_there_and_that_another_rule_evicts_is_not_told() {
        let mut reading = reading(vec![rule("drain", -60)]);
        let mut there = testing::pod("ml", "notebook");
        there.uid = "old-notebook".into();
        reading.snapshot.pods.push(there);
        let history = history(&reading, &events());
        assert!(
            history
                .evicted_pods
                .iter()
                .all(|pod| pod.name != "notebook")
        );
    }

    #[test]
    fn a_pod_that_was_pending_before_the_first_eviction_replaces_nobody() {
        let pending_since = |seconds: i64| {
            let mut reading = reading(vec![rule("drain", -60)]);
            let mut pods = reading.snapshot.pods.iter_mut();
            let pod = pods.find(|pod| pod.name.name.as_str() == "llm-0").unwrap();
            pod.scheduling = Some(Box::new(Scheduling {
                said: Some(Scheduled {
                    is_scheduled: false,
                    since: Some(testing::after(seconds)),
                    reason: "Unschedulable".into(),
                    message: "".into(),
                }),
                ..Scheduling::default()
            }));
            history(&reading, &events()).pending_pods.len()
        };
        assert_eq!(pending_since(-39), 1);
        assert_eq!(pending_since(-41), 0);
    }

    #[test]
    fn without_pods_nobody_knows_what_was_created_again() {
        let mut reading = reading(vec![rule("drain", -60)]);
        reading.snapshot.pods.clear();
        reading.known.remove(&Kind::Pod);
        let history = history(&reading, &events());
        let outcome_of = |name: &str| {
            let mut evicted = history.evicted_pods.iter();
            evicted.find(|pod| pod.name == name).unwrap().after_eviction
        };
        assert_eq!(outcome_of("embed-5f6b-x1"), EvictedOutcome::Unknown);
        assert_eq!(outcome_of("notebook"), EvictedOutcome::Unknown);
        // A Job says by itself how it ended.
        assert_eq!(outcome_of("sweep-abc"), EvictedOutcome::NotCreatedAgain);
    }

    #[test]
    fn what_happened_before_its_only_escalation_is_not_of_the_rule() {
        let mut reading = reading(vec![rule("drain", -60)]);
        let rule = &mut reading.snapshot.rules[0];
        rule.taint.time_added = Some(testing::after(-42));
        let all = history(&reading, &events()).evicted_pods.len();
        reading.snapshot.rules[0].generation = 2;
        let later = history(&reading, &events()).evicted_pods.len();
        assert_eq!((all, later), (5, 3));
        reading.snapshot.rules[0].generation = 3;
        assert_eq!(history(&reading, &events()).evicted_pods.len(), 5);
    }

    #[test]
    fn one_pending_pod_stands_for_one_evicted_pod_the_last_one() {
        let mut reading = reading(vec![rule("drain", -60)]);
        reading
            .snapshot
            .pods
            .retain(|pod| pod.name.name.as_str() != "embed-5f6b-new");
        for (name, phase) in [
            ("embed-5f6b-n1", Phase::Running),
            ("embed-5f6b-n2", Phase::Pending),
        ] {
            let pod = of(name, "ReplicaSet", "embed-5f6b", phase);
            reading.snapshot.pods.push(pod);
        }
        let mut events = events();
        events.push(event("embed-5f6b-x2", -35, EVICTS));
        let outcome_of = |name: &str| {
            let history = history(&reading, &events);
            let mut evicted = history.evicted_pods.iter();
            evicted.find(|pod| pod.name == name).unwrap().after_eviction
        };
        assert_eq!(outcome_of("embed-5f6b-x1"), EvictedOutcome::CreatedAgain);
        assert_eq!(outcome_of("embed-5f6b-x2"), EvictedOutcome::Pending);
    }

    #[test]
    fn an_evicted_job_that_completed_is_told_as_complete() {
        let mut reading = reading(vec![rule("drain", -60)]);
        for job in &mut reading.snapshot.jobs {
            if let Some(failure) = &mut job.0.failure {
                failure.ended = Some(JobEnd::Complete);
            }
        }
        let history = history(&reading, &events());
        let job = history
            .evicted_pods
            .iter()
            .find(|pod| pod.name == "sweep-abc");
        assert_eq!(job.unwrap().after_eviction, EvictedOutcome::JobComplete);
        assert_eq!(history.failed_jobs, []);
    }
}
