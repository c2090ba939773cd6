//! Files that `snapshot` writes.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::Value;

use super::{
    generate::{Numbers, cluster},
    scene::{Scene, V1, json_of},
};
use crate::harness::objects::class;
use crate::harness::{ControlPlane, Variant, driver_name, random_suffix};

#[tokio::test]
async fn a_file_is_the_users_alone_and_never_overwritten_unasked() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane, V1).await;
    let folder = plane.folder().join(random_suffix());
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("cluster.json");
    let path = file.display().to_string();
    let run = |arguments: &[&str]| scene.run(plane.kubeconfig(), arguments);

    let text = run(&["snapshot", "-o", &path]);
    assert!(text.ends_with("[exit status: 0]"), "{text}");
    let mode = fs::metadata(&file).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    fs::write(&file, "mine").expect("a file");
    let text = run(&["snapshot", "-o", &path]).replace(&path, "FILE");
    insta::assert_snapshot!(text, @r"
    error: FILE already exists
    hint: to replace it, add --force
    [exit status: 1]
    ");
    assert_eq!(fs::read_to_string(&file).expect("the file"), "mine");

    let text = run(&["snapshot", "-o", &path, "--force"]);
    assert!(text.ends_with("[exit status: 0]"), "{text}");
    let saved: Value = serde_json::from_slice(&fs::read(&file).expect("the file")).expect("JSON");
    assert_eq!(saved["kind"], "List");
    let left: Vec<_> = fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["cluster.json"]);
}

#[tokio::test]
async fn redaction_takes_names_away_and_leaves_the_answer() {
    let plane = ControlPlane::start(&Variant::serving("v1"));
    let driver = driver_name();
    let namespaces = [plane.namespace().await, plane.namespace().await];
    let mut objects = cluster(&mut Numbers::new(5), &driver, &namespaces);
    objects.retain(|object| object["kind"] != "DeviceClass");
    objects.push(class(&driver));
    for object in &mut objects {
        object["metadata"]["labels"] = serde_json::json!({"secret-label": "secret"});
        object["metadata"]["annotations"] = serde_json::json!({"secret-note": "secret"});
    }
    plane.create(&objects).await;
    let scene = Scene {
        plane: &plane,
        driver: driver.clone(),
        namespace: namespaces[0].clone(),
    };
    let run = |arguments: &[&str]| scene.output(plane.kubeconfig(), arguments);
    let saved = |name: &str| {
        let path = plane.folder().join(name).display().to_string();
        let output = run(&["snapshot", "--redact", "-o", &path]);
        assert!(output.status.success(), "{}", scene.shown(&output));
        (fs::read_to_string(&path).expect("the file"), path)
    };
    let (first, path) = saved("first.json");
    let (second, _) = saved("second.json");
    assert_ne!(first, second, "the salt differs");
    let node = format!("{driver}-node-0");
    for secret in [
        "secret",
        &namespaces[0],
        &namespaces[1],
        "\"claim-0\"",
        &node,
        "gpu-1",
        "example.com/none",
        "containers",
    ] {
        assert!(!first.contains(secret), "{secret}");
    }

    let open = json_of(&run(&["preview", &driver, "-o", "json"]));
    let now = open["metadata"]["observedTime"].as_str();
    let now = now.expect("a report says when");
    let redacted = json_of(&run(&[
        "preview", &driver, "-o", "json", "--from", &path, "--now", now,
    ]));
    let numbers = |report: &Value| report["summary"].clone();
    assert!(numbers(&open).is_object(), "{open:#}");
    assert_eq!(numbers(&redacted), numbers(&open));
    let count = |report: &Value| report["affectedPods"].as_array().map(Vec::len);
    assert_eq!(count(&redacted), count(&open));
    // Whatever they are called now, as many claims have the same prospects, and as many others stay.
    let prospects = |report: &Value| {
        let claims = report["replacements"]["claimReplacements"]
            .as_array()
            .cloned();
        let claims = claims.into_iter().flatten().map(|mut claim| {
            for (of, name) in [
                ("/namespace", ""),
                ("/name", ""),
                ("/requests/0/request", ""),
            ] {
                if let Some(named) = claim.pointer_mut(of) {
                    *named = name.into();
                }
            }
            claim.to_string()
        });
        let mut claims: Vec<String> = claims.collect();
        claims.sort();
        (claims, report["siblings"].as_array().map(Vec::len))
    };
    assert_eq!(prospects(&redacted), prospects(&open));
    assert!(!prospects(&open).0.is_empty());
}
