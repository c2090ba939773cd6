//! `escalate --for`: an effect for a limited time, and what becomes of it.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{KEY, Run, World};
use crate::harness::{
    ControlPlane, DEADLINE, PLUGIN, Reference, block_on, ignores_hangup, wait_for,
};

const EXPIRY: &str = "devicetaint.dev/effect-expires";

fn effect(world: &World<'_>, name: &str) -> Value {
    let rule = block_on(world.rule(name)).expect("the rule is there");
    rule["spec"]["taint"]["effect"].clone()
}

/// The command, once it has raised the effect.
fn raised(world: &World<'_>, name: &str, time: &str) -> Child {
    let line = format!("escalate {name} --to NoSchedule --for {time} --yes");
    let mut command = world.plane.command(PLUGIN);
    command
        .args(world.words(&line))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    block_on(wait_for("the effect is raised", DEADLINE, async || {
        let rule = world.rule(name).await?;
        (rule["spec"]["taint"]["effect"] == "NoSchedule").then_some(())
    }));
    child
}

fn send(signal: &str, child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status();
    assert!(sent.expect("kill can be run").success());
}

fn ended(child: Child) -> Run {
    Run::from(child.wait_with_output().expect("it ends"))
}

#[test]
fn the_effect_is_taken_back_when_its_time_is_over() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}=x"));
    let line = format!("escalate {name} --to NoSchedule --for 2s --yes -o json");
    let run = world
        .run(&line)
        .ended(0)
        .saying("effect NoSchedule until ")
        .saying("has effect None again");
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let results: Vec<&Value> = report["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .map(|change| &change["result"])
        .collect();
    assert_eq!(results, ["Configured", "Reverted"]);
    assert!(report["changes"][0]["effectExpirationTime"].is_string());
    assert_eq!(effect(&world, &name), "None");
    let rule = block_on(world.rule(&name)).expect("the rule is there");
    assert!(
        rule["metadata"]["annotations"][EXPIRY].is_null(),
        "{rule:#}"
    );
}

#[test]
fn a_dry_run_raises_no_effect_and_waits_for_no_time() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}=x"));
    for dry_run in ["client", "server"] {
        let line = format!("escalate {name} --to NoSchedule --for 2s --yes --dry-run={dry_run}");
        let run = world.run(&line).ended(0);
        assert!(!run.stderr.contains("restore"), "{run:#?}");
        assert_eq!(effect(&world, &name), "None");
    }
}

#[test]
fn whoever_stops_the_command_has_the_effect_taken_back() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}=x"));
    let signals = [("-INT", 130), ("-TERM", 143), ("-HUP", 143)];
    // Under `nohup` the command goes on after SIGHUP, as it should.
    let heard = signals
        .iter()
        .filter(|(signal, _)| *signal != "-HUP" || !ignores_hangup());
    for (signal, code) in heard.copied() {
        let child = raised(&world, &name, "1h");
        // It waits by now, unless it is still about to say until when; both take it back.
        send(signal, &child);
        ended(child)
            .ended(code)
            .saying("interrupted")
            .saying("reverted");
        assert_eq!(effect(&world, &name), "None", "{signal}");
    }
}

#[test]
fn what_somebody_else_made_of_the_rule_is_left_alone() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}=x"));
    let rule = Reference::rule(&name);
    let give = |effect: &str| {
        let patch = json!({"spec": {"taint": {"effect": effect}}});
        block_on(world.plane.patch(&rule, &patch));
    };
    let child = raised(&world, &name, "3s");
    give("NoExecute");
    ended(child).ended(5).saying("it now has effect NoExecute");
    assert_eq!(effect(&world, &name), "NoExecute");

    give("None");
    let child = raised(&world, &name, "3s");
    give("None");
    ended(child).ended(0).saying("nothing to restore");

    // A second run takes the rule over, and takes it back.
    let child = raised(&world, &name, "3s");
    let second = format!("escalate {name} --to NoSchedule --for 6s --yes");
    world.run(&second).ended(0);
    ended(child).ended(5).saying("another run");
    assert_eq!(effect(&world, &name), "None");

    let child = raised(&world, &name, "3s");
    block_on(world.plane.delete(&rule));
    ended(child).ended(0).saying("is gone");
}

#[test]
fn a_rule_whose_command_was_killed_says_so_and_the_same_command_takes_it_back() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}=x"));
    let child = raised(&world, &name, "2s");
    send("-KILL", &child);
    ended(child).ended(-1);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(effect(&world, &name), "NoSchedule");
    let next = format!("next: kubectl devicetaint deescalate {name} --to None");
    let listed = world.run(&format!("list {name}")).ended(0).saying(&next);
    assert!(
        listed.stdout.contains("NoSchedule (expired)"),
        "{listed:#?}"
    );
    let described = world.run(&format!("describe {name}")).ended(0);
    let described = described.saying(&next);
    assert!(
        described.stdout.contains("effect is still NoSchedule)"),
        "{described:#?}"
    );
    let line = format!("escalate {name} --to NoSchedule --for 1s --yes");
    world.run(&line).ended(0).saying("has effect None again");
    assert_eq!(effect(&world, &name), "None");
    world.run(&format!("list {name}")).ended(0);
}

#[test]
fn evicted_pods_do_not_come_back_so_that_no_execute_has_no_term() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}=x"));
    world
        .run(&format!("escalate {name} --to NoExecute --for 10m --yes"))
        .ended(2)
        .saying("an eviction cannot be undone");
    assert_eq!(effect(&world, &name), "None");
}
