//! `--events`: what goes on, for programs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::support::{KEY, Run, World};
use crate::harness::{
    ControlPlane, DEADLINE, PLUGIN, Reference, block_on, random_suffix, wait_for,
};

fn file(plane: &ControlPlane) -> PathBuf {
    plane.folder().join(format!("events-{}", random_suffix()))
}

/// The events in a text, all of whose lines are whole and follow the schema.
fn events(text: &str) -> Vec<Value> {
    let schema = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schemas/command-event.v1alpha1.schema.json"
    );
    let schema = std::fs::read_to_string(schema).expect("a schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(text.ends_with('\n'), "the last line is whole: {text}");
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).expect(line);
        let errors: Vec<String> = validator
            .iter_errors(&event)
            .map(|it| it.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}: {line}");
        event
    };
    text.lines().map(event).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    let types = events.iter().map(|event| event["type"].as_str());
    types.map(|it| it.expect("a type")).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("events")
}

/// The program with its streams as pipes.
fn command(world: &World<'_>, line: &str) -> Command {
    let mut command = world.plane.command(PLUGIN);
    command
        .args(world.words(line))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn an_escalation_tells_its_changes_its_wait_and_its_end() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    block_on(world.pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}=x"));
    let path = file(plane);
    let line = format!(
        "escalate {name} --to NoExecute --yes --wait --settle 1s --timeout 60s --events {}",
        path.display()
    );
    let child = command(&world, &line).spawn().expect("it starts");
    block_on(async {
        world.until_evicted("train").await;
        world
            .plane
            .force_delete_pod(&world.namespace, "train")
            .await;
    });
    Run::from(child.wait_with_output().expect("it ends")).ended(0);
    let told = events(&read(&path));
    let kinds = types(&told);
    assert_eq!(kinds[..2], ["Began", "RuleChanged"], "{told:#?}");
    assert_eq!(
        kinds[kinds.len() - 2..],
        ["WaitEnded", "Ended"],
        "{told:#?}"
    );
    assert!(kinds.contains(&"Progress"), "{told:#?}");
    assert_eq!(told[1]["change"]["result"], "Configured");
    assert_eq!(told[1]["change"]["changed"], true);
    assert_eq!(told.last().expect("an end")["exitCode"], 0);
    assert_eq!(told[told.len() - 2]["wait"]["met"], true);

    // Events of the next command follow, and standard output has them alone.
    let run = world
        .run(&format!("remove {name} --wait --events {}", path.display()))
        .ended(0);
    assert!(run.stdout.contains("deleted"));
    assert!(events(&read(&path)).len() > told.len());
    let run = world.run(&format!("remove {name} --events -")).ended(1);
    let told = events(&run.stdout);
    assert_eq!(types(&told), ["Began", "RuleChanged", "Ended"]);
    assert_eq!(told[1]["change"]["result"], "NotFound");
    assert_eq!(told[2]["exitCode"], 1);
}

#[test]
fn events_and_an_answer_do_not_share_standard_output() {
    let world = block_on(World::new(ControlPlane::shared()));
    for line in [
        "wait x --for deleted -o json --events -",
        "remove x -o json --events -",
        "escalate x --to NoSchedule -o yaml --events -",
        "list --watch --events -",
        "devices --watch --events -",
    ] {
        world
            .run(line)
            .ended(2)
            .saying("cannot both use standard output");
    }
    for line in ["list --events x", "devices --events x"] {
        world.run(line).ended(2).saying("--events needs --watch");
    }
    world
        .run("wait x --for deleted --events /nowhere/at/all")
        .ended(1)
        .saying("cannot write the lines of --events to /nowhere/at/all");
}

#[test]
fn every_line_is_whole_when_somebody_breaks_it_off() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let name = world.add(&format!("{KEY}=x"));
    let path = file(plane);
    let line = format!("wait {name} --for deleted --events {}", path.display());
    let child = command(&world, &line).spawn().expect("it starts");
    block_on(wait_for("it waits", DEADLINE, async || {
        let text = std::fs::read_to_string(&path).ok()?;
        text.contains("\"Progress\"").then_some(())
    }));
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status();
    assert!(killed.expect("kill").success());
    Run::from(child.wait_with_output().expect("it ends")).ended(130);
    let told = events(&read(&path));
    assert_eq!(told.last().expect("an end")["type"], "Ended");
    assert_eq!(told.last().expect("an end")["exitCode"], 130);
}

#[test]
fn events_that_cannot_be_written_neither_stop_nor_falsify_a_change() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let effect = |name: &str| {
        let rule = block_on(world.rule(name)).expect("a rule");
        rule["spec"]["taint"]["effect"].as_str().map(str::to_owned)
    };
    // A disk that is full.
    let name = world.add(&format!("{KEY}=x"));
    let line = format!("escalate {name} --to NoSchedule --yes --events /dev/full");
    let run = world.run(&line).ended(1);
    assert!(run.stdout.contains("configured"), "{run:#?}");
    let run = run.saying("cannot write the lines of --events to /dev/full");
    run.saying("only the events are incomplete");
    assert_eq!(effect(&name).as_deref(), Some("NoSchedule"));

    // A reader that is gone.
    let line = format!("escalate {name} --to NoExecute --yes --events -");
    let mut child = command(&world, &line).spawn().expect("it starts");
    drop(child.stdout.take());
    let run = Run::from(child.wait_with_output().expect("it ends")).ended(1);
    run.saying("cannot write the lines of --events to standard output");
    assert_eq!(effect(&name).as_deref(), Some("NoExecute"));

    // A reader that never reads: a pipe that is full to the brim.
    let pipe = file(plane);
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let mut both = std::fs::OpenOptions::new();
    let mut both = both.read(true).write(true).open(&pipe).expect("a pipe");
    let line = format!("deescalate {name} --to None");
    world.run(&line).ended(0);
    both.write_all(&[b'x'; 65_536]).expect("a pipe holds that");
    let line = format!(
        "escalate {name} --to NoSchedule --yes --events {}",
        pipe.display()
    );
    let began = std::time::Instant::now();
    world.run(&line).ended(1).saying("no process reads them");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(effect(&name).as_deref(), Some("NoSchedule"));
}

#[test]
fn a_watch_tells_what_appears_and_what_is_gone() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let path = file(plane);
    let line = format!(
        "list -l world={} --watch --events {}",
        world.node,
        path.display()
    );
    let mut child = command(&world, &line).spawn().expect("it starts");
    let until = |what: &str| {
        block_on(wait_for("it is told", DEADLINE, async || {
            let text = std::fs::read_to_string(&path).ok()?;
            text.contains(what).then_some(())
        }));
    };
    until("\"ListChanged\"");
    let label = format!("--labels world={}", world.node);
    let run = world.run(&format!("add GPU0 {KEY}=x {label}")).ended(0);
    let name = super::support::name_in(&run.stdout);
    until(&format!(
        "\"addedNames\":[\"devicetaintrule.resource.k8s.io/{name}\"]"
    ));
    block_on(plane.delete(&Reference::rule(&name)));
    until(&format!(
        "\"removedNames\":[\"devicetaintrule.resource.k8s.io/{name}\"]"
    ));
    let pid = child.id().to_string();
    let _ = Command::new("kill").args(["-TERM", &pid]).status();
    let _ = child.wait();
    let told = events(&read(&path));
    assert_eq!(told.last().expect("an end")["exitCode"], 143);
}
