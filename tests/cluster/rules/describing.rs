//! `describe`, line by line, on the real control plane.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::support::{KEY, World};
use crate::harness::{
    ControlPlane, DEADLINE, Reference, block_on,
    objects::{allocation, bound, claim, pod, reserved},
    wait_for,
};

const HOLD: &str = "example.com/hold";
/// The controller counts what it evicted for this rule since it started.
const COUNTS: &str =
    "1 pod needs to be evicted in 1 namespace. 6 pods evicted since starting the controller.";

/// A node whose kubelet says, or does not say, that it is well.
async fn node(plane: &ControlPlane, name: &str, ready: &str) {
    let conditions = json!([{"type": "Ready", "status": ready, "reason": "Test"}]);
    plane
        .create(&[json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"conditions": conditions},
        })])
        .await;
}

/// A pod on a node, as `change` makes it, with a device.
async fn pod_on(world: &World<'_>, name: &str, node: &str, change: impl FnOnce(&mut Value)) {
    let mut pod = bound(pod(&world.namespace, name, name), node);
    pod["spec"]["terminationGracePeriodSeconds"] = json!(1);
    change(&mut pod);
    let claim = claim(&world.namespace, name, &world.driver);
    let allocation = allocation(&world.driver, &world.node, "gpu-0");
    world
        .plane
        .create(&[pod, reserved(claim, allocation, name)])
        .await;
}

/// What is said of the rule itself: other tests evict pods meanwhile, and events do not say by which rule.
fn of_the_rule(text: &str) -> &str {
    text.split_once("\nEvictions since ")
        .map_or(text, |(certain, _)| certain)
}

/// The lines with one space between words, and without what differs from run to run: names, times, and
/// how long ago something was.
fn lines(world: &World<'_>, text: &str) -> Vec<String> {
    let names = [
        (&world.driver, "DRIVER"),
        (&world.node, "NODE"),
        (&world.namespace, "NAMESPACE"),
    ];
    let text = names
        .into_iter()
        .fold(text.to_owned(), |text, (name, shown)| {
            text.replace(name, shown)
        });
    let masked = |word: &str| {
        let (front, rest) = word.split_at(word.find(|c: char| c != '(').unwrap_or(0));
        let core = rest.trim_end_matches([',', ')']);
        let digits = core
            .chars()
            .next()
            .is_some_and(|first| first.is_ascii_digit());
        let shown = if core.parse::<Timestamp>().is_ok() {
            "TIME"
        } else if digits && core.ends_with(['s', 'm', 'h']) {
            "LONG"
        } else {
            core
        };
        format!("{front}{shown}{}", &rest[core.len()..])
    };
    let line = |line: &str| {
        line.split_whitespace()
            .map(masked)
            .collect::<Vec<_>>()
            .join(" ")
    };
    text.lines().map(line).collect()
}

#[test]
fn every_line_says_what_a_pod_waits_for_and_what_happened() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let on = |kind: &str| format!("{}-{kind}", world.node);
    block_on(async {
        node(plane, &on("up"), "True").await;
        node(plane, &on("down"), "False").await;
        node(plane, &on("silent"), "Unknown").await;
        pod_on(&world, "a-up", &on("up"), |_| ()).await;
        pod_on(&world, "b-down", &on("down"), |_| ()).await;
        pod_on(&world, "c-silent", &on("silent"), |_| ()).await;
        pod_on(&world, "d-gone", &on("gone"), |_| ()).await;
        pod_on(&world, "e-held", &on("up"), |pod| {
            pod["metadata"]["finalizers"] = json!([HOLD]);
        })
        .await;
        pod_on(&world, "f-slow", &on("down"), |pod| {
            pod["spec"]["terminationGracePeriodSeconds"] = json!(7200);
        })
        .await;
        world.tolerant_pod("g-patient", "gpu-1", 7200).await;
    });
    let name = format!("all-{}", world.driver);
    let taint = format!("{KEY}=firmware:NoExecute");
    world
        .run(&format!(
            "add DRIVER {taint} --name {name} --reason update --ticket OPS-7 --expires 4h --yes"
        ))
        .ended(0);
    let described = block_on(wait_for("all grace periods end", DEADLINE, async || {
        let shown = world.run(&format!("describe {name}")).ended(0).stdout;
        let shown = of_the_rule(&shown).to_owned();
        let done = shown.matches("Marking for deletion").count() == 6
            && shown.matches("its grace period ends").count() == 1
            && shown.contains(COUNTS);
        if !done {
            println!("{shown}");
        }
        done.then_some(shown)
    }));
    let found = lines(&world, &described);
    let (before, events) = found.split_at(found.len() - 6);
    assert_eq!(
        before,
        [
            "Name: all-DRIVER",
            "Taint: example.com/maintenance=firmware:NoExecute",
            "Since: TIME (LONG ago)",
            "Devices: DRIVER/*/*",
            "Selected: 2 published devices, 7 allocations",
            "Created: TIME (LONG ago)",
            "Created by: admin",
            "Changed by: <none>",
            "Reason: update",
            "Ticket: OPS-7",
            "Expires: TIME",
            "Pods: 1 (+6 terminating)",
            "",
            "Condition EvictionInProgress:",
            "True, PodsPendingEviction",
            COUNTS,
            "observed for the current generation of the rule",
            "",
            "NAMESPACE POD NODE WAITS-FOR",
            "NAMESPACE a-up NODE-up terminating, its grace period ended LONG ago and its node has \
             not reported the termination",
            "NAMESPACE b-down NODE-down terminating, its node is not ready",
            "NAMESPACE c-silent NODE-silent terminating, its node is not ready",
            "NAMESPACE d-gone NODE-gone terminating, its node does not exist",
            "NAMESPACE e-held NODE-up terminating, waits for finalizer example.com/hold",
            "NAMESPACE f-slow NODE-down terminating for LONG, its grace period ends in LONG, and its \
             node is not ready",
            "NAMESPACE g-patient NODE tolerates the taint for another LONG, until TIME",
            "",
            "Events:",
        ],
        "{described}"
    );
    let mut events = events.to_vec();
    events.sort_unstable();
    let told: Vec<String> = ["a-up", "b-down", "c-silent", "d-gone", "e-held", "f-slow"]
        .map(|pod| {
            format!("TIME Normal DeviceTaintManagerEviction NAMESPACE/{pod}: Marking for deletion")
        })
        .into();
    assert_eq!(events, told);

    world.run(&format!("deescalate {name} --to None")).ended(0);
    let said = "Normal DeviceTaintManagerEviction NAMESPACE/g-patient: Cancelling deletion";
    let found = block_on(wait_for("the brake is reported", DEADLINE, async || {
        let shown = world.run(&format!("describe {name}")).ended(0).stdout;
        let found = lines(&world, &shown);
        found
            .iter()
            .any(|line| line.ends_with(said))
            .then_some(found)
    }));
    for line in [
        "Changed by: admin",
        "NAMESPACE f-slow NODE-down terminating for LONG, its grace period ends in LONG, and its node \
         is not ready",
        "NAMESPACE g-patient NODE nothing, because effect None evicts no pods; with NoExecute: tolerates the \
         taint for LONG, until TIME",
    ] {
        assert!(
            found.iter().any(|found| found == line),
            "{line}: {found:#?}"
        );
    }
    block_on(async {
        let held = Reference::pod(&world.namespace, "e-held");
        let free = json!({"metadata": {"finalizers": []}});
        plane.patch(&held, &free).await;
    });

    let user = block_on(plane.kubeconfig_for(&[
        json!({"apiGroups": ["resource.k8s.io"], "resources": ["*"], "verbs": ["get", "list"]}),
        json!({"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]}),
    ]));
    let world = world.seen_by(&user.kubeconfig);
    let run = world.run(&format!("describe {name}")).ended(0);
    assert!(
        run.stdout
            .contains("Incomplete:\n  nodes: cannot get nodes"),
        "{run:#?}"
    );
    assert!(run.stdout.contains("Cancelling deletion"), "{run:#?}");
}
