//! Pods of a drain before anything is tainted: reasons to refuse it, and the lines above the question.

use super::facts::{IncludedClass, PodClass, Treatment, UnitPod, pods_of, unread, workload_states};
use super::run::DrainLimits;
use super::unit::{PreparedDrain, Unit};
use crate::assess::{Basis, Replacements, Sibling};
use crate::decide::proposal::{EvictedPods, Evictions, Proposal, ProposedRule};
use crate::engine::allocator::NodeFilter;
use crate::engine::workloads::Owners;
use crate::engine::{Impact, ProposedTaint};
use crate::error::Failure;
use crate::model::{
    DeviceTaintRule, Effect, Kind, NamespacedName, Pod, Reading, Rollout, Uid, Workload,
};
use crate::naming::phrase::{counted, few};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The pods of a drain.
#[derive(Clone, Debug)]
pub struct CheckedDrain {
    /// The lines above the question.
    lines: Vec<String>,
    /// The pods that are evicted.
    pub leaving: Vec<UnitPod>,
    /// The pods that are not.
    kept: BTreeSet<Uid>,
    /// The Deployments that are restarted.
    pub restarts: BTreeMap<Uid, RestartState>,
}

impl PreparedDrain {
    /// The pods of the drain.
    ///
    /// # Errors
    ///
    /// As [`DrainPlan::refuse`].
    pub fn check(&self, limits: &DrainLimits, basis: &Basis<'_>) -> Result<CheckedDrain, Failure> {
        let reading = basis.reading;
        let proposed = self.as_evicting(basis.now);
        let impact = basis.impact(&proposed);
        let pods = pods_of(&impact, basis);
        let of_leaving = leaving(&impact, &pods, &limits.include);
        let evicted = of_leaving.pods.iter().map(|found| found.pod.clone());
        let (_, unknown) = workload_states(&evicted.collect::<Vec<Pod>>(), reading);
        let unread: Vec<String> = unread(reading).into_iter().chain(unknown).collect();
        let existing = self.existing();
        // An earlier run began with the same units, so pods may wait for devices already.
        let replacements = existing
            .is_empty()
            .then(|| drain_replacements(&of_leaving, &proposed, limits.force, basis));
        let mut restarts = BTreeMap::new();
        if limits.restart {
            let since = tainted_since(&existing);
            let pods: Vec<&Pod> = of_leaving.pods.iter().map(|found| found.pod).collect();
            restarts = restart_states(pods, reading, since);
            restarts.retain(|_, restart| restart.progress == RestartProgress::NotBegun);
        }
        let siblings = Sibling::of(&impact, basis).into_iter();
        let siblings = siblings.filter(|sibling| !sibling.is_shared() && !sibling.is_admin);
        let siblings: Vec<String> = siblings.map(|sibling| sibling.line()).collect();
        let plan = DrainPlan {
            name: &self.terms.name,
            units: &self.units,
            pods: &pods,
            replacements: replacements.as_ref(),
            limits,
            restarts: &restarts,
            siblings: &siblings,
            unread: &unread,
        };
        plan.refuse()?;
        let lines = plan.lines();
        let (leaving, kept): (Vec<UnitPod>, Vec<UnitPod>) = pods
            .into_iter()
            .partition(|pod| pod.is_evicted(&limits.include));
        Ok(CheckedDrain {
            lines,
            leaving,
            kept: kept.into_iter().map(|pod| pod.uid).collect(),
            restarts,
        })
    }

    /// The drain as it is approved.
    pub fn proposal(&self, checked: &CheckedDrain, limits: &DrainLimits) -> Proposal {
        let names = self.units.iter().map(|unit| &unit.name);
        let kept = match limits.force || self.is_raised() {
            true => BTreeSet::new(),
            false => checked.kept.clone(),
        };
        let rules = self.all_steps().map(ProposedRule::from).collect();
        Proposal {
            evictions: Some(Evictions {
                lines: checked.lines.clone(),
                is_forced: limits.force,
                pods: EvictedPods::AllExcept(kept),
            }),
            ..Proposal::new(rules, format!("Drain {}", few(names)))
        }
    }
}

/// The pods of `impact` that are evicted.
pub fn leaving<'a>(
    impact: &Impact<'a>,
    pods: &[UnitPod],
    included: &[IncludedClass],
) -> Impact<'a> {
    let leaving = pods.iter().filter(|pod| pod.is_evicted(included));
    let uids: BTreeSet<&Uid> = leaving.map(|pod| &pod.uid).collect();
    let mut impact = impact.clone();
    impact.pods.retain(|found| uids.contains(&found.pod.uid));
    impact
}

/// A drain before it begins.
#[derive(Clone, Copy, Debug)]
pub struct DrainPlan<'a> {
    /// Name of the drain.
    pub name: &'a str,
    /// Its units.
    pub units: &'a [Unit],
    /// The pods that use their devices.
    pub pods: &'a [UnitPod],
    /// Devices for the claims of evicted pods with all units tainted; absent if an earlier run began.
    pub replacements: Option<&'a Replacements>,
    /// Limits of the drain.
    pub limits: &'a DrainLimits,
    /// Deployments that are restarted.
    pub restarts: &'a BTreeMap<Uid, RestartState>,
    /// Devices on the same hardware that are in use and not drained, a line each.
    pub siblings: &'a [String],
    /// Data that could not be read.
    pub unread: &'a [String],
}

impl DrainPlan<'_> {
    /// Refuses a drain that cannot succeed, or of which that is unknown.
    ///
    /// # Errors
    ///
    /// Data could not be read, pods would be evicted that need a flag, effect NoExecute would evict pods again and again,
    /// or claims may have no other devices and `--accept-unplaceable` was not given.
    pub fn refuse(&self) -> Result<(), Failure> {
        if !self.unread.is_empty() {
            let text = "objects that decide about the drain could not be read; nothing was changed";
            return Err(Failure::refused(text).with_details(self.unread));
        }
        self.refuse_unnamed_classes()?;
        self.refuse_endless()?;
        if self.limits.accept_unplaceable {
            return Ok(());
        }
        let lines = self.unplaced();
        if lines.is_empty() {
            return Ok(());
        }
        let text = "replacements may stay pending without a device; nothing was changed";
        let failure = Failure::refused(text).with_details(lines);
        Err(failure.hint("to drain anyway: --accept-unplaceable"))
    }

    /// Refuses to evict classes of pods whose flag was not given.
    fn refuse_unnamed_classes(&self) -> Result<(), Failure> {
        let unnamed = unnamed_classes(self.pods, &self.limits.include);
        if unnamed.is_empty() {
            return Ok(());
        }
        let text = "pods are evicted only if --include names them; nothing was changed";
        let details = unnamed
            .iter()
            .map(|(class, (_, pods))| format!("{}: {}", class.reason(), few(pods)));
        let failure = Failure::refused(text).with_details(details);
        let flags: Vec<&str> = unnamed.values().map(|(flag, _)| *flag).collect();
        Err(failure.hint(format!("to evict them: --include {}", flags.join(","))))
    }

    /// Refuses effect NoExecute for pods whose replacements come back to the devices: they would be evicted again and
    /// again.
    fn refuse_endless(&self) -> Result<(), Failure> {
        let endless = |pod: &&UnitPod| pod.is_evicted_again && !pod.is_terminating;
        let pods = names(self.pods.iter().filter(endless));
        if !self.limits.force || pods.is_empty() {
            return Ok(());
        }
        let failure = Failure::refused(
            "effect NoExecute would evict the replacements of pods again and again; nothing was changed",
        );
        Err(failure
            .detail(few(&pods))
            .hint("to drain without effect NoExecute: omit --force"))
    }

    fn unplaced(&self) -> Vec<String> {
        self.replacements.map(unplaced).unwrap_or_default()
    }

    /// The lines above the question: units, pods that leave and how, pods that stay and why, budgets that refuse now. Each
    /// is one line, however many there are.
    pub fn lines(&self) -> Vec<String> {
        let included = &self.limits.include;
        let units = self.units.iter().map(|unit| {
            let devices = counted(unit.devices.len(), "device");
            format!("{} ({devices})", unit.name)
        });
        let mut lines = vec![format!("drain {}: {}", self.name, few(units))];
        lines.extend(self.restarts.values().map(RestartState::line));
        let restarted = |pod: &UnitPod| {
            let mut restarts = self.restarts.values();
            restarts.any(|restart| restart.pods.contains(&pod.uid))
        };
        let leaving = |pod: &&UnitPod| pod.is_evicted(included) && !restarted(pod);
        lines.extend(by_class("evict", self.pods.iter().filter(leaving)));
        if let Some(grace) = self.limits.force_after() {
            lines.push(format!(
                "after {}s, evict the rest with effect NoExecute, which ignores budgets",
                grace.as_secs()
            ));
        }
        let terminating = names(self.pods.iter().filter(|pod| pod.is_terminating));
        if !terminating.is_empty() {
            lines.push(format!("already terminating: {}", few(&terminating)));
        }
        let stays = |pod: &&UnitPod| !pod.is_terminating && !pod.is_evicted(included);
        let (until, always): (Vec<_>, Vec<_>) = (self.pods.iter().filter(stays))
            .partition(|pod| self.limits.force && pod.is_evicted_by_taint);
        lines.extend(by_class("stay until effect NoExecute", until.into_iter()));
        lines.extend(by_class("stay", always.into_iter()));
        lines.extend(self.budget_line(leaving));
        for (title, items) in [
            ("not drained", self.siblings.to_vec()),
            ("accepted", self.unplaced()),
        ] {
            lines.extend((!items.is_empty()).then(|| format!("{title}: {}", few(&items))));
        }
        lines
    }

    fn budget_line(&self, leaving: impl Fn(&&UnitPod) -> bool) -> Option<String> {
        let pods = self.pods.iter().filter(leaving);
        let budgets: BTreeSet<&NamespacedName> = pods.flat_map(|pod| &pod.budgets).collect();
        (!budgets.is_empty()).then(|| format!("budgets that refuse now: {}", few(&budgets)))
    }
}

/// Claims that have no other devices, or may have none: a drain needs `--accept-unplaceable`.
pub fn unplaced(replacements: &Replacements) -> Vec<String> {
    let unknown = replacements.claims.iter();
    let unknown = unknown.filter(|claim| claim.placeable.is_none());
    let unknown: Vec<String> = unknown.map(|claim| claim.name.to_string()).collect();
    let mut lines = replacements.lines();
    if !unknown.is_empty() {
        lines.push(format!("unknown for claims: {}", few(&unknown)));
    }
    lines
}

/// The classes that `--include` has to name so that a drain of the pods begins.
pub fn needed_inclusions(pods: &[UnitPod]) -> Vec<&'static str> {
    let unnamed = unnamed_classes(pods, &[]);
    unnamed.into_values().map(|(flag, _)| flag).collect()
}

/// The classes whose flag was not given, each with the flag and the pods. A pod that is terminating leaves without the
/// drain.
fn unnamed_classes<'a>(
    pods: &'a [UnitPod],
    included: &[IncludedClass],
) -> BTreeMap<PodClass, (&'static str, Vec<&'a NamespacedName>)> {
    let mut classes = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !pod.is_terminating) {
        if let Treatment::NeedsInclude(flag) = pod.class.treatment(included) {
            let found: &mut (_, Vec<_>) = classes.entry(pod.class).or_insert((flag, Vec::new()));
            found.1.push(&pod.name);
        }
    }
    classes
}

/// A line for each class of the pods.
fn by_class<'a>(verb: &str, pods: impl Iterator<Item = &'a UnitPod>) -> Vec<String> {
    let mut classes: BTreeMap<PodClass, Vec<&NamespacedName>> = BTreeMap::new();
    for pod in pods {
        classes.entry(pod.class).or_default().push(&pod.name);
    }
    let line = |(class, pods): (PodClass, _)| format!("{verb} ({}): {}", class.reason(), few(pods));
    classes.into_iter().map(line).collect()
}

fn names<'a>(pods: impl Iterator<Item = &'a UnitPod>) -> Vec<&'a NamespacedName> {
    pods.map(|pod| &pod.name).collect()
}

/// A Deployment that starts new pods before old ones stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartState {
    /// Its namespace and name.
    pub owner: NamespacedName,
    /// Opaque version of the object.
    pub resource_version: String,
    /// Desired pods.
    pub replicas: i32,
    /// Its pods on the devices.
    pub pods: BTreeSet<Uid>,
    /// Progress of its restart.
    pub progress: RestartProgress,
}

/// Progress of the restart of a Deployment that was made after the taints of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartProgress {
    /// It was not restarted since.
    NotBegun,
    /// Pods are being replaced.
    Ongoing,
    /// All pods are new and available.
    Complete,
}

impl RestartState {
    /// Its kind, namespace and name.
    pub fn describe(&self) -> String {
        format!("{} {}", Kind::Deployment, self.owner)
    }

    /// The Deployment with its pods here and elsewhere, for the question.
    pub fn line(&self) -> String {
        let replicas = usize::try_from(self.replicas).unwrap_or_default();
        let others = match replicas.saturating_sub(self.pods.len()) {
            0 => String::new(),
            elsewhere => format!(", {elsewhere} of them on other devices"),
        };
        format!(
            "restart {} ({}{others})",
            self.describe(),
            counted(replicas, "pod")
        )
    }
}

/// Time at which the last of `rules` was created; absent if the server does not say. A Deployment that is restarted later
/// has no new pod on their devices.
pub fn tainted_since(rules: &[DeviceTaintRule]) -> Option<Timestamp> {
    let created: Option<Vec<Timestamp>> = rules.iter().map(|rule| rule.metadata.created).collect();
    created?.into_iter().max()
}

/// The Deployments at the top of `pods` that start new pods first, by UID. A restart counts as one of the drain if it was
/// made `since` its taints.
pub fn restart_states<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    reading: &'a Reading,
    since: Option<Timestamp>,
) -> BTreeMap<Uid, RestartState> {
    let owners = Owners::new(reading);
    let mut states: BTreeMap<Uid, RestartState> = BTreeMap::new();
    for pod in pods {
        // Only the topmost owner decides: one above a Deployment may take a change of its template back.
        if let Some((Kind::Deployment, workload)) = owners.top(pod).and_then(|top| top.workload)
            && let Some(state) = state(workload, since)
        {
            let state = states.entry(workload.uid.clone()).or_insert(state);
            state.pods.insert(pod.uid.clone());
        }
    }
    states
}

fn state(workload: &Workload, since: Option<Timestamp>) -> Option<RestartState> {
    let (rollout, replicas) = (workload.rollout.as_ref()?, workload.replicas?);
    if !surges(rollout, replicas) {
        return None;
    }
    let is_ours = rollout
        .restarted
        .is_some_and(|at| since.is_some_and(|since| at >= since));
    Some(RestartState {
        owner: workload.name.clone(),
        resource_version: rollout.resource_version.clone(),
        replicas,
        pods: BTreeSet::new(),
        progress: match (is_ours, rollout.is_complete(replicas)) {
            (false, _) => RestartProgress::NotBegun,
            (true, false) => RestartProgress::Ongoing,
            (true, true) => RestartProgress::Complete,
        },
    })
}

/// True if the rollout of a Deployment that wants `replicas` starts new pods before old ones stop.
///
/// Upstream: `ResolveFenceposts` in `pkg/controller/deployment/util/deployment_util.go`, and `defaultObjectRestarter`
/// of kubectl, which refuses what is paused.
fn surges(rollout: &Rollout, replicas: i32) -> bool {
    let surge = rollout.max_surge.as_ref();
    let surge = surge.and_then(|surge| surge.rounded_up(replicas));
    !rollout.is_paused && surge.is_some_and(|surge| surge > 0)
}

/// Devices that could replace those that the evicted pods of `impact` lose and their controllers need, while the rules of the drain taint the devices
/// of `proposed`; `by_taint`, effect NoExecute evicts pods, too.
///
/// Devices on nodes on which the pod cannot be scheduled replace none: cordoned ones, those with a taint that it does not
/// tolerate, and those that its node selector or affinity excludes.
///
/// A claim often tolerates NoExecute for some time, and NoSchedule not at all: the effect of a preview would let its
/// replacement take a device that the drain keeps free.
pub fn drain_replacements(
    impact: &Impact<'_>,
    proposed: &[ProposedTaint],
    by_taint: bool,
    basis: &Basis<'_>,
) -> Replacements {
    let taints = blocking_effects(by_taint).iter().flat_map(|effect| {
        let proposed = proposed.iter().cloned();
        proposed.map(|taint| taint.with_effect(effect, basis.now))
    });
    let taints: Vec<ProposedTaint> = taints.collect();
    Replacements::under(&taints, impact, NodeFilter::Tainted, basis).0
}

/// The effects that the rules of a drain have, one after the other: a replacement has to find a device under each.
fn blocking_effects(by_taint: bool) -> &'static [Effect] {
    if by_taint {
        &[Effect::NoSchedule, Effect::NoExecute]
    } else {
        &[Effect::NoSchedule]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, limits, owned, unit_pod};
    use crate::engine::preview;
    use crate::engine::testing::{
        after, asks, claim_in_use, device, gpu_class, node, now, pod, published, reading,
        semantics, slice, terms, untimed, uses,
    };
    use crate::error::ExitStatus;
    use crate::model::{
        AllocationResult, Amount, DeviceSelector, NodeTaint, Operator, Phase, Pod, Reading,
        Scheduling, SliceNodes, Toleration,
    };
    use std::time::Duration;

    fn pods() -> Vec<UnitPod> {
        let pod = |name, class| unit_pod(&pod("team-a", name), class);
        vec![
            pod("web-0", PodClass::Replicated),
            pod("train", PodClass::Job),
            pod("agent", PodClass::DaemonSet),
            pod("dcgm", PodClass::Admin),
        ]
    }

    fn plan<'a>(pods: &'a [UnitPod], limits: &'a DrainLimits) -> DrainPlan<'a> {
        const RESTARTS: &BTreeMap<Uid, RestartState> = &BTreeMap::new();
        DrainPlan {
            name: "fw",
            units: &[],
            pods,
            replacements: None,
            limits,
            restarts: RESTARTS,
            siblings: &[],
            unread: &[],
        }
    }

    /// The refusal of a drain of `pods`, with its details and hints.
    fn refusal(pods: &[UnitPod], limits: &DrainLimits, unread: &[&str]) -> String {
        let unread: Vec<String> = unread.iter().map(|&line| line.to_owned()).collect();
        let plan = DrainPlan {
            unread: &unread,
            ..plan(pods, limits)
        };
        let Err(failure) = plan.refuse() else {
            return String::new();
        };
        assert_eq!(failure.status(), ExitStatus::Refused);
        let lines = [failure.details(), failure.hints()].concat();
        format!("{failure}; {}", lines.join("; "))
    }

    #[test]
    fn a_drain_does_not_begin_with_pods_that_no_flag_names_or_with_missing_data() {
        let refused = refusal(&pods(), &limits(), &[]);
        assert!(refused.contains("--include jobs"), "{refused}");
        assert!(refused.contains("team-a/train"), "{refused}");
        assert_eq!(needed_inclusions(&pods()), ["jobs"]);
        let mut jobs = limits();
        jobs.include.push(IncludedClass::Jobs);
        assert_eq!(refusal(&pods(), &jobs, &[]), "");
        let refused = refusal(&pods(), &jobs, &["pods: denied"]);
        assert!(refused.contains("pods: denied"), "{refused}");
    }

    #[test]
    fn force_is_refused_for_pods_that_come_back() {
        let mut forced = limits();
        forced.include.push(IncludedClass::Jobs);
        (forced.force, forced.grace) = (true, Duration::ZERO);
        let mut pods = pods();
        assert_eq!(refusal(&pods, &forced, &[]), "");
        pods[2].is_evicted_again = true;
        assert!(refusal(&pods, &forced, &[]).contains("team-a/agent"));
    }

    #[test]
    fn pods_that_effect_no_execute_evicts_are_not_said_to_stay() {
        let mut limits = limits();
        limits.include.push(IncludedClass::Jobs);
        let mut pods = pods();
        pods.push(unit_pod(&pod("team-a", "batch"), PodClass::Tolerant));
        let staying = |limits: &DrainLimits| {
            let mut lines = plan(&pods, limits).lines();
            lines.retain(|line| line.starts_with("stay "));
            lines.join("\n")
        };
        assert!(staying(&limits).contains("stay (admin access): team-a/dcgm"));
        limits.force = true;
        assert_eq!(
            staying(&limits),
            "stay until effect NoExecute (DaemonSet): team-a/agent\n\
             stay until effect NoExecute (admin access): team-a/dcgm\n\
             stay (tolerates the taint): team-a/batch"
        );
    }

    fn states(change: impl FnOnce(&mut Rollout)) -> BTreeMap<Uid, RestartState> {
        let mut cluster = Cluster::default();
        cluster.deployment("web", 4);
        cluster.roll(change);
        let pods = ["web-1", "web-2"].map(|name| owned(name, Some(("ReplicaSet", "web-6d"))));
        restart_states(&pods, &cluster.reading, Some(now()))
    }

    #[test]
    fn only_a_deployment_that_starts_new_pods_first_can_be_restarted() {
        let found = states(|_| {}).into_values().next().expect("a Deployment");
        assert_eq!((found.pods.len(), found.replicas), (2, 4));
        assert_eq!(found.progress, RestartProgress::NotBegun);
        assert!(states(|rollout| rollout.is_paused = true).is_empty());
        assert!(states(|rollout| rollout.max_surge = None).is_empty());
        assert!(states(|rollout| rollout.max_surge = Some(Amount::Pods(0))).is_empty());
    }

    #[test]
    fn a_restart_after_the_taints_is_that_of_the_drain() {
        let progress = |change: &dyn Fn(&mut Rollout)| {
            let found = states(|rollout| change(rollout)).into_values().next();
            found.expect("a Deployment").progress
        };
        let before = |rollout: &mut Rollout| rollout.restarted = Some(after(-60));
        assert_eq!(progress(&before), RestartProgress::NotBegun);
        let complete = |rollout: &mut Rollout| rollout.restarted = Some(now());
        assert_eq!(progress(&complete), RestartProgress::Complete);
        let ongoing = |rollout: &mut Rollout| {
            rollout.restarted = Some(after(5));
            rollout.updated = 1;
        };
        assert_eq!(progress(&ongoing), RestartProgress::Ongoing);
    }

    fn toleration(effect: Effect) -> Toleration {
        Toleration {
            operator: Operator::Exists,
            seconds: (effect == Effect::NoExecute).then_some(120),
            effect: Some(effect),
            ..Toleration::default()
        }
    }

    /// True if the only device of the cluster could be given to a claim with this toleration again.
    fn is_placeable(effect: Effect, by_taint: bool) -> Option<bool> {
        let found = of_pod(&pod("ml", "notebook"), effect, by_taint);
        found.claims.first().and_then(|claim| claim.placeable)
    }

    /// Devices that could replace the only device of the cluster, which a claim of the pod with this toleration has.
    fn of_pod(pod: &Pod, effect: Effect, by_taint: bool) -> Replacements {
        found_in(&reading_of(pod, effect), by_taint)
    }

    fn place_reading() -> Reading {
        reading_of(&pod("ml", "notebook"), Effect::NoSchedule)
    }

    /// A cluster with one device, which a claim of the pod with this toleration has.
    fn reading_of(pod: &Pod, effect: Effect) -> Reading {
        let terms = terms("gpu", vec![toleration(effect)]);
        let mut pod = pod.clone();
        pod.phase = Phase::Running;
        let mut claim = claim_in_use(&pod);
        claim.spec = Some(asks(terms).into());
        pod.claims = uses(claim.name.name.as_str());
        let mut reading = reading();
        let snapshot = &mut reading.snapshot;
        snapshot.nodes = vec![node("node-7")];
        snapshot.classes = vec![gpu_class()];
        snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        snapshot.claims = vec![claim];
        snapshot.pods = vec![pod];
        reading
    }

    fn found_in(reading: &Reading, by_taint: bool) -> Replacements {
        drained(reading, |impact, proposed, basis| {
            drain_replacements(impact, proposed, by_taint, basis)
        })
    }

    /// Answer to `question` about a drain of the only device.
    fn drained<T>(
        reading: &Reading,
        question: impl FnOnce(&Impact<'_>, &[ProposedTaint], &Basis<'_>) -> T,
    ) -> T {
        let taint = untimed("devicetaint.dev/drain:NoExecute");
        let selector = DeviceSelector::from(device("gpu-0"));
        let proposed = [ProposedTaint::hypothetical(selector, taint, now())];
        let semantics = semantics(37);
        let impact = preview(&reading.snapshot, &proposed, now(), &semantics);
        let basis = Basis::new(reading, &semantics, now());
        question(&impact, &proposed, &basis)
    }

    #[test]
    fn effect_no_execute_evicts_monitors_and_not_pods_that_tolerate_it() {
        let is_evicted = |change: fn(&mut AllocationResult)| {
            let mut reading = place_reading();
            let claim = &mut reading.snapshot.claims[0];
            change(&mut claim.allocation.as_mut().expect("an allocation").results[0]);
            let pods = drained(&reading, |impact, _, basis| pods_of(impact, basis));
            pods.first().map(|pod| pod.is_evicted_by_taint)
        };
        assert_eq!(is_evicted(|_| {}), Some(true));
        assert_eq!(is_evicted(|result| result.admin_access = true), Some(true));
        let tolerant = |result: &mut AllocationResult| {
            result.tolerations = vec![Toleration {
                seconds: None,
                ..toleration(Effect::NoExecute)
            }];
        };
        assert_eq!(is_evicted(tolerant), Some(false));
    }

    #[test]
    fn a_device_on_a_cordoned_node_replaces_none() {
        let place = |cordoned: bool| {
            let mut reading = place_reading();
            reading.snapshot.nodes[0].unschedulable = cordoned;
            let found = found_in(&reading, false);
            found.claims.first().and_then(|claim| claim.placeable)
        };
        // Its claim tolerates the effect that the rules have, so that its own device is left for it.
        assert_eq!(place(false), Some(true));
        assert_eq!(place(true), Some(false));
        // A pool of two nodes is complete, whichever of them is cordoned.
        let mut both = reading_of(&pod("ml", "notebook"), Effect::NoExecute);
        let mut other = slice(vec![published("gpu-1", &[])]);
        other.name = "other".into();
        other.nodes = SliceNodes::One("node-8".into());
        let snapshot = &mut both.snapshot;
        snapshot.nodes.push(node("node-8"));
        snapshot.slices.push(other);
        for slice in &mut snapshot.slices {
            slice.pool.slice_count = 2;
        }
        for (cordoned, expected) in [(0, Some(true)), (1, Some(false))] {
            let mut reading = both.clone();
            reading.snapshot.nodes[cordoned].unschedulable = true;
            let found = found_in(&reading, false);
            assert_eq!(found.claims[0].placeable, expected, "{cordoned}");
        }
    }

    #[test]
    fn a_device_on_a_node_on_which_its_pod_cannot_be_scheduled_replaces_none() {
        let mut other = slice(vec![published("gpu-1", &[])]);
        other.name = "other".into();
        other.pool.name = "other".into();
        other.nodes = SliceNodes::One("node-8".into());
        let mut free = reading_of(&pod("ml", "notebook"), Effect::NoExecute);
        free.snapshot.slices.push(other);
        free.snapshot.nodes.push(node("node-8"));
        let placeable = |reading: &Reading| found_in(reading, false).claims[0].placeable;
        assert_eq!(placeable(&free), Some(true));
        let mut tainted = free.clone();
        tainted.snapshot.nodes[1].taints = vec![NodeTaint {
            key: "example.com/reserved".to_owned(),
            effect: "NoSchedule".to_owned(),
            ..NodeTaint::default()
        }];
        assert_eq!(placeable(&tainted), Some(false));
        let mut tolerating = tainted.clone();
        tolerating.snapshot.pods[0].scheduling = Some(Box::new(Scheduling {
            tolerations: vec![crate::engine::testing::toleration(":")],
            ..Scheduling::default()
        }));
        assert_eq!(placeable(&tolerating), Some(true));
    }

    #[test]
    fn a_replacement_is_blocked_by_the_effect_that_the_rules_really_have() {
        assert_eq!(is_placeable(Effect::NoExecute, false), Some(false));
        assert_eq!(is_placeable(Effect::NoSchedule, false), Some(true));
        assert_eq!(is_placeable(Effect::NoSchedule, true), Some(false));
    }
}
