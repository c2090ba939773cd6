//! Observations of a unit while it is drained.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::{
    Detail, PodQuery, PodQueryResult, read_named_workloads, read_optional, read_workloads,
};
use crate::commands::work::cluster_view::{ClusterView, Pods};
use crate::commands::work::connect::{Live, failed};
use crate::decide::drain::{
    RecordedWorkloads, Unit, UnitFacts, UnitPod, UnschedulablePod, other_claims, pods_of,
    recorded_names, recorded_states, restart_states, rule_state, rules_of, tainted_since,
    unschedulable_by_workload, untainted_line, workload_states, workloads_by_maker,
    workloads_to_record,
};
use crate::engine::{Impact, PodImpact, ProposedTaint};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect, Kind, Pod, PodDisruptionBudget, Reading, Uid};

/// Observes one unit repeatedly, and remembers the observed pods.
pub(super) struct UnitObserver<'a> {
    pub(super) live: &'a Live,
    pub(super) unit: &'a Unit,
    /// Name of the drain.
    pub(super) drain: &'a str,
    /// The UID of this run.
    pub(super) run: Option<&'a str>,
    /// The observed pods of the unit, each with its workload.
    pub(super) seen: BTreeMap<Uid, (Pod, Option<Uid>)>,
    /// Workloads that an earlier run recorded: it may have evicted all of their pods.
    pub(super) recorded: RecordedWorkloads,
}

impl UnitObserver<'_> {
    /// Facts about the unit now; `rules` are those on which this run recorded its work. A wait determines whether the
    /// devices are idle.
    pub(super) async fn facts(&mut self, rules: &[DeviceTaintRule]) -> Result<UnitFacts, Failure> {
        let view = ClusterView::of(self.live.clone(), Detail::Names).await?;
        let rules_now = rule_state(rules, view.rules()?, self.run);
        let drain_rules = rules_of(view.rules()?, self.drain);
        let proposed: Vec<ProposedTaint> = rules
            .iter()
            .map(|rule| ProposedTaint::of_changed_rule(rule, &Effect::NoExecute, view.now))
            .collect();
        let mut view = view.with_pods_of(&proposed).await?;
        let Live { client, served } = self.live;
        // Budgets decide the order of pods; workloads show whether their pods are ready.
        let read = read_optional::<PodDisruptionBudget>(client, served, view.reading).await;
        let read = Box::pin(read_workloads(client, served, read.map_err(failed)?)).await;
        view.reading = read.map_err(failed)?;
        let pods = pods_of(&view.impact(&proposed), &view.basis());
        self.remember(&view, &pods);
        let there: Vec<Pod> = self.pods_among(&pods, true);
        // The workload of an evicted pod must be ready before the next eviction, so its pods count after they
        // are gone.
        let gone: Vec<Pod> = self.pods_among(&pods, false);
        let (mut workloads, mut unknown) = workload_states(&there, &view.reading);
        let since = tainted_since(rules);
        let mut restarts = restart_states(&there, &view.reading, since);
        if !gone.is_empty() {
            let reading = self.workloads_of(gone.clone(), &view.reading).await?;
            let (of_gone, unread) = workload_states(&gone, &reading);
            workloads.extend(of_gone);
            // Budgets are known for the pods that are there; of the others only how far the restart is.
            for (uid, state) in restart_states(&gone, &reading, since) {
                restarts.entry(uid).or_insert(state);
            }
            unknown.extend(unread);
        }
        let mut unseen = self.recorded.clone();
        unseen.retain(|uid, _| !workloads.contains_key(uid));
        if !unseen.is_empty() {
            let names = recorded_names(&unseen);
            let nothing = Reading::nothing_of(view.reading.source.clone());
            let read = read_named_workloads(client, served, nothing, &names).await;
            match recorded_states(&unseen, &read.map_err(failed)?) {
                Ok(states) => workloads.extend(states),
                Err(lines) => unknown.extend(lines),
            }
        }
        unknown.extend(unread(&view.reading));
        let (unschedulable, denied) = self.unschedulable(&view).await?;
        unknown.extend(denied);
        let other_claims = other_claims(view.snapshot(), &self.unit.devices, &pods);
        Ok(UnitFacts {
            now: Some(view.now),
            rules: rules_now,
            drain_rules,
            other_claims,
            pods,
            workloads,
            restarts,
            unschedulable,
            unread: unknown,
            untainted: untainted_line(&self.unit.name, rules, &view.snapshot().slices),
            // The board and the wait tell the rest.
            ..UnitFacts::default()
        })
    }

    /// The owners of these pods, which no longer exist themselves, and nothing else.
    async fn workloads_of(&self, pods: Vec<Pod>, from: &Reading) -> Result<Reading, Failure> {
        let mut reading = Reading::nothing_of(from.source.clone());
        reading.snapshot.pods = pods;
        let Live { client, served } = self.live;
        let read = Box::pin(read_workloads(client, served, reading)).await;
        read.map_err(failed)
    }

    fn remember(&mut self, view: &ClusterView<Pods>, pods: &[UnitPod]) {
        for pod in pods {
            let mut found = view.pods().iter();
            if let Some(fact) = found.find(|fact| fact.uid == pod.uid) {
                let known = (fact.clone(), pod.workload.clone());
                self.seen.insert(pod.uid.clone(), known);
            }
        }
    }

    /// The observed pods that are among `pods`, or are not; only those whose workload the drain waits for.
    fn pods_among(&self, pods: &[UnitPod], wanted: bool) -> Vec<Pod> {
        let uids: BTreeSet<&Uid> = pods.iter().map(|pod| &pod.uid).collect();
        let seen = self.seen.iter();
        seen.filter(|(uid, (_, workload))| uids.contains(uid) == wanted && workload.is_some())
            .map(|(_, (pod, _))| pod.clone())
            .collect()
    }

    /// An unschedulable pod of each observed workload that has one; and the data that could not be read.
    async fn unschedulable(
        &self,
        view: &ClusterView<Pods>,
    ) -> Result<(BTreeMap<Uid, UnschedulablePod>, Vec<String>), Failure> {
        let seen = self.seen.values();
        let seen = seen.filter_map(|(pod, workload)| Some((pod, workload.as_ref()?)));
        let makers = workloads_by_maker(seen, &self.recorded);
        let namespaces: BTreeSet<&str> = self
            .seen
            .values()
            .filter(|(_, workload)| workload.is_some())
            .map(|(pod, _)| pod.name.namespace.as_str())
            .chain(self.recorded.values().map(|it| it.name.namespace.as_str()))
            .collect();
        let waits = |pod: &Pod| pod.node.is_none() && pod.deletion.is_none();
        let mut found = BTreeMap::new();
        let mut denied = Vec::new();
        for namespace in namespaces {
            let pods = match view
                .find_pods(PodQuery::Chosen(Some(namespace), &waits))
                .await?
            {
                PodQueryResult::These(pods, _) => pods,
                PodQueryResult::Denied(why) => {
                    denied.push(format!("{}: {why}", Kind::Pod.plural()));
                    continue;
                }
                PodQueryResult::WithoutClaims | PodQueryResult::Gone => continue,
            };
            let mut others = Vec::new();
            for pod in pods {
                let maker = pod.controller.as_ref().map(|owner| &owner.uid);
                match (
                    maker.and_then(|uid| makers.get(uid)),
                    UnschedulablePod::of(&pod),
                ) {
                    (_, None) => {}
                    (Some(workloads), Some(unschedulable)) => {
                        let workloads = workloads.iter().map(|uid| (*uid).clone());
                        found.extend(workloads.map(|uid| (uid, unschedulable.clone())));
                    }
                    (None, Some(_)) => others.push(pod),
                }
            }
            found.extend(
                self.of_new_makers(
                    others,
                    view,
                    makers
                        .values()
                        .flatten()
                        .copied()
                        .chain(self.recorded.keys()),
                )
                .await?,
            );
        }
        Ok((found, denied))
    }

    /// What the scheduler says of these pods, as far as they are of `workloads`: a restarted Deployment makes its new
    /// pods through another ReplicaSet than that of the pods which were seen.
    async fn of_new_makers(
        &self,
        pods: Vec<Pod>,
        view: &ClusterView<Pods>,
        workloads: impl Iterator<Item = &Uid>,
    ) -> Result<BTreeMap<Uid, UnschedulablePod>, Failure> {
        let workloads: BTreeSet<&Uid> = workloads.collect();
        if pods.is_empty() || workloads.is_empty() {
            return Ok(BTreeMap::new());
        }
        // A rollout creates a new ReplicaSet after the first pods were observed, so these owners have to be
        // read.
        let reading = self.workloads_of(pods, &view.reading).await?;
        let pods = &reading.snapshot.pods;
        Ok(unschedulable_by_workload(pods, &reading, &workloads))
    }
}

/// Missing data that a drain requires, one line for each kind.
pub(super) fn unread(reading: &Reading) -> Vec<String> {
    let needed = [
        Kind::Pod,
        Kind::ResourceClaim,
        Kind::ResourceSlice,
        Kind::DeviceTaintRule,
    ];
    let gaps = reading.gaps.iter();
    gaps.filter(|gap| gap.kind().is_some_and(|kind| needed.contains(&kind)))
        .map(|gap| format!("{}: {}", gap.what, gap.why))
        .collect()
}

/// The workloads that have pods on the devices of each unit.
pub(super) fn recordable(
    units: &[Unit],
    impact: &Impact<'_>,
    reading: &Reading,
) -> BTreeMap<String, RecordedWorkloads> {
    let of_unit = |unit: &Unit| {
        let is_here = |pod: &&PodImpact<'_>| {
            let mut results = pod.claims.iter().flat_map(|used| &used.results);
            results.any(|result| unit.devices.contains(&result.device))
        };
        let pods: Vec<Pod> = impact
            .pods
            .iter()
            .filter(is_here)
            .map(|impact| impact.pod.clone())
            .collect();
        (unit.name.clone(), workloads_to_record(&pods, reading))
    };
    units.iter().map(of_unit).collect()
}
