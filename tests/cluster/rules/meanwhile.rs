//! Somebody else is faster: between what a command has looked at and what it sends.

use serde_json::json;

use super::harm::Proxy;
use super::support::{KEY, World, name_in};
use crate::harness::{At, ControlPlane, Reference, Variant, block_on, objects::rule};

fn plane() -> &'static ControlPlane {
    ControlPlane::of(&Variant::default().without_controllers().without_scheduler())
}

/// The first request that changes a rule.
fn first_change(proxy: &Proxy) -> At {
    let seen = proxy.seen();
    let change = |method: &str| ["PATCH", "DELETE", "POST"].contains(&method);
    let place = seen
        .iter()
        .position(|seen| change(&seen.method) && seen.path.contains("devicetaintrules"));
    At::Number(place.expect("it changes something") + 1)
}

/// The taint of the rule, as VALUE:EFFECT.
fn taint(world: &World<'_>, name: &str) -> String {
    let rule = block_on(world.rule(name)).expect("it is there");
    let taint = &rule["spec"]["taint"];
    let text = |field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    format!("{}:{}", text("value"), text("effect"))
}

#[test]
fn their_change_stays_and_is_told_and_the_same_command_completes_it_then() {
    let plane = plane();
    let world = block_on(World::new(plane));
    let proxy = Proxy::start(&world);
    let device = world.device("gpu-0");
    let name = world.add(&format!("{KEY}=ours:NoSchedule"));
    let overwrite = format!("add {device} {KEY}=new:NoSchedule --overwrite --yes");
    for (line, missed, after) in [
        (
            format!("escalate {name} --to NoExecute --yes"),
            "not changed",
            Some("theirs:NoExecute"),
        ),
        (overwrite, "not changed", Some("new:NoSchedule")),
        (format!("remove {name}"), "not deleted", None),
    ] {
        let reset = || {
            world
                .run(&format!("remove {name} --ignore-not-found --others"))
                .ended(0);
            world.add(&format!("{KEY}=ours:NoSchedule"))
        };
        reset();
        proxy.run(&world, &line).ended(0);
        let number = first_change(&proxy);
        reset();
        let run = proxy.run_while(&world, &line, number, || {
            let theirs = json!({"spec": {"taint": {"value": "theirs"}}});
            block_on(plane.patch(&Reference::rule(&name), &theirs));
        });
        run.ended(75)
            .saying("was changed by another client; this command's change was not made")
            .saying(&format!(
                "its taint was {KEY}=ours:NoSchedule, and is now {KEY}=theirs:NoSchedule"
            ))
            .saying("changed by ")
            .saying("changed: nothing")
            .saying(&format!("{missed}: {name}"))
            .saying("run the same command again");
        assert_eq!(taint(&world, &name), "theirs:NoSchedule", "{line}");
        let others = after.map_or(" --others", |_| "");
        proxy.run(&world, &format!("{line}{others}")).ended(0);
        match after {
            Some(after) => assert_eq!(taint(&world, &name), after, "{line}"),
            None => assert!(block_on(world.rule(&name)).is_none()),
        }
    }
}

#[test]
fn the_brake_works_whatever_they_changed() {
    let plane = plane();
    let world = block_on(World::new(plane));
    let proxy = Proxy::start(&world);
    let name = world.add(&format!("{KEY}=ours:NoExecute"));
    let line = format!("deescalate {name} --to NoSchedule");
    proxy.run(&world, &line).ended(0);
    let number = first_change(&proxy);
    world
        .run(&format!("escalate {name} --to NoExecute --yes"))
        .ended(0);
    let run = proxy.run_while(&world, &line, number, || {
        let theirs = json!({"spec": {"taint": {"value": "theirs"}}});
        block_on(plane.patch(&Reference::rule(&name), &theirs));
    });
    run.ended(0);
    assert_eq!(taint(&world, &name), "theirs:NoSchedule");
}

#[test]
fn a_rule_that_they_deleted_is_not_made_anew_and_one_that_they_made_is_not_deleted() {
    let plane = plane();
    let world = block_on(World::new(plane));
    let proxy = Proxy::start(&world);
    let name = world.add(&format!("{KEY}=ours:None"));
    let remove = format!("remove {name}");
    let escalate = format!("escalate {name} --to NoSchedule --yes");
    proxy.run(&world, &escalate).ended(0);
    let at_patch = first_change(&proxy);
    proxy.run(&world, &remove).ended(0);
    let at_delete = first_change(&proxy);
    let delete = || block_on(plane.delete(&Reference::rule(&name)));

    world.add(&format!("{KEY}=ours:None"));
    let run = proxy.run_while(&world, &escalate, at_patch, delete);
    run.ended(1).saying("not changed:");
    assert!(block_on(world.rule(&name)).is_none());

    world.add(&format!("{KEY}=ours:None"));
    let run = proxy
        .run_while(&world, &remove, at_delete.clone(), delete)
        .ended(0);
    assert!(run.stdout.ends_with(" already deleted\n"), "{run:?}");

    world.add(&format!("{KEY}=ours:None"));
    let run = proxy.run_while(&world, &remove, at_delete, || {
        delete();
        block_on(plane.create(&[rule(&name, &world.driver, "NoSchedule")]));
    });
    let run = run
        .ended(0)
        .saying("was deleted and recreated, with taint example.com/broken:NoSchedule")
        .saying("the new rule was not changed");
    assert!(run.stdout.ends_with(" already deleted\n"), "{run:?}");
    assert!(block_on(world.rule(&name)).is_some());
}

#[test]
fn a_rule_that_they_made_first_is_taken_if_it_is_the_same_and_left_if_not() {
    let plane = plane();
    let world = block_on(World::new(plane));
    let proxy = Proxy::start(&world);
    let line = format!("add GPU0 {KEY}=ours");
    let run = proxy.run(&world, &line).ended(0);
    let number = first_change(&proxy);
    let name = name_in(&run.stdout);
    let remove = || {
        world.run(&format!("remove {name}")).ended(0);
    };

    remove();
    let run = proxy.run_while(&world, &line, number.clone(), || {
        world.add(&format!("{KEY}=ours"));
    });
    let run = run.ended(0);
    assert!(run.stdout.ends_with("unchanged\n"), "{run:?}");

    remove();
    let run = proxy.run_while(&world, &line, number, || {
        world.add(&format!("{KEY}=theirs"));
    });
    run.ended(1)
        .saying("exists with other content")
        .saying(&format!("not created: {name}"));
    assert_eq!(taint(&world, &name), "theirs:None");
    // The same command says the same, and goes on where it is asked to.
    world.run(&line).ended(1).saying("--overwrite");
    world.run(&format!("{line} --overwrite")).ended(0);
    assert_eq!(taint(&world, &name), "ours:None");
}
