//! The roles of `manifests/`: enough for all that they are for, and nothing too much.

use serde_json::{Value, json};

use super::normal;
use super::rights::{Right, grant, overdue_pod};
use crate::cluster::rules::support::{KEY, Run, World};
use crate::harness::{
    ControlPlane, Reference, Variant, block_on, objects::rule, random_suffix, text,
};
#[cfg(unix)]
use crate::page::{Page, Setting};
use kubectl_devicetaint::model::Kind;

/// Commands of a reader.
const READS: [&str; 12] = [
    "describe hard -o json",
    "explain pod/train device/GPU0 -n NAMESPACE -o json",
    "snapshot",
    "wait hard --for evicted --timeout 1s --settle 0s",
    "preview GPU0 KEY:NoExecute --strict -o json",
    "preview --rule hard --strict -o json",
    "list",
    "devices DRIVER -o json",
    "wait hard --for observed --timeout 1s",
    "tolerations KEY:NoSchedule --who",
    "plan DRIVER --count 1 -o json",
    "drain status",
];

/// Further commands of an operator; nothing of it lasts.
const WRITES: [&str; 7] = [
    "add GPU1 KEY=new:NoExecute --yes --dry-run=server",
    "add GPU1 KEY=new --dry-run=server -o yaml",
    "escalate soft --to NoExecute --yes --dry-run=server",
    "deescalate hard --to None --dry-run=server",
    "drain GPU0 --yes --accept-unplaceable --include jobs,unmanaged --dry-run=server",
    "remove soft --yes --others --dry-run=server",
    "remove -l none=such --yes --others --dry-run=server",
];

/// Commands of a dedicator; nothing of it lasts.
const DEDICATES: [&str; 3] = [
    "dedicate GPU0 --to default --name new --yes --dry-run=server",
    "undedicate old --yes --dry-run=server",
    "tolerations KEY:NoSchedule --who",
];

/// Applies a manifest, as it lies in the repository; server-side, since two tests may be the first to.
fn applied(plane: &ControlPlane, role: &str) -> Value {
    let path = format!("{}/manifests/{role}.yaml", env!("CARGO_MANIFEST_DIR"));
    text(&plane.kubectl(&["apply", "--server-side", "-f", &path]));
    let role = std::fs::read_to_string(&path).expect("a manifest");
    serde_yaml::from_str(&role).expect("YAML")
}

/// Every verb on every resource of a role, each as a right of its own.
fn rights(role: &Value) -> Vec<Right> {
    let texts = |value: &Value| -> Vec<&'static str> {
        let all = value.as_array().expect("a list").iter();
        all.map(|text| &*text.as_str().expect("text").to_owned().leak())
            .collect()
    };
    let mut rights = Vec::new();
    for rule in role["rules"].as_array().expect("rules") {
        let [group] = texts(&rule["apiGroups"])[..] else {
            panic!("one group a rule: {rule}");
        };
        for resource in texts(&rule["resources"]) {
            for verb in texts(&rule["verbs"]) {
                rights.push(Right {
                    verbs: vec![verb].leak(),
                    kinds: vec![(group, resource)].leak(),
                });
            }
        }
    }
    rights
}

/// The right as the program names it.
fn named(right: &Right) -> String {
    let (group, resource) = right.kinds[0];
    let dot = if group.is_empty() { "" } else { "." };
    format!("{} {resource}{dot}{group}", right.verbs[0])
}

/// Runs a command.
fn run(world: &World<'_>, line: &str, flags: &str) -> Run {
    let line = line
        .replace("KEY", KEY)
        .replace("NAMESPACE", &world.namespace);
    let words = world.words(&format!("{line}{flags}"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    world.plane.plugin(&words).into()
}

/// True if a command run with these groups reports the right as lacking.
fn is_noticed(world: &World<'_>, commands: &[&str], flags: &str, right: &Right) -> bool {
    let right = named(right);
    commands.iter().any(|line| {
        let run = run(world, line, flags);
        let told = format!("cannot {right}: access denied");
        run.stderr.contains(&told) || run.stdout.contains(&told)
    })
}

/// True if it is about owners of pods.
fn is_workload(right: &Right) -> bool {
    let mut kinds = Kind::WORKLOADS.iter();
    kinds.any(|kind| right.kinds == [(kind.group(), kind.resource())])
}

/// Two pods, one of which should have ended; a rule that evicts and one that does not.
async fn prepare(world: &World<'_>) {
    world.pod("train", "gpu-0").await;
    let hard = rule("hard", &world.driver, "NoExecute");
    let mut soft = rule("soft", &world.driver, "NoSchedule");
    soft["spec"]["deviceSelector"]["device"] = json!("gpu-1");
    world.plane.create(&[hard, soft]).await;
    let condition = json!({"conditions": [{
        "type": "EvictionInProgress", "status": "True", "reason": "PodsPendingEviction",
        "message": "", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    let hard = Reference::rule("hard");
    world.plane.patch_status(&hard, &condition).await;
    overdue_pod(world, "hard").await;
}

#[test]
fn with_its_role_every_command_works_and_with_less_one_says_what_is_missing() {
    let plane = ControlPlane::start(&Variant::idle());
    let world = block_on(World::new(&plane));
    block_on(prepare(&world));
    let everything: Vec<&str> = READS.into_iter().chain(WRITES).collect();
    world
        .run("dedicate GPU1 --to default --name old --yes")
        .ended(0);
    let (mut tried, mut done): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for (role, commands) in [
        ("reader", &READS[..]),
        ("operator", &everything),
        ("dedicator", &DEDICATES[..]),
    ] {
        let manifest = applied(&plane, role);
        let group = group_of(&plane, role, &manifest);
        let rights = rights(&manifest);
        let pieces = format!("piece-of-{role}");
        block_on(grant(&plane, &pieces, &rights));

        let flags = format!(" --as={group} --as-group={group}");
        // The rights of a reader are tried as one.
        for line in commands.iter().filter(|line| !done.contains(line)) {
            let (mine, admin) = (run(&world, line, &flags), run(&world, line, ""));
            let ours = [world.driver.as_str(), &world.namespace];
            let well = [0, 5].contains(&mine.code);
            assert!(well, "{role}: {line}: {mine:#?}");
            assert_eq!(mine.code, admin.code, "{role}: {line}: {mine:#?}");
            // The creator of a rule is noted in it.
            let is_told_as_much = WRITES.contains(line)
                || DEDICATES.contains(line)
                || normal::says_the_same(&mine.stdout, &admin.stdout, &ours);
            assert!(is_told_as_much, "{role}: {line}: {mine:#?} {admin:#?}");
            assert!(!mine.stderr.contains("denied"), "{role}: {line}: {mine:#?}");
        }

        done.extend(commands);

        for (place, right) in rights.iter().enumerate() {
            // Only restarts need it, and no Deployment here is restarted: `cluster::drained::refused` misses it.
            if named(right) == "patch deployments.apps" {
                continue;
            }
            // Without them, objects are listed instead: again and again, or all pods.
            if right.verbs == ["watch"] || named(right) == "get pods" {
                continue;
            }
            // Only a lost reply to a change is resolved by it.
            let changes = |other: &Right| other.kinds == right.kinds && other.verbs == ["patch"];
            if right.verbs == ["get"] && rights.iter().any(changes) {
                continue;
            }
            // An operator misses the same as a reader, and no command gets by name an owner that no pod here
            // has; lists of it are missed by a snapshot.
            if tried.contains(&named(right)) || is_workload(right) && right.verbs == ["get"] {
                continue;
            }
            tried.push(named(right));
            // A command is run for each right until one misses it: in the first tier for a fifth of the rights.
            if !crate::IS_FULL && !place.is_multiple_of(10) {
                continue;
            }
            let others = (0..rights.len()).filter(|other| *other != place);
            let flags: String = others
                .map(|other| format!(" --as-group={pieces}-{other}"))
                .collect();
            let flags = format!(" --as=less{flags}");
            assert!(
                is_noticed(&world, commands, &flags, right),
                "{role}: no command misses {}",
                named(right)
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn what_is_denied_is_told_as_the_page_says() {
    let plane = ControlPlane::shared();
    let page = Page::read("docs/src/permissions.md");
    assert!(page.commands(Setting::Live) > 0, "it shows what is run");
    page.check(Setting::Live, || plane.command("bash"));
}

/// A new group with the role of this manifest.
fn group_of(plane: &ControlPlane, role: &str, manifest: &Value) -> String {
    let group = format!("{role}-{}", random_suffix());
    let rules = manifest["rules"].as_array().expect("rules");
    block_on(plane.allow("Group", &group, rules));
    group
}

#[test]
fn an_operator_may_not_dedicate_devices_and_nothing_is_tainted() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let manifest = applied(plane, "operator");
    let group = group_of(plane, "operator", &manifest);
    let line = format!(
        "dedicate GPU0 --to {} --yes --as={group} --as-group={group}",
        world.namespace
    );
    let run = world.run(&line).ended(1).saying("access denied");
    assert!(run.stdout.is_empty(), "{run:#?}");
    assert_eq!(block_on(world.rules()), Vec::<Value>::new());
}
