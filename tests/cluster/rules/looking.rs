//! `list`, `describe` and `wait`.

use serde_json::{Value, json};

use super::support::{KEY, World};
use crate::harness::{ControlPlane, block_on, objects::rule, random_suffix};

#[test]
fn the_list_has_the_columns_of_the_contract_and_foreign_rules() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    block_on(world.pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}=firmware"));
    let foreign = format!("foreign-{}", random_suffix());
    block_on(plane.create(&[rule(&foreign, &world.driver, "NoSchedule")]));
    world.run(&format!("wait {name} --for observed")).ended(0);

    let list = world
        .run_by_kubectl(&format!("list {name} {foreign}"))
        .ended(0)
        .stdout;
    let lines: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        [
            "NAME", "TAINT", "EFFECT", "DRIVER", "POOL", "DEVICE", "DEVICES", "PODS", "EVICTING",
            "AGE"
        ]
    );
    let ours = lines.iter().find(|cells| cells[0] == name).expect("ours");
    assert_eq!(
        ours[1..9],
        [
            &format!("{KEY}=firmware"),
            "None",
            &world.driver,
            &world.node,
            "gpu-0",
            "1",
            "1",
            "no"
        ]
    );
    let theirs = lines
        .iter()
        .find(|cells| cells[0] == foreign)
        .expect("theirs");
    assert_eq!(
        theirs[1..6],
        ["example.com/broken", "NoSchedule", &world.driver, "*", "*"]
    );

    let wide = world.run(&format!("list {name} -o wide")).ended(0).stdout;
    assert!(
        wide.contains("REASON") && wide.contains("EXPIRES"),
        "{wide}"
    );
    let bare = world
        .run(&format!("list {name} --no-headers"))
        .ended(0)
        .stdout;
    assert_eq!(bare.lines().count(), 1, "{bare}");
    let markdown = world
        .run(&format!("list {name} -o markdown"))
        .ended(0)
        .stdout;
    assert!(markdown.starts_with("| NAME |"), "{markdown}");
    let objects: Value =
        serde_json::from_str(&world.run(&format!("list {name} -o json")).ended(0).stdout)
            .expect("JSON");
    assert_eq!(objects["kind"], "List");
    assert!(
        objects["items"][0]["metadata"]["managedFields"].is_array(),
        "as served"
    );
    let none = world
        .run("list -l no-such-label")
        .ended(0)
        .saying("No resources found");
    assert_eq!(none.stdout, "");
    world.run("list no-such-rule").ended(1).saying("no rule");
}

#[test]
fn a_condition_about_an_earlier_state_is_marked() {
    let plane = ControlPlane::of(
        &crate::harness::Variant::default()
            .without_controllers()
            .without_scheduler(),
    );
    let world = block_on(World::new(plane));
    block_on(world.pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}:NoExecute"));
    let evicting = || {
        let list = world
            .run(&format!("list {name} --no-headers"))
            .ended(0)
            .stdout;
        list.split_whitespace()
            .skip(8)
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(evicting().starts_with("<none>"));
    let condition = |status: &str, generation: i64| {
        json!({"conditions": [{
            "type": "EvictionInProgress", "status": status, "reason": "PodsPendingEviction", "message": "",
            "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]})
    };
    let reference = crate::harness::Reference::rule(&name);
    block_on(plane.patch_status(&reference, &condition("True", 1)));
    assert!(evicting().starts_with("yes "), "{}", evicting());
    block_on(plane.patch_status(&reference, &condition("False", 0)));
    assert!(evicting().starts_with("stale"), "{}", evicting());
    world
        .run(&format!("wait {name} --for observed --timeout 1s"))
        .ended(5)
        .saying("generation 1");
    block_on(plane.patch_status(&reference, &condition("True", 1)));
    block_on(plane.force_delete_pod(&world.namespace, "train"));
    assert_eq!(evicting(), "yes (stale)");
    let described = world.run(&format!("describe {name}")).ended(0).stdout;
    assert!(
        described.contains("but every pod that the rule evicts is gone or terminating"),
        "{described}"
    );
    world
        .run(&format!("wait {name} --for evicted --timeout 1s"))
        .ended(5)
        .saying("may be stale");
    block_on(plane.patch_status(&reference, &condition("False", 1)));
    world
        .run(&format!(
            "wait {name} --for evicted --timeout 20s --settle 1s"
        ))
        .ended(0);
}

#[test]
fn a_description_says_who_made_it_and_what_each_pod_waits_for() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.tolerant_pod("patient", "gpu-0", 3600));
    let name = world.add(&format!("{KEY}:NoExecute --reason firmware --ticket OPS-7"));
    let shown = world
        .run_by_kubectl(&format!("describe {name}"))
        .ended(0)
        .stdout;
    for text in [
        "OPS-7",
        "firmware",
        "Created by:",
        "patient",
        "tolerates the taint for",
        "EvictionInProgress",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let json: Value = serde_json::from_str(
        &world
            .run(&format!("describe {name} -o json"))
            .ended(0)
            .stdout,
    )
    .expect("JSON");
    assert_eq!(json["kind"], "RuleDescription");
    assert_eq!(json["remainingPods"][0]["name"], "patient");
    world.run(&format!("remove {name}")).ended(0);
    world
        .run(&format!(
            "wait {name} --for deleted --ignore-not-found --timeout 5s"
        ))
        .ended(0);
    world
        .run(&format!("wait {name} --for observed --timeout 5s"))
        .ended(1);
}

#[test]
fn a_part_that_may_not_be_read_is_said_and_strict_makes_it_an_error() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let name = world.add(&format!("{KEY}=x"));
    let user = block_on(plane.kubeconfig_for(&[json!({
        "apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules", "resourceclaims"],
        "verbs": ["get", "list"],
    })]));
    let world = world.seen_by(&user.kubeconfig);
    let run = world
        .run(&format!("list {name}"))
        .ended(0)
        .saying("resourceslices");
    assert!(run.stdout.contains(&name), "{run:?}");
}

#[test]
fn a_wait_that_may_not_read_pods_counts_none() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    block_on(world.pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}=x:NoExecute"));
    let user = block_on(plane.kubeconfig_for(&[json!({
        "apiGroups": ["resource.k8s.io"],
        "resources": ["devicetaintrules", "resourceclaims", "resourceslices"],
        "verbs": ["get", "list", "watch"],
    })]));
    let world = world.seen_by(&user.kubeconfig);
    let run = world.run(&format!("wait {name} --for evicted --timeout 3s"));
    assert_ne!(run.code, 0, "{run:#?}");
    assert!(run.stderr.contains("pods"), "{run:#?}");
    assert!(!run.stderr.contains("0 gone"), "{run:#?}");
}
