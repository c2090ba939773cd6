//! The life of a rule on a real server of an older release, whose controllers and scheduler are that
//! release's too. Run by `tests/cluster/releases/run`, which builds them.

use std::env;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::support::{KEY, World};
use crate::harness::{ControlPlane, DEADLINE, Reference, Variant, block_on, wait_for};

/// The release, and the version of its rules.
fn release() -> (String, Variant, &'static str) {
    let release = env::var("DEVICETAINT_RELEASE").expect("tests/cluster/releases/run sets it");
    let (variant, rules) = if release.starts_with("1.36.") {
        (Variant::release_1_36(), "resource.k8s.io/v1beta2")
    } else if release.starts_with("1.35.") {
        (Variant::release_1_35(), "resource.k8s.io/v1alpha3")
    } else {
        panic!("nothing is known about release {release}")
    };
    (release, variant, rules)
}

fn effect_and_time(plane: &ControlPlane, api_version: &str, name: &str) -> (Value, Value) {
    let rule = Reference::cluster(api_version, "DeviceTaintRule", name);
    let rule = block_on(plane.get(&rule)).expect("it is there");
    let taint = &rule["spec"]["taint"];
    (taint["effect"].clone(), taint["timeAdded"].clone())
}

#[test]
#[ignore = "needs the components of an older release: tests/cluster/releases/run"]
fn a_rule_lives_on_an_older_release() {
    let (release, variant, api_version) = release();
    let plane = ControlPlane::start(&variant);
    let world = block_on(World::new(&plane));
    block_on(async {
        world.patient_pod("now", "gpu-0").await;
        world.tolerant_pod("later", "gpu-1", 3600).await;
    });

    // The controller's message is the preview's, to the letter.
    let devices = format!("{}/{}/*", world.driver, world.node);
    let preview = format!("preview {devices} {KEY}=x:NoExecute --publish --cleanup -o json");
    let report: Value =
        serde_json::from_str(&world.run(&preview).ended(0).stdout).expect("a report");
    assert_eq!(
        report["metadata"]["serverVersion"],
        format!("v{release}").as_str()
    );
    assert_eq!(report["publishedRules"][0]["agrees"], true, "{report:#}");
    assert_eq!(report["summary"]["evictedPodCount"], 2, "{report:#}");

    let name = format!("life-{}", world.driver);
    let add = format!("add {devices} {KEY}=x --name {name}");
    world.run_by_kubectl(&add).ended(0);
    let observed = format!("wait {name} --for observed --timeout 60s");
    world.run(&observed).ended(0);
    let listed = world.run(&format!("list {name} -o json")).ended(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(listed["items"][0]["apiVersion"], api_version);
    let (_, before) = effect_and_time(&plane, api_version, &name);
    let before_text = before.as_str().expect("a time");
    let before_time: Timestamp = before_text.parse().expect("a time");
    block_on(wait_for("a whole second passes", DEADLINE, async || {
        (Timestamp::now() > before_time + SignedDuration::from_secs(2)).then_some(())
    }));

    let escalate = format!("escalate {name} --to NoExecute --yes");
    world.run(&escalate).ended(0);
    block_on(world.until_evicted("now"));
    let left = |pod: &str, why: &str| {
        let (namespace, node) = (&world.namespace, &world.node);
        format!("  left: {namespace}/{pod} on {node}: {why} for ")
    };
    world
        .run(&format!("{escalate} --wait --timeout 11s"))
        .ended(5)
        .saying(&left("now", "terminating"))
        .saying(&left("later", "tolerates the taint"));
    let (effect, after) = effect_and_time(&plane, api_version, &name);
    assert_eq!(effect, "NoExecute");
    assert_ne!(before, after, "tolerations count from the change on");
    let described = world.run_by_kubectl(&format!("describe {name}")).ended(0);
    let expected = ["1 (+1 terminating)", "PodsPendingEviction", "later"];
    for text in expected {
        assert!(described.stdout.contains(text), "{text}: {described:?}");
    }

    let brake = format!("deescalate {name} --to NoSchedule");
    world.run(&brake).ended(0).saying("evictions cancelled: 1");
    block_on(async {
        plane.force_delete_pod(&world.namespace, "now").await;
        plane.force_delete_pod(&world.namespace, "later").await;
    });
    world.run(&escalate).ended(0);
    let evicted = format!("wait {name} --for evicted --timeout 60s --settle 1s");
    world.run(&evicted).ended(0);
    world.run(&format!("remove {name}")).ended(0);
    world.run(&format!("remove {name}")).ended(1);
}
