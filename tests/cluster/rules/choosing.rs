//! Devices that are chosen by what they are, and by who uses them.

use serde_json::{Value, json};

use super::support::{KEY, World};
use crate::harness::objects::{bound, class, node, pod, slice};
use crate::harness::{
    ControlPlane, ENTER, Reference, Terminal, Variant, block_on, driver_name, random_suffix,
};

/// A node with three parts of two GPUs, a pod on the first of them, and a class of what has much memory.
async fn world(plane: &ControlPlane) -> World<'_> {
    let node = format!("node-{}", random_suffix());
    let mut world = World::bare(plane, driver_name(), node);
    world.namespace = plane.namespace().await;
    let (driver, node) = (world.driver.as_str(), world.node.as_str());
    let counters = |name: &str| json!({"name": name, "counters": {"memory": {"value": "80Gi"}}});
    let mut parts = slice(driver, node, &["part-0", "part-1", "part-2"]);
    parts["spec"]["pool"]["resourceSliceCount"] = json!(2);
    for (place, (uuid, gpu, memory)) in [
        ("GPU-1", "gpu-0", "40Gi"),
        ("GPU-2", "gpu-0", "20Gi"),
        ("GPU-3", "gpu-1", "80Gi"),
    ]
    .into_iter()
    .enumerate()
    {
        let part = &mut parts["spec"]["devices"][place];
        part["attributes"] = json!({
            "uuid": {"string": format!("{uuid}-{node}")}, "firmware": {"version": format!("580.{place}.0")},
        });
        part["capacity"] = json!({"memory": {"value": memory}});
        part["consumesCounters"] =
            json!([{"counterSet": gpu, "counters": {"memory": {"value": "20Gi"}}}]);
    }
    let mut sets = slice(driver, node, &[]);
    sets["metadata"]["name"] = json!(format!("{node}-{driver}-sets"));
    sets["spec"]["pool"]["resourceSliceCount"] = json!(2);
    sets["spec"]
        .as_object_mut()
        .expect("an object")
        .remove("devices");
    sets["spec"]["sharedCounters"] = json!([counters("gpu-0"), counters("gpu-1")]);
    let mut large = class(driver);
    large["metadata"]["name"] = json!(format!("large-{node}"));
    large["spec"]["selectors"][0]["cel"]["expression"] = json!(format!(
        "device.driver == '{driver}' && device.capacity['{driver}'].memory.compareTo(quantity('40Gi')) >= 0"
    ));
    plane.create(&[sets, parts, large]).await;
    world.pod("train", "part-0").await;
    world
}

/// The devices that the flags choose, by their names within the pool.
fn chosen(world: &World<'_>, flags: &[&str]) -> Vec<String> {
    let arguments = [&["devices", "-o", "name"], flags].concat();
    let output = world.plane.plugin(&arguments);
    assert!(output.status.success(), "{flags:?}: {output:?}");
    let names = String::from_utf8(output.stdout).expect("text");
    names
        .lines()
        .map(|name| name.rsplit('/').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn every_way_to_choose_is_one_way_for_every_command() {
    // Devices of others whose driver is away have attributes that nobody knows.
    let plane = &ControlPlane::start(&Variant::default().without_scheduler());
    let world = block_on(world(plane));
    let (driver, node) = (world.driver.clone(), world.node.clone());
    let firmware = format!(
        "device.driver == '{driver}' && device.attributes['{driver}'].firmware.isLessThan(semver('580.2.0'))"
    );
    let uuid = format!("uuid=GPU-2-{node}");
    let ways: Vec<(Vec<&str>, &[&str])> = vec![
        (vec!["--node", &node], &["part-0", "part-1", "part-2"]),
        (vec!["--where", &firmware], &["part-0", "part-1"]),
        (vec![&uuid], &["part-1"]),
    ];
    for (flags, expected) in &ways {
        chosen_by_every_command(&world, flags, expected);
    }
    for (place, (first, of_first)) in ways.iter().enumerate() {
        for (second, of_second) in &ways[place + 1..] {
            let both = [first.as_slice(), second].concat();
            let expected: Vec<&str> = of_first
                .iter()
                .filter(|device| of_second.contains(device))
                .copied()
                .collect();
            if expected.is_empty() {
                chosen_by_no_command(&world, &both);
            } else {
                chosen_by_every_command(&world, &both, &expected);
            }
        }
    }
}

/// What the flags choose is listed, previewed, tainted and freed again.
fn chosen_by_every_command(world: &World<'_>, flags: &[&str], expected: &[&str]) {
    let plane = world.plane;
    assert_eq!(chosen(world, flags), expected, "{flags:?}");
    let taint = format!("{KEY}:NoSchedule");
    let report = plane.plugin(&question("preview", flags, &taint, &["-o", "json"]));
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let count = report["selectedDevices"].as_array().expect("devices").len();
    assert_eq!(count, expected.len(), "{flags:?}: {report}");

    let added = plane.plugin(&question("add", flags, &taint, &["--yes"]));
    assert!(added.status.success(), "{flags:?}: {added:?}");
    let mut names: Vec<String> = block_on(world.rules())
        .iter()
        .map(|rule| {
            let device = rule["spec"]["deviceSelector"]["device"].as_str();
            device.expect("a device").to_owned()
        })
        .collect();
    names.sort();
    assert_eq!(names, expected, "{flags:?}");

    let rules = block_on(world.rules());
    let rules = rules.iter().map(|rule| &rule["metadata"]["name"]);
    let rules: Vec<&str> = rules.filter_map(Value::as_str).collect();
    world
        .run(&format!("remove {} --yes", rules.join(" ")))
        .ended(0);
    assert_eq!(block_on(world.rules()), Vec::<Value>::new(), "{flags:?}");
}

/// Where no device meets all that was asked, that is said, and nothing happens.
fn chosen_by_no_command(world: &World<'_>, flags: &[&str]) {
    for (command, taint) in [
        ("preview", format!("{KEY}:NoSchedule")),
        ("add", format!("{KEY}:NoSchedule")),
    ] {
        let more: &[&str] = if command == "preview" {
            &[]
        } else {
            &["--yes"]
        };
        let output = world.plane.plugin(&question(command, flags, &taint, more));
        assert_eq!(
            output.status.code(),
            Some(1),
            "{command} {flags:?}: {output:?}"
        );
        assert!(output.stdout.is_empty(), "{command} {flags:?}: {output:?}");
    }
    assert_eq!(block_on(world.rules()), Vec::<Value>::new(), "{flags:?}");
}

/// A command with what chooses before its taint.
fn question<'a>(
    command: &'a str,
    flags: &[&'a str],
    taint: &'a str,
    more: &[&'a str],
) -> Vec<&'a str> {
    [&[command], flags, &[taint], more].concat()
}

#[test]
fn hardware_is_chosen_by_its_number() {
    let plane = ControlPlane::shared();
    let world = block_on(world(plane));
    let uuid = format!("uuid=GPU-3-{}", world.node);
    let output = plane.plugin(&["preview", &uuid, "-o", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        report["selectedDevices"].as_array().expect("devices").len(),
        1,
        "{report}"
    );
}

/// A part is tainted while its sibling is in use: who uses the sibling is hit, once all of it is meant.
#[test]
fn partitions_mean_everybody_on_the_hardware() {
    let plane = ControlPlane::shared();
    let world = block_on(world(plane));
    let part = world.device("part-1");
    let taint = format!("{KEY}:NoExecute");
    let alone = plane.plugin(&["preview", &part, &taint, "-o", "name"]);
    assert_eq!(String::from_utf8_lossy(&alone.stdout), "");
    let whole = plane.plugin(&["preview", &part, &taint, "--with-partitions", "-o", "name"]);
    assert!(
        String::from_utf8_lossy(&whole.stdout).contains("pod/train"),
        "{whole:?}"
    );
}

#[test]
fn what_cannot_be_told_of_a_device_is_not_guessed() {
    let plane = ControlPlane::shared();
    let world = block_on(world(plane));
    let slice = format!("{}-{}", world.node, world.driver);
    let slice = Reference::cluster("resource.k8s.io/v1", "ResourceSlice", &slice);
    block_on(plane.delete(&slice));
    let model = format!(
        "device.driver == '{0}' && device.attributes['{0}'].firmware.major() == 580",
        world.driver
    );
    let output = plane.plugin(&["preview", "--where", &model]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no driver publishes it"));
}

#[test]
fn who_mistypes_is_told_what_there_is() {
    let world = block_on(world(ControlPlane::shared()));
    let near = &world.node[..world.node.len() - 1];
    world
        .run(&format!("preview --node {near}"))
        .ended(1)
        .saying("did you mean")
        .saying(&world.node);
    world
        .run("preview --where device.drver")
        .ended(2)
        .saying("column 7: undefined field 'drver'");
}

/// What is published is the pool with other devices in it, as after a reboot of the node.
async fn published_anew(world: &World<'_>, devices: &[(&str, &str)]) {
    let name = format!("{}-{}", world.node, world.driver);
    let slice = Reference::cluster("resource.k8s.io/v1", "ResourceSlice", &name);
    let devices = devices.iter().map(|(name, uuid)| {
        let uuid = format!("{uuid}-{}", world.node);
        json!({"name": name, "attributes": {"uuid": {"string": uuid}}})
    });
    let devices: Vec<Value> = devices.collect();
    let change = json!({"spec": {"devices": devices}});
    world.plane.patch(&slice, &change).await;
}

#[test]
fn a_device_that_was_renamed_under_its_rule_is_told_and_not_escalated() {
    let plane = ControlPlane::shared();
    let world = block_on(world(plane));
    let part = world.device("part-1");
    world
        .run(&format!("add {part} {KEY}:None --name anew-{}", world.node))
        .ended(0);
    let name = format!("anew-{}", world.node);
    let noted = block_on(world.rule(&name)).expect("a rule");
    let uuid = format!("GPU-2-{}", world.node);
    let note = &noted["metadata"]["annotations"]["devicetaint.dev/identity"];
    assert_eq!(
        *note,
        json!({(format!("{}/uuid", world.driver)): uuid}).to_string()
    );
    let told = |text: &str| {
        for command in ["list", "describe", "preview --rule"] {
            world
                .run(&format!("{command} {name}"))
                .ended(0)
                .saying(text);
        }
    };
    let silent = world.run(&format!("list {name}")).ended(0);
    assert!(!silent.stderr.contains("identity-"), "{silent:#?}");

    block_on(published_anew(
        &world,
        &[("part-1", "GPU-9"), ("part-7", "GPU-2")],
    ));
    told("identity-changed");
    told(&format!("was {uuid} and is GPU-9-{}", world.node));
    told(&format!("is now named {}", world.device("part-7")));
    // The pods of the hardware are not those that the rule evicts.
    world
        .run(&format!(
            "wait uuid={uuid} --for evicted --settle 0s --timeout 20s"
        ))
        .ended(1)
        .saying("error: identity-changed");
    world
        .run(&format!("escalate {name} --to NoSchedule --yes"))
        .ended(4);
    let effect = |rule: Option<Value>| rule.expect("a rule")["spec"]["taint"]["effect"].clone();
    assert_eq!(effect(block_on(world.rule(&name))), "None");
    // The command that made the rule leaves its note.
    world
        .run(&format!("add {part} {KEY}:None --name {name}"))
        .ended(0);
    told("identity-changed");

    block_on(published_anew(&world, &[("part-5", "GPU-5")]));
    told("identity-unknown");
    // What shows more is a command that works: the device itself is not published.
    told(&format!("devices '{}' --columns uuid", world.device("*")));
    world
        .run(&format!("escalate {name} --to NoSchedule --yes"))
        .ended(0)
        .saying("identity-unknown");
    block_on(published_anew(&world, &[("part-1", "GPU-9")]));
    world
        .run(&format!("escalate {name} --to NoExecute --yes"))
        .ended(4);
}

/// A device that nobody publishes may be what the rule was made for, until somebody publishes it.
#[test]
fn hardware_that_proves_to_be_other_while_the_question_is_open_was_not_agreed_to() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(async {
        published_anew(&world, &[("gpu-0", "GPU-1")]).await;
        world.pod("train", "gpu-0").await;
    });
    let name = world.add(&format!("{KEY}:None"));
    let effect = || block_on(world.rule(&name)).expect("a rule")["spec"]["taint"]["effect"].clone();
    let mut terminal = Terminal::open(world.plane);
    for (uuid, code, said, left) in [
        ("GPU-9", 4, "error: meanwhile, ", "None"),
        ("GPU-1", 0, "configured", "NoExecute"),
    ] {
        block_on(published_anew(&world, &[("gpu-1", "GPU-5")]));
        terminal.command(&world.typed(&format!("escalate {name} --to NoExecute")));
        terminal.until("identity-unknown");
        terminal.until("[y/N]");
        block_on(published_anew(&world, &[("gpu-0", uuid)]));
        terminal.press("y");
        terminal.press(ENTER);
        let shown = terminal.ended(code);
        assert!(shown.contains(said), "{shown}");
        assert_eq!(effect(), left, "{uuid}");
    }
}

/// What was chosen by its number is other hardware by the time somebody has answered.
#[test]
fn hardware_that_is_exchanged_under_the_question_is_not_tainted() {
    let plane = ControlPlane::shared();
    let world = block_on(world(plane));
    let part = world.device("part-0");
    let name = format!("swap-{}", world.node);
    world
        .run(&format!("add {part} {KEY}:None --name {name}"))
        .ended(0);
    let mut terminal = Terminal::open(plane);
    let lines = [
        format!("escalate {name} --to NoExecute"),
        format!("add {part} {KEY}=new:NoExecute --name {name}-new"),
    ];
    for (turn, line) in lines.iter().enumerate() {
        terminal.command(&world.typed(line));
        terminal.until(if turn == 0 { "Give rule" } else { "Add rule" });
        let uuid = format!("GPU-{}", turn + 7);
        block_on(published_anew(&world, &[("part-0", &uuid)]));
        terminal.press("y");
        terminal.press(ENTER);
        let shown = terminal.ended(4);
        assert!(shown.contains("meanwhile, "), "{line}: {shown}");
    }
    let rule = block_on(world.rule(&name)).expect("a rule");
    assert_eq!(rule["spec"]["taint"]["effect"], "None");
    assert!(block_on(world.rule(&format!("{name}-new"))).is_none());
}

#[test]
fn what_devices_are_is_shown_where_it_is_asked_for() {
    let world = block_on(world(ControlPlane::shared()));
    let node = &world.node;
    let run = world
        .run(&format!("devices --node {node} --columns uuid,memory"))
        .ended(0);
    for text in [
        format!("{node}: 3 devices, 1 allocated, 0 tainted"),
        format!("GPU-2-{node}"),
        "20Gi".to_owned(),
    ] {
        assert!(run.stdout.contains(&text), "no {text:?} in {run:#?}");
    }
    world
        .run(&format!("devices --node {node} --columns uiud"))
        .ended(1)
        .saying("did you mean uuid?");
    let uuid = format!("uuid=GPU-3-{node}");
    let one = world
        .run(&format!("devices DRIVER {uuid} -o name"))
        .ended(0);
    assert_eq!(one.stdout.trim(), world.device("part-2"));
    let keys = [KEY, "example.com/other"];
    for key in keys {
        world.run(&format!("add DRIVER {uuid} {key}:None")).ended(0);
    }
    // One of them was meant.
    world
        .run(&format!("escalate {uuid} --to NoSchedule --yes"))
        .ended(2)
        .saying("has 2 rules");
    for key in keys {
        world.run(&format!("remove DRIVER {uuid} {key}-")).ended(0);
    }
    assert_eq!(block_on(world.rules()), Vec::<Value>::new());
}

/// What was looked at is other hardware by the time the report is used.
#[test]
fn hardware_that_is_exchanged_after_the_report_is_not_tainted() {
    let plane = ControlPlane::shared();
    let world = block_on(world(plane));
    let part = world.device("part-1");
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.json");
    let json = world.run(&format!("preview {part} {KEY}:NoExecute -o json"));
    std::fs::write(&report, json.ended(0).stdout).expect("a file");
    let add = format!(
        "add {part} {KEY}:NoExecute --yes --expect {}",
        report.display()
    );
    block_on(published_anew(
        &world,
        &[("part-1", "GPU-9"), ("part-7", "GPU-2")],
    ));
    world.run(&add).ended(4).saying("hardware").saying(&part);
    assert_eq!(block_on(world.rules()), Vec::<Value>::new());
    block_on(published_anew(
        &world,
        &[("part-1", "GPU-2"), ("part-7", "GPU-9")],
    ));
    world.run(&add).ended(0);
    world.run(&format!("remove {part} {KEY}- --yes")).ended(0);
}

#[test]
fn a_rule_is_removed_by_the_hardware_that_it_was_made_for() {
    let world = block_on(world(ControlPlane::shared()));
    let (part, node) = (world.device("part-1"), world.node.clone());
    let uuid = format!("uuid=GPU-2-{node}");
    let add = format!("add {uuid} {KEY}:None");
    let remove = format!("remove {uuid} {KEY}-");
    for devices in [
        // Renamed, and not there any more.
        &[("part-1", "GPU-9"), ("part-7", "GPU-2")][..],
        &[("part-1", "GPU-9")],
    ] {
        block_on(published_anew(&world, &[("part-1", "GPU-2")]));
        world.run(&add).ended(0);
        block_on(published_anew(&world, devices));
        world.run(&remove).ended(0);
        assert_eq!(block_on(world.rules()), Vec::<Value>::new());
    }
    // The rule of the hardware that has the name now is another's.
    block_on(published_anew(&world, &[("part-1", "GPU-9")]));
    world.run(&format!("add {part} {KEY}:None")).ended(0);
    world.run(&remove).ended(1);
    assert_eq!(block_on(world.rules()).len(), 1);
    block_on(published_anew(
        &world,
        &[("part-1", "GPU-2"), ("part-2", "GPU-2")],
    ));
    for line in [&remove, &add, &format!("preview {uuid}")] {
        world
            .run(line)
            .ended(1)
            .saying("is ambiguous")
            .saying(&part)
            .saying(&world.device("part-2"));
    }
    world
        .run(&format!("devices {uuid}"))
        .ended(0)
        .saying("is ambiguous");
}

#[test]
fn who_is_there_without_devices_is_not_mistyped() {
    let plane = ControlPlane::shared();
    let world = block_on(world(plane));
    let idle = format!("idle-{}", world.node);
    let mut pod = bound(pod(&world.namespace, "idle", "idle"), &idle);
    let spec = pod["spec"].as_object_mut().expect("an object");
    spec.remove("resourceClaims");
    for container in spec["containers"].as_array_mut().expect("containers") {
        container
            .as_object_mut()
            .expect("an object")
            .remove("resources");
    }
    block_on(plane.create(&[node(&idle), pod]));
    let there = format!("node {idle} exists, but no device is local to it");
    world
        .run(&format!("preview --node {idle}"))
        .ended(1)
        .saying(&there);
    world
        .run(&format!("devices --node {idle}"))
        .ended(0)
        .saying(&there);
    // Nodes of tests beside this one may have names that are as near.
    let mistyped = world.run(&format!("devices --node {}x", world.node));
    let suggestion = mistyped.stderr.split("did you mean ").nth(1);
    assert!(
        suggestion.is_some_and(|names| names.contains(&world.node)),
        "{mistyped:?}"
    );
}
