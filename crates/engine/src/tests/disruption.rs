//! Answers of PodDisruptionBudgets.

use super::world::{NOW, World, at, name, proposed};
use crate::disruption::{BudgetAnswer, Disruption};
use crate::model::{LabelOperator, LabelRequirement, LabelSelector, PodDisruptionBudget};
use crate::{disruption, testing};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

/// A budget of all pods of `team` that wants so many ready, and has so many.
fn budget(desired: i32, healthy: i32) -> PodDisruptionBudget {
    testing::budget("team", desired, healthy, 3)
}

/// Pods `a`, `b` and `c` of `team`, that use one device.
fn three_pods() -> World {
    World::default()
        .claim("team/claim", &["gpu.example.com/node-a/gpu-0"], &[])
        .pod("team/a", &["claim"])
        .pod("team/b", &["claim"])
        .pod("team/c", &["claim"])
}

fn answers(world: &World, budgets: &[PodDisruptionBudget]) -> Vec<BudgetAnswer> {
    let proposed = [proposed("*/*/*", MAINTENANCE)];
    let impact = world.preview(&proposed);
    let found = disruption(&impact, budgets, at(NOW));
    let all = found.budgets.iter().flat_map(|budget| &budget.pods);
    all.map(|(_, answer)| *answer).collect()
}

fn found<'a>(world: &'a World, budgets: &'a [PodDisruptionBudget]) -> Disruption<'a> {
    let proposed = [proposed("*/*/*", MAINTENANCE)];
    let proposed = Box::leak(Box::new(proposed));
    disruption(&world.preview(proposed), budgets, at(NOW))
}

use BudgetAnswer::{Allowed, Ambiguous, Refused};

#[test]
fn a_budget_that_nobody_counts_allows_nothing() {
    let world = three_pods();
    let mut outdated = budget(1, 3);
    outdated.generation = 2;
    assert_eq!(answers(&world, &[outdated]), [Refused; 3]);
    // Evictions that the status still allows count, but not once it has been counted again.
    let mut failing = budget(1, 3);
    failing.status.failure = Some("found no controllers".to_owned());
    failing.status.disruptions_allowed = 0;
    assert_eq!(answers(&world, &[failing]), [Refused; 3]);
    let mut bare = budget(0, 3);
    bare.status.expected_pods = 0;
    bare.status.disruptions_allowed = 0;
    assert_eq!(answers(&world, &[bare]), [Refused; 3]);
}

#[test]
fn two_budgets_of_one_pod_cannot_be_decided() {
    let world = three_pods();
    let mut other = budget(0, 3);
    other.name = name("team/another");
    let both = [budget(0, 3), other];
    let found = found(&world, &both);
    let names: Vec<_> = found
        .budgets
        .iter()
        .map(|it| it.budget.name.to_string())
        .collect();
    assert_eq!(names, ["team/another", "team/budget"]);
    for impact in &found.budgets {
        assert_eq!(impact.count(Ambiguous), 3);
        assert!(impact.is_violated());
    }
}

#[test]
fn only_budgets_of_the_pods_count() {
    let world = three_pods();
    let mut elsewhere = budget(3, 3);
    elsewhere.name = name("other/budget");
    let mut of_nobody = budget(3, 3);
    of_nobody.selector = None;
    assert!(found(&world, &[elsewhere, of_nobody]).budgets.is_empty());
}

#[test]
fn whom_an_unknown_operator_covers_is_not_known() {
    let world = three_pods();
    let mut odd = budget(3, 3);
    odd.selector = Some(LabelSelector {
        expressions: vec![LabelRequirement {
            key: "app".to_owned(),
            operator: LabelOperator::Unknown("Sounds".to_owned()),
            values: Vec::new(),
        }],
        ..LabelSelector::default()
    });
    let odd = [odd];
    let found = found(&world, &odd);
    assert!(found.budgets.is_empty());
    assert_eq!(found.gaps.len(), 1);
    assert!(
        found.gaps[0].why.contains("team/budget"),
        "{:?}",
        found.gaps
    );
}

#[test]
fn pods_are_asked_for_in_the_order_in_which_they_go() {
    let world = World::default()
        .claim(
            "team/later",
            &["gpu.example.com/node-a/gpu-0"],
            &["example.com/maintenance:NoExecute@60"],
        )
        .claim("team/now", &["gpu.example.com/node-a/gpu-1"], &[])
        .pod("team/a", &["later"])
        .pod("team/b", &["now"]);
    let budgets = [budget(1, 2)];
    let found = found(&world, &budgets);
    let asked: Vec<_> = found.budgets[0]
        .pods
        .iter()
        .map(|(pod, answer)| (pod.name.name.as_str(), *answer))
        .collect();
    assert_eq!(asked, [("b", Allowed), ("a", Refused)]);
    assert!(found.budgets[0].is_violated());
}
