//! Which cluster, user and namespace are meant: kubectl's rules, case by case.

use std::path::{Path, PathBuf};

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

    /// The error in one line, without the directory.
    async fn error(&self, options: ConnectionOptions) -> String {
        let error = self.load(options).await.expect_err("an error");
        let directory = format!("{}/", self.directory.path().display());
        error.to_string().replace(&directory, "")
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
async fn what_is_missing_is_named() {
    let one = files(&[("one", ONE)]);
    for (options, expected) in [
        (
            options(|o| o.context = some("eats")),
            r#"context "eats" does not exist in one"#,
        ),
        (
            options(|o| o.cluster = some("wets")),
            r#"cluster "wets" does not exist in one"#,
        ),
        (
            options(|o| o.user = some("alcie")),
            r#"user "alcie" does not exist in one"#,
        ),
        (
            options(|o| o.context = some("nowhere")),
            r#"cluster "gone" does not exist in one"#,
        ),
        (
            options(|o| o.kubeconfig = Some(one.path("none"))),
            "cannot read the kubeconfig none",
        ),
        (
            options(|o| o.context = some("west")),
            r#"cannot read the token file token of user "bob""#,
        ),
        (
            options(|o| o.client_certificate = Some(one.path("cert"))),
            r#"cannot read the client certificate cert of user "alice""#,
        ),
        (
            options(|o| o.certificate_authority = Some(one.path("ca"))),
            r#"cannot read the certificate authority ca of cluster "east""#,
        ),
        (
            options(|o| o.certificate_authority = Some(one.path("one"))),
            r#"cluster "east" in one: certificate-authority contains no certificate in PEM format"#,
        ),
        (
            options(|o| o.as_user_extra = vec!["x".to_owned()]),
            r#"invalid value "x" for --as-user-extra: expected KEY=VALUE"#,
        ),
        (
            options(|o| o.server = some("ftp://x")),
            r#"cluster "east" in one: server "ftp://x" is not an http or https URL"#,
        ),
    ] {
        assert_eq!(one.error(options).await, expected);
    }
}

#[tokio::test]
async fn similar_names_are_offered() {
    let one = files(&[("one", ONE)]);
    let error = one
        .load(options(|o| o.context = some("eats")))
        .await
        .expect_err("no such context");
    assert_eq!(error.hints()[0], "did you mean east?");
    assert!(
        error.hints()[1].starts_with("contexts: east"),
        "{:?}",
        error.hints()
    );
}

#[tokio::test]
async fn malformed_file_is_named_and_its_secrets_are_not() {
    for content in [
        "users:\n- name: a\n  user: {token: [hunter2]}\n",
        "users: hunter2\n",
        "users: [\nhunter2: {",
        "current-context: {hunter2: hunter2}\n",
    ] {
        let one = files(&[("one", content)]);
        let error = one.error(options(|_| ())).await;
        assert!(
            error.starts_with("the kubeconfig one is not valid: it is not YAML"),
            "{error}"
        );
        assert!(
            error.contains("line") && !error.contains("hunter2"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn nothing_configured_says_where_was_looked() {
    let empty = tempfile::tempdir().expect("a directory");
    for (kubeconfig, home, expected) in [
        (None, Some(empty.path()), ".kube/config does not exist"),
        (None, None, "no kubeconfig found"),
        (
            Some("/nowhere/a"),
            Some(empty.path()),
            "/nowhere/a does not exist",
        ),
    ] {
        let environment = Environment {
            kubeconfig: kubeconfig.map(Into::into),
            home: home.map(Path::to_owned),
            ..Environment::default()
        };
        let loaded = Connection::load(&ConnectionOptions::default(), &environment, &Silent).await;
        let error = loaded.expect_err("nothing").to_string();
        assert!(
            error.starts_with("no cluster is configured: ") && error.ends_with(expected),
            "{error}"
        );
    }
}

#[tokio::test]
async fn contexts_are_listed_when_none_is_current() {
    let one = files(&[("one", &ONE.replace("current-context: east", ""))]);
    let error = one.error(options(|_| ())).await;
    assert!(
        error.ends_with("choose a context with --context: east, west, nowhere"),
        "{error}"
    );
}

#[tokio::test]
async fn impersonation_and_tokens_come_from_flags() {
    let one = files(&[("one", ONE)]);
    let connection = one
        .load(options(|o| {
            o.as_user = some("eve");
            o.as_group = vec!["g1".to_owned(), "g2".to_owned()];
            o.as_uid = some("u");
            o.as_user_extra = vec!["k=a".to_owned(), "k=b".to_owned()];
        }))
        .await
        .expect("a connection");
    let user = &connection.config.auth_info;
    assert_eq!(user.impersonate.as_deref(), Some("eve"));
    assert_eq!(user.impersonate_groups.as_ref().map(Vec::len), Some(2));
    let extra = user
        .impersonate_user_extra
        .as_ref()
        .and_then(|extra| extra.get("k"));
    assert_eq!(
        extra.map(Vec::as_slice),
        Some(&["a".to_owned(), "b".to_owned()][..])
    );
    assert!(!format!("{connection:?}").contains("secret-of-alice"));
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
    assert_eq!(connection.context.as_deref(), Some("east"));
    assert_eq!(connection.namespace, "ml");
    assert!(connection.config.auth_info.token.is_some());
    assert!(connection.config.auth_info.impersonate.is_none());
    assert_eq!(connection.config.tls_server_name.as_deref(), Some("inner"));
}

#[tokio::test]
async fn file_that_never_ends_is_too_long() {
    let device = options(|o| o.kubeconfig = Some("/dev/zero".into()));
    let error = Connection::load(&device, &Environment::default(), &Silent)
        .await
        .expect_err("endless");
    let ClusterError::KubeconfigUnreadable { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(source.to_string().contains("16 MiB"), "{source}");
    let files = files(&[("one", ONE)]);
    let authority = options(|o| o.certificate_authority = Some("/dev/zero".into()));
    let error = files.load(authority).await.expect_err("endless");
    assert!(matches!(error, ClusterError::File { .. }), "{error:?}");
}

#[tokio::test]
async fn half_a_character_of_utf_16_is_no_kubeconfig_and_no_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config");
    let wide: Vec<u8> = std::iter::once(0xFEFF)
        .chain(ONE.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let load = async |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a file");
        let options = options(|o| o.kubeconfig = Some(path.clone()));
        Connection::load(&options, &Environment::default(), &Silent).await
    };
    let connection = load(&wide).await.expect("a connection");
    assert_eq!(connection.server.url, "https://east:6443");
    let error = load(&wide[..wide.len() - 1])
        .await
        .expect_err("half a character");
    assert!(
        matches!(error, ClusterError::KubeconfigMalformed { .. }),
        "{error}"
    );
}
