//! Killed, interrupted, cut off: the same command again completes it.

use serde_json::Value;

use super::harm::{Harm, Proxy};
use super::support::{KEY, World};
use crate::harness::{At, ControlPlane, Reference, Variant, block_on, objects::slice};

const RULES: usize = 20;

/// A world with twenty devices, and the command that taints each of them.
fn twenty(plane: &ControlPlane) -> (World<'_>, String) {
    let mut world = block_on(World::new(plane));
    world.node = format!("{}-20", world.node);
    let names: Vec<String> = (0..RULES).map(|index| format!("gpu-{index}")).collect();
    let devices: Vec<&str> = names.iter().map(String::as_str).collect();
    block_on(plane.create(&[slice(&world.driver, &world.node, &devices)]));
    let arguments: Vec<String> = names.iter().map(|name| world.device(name)).collect();
    let line = format!("add {} {KEY}=firmware --reason update", arguments.join(" "));
    (world, line)
}

fn clean(world: &World<'_>) {
    block_on(async {
        for rule in world.rules().await {
            let name = rule["metadata"]["name"].as_str().expect("a name");
            world.plane.delete(&Reference::rule(name)).await;
        }
    });
}

fn plane() -> &'static ControlPlane {
    ControlPlane::of(&Variant::default().without_controllers().without_scheduler())
}

#[test]
fn killed_before_and_after_every_request_the_same_command_completes_it() {
    let plane = plane();
    let (world, line) = twenty(plane);
    let proxy = Proxy::start(&world);
    proxy.run(&world, &line).ended(0);
    let requests = proxy.seen().len();
    let wanted: Vec<Value> = block_on(world.rules());
    assert_eq!(wanted.len(), RULES);
    assert!(requests > RULES, "{requests}");

    for number in 1..=requests {
        // In the first tier one of the two, in turn, at every second request.
        if !crate::IS_FULL && number.is_multiple_of(2) {
            continue;
        }
        let harms = [Harm::SignalBefore("KILL"), Harm::SignalAfter("KILL")];
        let tried = if crate::IS_FULL {
            &harms[..]
        } else {
            &harms[number / 2 % 2..=number / 2 % 2]
        };
        for &harm in tried {
            clean(&world);
            proxy
                .harm(&world, &line, At::Number(number), harm)
                .ended(-1);
            proxy.run(&world, &line).ended(0);
            let found = block_on(world.rules());
            assert_eq!(found, wanted, "{harm:?} at request {number}");
        }
    }
}

#[test]
fn ctrl_c_at_every_request_says_what_was_changed() {
    let plane = plane();
    let (world, line) = twenty(plane);
    let proxy = Proxy::start(&world);
    proxy.run(&world, &line).ended(0);
    let requests = proxy.seen().len();
    let wanted = block_on(world.rules());
    for number in 1..=requests {
        clean(&world);
        let run = proxy
            .harm(&world, &line, At::Number(number), Harm::SignalAfter("INT"))
            .ended(130)
            .saying("interrupted");
        assert!(
            run.stderr.contains("nothing was changed") || run.stderr.contains("  changed:"),
            "{run:?}"
        );
    }
    proxy.run(&world, &line).ended(0);
    assert_eq!(block_on(world.rules()), wanted);
    let told = proxy
        .harm(&world, "list", At::Number(2), Harm::SignalBefore("TERM"))
        .ended(143);
    assert!(told.stdout.is_empty());
}

#[test]
fn a_lost_answer_is_looked_up_and_nothing_is_sent_twice() {
    let plane = plane();
    let (world, line) = twenty(plane);
    let proxy = Proxy::start(&world);
    proxy.run(&world, &line).ended(0);
    let first_create = proxy
        .seen()
        .iter()
        .position(|seen| seen.method == "POST" && seen.path.contains("devicetaintrules"))
        .expect("a rule was created")
        + 1;
    clean(&world);
    proxy
        .harm(
            &world,
            &line,
            At::Number(first_create + 3),
            Harm::LoseAnswer,
        )
        .ended(0);
    let creates: Vec<String> = proxy
        .seen()
        .into_iter()
        .filter(|seen| seen.method == "POST" && seen.path.contains("devicetaintrules"))
        .map(|seen| seen.body)
        .collect();
    let mut once = creates.clone();
    once.dedup();
    assert_eq!((creates.len(), once.len()), (RULES, RULES));
    assert_eq!(block_on(world.rules()).len(), RULES);
}

#[test]
fn a_server_that_goes_away_between_two_rules_is_told_with_what_was_changed() {
    let plane = plane();
    let (world, line) = twenty(plane);
    let proxy = Proxy::start(&world);
    proxy.run(&world, &line).ended(0);
    let requests = proxy.seen().len();
    let wanted = block_on(world.rules());
    clean(&world);
    let run = proxy
        .harm(
            &world,
            &format!("{line} --request-timeout 5s"),
            At::From(requests - 10),
            Harm::Down,
        )
        .ended(75)
        .saying("run the same command again");
    assert!(run.stdout.lines().count() >= 5, "{run:?}");
    assert!(run.stderr.contains("not created:"), "{run:?}");
    proxy.run(&world, &line).ended(0);
    assert_eq!(block_on(world.rules()), wanted);
}

#[test]
fn every_change_names_the_state_that_it_was_decided_on() {
    let plane = plane();
    let (world, _) = twenty(plane);
    let proxy = Proxy::start(&world);
    let device = world.device("gpu-0");
    let run = proxy.run(&world, &format!("add {device} {KEY}=x")).ended(0);
    let name = super::support::name_in(&run.stdout);
    for (line, method, time) in [
        (
            format!("escalate {name} --to NoSchedule --yes"),
            "PATCH",
            false,
        ),
        (format!("deescalate {name} --to None"), "PATCH", false),
        (
            format!("add {device} {KEY}=y:NoSchedule --overwrite --yes"),
            "PATCH",
            false,
        ),
        (format!("remove {name}"), "DELETE", false),
    ] {
        proxy.run(&world, &line).ended(0);
        let sent = proxy.seen().into_iter().find(|seen| seen.method == method);
        let body = sent.expect("a change was sent").body;
        assert!(body.contains("resourceVersion"), "{line}: {body}");
        assert_eq!(body.contains("timeAdded"), time, "{line}: {body}");
    }
}
