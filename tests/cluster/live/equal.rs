//! A preview from a snapshot equals the live one.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proptest::strategy::{Strategy, ValueTree};
use serde_json::{Value, json};

use super::scene::{Scene, json_of};
use crate::case::{Family, any_case};
use crate::cluster::comparison::case::LiveCase;
use crate::harness::{
    ControlPlane, Variant,
    objects::{allocation, bound, claim, node, partitioned, pod, reserved, slice},
    random_suffix,
};
use crate::oracle::run::runner;

const CLUSTERS: usize = if crate::IS_FULL { 24 } else { 12 };

/// The report without its source.
fn without_origin(mut report: Value) -> Value {
    for field in [
        "dataSource",
        "context",
        "server",
        "serverVersion",
        "resourceVersions",
    ] {
        for part in ["/metadata", ""] {
            if let Some(part) = report.pointer_mut(part).and_then(Value::as_object_mut) {
                part.remove(field);
            }
        }
    }
    report
}

/// A card with a partition that a pod holds, and a free device elsewhere, beside a random cluster.
fn cluster(prefix: &str, random: LiveCase) -> Vec<Value> {
    let driver = format!("{prefix}-driver-0.example.com");
    let (name, namespace) = (format!("{prefix}-node"), format!("{prefix}-namespace-0"));
    let card = partitioned(
        &driver,
        &name,
        &[("card", "40Gi"), ("part", "20Gi")],
        "40Gi",
    );
    let held = allocation(&driver, &name, "part");
    let held = reserved(claim(&namespace, "held", "gpu"), held, "holder");
    let pod = bound(pod(&namespace, "holder", "held"), &name);
    let spare = format!("{prefix}-spare");
    let free = slice(&driver, &spare, &["gpu-0"]);
    let own = vec![node(&name), node(&spare), free, held, pod];
    let mut all = [random.others, card.to_vec(), own, random.rules].concat();
    // Claims of bare pods need no replacement.
    for pod in all.iter_mut().filter(|object| object["kind"] == "Pod") {
        pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner", "uid": "owner", "controller": true,
        }]);
    }
    all
}

#[tokio::test]
async fn a_snapshot_gives_the_same_reports_as_the_cluster() {
    let plane = ControlPlane::start(&Variant::serving("v1"));
    plane
        .create(&[json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {},
        })])
        .await;
    let (mut runner, family) = (runner(7), Family::Timelines);
    let mut hit = 0;
    let mut said = BTreeSet::new();
    for number in 0..CLUSTERS {
        let prefix = format!("c{}-{number}", random_suffix());
        let case = any_case(family).new_tree(&mut runner).expect("a case");
        let now = Timestamp::now().as_second();
        let case = LiveCase::new(&prefix, case.current(), family, now);
        plane.create(&cluster(&prefix, case)).await;
        let scene = Scene {
            plane: &plane,
            driver: format!("{prefix}-driver-0.example.com"),
            namespace: format!("{prefix}-namespace-0"),
        };
        let run = |arguments: &[&str]| scene.output(plane.kubeconfig(), arguments);

        let extension = ["json", "json.gz", "yaml"][number % 3];
        let file = plane.folder().join(format!("{prefix}.{extension}"));
        let file = file.display().to_string();
        let saved = run(&["snapshot", "-o", &file]);
        assert!(saved.status.success(), "{}", scene.shown(&saved));

        let driver = &scene.driver;
        let node = format!("{driver}/{prefix}-node/*");
        let one = format!("{driver}/{prefix}-node/card");
        for question in [
            &["preview", driver][..],
            &["preview", &node, "example.com/a=one:NoExecute"],
            &["preview", &one, "example.com/a:NoSchedule"],
            &["preview", &one, "--abort-if", "pods.evicted>10%"],
            &["preview", driver, "--abort-if", "devices.selected>=50%"],
            &["devices", driver],
        ] {
            let mut arguments = question.to_vec();
            arguments.extend(["-o", "json"]);
            let live = run(&arguments);
            let report = json_of(&live);
            let now = observed_at(&report);
            arguments.extend(["--from", &file, "--now", &now]);
            let from = run(&arguments);
            let what = format!("cluster {number}, {question:?}");
            let shown = scene.shown(&from);
            assert_eq!(live.status.code(), from.status.code(), "{what}: {shown}");
            hit += report["affectedPods"].as_array().map_or(0, Vec::len);
            let claims = report.pointer("/replacements/claimReplacements");
            for claim in claims.and_then(Value::as_array).into_iter().flatten() {
                said.insert(claim["placeable"].to_string());
            }
            if report["siblings"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
            {
                said.insert("siblings".to_owned());
            }
            let from = without_origin(json_of(&from));
            assert_eq!(from, without_origin(report), "{what}");
        }
    }
    assert!(hit > CLUSTERS * 4, "only {hit} pods were ever in question");
    for about in ["false", "siblings", "true"] {
        assert!(said.contains(about), "{about}: {said:?}");
    }
}

fn observed_at(report: &Value) -> String {
    let found = [
        report.pointer("/metadata/observedTime"),
        report.get("observedAt"),
    ];
    let found = found.into_iter().flatten().find_map(Value::as_str);
    found.expect("a report says when").to_owned()
}
