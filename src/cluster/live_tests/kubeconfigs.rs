//! Selection of cluster, user and namespace: kubectl's rules, case by case.

use std::path::PathBuf;

use crate::cluster::{Connection, ConnectionOptions, Environment, Silent};

const ONE: &str = include_str!("../../../tests/data/kubeconfigs/one.yaml");

/// A connection with these flags, and a KUBECONFIG of that file and one that is missing.
async fn load(options: ConnectionOptions) -> Connection {
    let directory = tempfile::tempdir().expect("a directory");
    let paths = ["one", "not-there"].map(|name| directory.path().join(name));
    std::fs::write(&paths[0], ONE).expect("a file");
    let environment = Environment {
        kubeconfig: Some(std::env::join_paths(paths).expect("a list of paths")),
        ..Environment::default()
    };
    let connection = Connection::load(&options, &environment, &Silent).await;
    connection.expect("a connection")
}

fn options(change: impl FnOnce(&mut ConnectionOptions)) -> ConnectionOptions {
    let mut options = ConnectionOptions::default();
    change(&mut options);
    options
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn flags_win_over_files() {
    type Row = (&'static str, ConnectionOptions, [&'static str; 3]);
    let rows: [Row; 3] = [
        (
            "--server without scheme",
            options(|o| o.server = some("x:1")),
            ["http://x:1", "east", "ml"],
        ),
        (
            "--namespace",
            options(|o| o.namespace = some("ns")),
            ["https://east:6443", "east", "ns"],
        ),
        (
            "--server instead of a cluster that is gone",
            options(|o| {
                o.context = some("nowhere");
                o.server = some("https://x:1");
            }),
            ["https://x:1", "gone", "default"],
        ),
    ];
    for (name, options, expected) in rows {
        let connection = load(options).await;
        let cluster = connection.server.cluster.clone().unwrap_or_default();
        assert_eq!(
            [
                connection.server.url.as_str(),
                &cluster,
                &connection.namespace
            ],
            expected,
            "{name}"
        );
    }
}

#[tokio::test]
async fn name_of_the_servers_certificate_belongs_to_the_server() {
    for (options, expected) in [
        (options(|_| ()), Some("inner")),
        (options(|o| o.server = some("https://x:1")), None),
        (
            options(|o| o.tls_server_name = some("outer")),
            Some("outer"),
        ),
    ] {
        let connection = load(options).await;
        assert_eq!(connection.config.tls_server_name.as_deref(), expected);
    }
}

#[tokio::test]
async fn what_is_set_to_nothing_is_not_set() {
    let nothing = ConnectionOptions {
        kubeconfig: Some(PathBuf::new()),
        context: some(""),
        cluster: some(""),
        user: some(""),
        namespace: some(""),
        server: some(""),
        tls_server_name: some(""),
        certificate_authority: Some(PathBuf::new()),
        client_certificate: Some(PathBuf::new()),
        client_key: Some(PathBuf::new()),
        token: some(""),
        as_user: some(""),
        as_uid: some(""),
        ..ConnectionOptions::default()
    };
    let connection = load(nothing).await;
    assert_eq!(connection.server.url, "https://east:6443");
    assert_eq!(connection.namespace, "ml");
    let config = &connection.config;
    assert!(config.auth_info.token.is_some() && config.auth_info.impersonate.is_none());
    assert_eq!(config.tls_server_name.as_deref(), Some("inner"));
    assert!(!format!("{connection:?}").contains("secret-of-alice"));
}
