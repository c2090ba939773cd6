//! Credential plugins, as kubectl runs them.

use std::path::Path;

use super::server::with_programs;
use crate::cluster::{ClusterError, Connection, ConnectionOptions, Environment, Silent};

/// A kubeconfig whose user is a shell script, called with a secret argument.
fn kubeconfig(directory: &Path, script: &str, more: &str) -> ConnectionOptions {
    let path = directory.join("config");
    let script = script.replace('\'', "''");
    let mode = if more.contains("interactiveMode") {
        ""
    } else {
        "interactiveMode: IfAvailable"
    };
    let content = format!(
        "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         current-context: c\n\
         users:\n- name: u\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      \
         command: sh\n      args: ['-c', '{script}', hunter2]\n      {more}\n      {mode}\n"
    );
    std::fs::write(&path, content).expect("a kubeconfig");
    ConnectionOptions {
        kubeconfig: Some(path),
        ..ConnectionOptions::default()
    }
}

async fn run(script: &str, more: &str) -> Result<Connection, ClusterError> {
    let directory = tempfile::tempdir().expect("a directory");
    let options = kubeconfig(directory.path(), script, more);
    Connection::load(&options, &with_programs(), &Silent).await
}

const GOOD: &str = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}'"#;

#[tokio::test]
async fn plugin_gives_a_token_and_runs_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let runs = directory.path().join("runs");
    let script = format!("echo run >> {}; {GOOD}", runs.display());
    let connection = run(&script, "interactiveMode: IfAvailable")
        .await
        .expect("a connection");
    assert!(connection.config.auth_info.token.is_some());
    assert!(connection.config.auth_info.exec.is_none());
    assert_eq!(
        std::fs::read_to_string(runs).expect("runs").lines().count(),
        1
    );
}

#[tokio::test]
async fn plugin_is_told_about_the_cluster_when_it_wants_to_know() {
    let script = r#"case "$KUBERNETES_EXEC_INFO" in
        *'"server":"https://127.0.0.1:1"'*) GOOD;; esac"#
        .replace('\n', " ")
        .replace("GOOD", GOOD);
    assert!(run(&script, "provideClusterInfo: true").await.is_ok());
    assert!(run(&script, "provideClusterInfo: false").await.is_err());
}

#[tokio::test]
async fn failures_name_the_plugin_and_keep_its_secrets() {
    for (script, more, expected) in [
        (
            "echo hunter2; exit 3",
            "",
            r#"the credential plugin "sh" of user "u" failed (exit status: 3)"#,
        ),
        (
            "echo hunter2",
            "",
            r#"the credential plugin "sh" of user "u" did not print an ExecCredential"#,
        ),
        (
            r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{}}'"#,
            "",
            r#"the credential plugin "sh" of user "u" printed neither a token nor a certificate"#,
        ),
        (
            r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"hunter2","status":{"token":"t"}}'"#,
            "",
            r#"the credential plugin "sh" of user "u" did not print an ExecCredential"#,
        ),
        (
            r#"echo '{"apiVersion":"hunter2","kind":"ExecCredential","status":{"token":"t"}}'"#,
            "",
            r#"the credential plugin "sh" of user "u" printed another apiVersion than the kubeconfig sets (client.authentication.k8s.io/v1)"#,
        ),
        (
            "yes hunter2",
            "",
            r#"the credential plugin "sh" of user "u" printed more than 1 MiB"#,
        ),
        (
            GOOD,
            "interactiveMode: Always",
            r#"the credential plugin "sh" of user "u" needs a terminal on stdin to ask questions"#,
        ),
    ] {
        let error = run(script, more).await.expect_err("a failure");
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("hunter2"));
    }
}

#[tokio::test]
async fn missing_plugin_comes_with_its_hint() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut options = kubeconfig(
        directory.path(),
        GOOD,
        "installHint: get it from example.com",
    );
    let path = options.kubeconfig.clone().expect("a kubeconfig");
    let content = std::fs::read_to_string(&path).expect("a kubeconfig");
    std::fs::write(
        &path,
        content.replace("command: sh", "command: no-such-plugin"),
    )
    .expect("a kubeconfig");
    let loaded = Connection::load(&options, &with_programs(), &Silent).await;
    let error = loaded.expect_err("no plugin");
    assert_eq!(
        error.to_string(),
        r#"cannot run the credential plugin "no-such-plugin" of user "u""#
    );
    assert_eq!(error.hints(), ["get it from example.com"]);
    // As kubectl: other credentials make the plugin unnecessary.
    options.token = Some("t".to_owned());
    assert!(
        Connection::load(&options, &Environment::default(), &Silent)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn plugin_of_another_interface_is_not_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let runs = directory.path().join("runs");
    let options = kubeconfig(directory.path(), &format!("echo > {}", runs.display()), "");
    let path = options.kubeconfig.clone().expect("a kubeconfig");
    let content = std::fs::read_to_string(&path).expect("a kubeconfig");
    let content = content.replace("client.authentication.k8s.io/v1", "example.com/v7");
    std::fs::write(&path, content).expect("a kubeconfig");
    let loaded = Connection::load(&options, &with_programs(), &Silent).await;
    let error = loaded.expect_err("an unknown interface").to_string();
    assert!(
        error.contains(r#"has the apiVersion "example.com/v7""#),
        "{error}"
    );
    assert!(!runs.exists());
}

#[tokio::test]
async fn plugin_is_never_found_in_the_current_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = kubeconfig(directory.path(), GOOD, "");
    let path = options.kubeconfig.clone().expect("a kubeconfig");
    let content = std::fs::read_to_string(&path).expect("a kubeconfig");
    std::fs::write(&path, content.replace("command: sh", "command: up")).expect("a kubeconfig");
    // Tests run in the folder of the package, where that is a program.
    let environment = Environment {
        path: Some("tests/cluster:.".into()),
        ..Environment::default()
    };
    let error = Connection::load(&options, &environment, &Silent)
        .await
        .expect_err("not run");
    let ClusterError::PluginStart { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(source.to_string().contains("relative path"), "{source}");
}
