//! Interrupted at every step, and completed by the same command.

use serde_json::Value;

use super::stage::{plane, policies, stage};
use crate::cluster::rules::support::World;
use crate::harness::{At, Fault, Proxy};

/// What there is of a dedication: how many policies, and how many rules.
async fn state(world: &World<'_>, group: &str) -> (usize, usize) {
    (policies(group).await.len(), world.rules().await.len())
}

/// Runs a command against a server that goes away at one of its changes, and completes it; with each of them, those
/// that are only tried included.
async fn try_everywhere(world: &World<'_>, line: &str, undo: &str, fault: fn() -> Fault) {
    let proxy = Proxy::start(plane());
    let flags = proxy.flags().join(" ");
    let group = world.namespace.clone();
    world.run(undo);
    proxy.plan([]);
    world.run(&format!("{line} {flags}")).ended(0);
    let seen = proxy.seen().into_iter().enumerate();
    let changes = seen.filter(|(_, request)| request.method != "GET");
    let changes: Vec<usize> = changes.map(|(place, _)| place + 1).collect();
    assert!(changes.len() >= 10, "{changes:?}");
    let complete = state(world, &group).await;
    for number in changes {
        world.run(undo);
        proxy.plan([(At::From(number), fault())]);
        let broken = world.run(&format!("{line} {flags} --request-timeout 1s"));
        proxy.rest();
        let (made, tainted) = state(world, &group).await;
        assert!(
            tainted == 0 || made == 4,
            "a taint without policies at request {number}: {broken:#?}"
        );
        proxy.plan([]);
        let again = world.run(&format!("{line} {flags}"));
        assert_eq!(
            state(world, &group).await,
            complete,
            "request {number}: {broken:#?} {again:#?}"
        );
        assert!(
            again.code == 0 || again.stderr.contains("no dedication"),
            "request {number}: {again:#?}"
        );
    }
}

#[tokio::test]
async fn a_dedication_that_was_interrupted_anywhere_is_completed_by_the_same_command() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let (make, undo) = (
        format!("dedicate GPU0 GPU1 --to {group}"),
        format!("undedicate {group} --yes"),
    );
    try_everywhere(&world, &make, &undo, || Fault::Reset).await;
    try_everywhere(&world, &make, &undo, || Fault::Lost).await;
    world.run(&undo).ended(0);
    assert_eq!(world.rules().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_undo_that_was_interrupted_anywhere_is_completed_by_the_same_command() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let (make, undo) = (
        format!("dedicate GPU0 GPU1 --to {group}"),
        format!("undedicate {group} --yes"),
    );
    try_everywhere(&world, &undo, &make, || Fault::Reset).await;
    try_everywhere(&world, &undo, &make, || Fault::Lost).await;
}
