//! Interruptions, kubectl itself, and files that `snapshot` writes.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::scene::{Scene, V1};
use crate::harness::{ControlPlane, DEADLINE, PLUGIN, random_suffix, text};

/// Makes a kubeconfig that leads to `server`.
fn kubeconfig_to(plane: &ControlPlane, server: &str) -> PathBuf {
    let original = fs::read_to_string(plane.kubeconfig()).expect("a kubeconfig");
    let file = plane
        .folder()
        .join(format!("to-{}", server.replace(['/', ':'], "-")));
    fs::write(&file, original.replace(plane.server(), server)).expect("a kubeconfig");
    file
}

/// A server that accepts and never answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, format!("https://{address}"))
}

/// Output of a program that has to end by itself.
fn ended(mut child: Child) -> Output {
    let end = Instant::now() + DEADLINE;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > end {
            let _ = child.kill();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it has ended")
}

#[tokio::test]
async fn interrupting_ends_what_would_never_end() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane, V1).await;
    for command in ["devices", "snapshot"] {
        // A listener of its own: the plugin opens more connections than one.
        let (listener, server) = silent();
        let child = scene
            .command(
                &kubeconfig_to(plane, &server),
                &[command, "--request-timeout", "0"],
            )
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the plugin can be run");
        // It is in the middle of its work as soon as it knocks.
        let _connection = listener.accept().expect("the plugin connects");
        signal(&child, "INT");
        let status = ended(child).status;
        assert!(
            status.code() == Some(130) || status.signal() == Some(2),
            "{status}"
        );
    }
}

fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .status();
    assert!(status.expect("kill can be run").success());
}

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
    assert!(text.contains("error: FILE already exists"), "{text}");
    assert!(text.ends_with("[exit status: 1]"), "{text}");
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
