//! Files that `snapshot` writes.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::Value;

use super::scene::{Scene, V1};
use crate::harness::{ControlPlane, random_suffix};

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
