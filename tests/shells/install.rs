//! `completion install`, and what kubectl asks of what it has installed.

use std::os::unix::fs::PermissionsExt;

use super::support::{Home, example};

fn installed(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let plugin = home.bin().join("kubectl-devicetaint");
    let mut command = home.command(&plugin);
    let output = command
        .args(["completion", "install"])
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn what_kubectl_calls_is_put_beside_the_plugin_and_answers() {
    let home = Home::new();
    let (code, stdout, stderr) = installed(&home, &[]);
    let file = home.bin().join("kubectl_complete-devicetaint");
    assert_eq!(
        (code, stdout),
        (Some(0), format!("{} installed\n", file.display())),
        "{stderr}"
    );
    assert!(!stderr.contains("warning"), "{stderr}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o755);

    let mut command = home.command(&file);
    command
        .args(["devices", "--from"])
        .arg(example())
        .args(["--node", "node-1"]);
    let output = command.output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "node-1\nnode-10\n:4\n"
    );
    assert!(output.stderr.is_empty());

    let (code, stdout, _) = installed(&home, &[]);
    assert_eq!(
        (code, stdout),
        (Some(0), format!("{} unchanged\n", file.display()))
    );
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let home = Home::new();
    let file = home.bin().join("kubectl_complete-devicetaint");
    std::fs::write(&file, "mine").unwrap();
    let (code, _, stderr) = installed(&home, &[]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("--force"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(installed(&home, &["--force"]).0, Some(0));
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("__complete")
    );
}

#[test]
fn a_folder_that_kubectl_does_not_look_in_is_warned_of() {
    let home = Home::new();
    let folder = home.path().to_str().unwrap();
    let (code, _, stderr) = installed(&home, &["--dir", folder]);
    assert_eq!(code, Some(0));
    assert!(stderr.contains("is not in PATH"), "{stderr}");
    let (code, _, stderr) = installed(&home, &["--dir", "/nowhere/at/all"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("/nowhere/at/all"), "{stderr}");
}

#[test]
fn nothing_is_said_when_no_cluster_answers() {
    let home = Home::new();
    let plugin = home.bin().join("kubectl-devicetaint");
    for line in [
        &["__complete", "--server", "https://127.0.0.1:1", "list", ""][..],
        &["__complete", "--kubeconfig", "/nowhere", "describe", ""],
        &["__complete", "no-such-command", ""],
        &["__complete"],
    ] {
        let output = home.command(&plugin).args(line).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line:?}");
        assert!(output.stderr.is_empty(), "{line:?} {output:?}");
        assert!(output.stdout.ends_with(b":4\n"), "{line:?} {output:?}");
    }
}
