//! Selection of cluster, user and namespace: kubectl's rules, case by case.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::cluster::{ClusterError, Connection, ConnectionOptions, Environment, Silent};

const ONE: &str = "
apiVersion: v1
kind: Config
current-context: east
clusters:
- {name: east, cluster: {server: 'https://east:6443', tls-server-name: inner}}
- {name: west, cluster: {server: 'https://west:6443'}}
contexts:
- {name: east, context: {cluster: east, user: alice, namespace: ml}}
- {name: west, context: {cluster: west, user: bob}}
- {name: nowhere, context: {cluster: gone, user: alice}}
users:
- {name: alice, user: {token: secret-of-alice}}
- {name: bob, user: {tokenFile: token}}
";

const TWO: &str = "
apiVersion: v1
kind: Config
current-context: south
clusters:
- {name: east, cluster: {server: 'https://other-east:6443'}}
- {name: south, cluster: {server: 'https://south:6443'}}
contexts:
- {name: south, context: {cluster: south, user: alice}}
users: []
";

struct Files {
    directory: TempDir,
    environment: Environment,
}

/// Files of these names and contents, and an environment whose KUBECONFIG names them.
fn files(contents: &[(&str, &str)]) -> Files {
    let directory = tempfile::tempdir().expect("a directory");
    let mut paths = Vec::new();
    for (name, content) in contents {
        let path = directory.path().join(name);
        std::fs::write(&path, content).expect("a file");
        paths.push(path);
    }
    paths.push(directory.path().join("not-there"));
    let environment = Environment {
        kubeconfig: Some(std::env::join_paths(paths).expect("a list of paths")),
        ..Environment::default()
    };
    Files {
        directory,
        environment,
    }
}

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    async fn load(&self, options: ConnectionOptions) -> Result<Connection, ClusterError> {
        Connection::load(&options, &self.environment, &Silent).await
    }
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
async fn flags_win_over_files_and_earlier_files_over_later_ones() {
    let files = files(&[("one", ONE), ("two", TWO)]);
    type Row = (&'static str, ConnectionOptions, [&'static str; 3]);
    let rows: [Row; 8] = [
        (
            "current context of the first file",
            options(|_| ()),
            ["https://east:6443", "east", "ml"],
        ),
        (
            "context of the second file",
            options(|o| o.context = some("south")),
            ["https://south:6443", "south", "default"],
        ),
        (
            "--cluster",
            options(|o| o.cluster = some("west")),
            ["https://west:6443", "west", "ml"],
        ),
        (
            "--server",
            options(|o| o.server = some("https://x:1")),
            ["https://x:1", "east", "ml"],
        ),
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
        (
            "--kubeconfig",
            options(|o| o.kubeconfig = Some(files.path("two"))),
            ["https://south:6443", "south", "default"],
        ),
    ];
    for (name, options, expected) in rows {
        let connection = files.load(options).await.expect(name);
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
    let files = files(&[("one", ONE)]);
    for (options, expected) in [
        (options(|_| ()), Some("inner")),
        (options(|o| o.server = some("https://x:1")), None),
        (
            options(|o| o.tls_server_name = some("outer")),
            Some("outer"),
        ),
    ] {
        let connection = files.load(options).await.expect("a connection");
        assert_eq!(connection.config.tls_server_name.as_deref(), expected);
    }
}

#[tokio::test]
async fn what_cannot_be_used_is_named_and_its_secrets_are_not() {
    let one = files(&[("one", ONE)]);
    for (name, content) in [
        ("list", "users:\n- name: a\n  user: {token: [hunter2]}\n"),
        ("open", "users: [\nhunter2: {"),
        ("wide", "\u{0}u\u{0}s\u{0}e\u{0}hunter2"),
        ("none", "clusters: []\ncurrent-context: ''\n"),
    ] {
        std::fs::write(one.path(name), content).expect("a file");
    }
    let kubeconfig = |path: PathBuf| options(|o| o.kubeconfig = Some(path));
    for (options, expected) in [
        (
            options(|o| o.context = some("eats")),
            r#"context "eats" does not exist in one "#,
        ),
        (
            options(|o| o.cluster = some("wets")),
            r#"cluster "wets" does not exist in one "#,
        ),
        (
            options(|o| o.user = some("alcie")),
            r#"user "alcie" does not exist in one "#,
        ),
        (
            options(|o| o.context = some("nowhere")),
            r#"cluster "gone" does not exist"#,
        ),
        (
            kubeconfig(one.path("missing")),
            "cannot read the kubeconfig missing: No such file",
        ),
        (
            kubeconfig("/dev/zero".into()),
            "cannot read the kubeconfig /dev/zero: it is longer than 16 MiB",
        ),
        (
            kubeconfig(one.path("list")),
            "list is not a valid kubeconfig at line 3",
        ),
        (
            kubeconfig(one.path("open")),
            "open is not a valid kubeconfig",
        ),
        (
            kubeconfig(one.path("wide")),
            "wide is not a valid kubeconfig",
        ),
        (kubeconfig(one.path("none")), "no cluster is configured"),
        (options(|o| o.context = some("west")), r#"user "bob""#),
        (
            options(|o| o.client_certificate = Some(one.path("cert"))),
            r#"user "alice""#,
        ),
        (
            options(|o| o.certificate_authority = Some(one.path("ca"))),
            r#"cluster "east""#,
        ),
        (
            options(|o| o.certificate_authority = Some("/dev/zero".into())),
            r#"cluster "east""#,
        ),
        (
            options(|o| o.certificate_authority = Some(one.path("one"))),
            r#"cluster "east""#,
        ),
        (
            options(|o| o.as_user_extra = vec!["x".to_owned()]),
            r#"invalid value "x" for --as-user-extra"#,
        ),
        (
            options(|o| o.as_group = vec!["x".to_owned()]),
            "--as is missing",
        ),
        (options(|o| o.server = some("ftp://x")), r#"cluster "east""#),
        (
            options(|o| o.server = some("https://x:port")),
            r#"cluster "east""#,
        ),
        (
            options(|o| o.server = some("https://alice:hunter2@x")),
            r#"cluster "east""#,
        ),
        (
            options(|o| o.server = some("https://alice:hun/ter2@x")),
            r#"cluster "east""#,
        ),
        (
            options(|o| o.token = some("hunter2\nhunter2")),
            r#"user "alice""#,
        ),
        (options(|o| o.username = some("bob")), r#"user "alice""#),
        (
            options(|o| o.tls_server_name = some("a b")),
            r#"cluster "east""#,
        ),
        (
            options(|o| o.proxy_url = some("ftp://a:hunter2@x")),
            r#"cluster "east""#,
        ),
    ] {
        let error = one.load(options).await.expect_err(expected);
        let directory = format!("{}/", one.directory.path().display());
        let text = format!("{error} {:?}", error.hint()).replace(&directory, "");
        assert!(text.starts_with(expected), "{text}");
        assert!(!text.contains("ter2"), "{text}");
        if text.contains("eats") {
            assert_eq!(error.hint().as_deref(), Some("did you mean east?"));
        }
    }
}

#[tokio::test]
async fn what_is_set_to_nothing_is_not_set() {
    let files = files(&[("one", ONE)]);
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
    let connection = files.load(nothing).await.expect("a connection");
    assert_eq!(connection.server.url, "https://east:6443");
    assert_eq!(connection.namespace, "ml");
    let config = &connection.config;
    assert!(config.auth_info.token.is_some() && config.auth_info.impersonate.is_none());
    assert_eq!(config.tls_server_name.as_deref(), Some("inner"));
    assert!(!format!("{connection:?}").contains("secret-of-alice"));
}
