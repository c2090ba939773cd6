//! The plugin as kubectl runs and completes it.

use std::{fs, process::Output};

use super::scene::{Scene, V1};
use crate::harness::{ControlPlane, PLUGIN, text};

/// Runs kubectl, which finds these programs, each by a name in a folder of its own: cargo's has other files that begin
/// with the plugin's name.
fn kubectl(plane: &ControlPlane, programs: &[(&str, &str)], arguments: &[&str]) -> Output {
    let folder = plane.folder().join(format!("plugins-{}", programs.len()));
    fs::create_dir_all(&folder).expect("a folder");
    for (program, name) in programs {
        let link = folder.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(program, &link).expect("a link");
        }
    }
    let found = plane.kubectl_path();
    let binaries = found.parent().expect("kubectl is in a folder");
    let path = format!("{}:{}", folder.display(), binaries.display());
    let mut command = plane.command(&found);
    command.env("PATH", path).args(arguments);
    command.output().expect("kubectl can be run")
}

#[tokio::test]
async fn kubectl_runs_the_plugin() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane, V1).await;
    let kubectl =
        |arguments: &[&str]| kubectl(plane, &[(PLUGIN, "kubectl-devicetaint")], arguments);
    let listed = kubectl(&["plugin", "list"]);
    assert_eq!(String::from_utf8_lossy(&listed.stderr), "");
    assert!(text(&listed).contains("kubectl-devicetaint"));
    let devices = kubectl(&["devicetaint", "devices", &scene.driver, "-o", "name"]);
    assert_eq!(
        scene.shown(&devices),
        "DRIVER/DRIVER/gpu-0\nDRIVER/DRIVER/gpu-1\n[exit status: 0]"
    );
    // Flags of the connection work anywhere after the plugin's name.
    let context = text(&kubectl(&["config", "current-context"]));
    let before = ["devicetaint", "--context", context.trim(), "devices"];
    text(&kubectl(&[&before[..], &[&scene.driver]].concat()));
    let wrong = kubectl(&["devicetaint", "devices", "--context", "nowhere"]);
    assert!(scene.shown(&wrong).contains("nowhere"), "{wrong:?}");
}

#[tokio::test]
async fn kubectl_completes_the_words_of_the_plugin() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane, V1).await;
    let name = "kubectl_complete-devicetaint";
    let shim = format!("{}/completions/{name}", env!("CARGO_MANIFEST_DIR"));
    let programs = [(PLUGIN, "kubectl-devicetaint"), (&*shim, name)];
    let completed = |typed: &[&str]| {
        let arguments = [&["__complete", "devicetaint"], typed].concat();
        text(&kubectl(plane, &programs, &arguments))
    };
    // The output is as kubectl's own scripts parse it: words, and a directive.
    let pool = format!("{0}/{0}", scene.driver);
    let devices = format!("{pool}/gpu-0\n{pool}/gpu-1\n:4\n");
    assert_eq!(
        completed(&["preview", &format!("{}/", scene.driver)]),
        devices
    );
    assert!(completed(&["esc"]).starts_with("escalate\t"));
}
