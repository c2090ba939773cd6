//! PodDisruptionBudgets that refuse the first evictions of a drain.

use std::collections::{BTreeMap, BTreeSet};

use super::restart::RestartPlan;
use super::unit_limits::UnitLimits;
use crate::assess::Basis;
use crate::engine::Impact;
use crate::engine::disruption::{BudgetAnswer, BudgetImpact, allows_first, disruption};
use crate::model::{NamespacedName, Uid};
use crate::naming::phrase::counted;

/// A line for each PodDisruptionBudget that refuses an eviction of `impact` as long as its state is as it is now, one for the
/// pods with several budgets, which the Eviction API never evicts, and one for each budget whose pods are unknown. Pods of
/// owners that are restarted are not evicted.
///
/// Upstream: `pkg/registry/core/pod/storage/eviction.go`.
#[must_use]
pub fn refusing_budgets(
    impact: &Impact<'_>,
    basis: &Basis<'_>,
    restarts: &RestartPlan,
    limits: &UnitLimits,
) -> Vec<String> {
    let mut evicted = impact.clone();
    evicted
        .pods
        .retain(|impact| !restarts.restarts(&impact.pod.uid));
    let found = disruption(&evicted, &basis.reading.snapshot.budgets, basis.now);
    let mut refused: BTreeMap<&NamespacedName, usize> = BTreeMap::new();
    let mut undecided: BTreeSet<&Uid> = BTreeSet::new();
    for BudgetImpact { budget, pods } in &found.budgets {
        for (pod, answer) in pods {
            match answer {
                // Only what it refuses before any other eviction: later ones are tried when pods are ready again.
                BudgetAnswer::Refused if !allows_first(budget, pod) => {
                    let refused = refused.entry(&budget.name).or_default();
                    *refused = refused.saturating_add(1);
                }
                BudgetAnswer::Ambiguous => {
                    undecided.insert(&pod.uid);
                }
                BudgetAnswer::Refused | BudgetAnswer::Allowed | BudgetAnswer::NotAsked => {}
            }
        }
    }
    let undecided = undecided.len();
    let force = if limits.may_evict_by_taint() {
        ", or until --force evicts by taint"
    } else {
        ""
    };
    let stay = |pods: usize| {
        let pronoun = if pods == 1 { "stays" } else { "stay" };
        format!("{} {pronoun}", counted(pods, "pod"))
    };
    let refusing = refused.into_iter().map(|(budget, pods)| {
        format!(
            "PodDisruptionBudget {budget} allows no eviction now: {} until it allows evictions{force}",
            stay(pods)
        )
    });
    let undecided = (undecided > 0).then(|| {
        let (each, pronoun) = if undecided == 1 {
            ("it", "it")
        } else {
            ("each of them", "them")
        };
        format!(
            "{}{}: several PodDisruptionBudgets match {each}, so the Eviction API refuses to evict {pronoun}",
            stay(undecided),
            force.trim_start_matches(", or")
        )
    });
    let unknown = found.gaps.into_iter().map(|gap| gap.why);
    refusing.chain(undecided).chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::decide::drain::Inclusions;
    use crate::decide::drain::restart::{PlannedRestart, RestartProgress, RestartState};
    use crate::decide::drain::testing::budget;
    use crate::engine::Verdict;
    use crate::model::{
        LabelOperator, LabelRequirement, LabelSelector, Phase, Pod, PodDisruptionBudget,
    };
    use crate::report::testing::{impact, now, pod, reading, semantics, with_verdict};

    fn lines(
        pods: &[Pod],
        budgets: &[PodDisruptionBudget],
        force_after: Option<Duration>,
    ) -> Vec<String> {
        lines_beside(pods, budgets, &RestartPlan::default(), force_after)
    }

    fn lines_beside(
        pods: &[Pod],
        budgets: &[PodDisruptionBudget],
        restarts: &RestartPlan,
        force_after: Option<Duration>,
    ) -> Vec<String> {
        let limits = UnitLimits {
            restarts: false,
            included: Inclusions::default(),
            force_after,
            timeout: Duration::from_secs(60),
            accepts_unplaceable: false,
        };
        let evicted = pods
            .iter()
            .map(|pod| with_verdict(pod, Verdict::Evicted { at: now() }));
        let impact = impact(evicted.collect());
        let mut reading = reading();
        reading.snapshot.budgets = budgets.to_vec();
        let semantics = semantics(37);
        let basis = Basis::new(&reading, &semantics, now());
        refusing_budgets(&impact, &basis, restarts, &limits)
    }

    #[test]
    fn budgets_that_refuse_the_first_eviction_are_named_with_the_pods_that_stay() {
        let running = |name: &str| Pod {
            phase: Phase::Running,
            ..pod("team-a", name)
        };
        let mut other = running("c");
        other.name.namespace = "team-b".into();
        let pods = [running("a"), running("b"), other];
        let (refusing, allowing) = (budget(2, 2, 2), budget(1, 2, 2));
        let by_eviction = |budgets: &[PodDisruptionBudget]| lines(&pods, budgets, None);
        assert_eq!(by_eviction(&[]), Vec::<String>::new());
        assert_eq!(
            by_eviction(std::slice::from_ref(&allowing)),
            Vec::<String>::new()
        );
        assert_eq!(
            by_eviction(std::slice::from_ref(&refusing)),
            [
                "PodDisruptionBudget team-a/budget allows no eviction now: 2 pods stay until it allows evictions"
            ]
        );
        // A rollout replaces one of the pods.
        let planned = PlannedRestart {
            state: RestartState {
                owner: pods[0].name.clone(),
                resource_version: "7".to_owned(),
                replicas: 2,
                progress: RestartProgress::NotBegun,
            },
            pods: [pods[0].uid.clone()].into(),
        };
        let restarts = RestartPlan {
            owners: [("web".into(), planned)].into(),
        };
        let one = std::slice::from_ref(&refusing);
        assert_eq!(
            lines_beside(&pods, one, &restarts, None),
            [
                "PodDisruptionBudget team-a/budget allows no eviction now: 1 pod stays until it allows evictions"
            ]
        );
        let force = Some(Duration::from_secs(30));
        assert_eq!(
            lines(&pods[..1], std::slice::from_ref(&refusing), force),
            [
                "PodDisruptionBudget team-a/budget allows no eviction now: 1 pod stays until it allows evictions, or until --force evicts by taint"
            ]
        );
        assert_eq!(
            by_eviction(&[allowing.clone(), allowing]),
            [
                "2 pods stay: several PodDisruptionBudgets match each of them, so the Eviction API refuses to evict them"
            ]
        );
        // The API lets a pod go that does not run, whatever its budgets.
        let pending = [Pod {
            phase: Phase::Pending,
            ..running("a")
        }];
        assert_eq!(
            lines(&pending, &[refusing.clone(), refusing], None),
            Vec::<String>::new()
        );
        let unknown = PodDisruptionBudget {
            selector: Some(LabelSelector {
                expressions: vec![LabelRequirement {
                    key: "app".to_owned(),
                    operator: LabelOperator::from("Near"),
                    values: Vec::new(),
                }],
                ..LabelSelector::default()
            }),
            ..budget(2, 2, 2)
        };
        let told = lines(&pods, &[unknown], None);
        assert!(
            told.len() == 1 && told[0].contains("unknown operator"),
            "{told:?}"
        );
    }
}
