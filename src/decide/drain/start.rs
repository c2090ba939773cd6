//! Pods of a drain before anything is tainted: reasons to refuse it, and the lines above the question.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::UnitPod;
use super::pod_class::{Inclusions, PodClass, Treatment};
use super::restart::RestartState;
use super::run::DrainLimits;
use super::unit::Unit;
use crate::assess::Replacements;
use crate::error::Failure;
use crate::model::Uid;
use crate::naming::phrase::{counted, few};

/// The work of a drain.
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
            let text = "objects that decide about the drain could not be read; nothing was changed"
                .to_owned();
            let failure = Failure::refused(text);
            return Err(self.unread.iter().fold(failure, Failure::detail));
        }
        self.refuse_unnamed_classes()?;
        self.refuse_endless()?;
        if self.limits.accepts_unplaceable {
            return Ok(());
        }
        let lines = self.unplaced();
        if lines.is_empty() {
            return Ok(());
        }
        let failure =
            Failure::refused("replacements may stay pending without a device; nothing was changed");
        let failure = lines.into_iter().fold(failure, Failure::detail);
        Err(failure.hint("to drain anyway: --accept-unplaceable"))
    }

    /// Refuses to evict classes of pods whose flag was not given.
    fn refuse_unnamed_classes(&self) -> Result<(), Failure> {
        let unnamed = unnamed_classes(self.pods, self.limits.included);
        if unnamed.is_empty() {
            return Ok(());
        }
        let failure =
            Failure::refused("pods are evicted only if --include names them; nothing was changed");
        let failure = unnamed.iter().fold(failure, |failure, (class, (_, pods))| {
            failure.detail(format!("{}: {}", class.reason(), few(pods)))
        });
        let flags: Vec<&str> = unnamed.values().map(|(flag, _)| *flag).collect();
        Err(failure.hint(format!("to evict them: --include {}", flags.join(","))))
    }

    /// Refuses effect NoExecute for pods whose replacements come back to the devices: they would be evicted again and
    /// again.
    fn refuse_endless(&self) -> Result<(), Failure> {
        let endless = |pod: &&UnitPod| pod.is_evicted_again && !pod.is_terminating;
        let pods = names(self.pods.iter().filter(endless));
        if self.limits.force_after.is_none() || pods.is_empty() {
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
        let included = self.limits.included;
        let units = self.units.iter().map(|unit| {
            let devices = counted(unit.devices.len(), "device");
            format!("{} ({devices})", unit.name)
        });
        let units: Vec<String> = units.collect();
        let mut lines = vec![format!("drain {}: {}", self.name, few(&units))];
        lines.extend(self.restarts.values().map(RestartState::line));
        let restarted = |pod: &UnitPod| {
            let mut restarts = self.restarts.values();
            restarts.any(|restart| restart.pods.contains(&pod.uid))
        };
        let leaving = |pod: &&UnitPod| pod.is_evicted(included) && !restarted(pod);
        lines.extend(by_class("evict", self.pods.iter().filter(leaving)));
        if let Some(grace) = self.limits.force_after {
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
        lines.extend(by_class("stay", self.pods.iter().filter(stays)));
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
        let budgets: BTreeSet<String> = pods
            .flat_map(|pod| &pod.budgets)
            .map(ToString::to_string)
            .collect();
        let budgets: Vec<String> = budgets.into_iter().collect();
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
    let unnamed = unnamed_classes(pods, Inclusions::default());
    unnamed.into_values().map(|(flag, _)| flag).collect()
}

/// The classes whose flag was not given, each with the flag and the pods. A pod that is terminating leaves without the
/// drain.
fn unnamed_classes(
    pods: &[UnitPod],
    included: Inclusions,
) -> BTreeMap<PodClass, (&'static str, Vec<String>)> {
    let mut classes: BTreeMap<PodClass, (&'static str, Vec<String>)> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !pod.is_terminating) {
        if let Treatment::NeedsInclude(flag) = pod.class.treatment(included) {
            let found = classes.entry(pod.class).or_insert((flag, Vec::new()));
            found.1.push(pod.name.to_string());
        }
    }
    classes
}

/// A line for each class of the pods.
fn by_class<'a>(verb: &str, pods: impl Iterator<Item = &'a UnitPod>) -> Vec<String> {
    let mut classes: BTreeMap<PodClass, Vec<String>> = BTreeMap::new();
    for pod in pods {
        let names = classes.entry(pod.class).or_default();
        names.push(pod.name.to_string());
    }
    let lines = classes
        .into_iter()
        .map(|(class, pods)| format!("{verb} ({}): {}", class.reason(), few(&pods)));
    lines.collect()
}

fn names<'a>(pods: impl Iterator<Item = &'a UnitPod>) -> Vec<String> {
    pods.map(|pod| pod.name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::decide::drain::testing::{limits, unit_pod};
    use crate::engine::testing::pod;
    use crate::error::ExitStatus;

    fn pods() -> Vec<UnitPod> {
        let pod = |name, class| unit_pod(&pod("team-a", name), class);
        vec![
            pod("web-0", PodClass::Replicated),
            pod("train", PodClass::Job),
            pod("agent", PodClass::DaemonSet),
            pod("dcgm", PodClass::Admin),
        ]
    }

    /// The refusal of a drain of `pods`, with its details and hints, and the lines above its question.
    fn plan(pods: &[UnitPod], limits: DrainLimits, unread: &[&str]) -> (String, Vec<String>) {
        let unread: Vec<String> = unread.iter().map(|&line| line.to_owned()).collect();
        let restarts = BTreeMap::new();
        let plan = DrainPlan {
            name: "fw",
            units: &[],
            pods,
            replacements: None,
            limits: &limits,
            restarts: &restarts,
            siblings: &[],
            unread: &unread,
        };
        let refusal = plan.refuse().err();
        let refusal = refusal.map(|failure| {
            assert_eq!(failure.status(), ExitStatus::Refused);
            let lines = [failure.details(), failure.hints()].concat();
            format!("{failure}; {}", lines.join("; "))
        });
        (refusal.unwrap_or_default(), plan.lines())
    }

    #[test]
    fn a_drain_does_not_begin_with_pods_that_no_flag_names_or_with_missing_data() {
        let (refusal, _) = plan(&pods(), limits(), &[]);
        assert!(refusal.contains("--include jobs"), "{refusal}");
        assert!(refusal.contains("team-a/train"), "{refusal}");
        assert_eq!(needed_inclusions(&pods()), ["jobs"]);
        let mut jobs = limits();
        jobs.included.jobs = true;
        assert_eq!(plan(&pods(), jobs, &[]).0, "");
        let (refusal, _) = plan(&pods(), jobs, &["pods: denied"]);
        assert!(refusal.contains("pods: denied"), "{refusal}");
    }

    #[test]
    fn force_is_refused_for_pods_that_come_back() {
        let mut forced = limits();
        forced.included.jobs = true;
        forced.force_after = Some(Duration::ZERO);
        let mut pods = pods();
        assert_eq!(plan(&pods, forced, &[]).0, "");
        pods[2].is_evicted_again = true;
        assert!(plan(&pods, forced, &[]).0.contains("team-a/agent"));
    }

    #[test]
    fn the_question_names_pods_that_leave_and_stay_and_budgets_that_refuse() {
        let mut jobs = limits();
        jobs.included.jobs = true;
        let mut pods = pods();
        pods[0].budgets = vec![crate::engine::testing::name("team-a", "web")];
        let (_, lines) = plan(&pods, jobs, &[]);
        let text = lines.join("\n");
        for (verb, name) in [
            ("evict", "web-0"),
            ("evict", "train"),
            ("stay", "agent"),
            ("stay", "dcgm"),
            ("budget", "team-a/web"),
        ] {
            let mut lines = lines.iter();
            assert!(
                lines.any(|line| line.starts_with(verb) && line.contains(name)),
                "{verb} {name}: {text}"
            );
        }
    }
}
