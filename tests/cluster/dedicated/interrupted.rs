//! Interrupted at every step, and completed by the same command.

use serde_json::Value;

use super::stage::{plane, policies, stage};
use crate::cluster::rules::harm::{self, Harm};
use crate::cluster::rules::support::{Run, World};
use crate::harness::{At, Fault, Proxy, Seen};

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
    let changes = changes(&proxy.seen());
    let complete = state(world, &group).await;
    for number in tried(changes) {
        world.run(undo);
        proxy.plan([(At::From(number), fault())]);
        let broken = world.run(&format!("{line} {flags} --request-timeout 1s"));
        proxy.rest();
        check_order(world, number, &broken).await;
        if broken.stderr.contains("nothing was changed") {
            let (made, tainted) = state(world, &group).await;
            assert!([(0, 0), (4, 2)].contains(&(made, tainted)), "{broken:#?}");
        }
        proxy.plan([]);
        let again = world.run(&format!("{line} {flags}"));
        assert_eq!(
            state(world, &group).await,
            complete,
            "request {number}: {broken:#?} {again:#?}"
        );
        assert!(
            again.code == 0 || again.stderr.contains("not found"),
            "request {number}: {again:#?}"
        );
    }
}

/// All of them in the second tier, every third in the first.
fn tried(changes: Vec<usize>) -> impl Iterator<Item = usize> {
    let step = if crate::IS_FULL { 1 } else { 3 };
    changes.into_iter().step_by(step)
}

/// The numbers of the requests that change something or try to.
fn changes(seen: &[Seen]) -> Vec<usize> {
    let seen = seen.iter().enumerate();
    let changes = seen.filter(|(_, request)| request.method != "GET");
    let changes: Vec<usize> = changes.map(|(place, _)| place + 1).collect();
    assert!(changes.len() >= 6, "{changes:?}");
    changes
}

/// Whatever stops a command: no taint is there whose policies are not.
async fn check_order(world: &World<'_>, number: usize, stopped: &Run) {
    let (made, tainted) = state(world, &world.namespace).await;
    assert!(
        tainted == 0 || made == 4,
        "a taint without policies at request {number}: {stopped:#?}"
    );
}

/// Stops a command by a signal at each of its changes, and completes it.
async fn stop_everywhere(world: &World<'_>, line: &str, undo: &str) {
    let proxy = harm::Proxy::start(world);
    let group = world.namespace.clone();
    world.run(undo);
    proxy.run(world, line).ended(0);
    let changes = changes(&proxy.seen());
    let complete = state(world, &group).await;
    let harms = [
        (Harm::SignalAfter("INT"), 130),
        (Harm::SignalBefore("KILL"), -1),
        (Harm::SignalAfter("KILL"), -1),
    ];
    for (place, number) in changes.into_iter().enumerate() {
        // Every change is interrupted in the first tier, too, by one of them.
        let (first, count) = if crate::IS_FULL {
            (0, 3)
        } else {
            (place % 3, 1)
        };
        for (harm, code) in harms.into_iter().skip(first).take(count) {
            world.run(undo);
            let stopped = proxy
                .harm(world, line, At::Number(number), harm)
                .ended(code);
            check_order(world, number, &stopped).await;
            check_account(&stopped, state(world, &group).await);
            let again = proxy.run(world, line);
            assert_eq!(
                state(world, &group).await,
                complete,
                "{harm:?} at request {number}: {stopped:#?} {again:#?}"
            );
        }
    }
}

/// What an interrupted command says that it changed is what there is to see.
fn check_account(stopped: &Run, (made, tainted): (usize, usize)) {
    if stopped.code != 130 {
        return;
    }
    assert!(stopped.stderr.contains("interrupted"), "{stopped:#?}");
    if stopped.stderr.contains("nothing was changed") {
        assert!([(0, 0), (4, 2)].contains(&(made, tainted)), "{stopped:#?}");
    } else {
        let told = ["changed: ", "unknown: "];
        let told = told.iter().any(|what| stopped.stderr.contains(what));
        assert!(told, "{stopped:#?}");
    }
}

#[tokio::test]
async fn a_dedication_that_was_interrupted_anywhere_is_completed_by_the_same_command() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let (make, undo) = (
        format!("dedicate GPU0 GPU1 --to {group} --yes"),
        format!("undedicate {group} --yes"),
    );
    try_everywhere(&world, &make, &undo, || Fault::Reset).await;
    try_everywhere(&world, &make, &undo, || Fault::Lost).await;
    stop_everywhere(&world, &make, &undo).await;
    world.run(&undo).ended(0);
    assert_eq!(world.rules().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_undo_that_was_interrupted_anywhere_is_completed_by_the_same_command() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let (make, undo) = (
        format!("dedicate GPU0 GPU1 --to {group} --yes"),
        format!("undedicate {group} --yes"),
    );
    try_everywhere(&world, &undo, &make, || Fault::Reset).await;
    try_everywhere(&world, &undo, &make, || Fault::Lost).await;
    stop_everywhere(&world, &undo, &make).await;
}
