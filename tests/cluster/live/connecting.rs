//! Permissions, servers that do not answer, interruptions, and kubectl itself.

use std::{
    fs,
    io::Read,
    net::TcpListener,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use super::scene::{Scene, V1};
use crate::harness::{ControlPlane, DEADLINE, PLUGIN, Variant, text};

/// Makes a kubeconfig that leads to `server`.
fn kubeconfig_to(plane: &ControlPlane, server: &str) -> PathBuf {
    let original = fs::read_to_string(plane.kubeconfig()).expect("a kubeconfig");
    let file = plane
        .folder()
        .join(format!("to-{}", server.replace(['/', ':'], "-")));
    fs::write(&file, original.replace(plane.server(), server)).expect("a kubeconfig");
    file
}

#[tokio::test]
async fn a_server_that_is_gone_is_named() {
    let plane = ControlPlane::start(&Variant::serving("v1"));
    let scene = Scene::new(&plane, V1).await;
    plane.stop_api_server();
    let text = scene.run(plane.kubeconfig(), &["devices"]);
    assert!(
        text.contains("error: ") && text.contains("SERVER") && text.ends_with("[exit status: 75]"),
        "{text}"
    );
    plane.start_api_server();
    let text = scene.run(plane.kubeconfig(), &["devices", &scene.driver]);
    assert!(text.ends_with("[exit status: 0]"), "{text}");
}

/// A server that accepts and never answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, format!("https://{address}"))
}

#[tokio::test]
async fn a_silent_server_is_given_up_after_the_timeout() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane, V1).await;
    let (_listener, server) = silent();
    let child = scene
        .command(
            &kubeconfig_to(plane, &server),
            &["devices", "--request-timeout", "1s"],
        )
        .stderr(Stdio::piped())
        .spawn()
        .expect("the plugin can be run");
    let text = scene.shown(&ended(child));
    assert!(text.ends_with("[exit status: 75]"), "{text}");
    // The limit that was given is the one that it was given up at.
    for part in [&server, "1s"] {
        assert!(text.contains(part), "{part}: {text}");
    }
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

#[tokio::test]
async fn kubectl_runs_the_plugin() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane, V1).await;
    // A folder of its own: cargo's has other files that begin with the plugin's name.
    let folder = plane.folder().join("plugin");
    fs::create_dir_all(&folder).expect("a folder");
    let link = folder.join("kubectl-devicetaint");
    if !link.exists() {
        std::os::unix::fs::symlink(PLUGIN, &link).expect("a link");
    }
    let kubectl = |arguments: &[&str]| {
        let found = plane.kubectl_path();
        let binaries = found.parent().expect("kubectl is in a folder");
        let path = format!("{}:{}", folder.display(), binaries.display());
        plane
            .command(&found)
            .env("PATH", path)
            .args(arguments)
            .output()
            .expect("kubectl can be run")
    };
    let listed = kubectl(&["plugin", "list"]);
    assert_eq!(String::from_utf8_lossy(&listed.stderr), "");
    assert!(text(&listed).contains("kubectl-devicetaint"));
    let devices = kubectl(&["devicetaint", "devices", &scene.driver, "-o", "name"]);
    assert_eq!(
        scene.shown(&devices),
        "DRIVER/DRIVER/gpu-0\nDRIVER/DRIVER/gpu-1\n[exit status: 0]"
    );
    // Flags of the connection work anywhere after the plugin's name.
    let context = kubectl(&["config", "current-context"]);
    let context = text(&context).trim().to_owned();
    let devices = kubectl(&[
        "devicetaint",
        "--context",
        &context,
        "devices",
        &scene.driver,
    ]);
    assert!(devices.status.success());
    let wrong = kubectl(&["devicetaint", "devices", "--context", "nowhere"]);
    assert!(scene.shown(&wrong).contains("nowhere"), "{wrong:?}");
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_failure() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane, V1).await;
    let mut child = scene
        .command(plane.kubeconfig(), &["snapshot"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the plugin can be run");
    drop(child.stdout.take());
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("a pipe");
    stderr.read_to_string(&mut said).expect("text");
    assert!(child.wait().expect("it ends").success(), "{said}");
    assert_eq!(said, "");
}

#[tokio::test]
async fn kubectl_completes_the_words_of_the_plugin() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane, V1).await;
    let folder = plane.folder().join("completed");
    fs::create_dir_all(&folder).expect("a folder");
    let shim = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/completions/kubectl_complete-devicetaint"
    );
    for (program, name) in [
        (PLUGIN, "kubectl-devicetaint"),
        (shim, "kubectl_complete-devicetaint"),
    ] {
        let link = folder.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(program, &link).expect("a link");
        }
    }
    let asked = |typed: &[&str]| {
        let found = plane.kubectl_path();
        let binaries = found.parent().expect("kubectl is in a folder");
        let path = format!("{}:{}", folder.display(), binaries.display());
        let output = plane
            .command(&found)
            .env("PATH", path)
            .args(["__complete", "devicetaint"])
            .args(typed)
            .output()
            .expect("kubectl can be run");
        text(&output)
    };
    // The output is as kubectl's own scripts parse it: words, and a directive.
    let whole = asked(&["preview", &format!("{}/", scene.driver)]);
    let pool = format!("{0}/{0}", scene.driver);
    let devices = format!("{pool}/gpu-0\n{pool}/gpu-1\n:4\n");
    assert_eq!(whole, devices);
    assert!(asked(&["esc"]).starts_with("escalate\t"));
}
