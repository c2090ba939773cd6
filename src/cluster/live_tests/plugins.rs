//! Credential plugins, as kubectl runs them.

use std::path::Path;

use super::server::with_programs;
use crate::cluster::{ClusterError, Connection, ConnectionOptions, Environment, Silent};

/// A connection whose user is that program, called with a script and a secret argument.
async fn run(
    folder: &Path,
    [program, script, more]: [&str; 3],
    environment: &Environment,
) -> Result<Connection, ClusterError> {
    let path = folder.join("config");
    let script = script.replace('\'', "''");
    let content = format!(
        "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         current-context: c\n\
         users:\n- name: u\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      \
         command: {program}\n      args: ['-c', '{script}', hunter2]\n      {more}\n"
    );
    std::fs::write(&path, content).expect("a kubeconfig");
    let options = ConnectionOptions {
        kubeconfig: Some(path),
        ..ConnectionOptions::default()
    };
    Connection::load(&options, environment, &Silent).await
}

const GOOD: &str = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}'"#;
const NEVER: &str = "interactiveMode: Never";

#[tokio::test]
async fn failures_name_the_plugin_and_keep_its_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let status = GOOD.replace(r#""token":"t""#, "");
    let another = GOOD.replace("ExecCredential", "hunter2");
    let newer = GOOD.replace("k8s.io/v1", "hunter2");
    for (script, more, expected) in [
        ("echo hunter2; exit 3", NEVER, "failed (exit status: 3)"),
        ("echo hunter2", NEVER, "did not print an ExecCredential"),
        (&status, NEVER, "printed neither"),
        (&another, NEVER, "did not print"),
        (&newer, NEVER, "did not print"),
        ("yes hunter2", NEVER, "printed 1 MiB"),
        (GOOD, "interactiveMode: Always", "needs a terminal"),
        (GOOD, "installHint: x", "has no interactiveMode"),
        ("no-such-plugin", NEVER, "cannot be run"),
        // Tests run in the folder of the package, where that is a program.
        ("up", NEVER, "cannot be run"),
    ] {
        let (program, script) = match script {
            "no-such-plugin" | "up" => (script, GOOD),
            _ => ("sh", script),
        };
        let mut environment = with_programs();
        if program == "up" {
            environment.path = Some("tests/cluster:.".into());
        }
        let error = run(folder.path(), [program, script, more], &environment).await;
        let error = error.expect_err(expected);
        let begin = format!("the credential plugin {program:?} of user \"u\" {expected}");
        assert!(error.to_string().starts_with(&begin), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}
