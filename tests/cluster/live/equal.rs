//! A preview from a snapshot equals the live one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    generate::{Numbers, cluster},
    scene::{Scene, json_of},
};
use crate::harness::{ControlPlane, Variant, driver_name};

const CLUSTERS: u64 = if crate::IS_FULL { 24 } else { 12 };

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

#[tokio::test]
async fn a_snapshot_gives_the_same_reports_as_the_cluster() {
    let plane = ControlPlane::start(&Variant::serving("v1"));
    let mut hit = 0;
    let mut said = BTreeSet::new();
    for number in 0..CLUSTERS {
        let driver = driver_name();
        let namespaces = [plane.namespace().await, plane.namespace().await];
        let objects = cluster(&mut Numbers::new(number), &driver, &namespaces);
        plane.create(&objects).await;
        let scene = Scene {
            plane: &plane,
            driver: driver.clone(),
            namespace: namespaces[0].clone(),
        };
        let run = |arguments: &[&str]| scene.output(plane.kubeconfig(), arguments);

        let extension = ["json", "json.gz", "yaml"][usize::try_from(number % 3).expect("small")];
        let file = plane.folder().join(format!("{driver}.{extension}"));
        let file = file.display().to_string();
        let saved = run(&["snapshot", "-o", &file]);
        assert!(saved.status.success(), "{}", scene.shown(&saved));

        let node = format!("{driver}/{driver}-node-0/*");
        let one = format!("{driver}/{driver}-node-0/gpu-1");
        for question in [
            &["preview", &driver][..],
            &["preview", &node, "example.com/a=one:NoExecute"],
            &["preview", &one, "example.com/a:NoSchedule"],
            &["preview", &one, "--abort-if", "pods.evicted>10%"],
            &["preview", &driver, "--abort-if", "devices.selected>=50%"],
            &["devices", &driver],
        ] {
            let mut arguments = question.to_vec();
            arguments.extend(["-o", "json"]);
            let live = run(&arguments);
            let report = json_of(&live);
            let now = observed_at(&report);
            arguments.extend(["--from", &file, "--now", &now]);
            let from = run(&arguments);
            let what = format!("cluster {number}, {question:?}");
            assert_eq!(
                live.status.code(),
                from.status.code(),
                "{what}: {}",
                scene.shown(&from)
            );
            hit += report["affectedPods"].as_array().map_or(0, Vec::len);
            let claims = report.pointer("/replacements/claimReplacements");
            for claim in claims.and_then(Value::as_array).into_iter().flatten() {
                said.insert(claim["placeable"].to_string());
            }
            let siblings = report["siblings"].as_array();
            said.extend(
                siblings
                    .is_some_and(|some| !some.is_empty())
                    .then(|| "siblings".to_owned()),
            );
            assert_eq!(
                without_origin(json_of(&from)),
                without_origin(report),
                "{what}"
            );
        }
    }
    let least = usize::try_from(CLUSTERS * 200 / 24).expect("small");
    assert!(hit > least, "only {hit} pods were ever in question");
    let all = ["false", "null", "siblings", "true"];
    assert_eq!(
        said.iter().collect::<Vec<_>>(),
        all,
        "what was said of other devices"
    );
}

fn observed_at(report: &Value) -> String {
    let found = [
        report.pointer("/metadata/observedTime"),
        report.get("observedAt"),
    ];
    let found = found.into_iter().flatten().find_map(Value::as_str);
    found.expect("a report says when").to_owned()
}
