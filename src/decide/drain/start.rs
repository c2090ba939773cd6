//! Reasons to refuse a drain before anything is tainted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::facts::UnitPod;
use super::pod_class::{Inclusions, PodClass, Treatment};
use super::restart::RestartPlan;
use super::termination::Terminations;
use super::unit::Unit;
use super::unit_limits::UnitLimits;
use crate::assess::Replacements;
use crate::engine::job_fate::JobFate;
use crate::engine::{Impact, PodImpact, Verdict};
use crate::error::{ExitStatus, Failure};
use crate::model::{NodeName, Uid};
use crate::naming::age::human_duration;
use crate::naming::phrase::{counted, few};

/// The work of a drain.
#[derive(Clone, Copy, Debug)]
pub struct DrainPlan<'a> {
    /// Name of the drain.
    pub name: &'a str,
    /// Its units that are not done.
    pub units: &'a [Unit],
    /// The pods that use their devices.
    pub pods: &'a [UnitPod],
    /// Whether the claims of evicted pods can be reallocated with all units tainted.
    pub replacements: &'a Replacements,
    /// Cordoned nodes, whose devices replace none.
    pub cordoned: &'a BTreeSet<NodeName>,
    /// The limits of each unit.
    pub limits: &'a UnitLimits,
    /// Jobs that fail for good by the evictions.
    pub failing_jobs: &'a [String],
    /// The longest time that evictions may take.
    pub longest: Duration,
    /// Whether that includes the time for which pods tolerate effect NoExecute.
    pub tolerates: bool,
    /// How many of its rules an earlier run gave effect NoExecute.
    pub raised: usize,
    /// Whether the pods can terminate.
    pub terminations: &'a Terminations,
    /// PodDisruptionBudgets that refuse the first evictions, a line each.
    pub refusing_budgets: &'a [String],
    /// Other devices of the same hardware that are in use and not drained, a line each.
    pub siblings: &'a [String],
    /// Owners of these pods that are restarted.
    pub restarts: &'a RestartPlan,
    /// Data that could not be read.
    pub unread: &'a [String],
}

/// Refuses a drain that cannot succeed, or of which that is unknown.
///
/// # Errors
///
/// Data could not be read, pods would be evicted that need a flag, or claims have no other devices and
/// `--accept-unplaceable` was not given.
pub fn refuse_start(plan: &DrainPlan<'_>) -> Result<(), Failure> {
    if !plan.unread.is_empty() {
        let failure = Failure::new(
            ExitStatus::Failed,
            "it is unknown which pods the drain would evict; nothing was changed",
        );
        let unread = plan.unread.iter();
        return Err(unread.fold(failure, |failure, what| {
            failure.detail(format!("could not be read: {what}"))
        }));
    }
    // Missing flags come first. With them more pods would be evicted, and more claims would need devices.
    refuse_unasked(plan)?;
    refuse_endless(plan.limits, plan.pods)?;
    if plan.limits.accepts_unplaceable {
        return Ok(());
    }
    let lines = unplaced(plan.replacements);
    if lines.is_empty() {
        return Ok(());
    }
    // Nobody stays pending for sure where it is only not known.
    let failure = Failure::refused(if plan.replacements.lines().is_empty() {
        "cannot tell whether other devices are available; nothing was changed"
    } else {
        "replacements would stay pending without a device; nothing was changed"
    });
    let cordoned: Vec<String> = plan.cordoned.iter().map(ToString::to_string).collect();
    let cordoned = (!cordoned.is_empty()).then(|| {
        format!(
            "devices on cordoned nodes are not available for replacements: {}",
            few(&cordoned)
        )
    });
    Err(lines
        .into_iter()
        .chain(cordoned)
        .fold(failure, Failure::detail)
        .hint("to drain anyway: --accept-unplaceable"))
}

/// The classes that --include has to name so that a drain of the pods begins.
#[must_use]
pub fn needed_inclusions(pods: &[UnitPod]) -> Vec<&'static str> {
    let included = Inclusions::default();
    let unasked = by_class(unasked(pods, included));
    let classes = unasked.keys().filter_map(|class| flag(*class, included));
    classes.collect()
}

/// The value of --include without which the drain does not begin.
fn flag(class: PodClass, included: Inclusions) -> Option<&'static str> {
    match class.treatment(included) {
        Treatment::NeedsConsent(flag) => Some(flag),
        Treatment::Evicted | Treatment::Kept | Treatment::Stays(_) => None,
    }
}

/// The pods whose flag was not given. One that is terminating leaves without the drain, so it needs no flag.
fn unasked(pods: &[UnitPod], included: Inclusions) -> impl Iterator<Item = &UnitPod> {
    let staying = pods.iter().filter(|pod| !pod.is_terminating);
    staying.filter(move |pod| flag(pod.class, included).is_some())
}

/// Refuses to evict classes of pods whose flag was not given.
fn refuse_unasked(plan: &DrainPlan<'_>) -> Result<(), Failure> {
    let included = plan.limits.included;
    let unasked = by_class(unasked(plan.pods, included));
    if unasked.is_empty() {
        return Ok(());
    }
    let classes = unasked.keys().filter_map(|class| flag(*class, included));
    let hint = format!(
        "to evict these pods too (they are evicted last): --include {}",
        classes.collect::<Vec<_>>().join(",")
    );
    let failure = Failure::refused(
        "some of the pods are evicted only if --include names their class; nothing was changed",
    );
    Err(with_classes(failure, &unasked).hint(hint))
}

/// The names of the pods by class.
fn by_class<'a>(pods: impl Iterator<Item = &'a UnitPod>) -> BTreeMap<PodClass, Vec<String>> {
    let mut classes: BTreeMap<PodClass, Vec<String>> = BTreeMap::new();
    for pod in pods {
        let names = classes.entry(pod.class).or_default();
        names.push(pod.name.to_string());
    }
    classes
}

/// The failure with the pods of each class.
fn with_classes(failure: Failure, classes: &BTreeMap<PodClass, Vec<String>>) -> Failure {
    classes.iter().fold(failure, |failure, (class, pods)| {
        failure.detail(format!("{}: {}", class.describe(), few(pods)))
    })
}

/// Refuses effect NoExecute for pods whose replacements take over their claims: these would be evicted again and again.
fn refuse_endless(limits: &UnitLimits, pods: &[UnitPod]) -> Result<(), Failure> {
    let endless = |pod: &&UnitPod| pod.is_evicted_again && !pod.is_terminating;
    let classes = by_class(pods.iter().filter(endless));
    if !limits.may_evict_by_taint() || classes.is_empty() {
        return Ok(());
    }
    let failure = Failure::refused(
        "effect NoExecute would evict the replacements of some pods again and again; nothing was changed",
    );
    let failure = with_classes(failure, &classes);
    let keeps_claim = classes.contains_key(&PodClass::KeepsClaim);
    let claims = keeps_claim.then_some(
        "to release a claim that replacements would use too: scale the workload to 0, or use a ResourceClaimTemplate",
    );
    let others = classes.keys().any(|class| *class != PodClass::KeepsClaim);
    let tolerations = others.then_some(
        "to keep pods on these devices: add a NoExecute toleration without tolerationSeconds to their ResourceClaimTemplates",
    );
    let hints = claims.into_iter().chain(tolerations);
    let failure = hints.fold(failure, Failure::hint);
    Err(failure.hint("to drain without effect NoExecute: omit --force"))
}

/// Claims that have no other devices, or may have none.
fn unplaced(replacements: &Replacements) -> Vec<String> {
    let mut lines = replacements.lines();
    let unknown = replacements.claims.iter();
    let unknown: Vec<String> = unknown
        .filter(|claim| claim.placeable.is_none())
        .map(|claim| claim.name.to_string())
        .collect();
    if !unknown.is_empty() {
        lines.push(format!(
            "cannot tell for {} whether other devices are available: {}",
            counted(unknown.len(), "claim"),
            few(&unknown)
        ));
    }
    lines
}

/// The plan of the drain, as shown before the prompt.
#[must_use]
pub fn plan_lines(plan: &DrainPlan<'_>) -> Vec<String> {
    let DrainPlan {
        name,
        units,
        pods,
        limits,
        restarts,
        ..
    } = *plan;
    let devices: usize = units.iter().map(|unit| unit.devices.len()).sum();
    let names: Vec<String> = units.iter().map(|unit| unit.name.clone()).collect();
    let mut lines = vec![
        format!(
            "Drain {name}: {} in {} ({})",
            counted(devices, "device"),
            counted(units.len(), "unit"),
            few(&names)
        ),
        format!("Pods are removed {}", departure(limits, restarts)),
    ];
    if plan.raised > 0 {
        lines.push(format!(
            "  {} of this drain already {} effect NoExecute: {} pods regardless of budgets",
            counted(plan.raised, "rule"),
            if plan.raised == 1 { "has" } else { "have" },
            if plan.raised == 1 {
                "it evicts"
            } else {
                "they evict"
            },
        ));
    }
    let lines_of_owners = restarts.lines().into_iter();
    lines.extend(lines_of_owners.map(|line| format!("  {line}")));
    // A Deployment is restarted as a whole, so its pods on other devices are replaced as well.
    let elsewhere = restarts.replaced();
    let by_restart = pods
        .iter()
        .filter(|pod| restarts.restarts(&pod.uid))
        .count();
    if elsewhere > by_restart {
        let leaving = pods
            .iter()
            .filter(|pod| pod.is_evicted(limits.included))
            .count();
        let all = leaving.saturating_sub(by_restart).saturating_add(elsewhere);
        lines.push(format!(
            "  {} the devices, and restarts also replace other pods: {} in all",
            match leaving {
                1 => "1 pod leaves".to_owned(),
                more => format!("{more} pods leave"),
            },
            counted(all, "pod")
        ));
    }
    let (terminating, others): (Vec<&UnitPod>, Vec<&UnitPod>) =
        pods.iter().partition(|pod| pod.is_terminating);
    let others = others
        .into_iter()
        .filter(|pod| !restarts.restarts(&pod.uid));
    let classes = by_class(others);
    lines.extend(classes.iter().map(|(class, pods)| {
        let (verb, condition) = treated(*class, limits);
        format!("  {verb} {}{condition}: {}", class.describe(), few(pods))
    }));
    let refusing = plan.refusing_budgets.iter();
    lines.extend(refusing.map(|line| format!("  {line}")));
    if !terminating.is_empty() {
        let names = terminating.iter().map(|pod| pod.name.to_string());
        let names: Vec<String> = names.collect();
        lines.push(format!("  already terminating: {}", few(&names)));
    }
    lines.extend(plan.siblings.iter().map(|line| {
        format!("  not drained: {line}; the unit becomes idle only when none of this hardware is in use (to drain partitions too: --with-partitions)")
    }));
    let for_good = classes.get(&PodClass::Unmanaged);
    let for_good = for_good.filter(|_| limits.included.unmanaged);
    if let Some(pods) = for_good {
        lines.push(format!(
            "  {} will not be recreated",
            counted(pods.len(), "pod")
        ));
    }
    if !plan.failing_jobs.is_empty() {
        let jobs = plan.failing_jobs;
        let are = if jobs.len() == 1 { "fails" } else { "fail" };
        let count = counted(jobs.len(), "Job");
        lines.push(format!(
            "  {count} {are} permanently unless containers exit with 0 when stopped: {}",
            few(jobs)
        ));
    }
    lines.push(format!(
        "  expected time: {}; at most {} for each unit (--timeout)",
        plan.terminations
            .expected_time(&human(plan.longest), plan.tolerates),
        human(limits.timeout)
    ));
    lines.extend(unchecked_line(plan.replacements).filter(|_| !limits.accepts_unplaceable));
    if limits.accepts_unplaceable {
        lines.extend(
            unplaced(plan.replacements)
                .into_iter()
                .map(|line| format!("  accepted: {line}")),
        );
    }
    lines
}

/// What is not known of several claims that can each be reallocated: the scheduler may place one so that another finds no
/// node.
fn unchecked_line(replacements: &Replacements) -> Option<String> {
    let claims = replacements.claims.len();
    let unchecked = replacements.unchecked().filter(|_| claims > 1)?;
    Some(format!(
        "  each of {} can be reallocated alone, but perhaps not all together; not checked: {unchecked}",
        counted(claims, "claim")
    ))
}

/// By what pods leave, in words.
fn departure(limits: &UnitLimits, restarts: &RestartPlan) -> String {
    let means = if restarts.owners.is_empty() {
        "through the Eviction API"
    } else {
        "by restarting their Deployments, which start new pods first; other pods through the Eviction API"
    };
    match limits.force_after {
        None => format!("{means}, which respects budgets"),
        Some(after) => format!(
            "{means}, and after {}s with effect NoExecute, which ignores budgets",
            after.as_secs()
        ),
    }
}

fn human(duration: Duration) -> String {
    human_duration(SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX))
}

/// Jobs that fail for good by the evictions of `impact`, as NAMESPACE/NAME, each once.
#[must_use]
pub fn failing_jobs(impact: &Impact<'_>, fates: &BTreeMap<&Uid, JobFate>) -> Vec<String> {
    let pods = impact.pods.iter().map(|impact| impact.pod);
    let failing = pods.filter(|pod| matches_failure(fates.get(&pod.uid)));
    let names: BTreeSet<String> = failing
        .filter_map(|pod| {
            let job = pod.controller.as_ref()?;
            Some(format!("{}/{}", pod.name.namespace, job.name))
        })
        .collect();
    names.into_iter().collect()
}

fn matches_failure(fate: Option<&JobFate>) -> bool {
    match fate {
        Some(JobFate::Fails(_)) => true,
        Some(_) | None => false,
    }
}

/// The longest time that evictions may take: units are drained one after the other, and so are the pods of a workload
/// within a unit; those of different workloads are evicted side by side. If effect NoExecute evicts `from` that time
/// on, each unit also waits for the longest toleration.
#[must_use]
pub fn grace_time(
    units: &[Unit],
    leaving: &[&UnitPod],
    impact: &Impact<'_>,
    from: Option<Timestamp>,
) -> Duration {
    let found: BTreeMap<&Uid, &PodImpact<'_>> = impact
        .pods
        .iter()
        .map(|found| (&found.pod.uid, found))
        .collect();
    // A pod leaves with the first of its units.
    let unit_of = |uid: &Uid| {
        let claims = &found.get(uid)?.claims;
        let results = || claims.iter().flat_map(|claim| &claim.results);
        units
            .iter()
            .position(|unit| results().any(|result| unit.devices.contains(&result.device)))
    };
    let tolerated = |pod: &&UnitPod| {
        let Verdict::Evicted { at } = found.get(&pod.uid)?.verdict else {
            return None;
        };
        Duration::try_from(at.duration_since(from?)).ok()
    };
    let mut by_unit: BTreeMap<Option<usize>, Vec<&UnitPod>> = BTreeMap::new();
    for pod in leaving {
        by_unit.entry(unit_of(&pod.uid)).or_default().push(pod);
    }
    by_unit
        .values()
        .map(|pods| {
            // Pods that come last are evicted when the others are gone.
            let (last, first): (Vec<&UnitPod>, Vec<&UnitPod>) =
                pods.iter().partition(|pod| pod.class.is_last());
            let tolerated = pods.iter().filter_map(tolerated).max();
            grace_time_side_by_side(&first, impact)
                .saturating_add(grace_time_side_by_side(&last, impact))
                .saturating_add(tolerated.unwrap_or_default())
        })
        .sum()
}

fn grace_time_side_by_side(leaving: &[&UnitPod], impact: &Impact<'_>) -> Duration {
    let grace: BTreeMap<&Uid, i64> = impact
        .pods
        .iter()
        .map(|impact| (&impact.pod.uid, impact.pod.grace_period_seconds))
        .collect();
    let mut workloads: BTreeMap<&Uid, u64> = BTreeMap::new();
    for pod in leaving {
        let seconds = grace.get(&pod.uid).copied().unwrap_or_default();
        let seconds = u64::try_from(seconds).unwrap_or_default();
        // A pod without a workload is on its own.
        let sum = workloads.entry(pod.workload.as_ref().unwrap_or(&pod.uid));
        let sum = sum.or_default();
        *sum = sum.saturating_add(seconds);
    }
    // Workloads are drained side by side, so the slowest one decides.
    Duration::from_secs(workloads.into_values().max().unwrap_or_default())
}

/// What becomes of pods of the class: a verb, and under which condition.
fn treated(class: PodClass, limits: &UnitLimits) -> (&'static str, &'static str) {
    let treatment = class.treatment(limits.included);
    match treatment {
        Treatment::Evicted => ("evicts", ""),
        Treatment::Kept | Treatment::Stays(_) | Treatment::NeedsConsent(_) => {
            match (class.leaves_by_taint(), limits.force_after) {
                // Effect NoExecute does not ask about classes.
                (true, Some(_)) => ("does not evict", " before effect NoExecute is set"),
                (true, None) | (false, _) => match treatment {
                    Treatment::Stays(_) => ("does not evict", ", so the unit cannot become idle"),
                    Treatment::Evicted | Treatment::Kept | Treatment::NeedsConsent(_) => {
                        ("does not evict", "")
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::assess::ClaimReplacement;
    use crate::decide::drain::restart::{PlannedRestart, RestartProgress, RestartState};
    use crate::decide::drain::testing::{limits, unit_pod, used};
    use crate::engine::allocator::UnmodelledTerm;
    use crate::report::testing::{after, device, evicted, impact, name, pod as running};

    fn pod(name: &str, class: PodClass) -> UnitPod {
        unit_pod(&running("team-a", name), class)
    }

    fn replacements(placeable: &[Option<bool>], at_most_together: usize) -> Replacements {
        let claims = placeable.iter().enumerate();
        Replacements {
            claims: claims
                .map(|(place, placeable)| ClaimReplacement {
                    name: name("team-a", &format!("claim-{place}")),
                    placeable: *placeable,
                    unknown: Default::default(),
                    requests: Vec::new(),
                    not_modelled: Vec::new(),
                })
                .collect(),
            at_most_together,
            available: None,
        }
    }

    fn refused(
        pods: &[UnitPod],
        replacements: &Replacements,
        limits: &UnitLimits,
    ) -> Option<String> {
        let plan = DrainPlan {
            cordoned: &BTreeSet::new(),
            refusing_budgets: &[],
            siblings: &[],
            failing_jobs: &[],
            terminations: &Terminations::default(),
            longest: Duration::from_secs(30),
            tolerates: false,
            raised: 0,
            name: "fw",
            units: &[],
            pods,
            replacements,
            limits,
            restarts: &RestartPlan::default(),
            unread: &[],
        };
        let failure = refuse_start(&plan).err()?;
        let lines = [failure.to_string()];
        let lines = lines.iter().chain(failure.details()).chain(failure.hints());
        Some(lines.cloned().collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn it_begins_where_every_claim_has_another_device_and_not_otherwise() {
        let yes = Some(true);
        for (name, placeable, together, begins) in [
            ("none to place", &[][..], 0, true),
            ("all", &[yes, yes][..], 2, true),
            ("one alone", &[yes, Some(false)][..], 1, false),
            ("not together", &[yes, yes][..], 1, false),
            ("unknown", &[yes, None][..], 2, false),
        ] {
            let found = replacements(placeable, together);
            assert_eq!(refused(&[], &found, &limits()).is_none(), begins, "{name}");
            let accepting = UnitLimits {
                accepts_unplaceable: true,
                ..limits()
            };
            assert_eq!(refused(&[], &found, &accepting), None, "{name}");
        }
    }

    #[test]
    fn pods_that_are_not_evicted_unasked_are_named_with_their_flags() {
        let mut leaving = pod("leaving", PodClass::Unmanaged);
        leaving.is_terminating = true;
        let pods = [
            pod("web", PodClass::Replicated),
            pod("train", PodClass::Job),
            pod("bare", PodClass::Unmanaged),
            pod("agent", PodClass::DaemonSet),
            leaving,
        ];
        let none = replacements(&[], 0);
        let text = refused(&pods, &none, &limits()).expect("it is refused");
        for named in ["team-a/train", "team-a/bare", "--include jobs,unmanaged"] {
            assert!(text.contains(named), "{named}: {text}");
        }
        for other in ["team-a/web", "team-a/agent", "team-a/leaving"] {
            assert!(!text.contains(other), "{other}: {text}");
        }
        let mut both = limits();
        both.included.jobs = true;
        both.included.unmanaged = true;
        assert_eq!(refused(&pods, &none, &both), None);
    }

    #[test]
    fn restarts_are_told_in_place_of_the_pods_that_leave_by_them() {
        let pods = [
            pod("web", PodClass::Replicated),
            pod("api", PodClass::Replicated),
        ];
        let state = RestartState {
            owner: name("team-a", "web"),
            resource_version: "7".to_owned(),
            replicas: 3,
            progress: RestartProgress::NotBegun,
        };
        let planned = PlannedRestart {
            state,
            pods: [pods[0].uid.clone()].into(),
        };
        let restarts = RestartPlan {
            owners: [("web".into(), planned)].into(),
        };
        let none = replacements(&[], 0);
        let lines = {
            let limits = UnitLimits {
                restarts: true,
                ..limits()
            };
            let plan = DrainPlan {
                cordoned: &BTreeSet::new(),
                refusing_budgets: &[
                    "PodDisruptionBudget team-a/api allows no eviction now".to_owned()
                ],
                siblings: &[],
                failing_jobs: &[],
                terminations: &Terminations::default(),
                longest: Duration::from_secs(30),
                tolerates: false,
                raised: 0,
                name: "fw",
                units: &[],
                pods: &pods,
                replacements: &none,
                limits: &limits,
                restarts: &restarts,
                unread: &[],
            };
            assert!(refuse_start(&plan).is_ok());
            plan_lines(&plan).split_off(1).join("\n")
        };
        for named in [
            "restarts Deployment team-a/web (3 pods, 2 of them on other devices)",
            "4 pods in all",
            "recreates: team-a/api",
        ] {
            assert!(lines.contains(named), "{named}: {lines}");
        }
    }

    #[test]
    fn flags_are_needed_for_pods_that_are_evicted_with_consent_only() {
        let pods = [
            pod("web", PodClass::Replicated),
            pod("db", PodClass::SingleReplica),
            pod("train", PodClass::Job),
            pod("monitor", PodClass::DaemonSet),
            UnitPod {
                is_terminating: true,
                ..pod("notebook", PodClass::Unmanaged)
            },
        ];
        assert_eq!(needed_inclusions(&pods), ["singletons", "jobs"]);
        assert_eq!(needed_inclusions(&pods[..1]), [""; 0]);
    }

    #[test]
    fn what_is_not_checked_for_several_claims_together_is_named() {
        let mut several = replacements(&[Some(true), Some(true)], 2);
        assert_eq!(unchecked_line(&several), None);
        several.claims[1].not_modelled = vec![UnmodelledTerm::SeveralDevices];
        let line = unchecked_line(&several).unwrap();
        assert!(
            line.starts_with(
                "  each of 2 claims can be reallocated alone, but perhaps not all together; not checked: whether"
            ),
            "{line}"
        );
        several.claims.remove(0);
        assert_eq!(unchecked_line(&several), None);
    }

    #[test]
    fn effect_no_execute_is_refused_for_pods_that_come_back_with_their_claim() {
        let mut web = UnitPod {
            is_evicted_again: true,
            ..unit_pod(&running("team-a", "web"), PodClass::KeepsClaim)
        };
        let refused = |web: &UnitPod, force_after| {
            let limits = UnitLimits {
                force_after,
                ..limits()
            };
            refuse_endless(&limits, std::slice::from_ref(web)).err()
        };
        let later = Some(Duration::from_secs(60));
        assert!(refused(&web, None).is_none(), "they stay");
        let failure = refused(&web, later).expect("a refusal");
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert!(failure.details()[0].ends_with("team-a/web"), "{failure}");
        let monitor = UnitPod {
            class: PodClass::Monitor,
            ..web.clone()
        };
        let failure = refused(&monitor, later).expect("a refusal");
        assert!(
            failure.hints()[0].starts_with("to keep pods on these devices"),
            "{failure}"
        );
        web.is_terminating = true;
        assert!(refused(&web, later).is_none(), "it leaves");
        let once = UnitPod {
            is_evicted_again: false,
            ..monitor
        };
        assert!(refused(&once, later).is_none(), "it is evicted once");
    }

    #[test]
    fn classes_that_stay_leave_by_effect_no_execute() {
        let by = |class, force_after| {
            let limits = UnitLimits {
                force_after,
                ..limits()
            };
            treated(class, &limits)
        };
        let force = Some(Duration::from_secs(30));
        let stays = ("does not evict", "");
        for class in [PodClass::DaemonSet, PodClass::Monitor] {
            assert_eq!(by(class, None), stays);
            let later = ("does not evict", " before effect NoExecute is set");
            assert_eq!(by(class, force), later);
        }
        assert_eq!(by(PodClass::TolerantMonitor, force), stays);
        let blocks = ("does not evict", ", so the unit cannot become idle");
        assert_eq!(by(PodClass::Tolerant, force), blocks);
        assert_eq!(by(PodClass::Replicated, None), ("evicts", ""));
    }

    #[test]
    fn terminating_pods_are_not_called_evicted_and_no_time_is_expected_of_pods_that_cannot_terminate()
     {
        let mut leaving = pod("nr7", PodClass::Unmanaged);
        leaving.is_terminating = true;
        let pods = [pod("web", PodClass::Replicated), leaving];
        let mut limits = limits();
        limits.included.unmanaged = true;
        let stuck = Terminations {
            stuck: vec!["team-a/nr7 (node node-7 is NotReady)".to_owned()],
            is_unknown: false,
        };
        let plan = DrainPlan {
            cordoned: &BTreeSet::new(),
            refusing_budgets: &[],
            siblings: &[],
            failing_jobs: &[],
            longest: Duration::from_secs(30),
            tolerates: false,
            raised: 0,
            terminations: &stuck,
            name: "fw",
            units: &[],
            pods: &pods,
            replacements: &replacements(&[], 0),
            limits: &limits,
            restarts: &RestartPlan::default(),
            unread: &[],
        };
        let lines = plan_lines(&plan).join(
            "
",
        );
        assert!(lines.contains("already terminating: team-a/nr7"), "{lines}");
        assert!(lines.contains("expected time: unknown"), "{lines}");
    }

    #[test]
    fn grace_periods_of_units_follow_each_other_and_workloads_of_a_unit_go_side_by_side() {
        let second = |device: &str| {
            let mut used = used();
            used.result.device = self::device(device);
            used
        };
        let used = [used(), second("gpu-1"), second("gpu-1")];
        let pods = [("web", 5), ("api", 7), ("train", 20)].map(|(name, grace)| {
            let mut pod = running("team-a", name);
            pod.grace_period_seconds = grace;
            pod
        });
        let impacts = pods.iter().zip(&used).map(|(pod, used)| {
            let mut impact = evicted(pod, 0);
            impact.claims = vec![used.claim_use()];
            impact
        });
        let impact = impact(impacts.collect());
        let leaving: Vec<UnitPod> = pods
            .iter()
            .map(|pod| unit_pod(pod, PodClass::Replicated))
            .collect();
        let leaving: Vec<&UnitPod> = leaving.iter().collect();
        let unit = |devices: &[&str]| Unit {
            name: devices.join("+"),
            devices: devices.iter().map(|name| device(name)).collect(),
        };
        let seconds = |units: &[Unit]| grace_time(units, &leaving, &impact, None).as_secs();
        assert_eq!(seconds(&[unit(&["gpu-0"]), unit(&["gpu-1"])]), 25);
        assert_eq!(seconds(&[unit(&["gpu-0", "gpu-1"])]), 20);
        // Evicted by effect NoExecute, a pod leaves when it no longer tolerates that.
        let units = [unit(&["gpu-0"]), unit(&["gpu-1"])];
        let from = Some(after(-60));
        assert_eq!(grace_time(&units, &leaving, &impact, from).as_secs(), 145);
        let last = unit_pod(&pods[2], PodClass::Job);
        let leaving = [leaving[0], leaving[1], &last];
        assert_eq!(grace_time(&units, &leaving, &impact, None).as_secs(), 32);
    }

    #[test]
    fn what_could_not_be_read_refuses_whatever_is_accepted() {
        let none = replacements(&[], 0);
        let mut accepting = limits();
        accepting.accepts_unplaceable = true;
        let plan = DrainPlan {
            cordoned: &BTreeSet::new(),
            refusing_budgets: &[],
            siblings: &[],
            failing_jobs: &[],
            terminations: &Terminations::default(),
            longest: Duration::from_secs(30),
            tolerates: false,
            raised: 0,
            name: "fw",
            units: &[],
            pods: &[],
            replacements: &none,
            limits: &accepting,
            restarts: &RestartPlan::default(),
            unread: &["pods".to_owned()],
        };
        let failure = refuse_start(&plan).unwrap_err();
        assert_eq!(failure.details(), ["could not be read: pods"]);
        assert_eq!(failure.status(), ExitStatus::Failed);
    }

    #[test]
    fn effect_no_execute_is_refused_where_it_would_evict_replacements_without_end() {
        let mut again = pod("web", PodClass::KeepsClaim);
        again.is_evicted_again = true;
        let none = replacements(&[], 0);
        let by_taint = UnitLimits {
            force_after: Some(Duration::ZERO),
            ..limits()
        };
        let pods = [again.clone()];
        let text = refused(&pods, &none, &by_taint).expect("it is refused");
        assert!(text.contains("again and again"), "{text}");
        assert_eq!(refused(&pods, &none, &limits()), None);
        again.is_terminating = true;
        assert_eq!(refused(&[again], &none, &by_taint), None);
    }
}
