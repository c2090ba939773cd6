//! Devices that are selected by their node, attributes and hardware IDs.

use serde_json::{Value, json};

use super::support::{KEY, World};
use crate::harness::objects::{class, slice};
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
    // Flags narrow one another, and a hardware ID among them.
    let both = ["--node", &node, "--where", &firmware, &uuid];
    chosen_by_every_command(&world, &both, &["part-1"]);
    let none = ["--where", "device.driver == 'none'", uuid.as_str()];
    chosen_by_no_command(&world, &none);
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
        assert!(
            shown.contains("was created for hardware"),
            "{line}: {shown}"
        );
    }
    let rule = block_on(world.rule(&name)).expect("a rule");
    assert_eq!(rule["spec"]["taint"]["effect"], "None");
    assert!(block_on(world.rule(&format!("{name}-new"))).is_none());
}

#[test]
fn a_rule_of_other_hardware_is_told_and_not_escalated() {
    let world = block_on(world(ControlPlane::shared()));
    let (part, uuid) = (world.device("part-1"), format!("GPU-2-{}", world.node));
    let name = format!("anew-{}", world.node);
    world
        .run(&format!("add uuid={uuid} {KEY}:None --name {name}"))
        .ended(0);
    let noted = block_on(world.rule(&name)).expect("a rule");
    let note = &noted["metadata"]["annotations"]["devicetaint.dev/identity"];
    assert_eq!(*note, json!(format!("{}/uuid={uuid}", world.driver)));
    let silent = world.run(&format!("list {name}")).ended(0);
    assert!(!silent.stderr.contains("hardware"), "{silent:#?}");
    block_on(published_anew(
        &world,
        &[("part-1", "GPU-9"), ("part-7", "GPU-2")],
    ));
    let other = format!("and {part} is GPU-9-{} now", world.node);
    let listed = world.run(&format!("list {name}")).ended(0).stdout;
    assert!(listed.contains("other hardware"), "{listed}");
    world
        .run(&format!("describe {name}"))
        .ended(0)
        .saying(&other);
    world
        .run(&format!("escalate {name} --to NoSchedule --yes"))
        .ended(4)
        .saying(&other);
    // A hardware ID means the device that has it now.
    world
        .run(&format!("remove uuid={uuid} {KEY}-"))
        .ended(1)
        .saying("no rule with selector");
    world.run(&format!("remove {part} {KEY}-")).ended(0);
    // What is not published proves no change.
    world.run(&format!("add {part} {KEY}:None")).ended(0);
    block_on(published_anew(&world, &[("part-5", "GPU-5")]));
    world
        .run(&format!("escalate {part} {KEY} --to NoSchedule --yes"))
        .ended(0);
    world.run(&format!("remove {part} {KEY}- --yes")).ended(0);
}
