//! What the user hears when a server cannot be reached.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::net::TcpListener;

use super::server::{Notices, Server, client, with_programs};
use crate::cluster::{
    ApiClient, ClusterError, Connection, ConnectionOptions, Environment, Observer, Silent, discover,
};

async fn error_of(server: &str) -> ClusterError {
    let options = ConnectionOptions {
        server: Some(server.to_owned()),
        insecure_skip_tls_verify: Some(false),
        ..ConnectionOptions::default()
    };
    let (client, _) = client(&options).await;
    discover(&client).await.expect_err("no server")
}

#[tokio::test]
async fn closed_port_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let error = error_of(&url).await.to_string();
    assert!(
        error.starts_with(&format!("cannot reach the server at {url}: ")),
        "{error}"
    );
    assert!(error.contains("refused"), "{error}");
}

#[tokio::test]
async fn unknown_host_is_unreachable() {
    let error = error_of("http://no-such-host.invalid:1").await;
    assert!(matches!(error, ClusterError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn server_with_another_certificate_is_not_trusted() {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let certificate = key.cert.der().clone();
    let private =
        tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(key.signing_key.serialize_der())
            .expect("a key");
    let config = tokio_rustls::rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], private)
        .expect("a configuration");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = acceptor.accept(stream).await;
        }
    });
    let error = error_of(&format!("https://localhost:{}", address.port())).await;
    assert!(matches!(error, ClusterError::Tls { .. }), "{error:?}");
}

#[tokio::test]
async fn impersonation_and_token_reach_the_server() {
    let server = Server::start_secure().await;
    let options = ConnectionOptions {
        token: Some("t".to_owned()),
        as_user: Some("eve".to_owned()),
        as_group: vec!["g1".to_owned(), "g2".to_owned()],
        as_uid: Some("u".to_owned()),
        as_user_extra: vec!["example.com/k=v".to_owned()],
        ..server.options()
    };
    let (client, notices) = client(&options).await;
    discover(&client).await.expect("an answer");
    let head = server.heads().remove(0);
    for line in [
        "authorization: bearer t",
        "impersonate-user: eve",
        "impersonate-group: g1",
        "impersonate-group: g2",
        "impersonate-uid: u",
        "impersonate-extra-example.com%2fk: v",
    ] {
        assert!(
            head.contains(&format!("\r\n{line}\r\n")),
            "{line} in {head}"
        );
    }
    assert!(
        head.contains("\r\naccept-encoding: gzip\r\n"),
        "nobody knows yet how far away it is: {head}"
    );
    assert!(notices.texts().is_empty(), "{:?}", notices.texts());
}

/// Asks a server without TLS as that user of a kubeconfig; gives the heads of all requests, and what
/// the user is told.
async fn asked_in_the_open(user: &str, options: ConnectionOptions) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config");
    let server = Server::start().await;
    let address = server.url.replace("http://", "http://alice:hunter2@");
    let content = format!(
        "clusters: [{{name: c, cluster: {{server: 'https://c', certificate-authority-data: bm9uZQ==}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\ncurrent-context: c\n\
         users: [{{name: u, user: {user}}}]\n"
    );
    std::fs::write(&path, content).expect("a kubeconfig");
    let options = ConnectionOptions {
        kubeconfig: Some(path),
        server: Some(address),
        ..options
    };
    let notices = Arc::<Notices>::default();
    let loaded = Connection::load(&options, &with_programs(), &*notices).await;
    let observer: Arc<dyn Observer> = Arc::<Notices>::clone(&notices);
    let client = ApiClient::new(loaded.expect("a connection"), observer).expect("a client");
    discover(&client).await.expect("an answer");
    (server.heads().concat(), notices.texts())
}

#[tokio::test]
async fn credentials_are_never_sent_in_the_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    let plugin = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: ['-c', 'echo > {}'], interactiveMode: Never}}}}",
        runs.display()
    );
    let token = folder.path().join("token");
    std::fs::write(&token, "hunter2").expect("a file");
    for user in [
        "{token: hunter2}",
        "{username: bob, password: hunter2}",
        &format!("{{tokenFile: '{}'}}", token.display()),
        &plugin,
        "{client-certificate-data: aHVudGVyMg==, client-key-data: aHVudGVyMg==}",
        "{auth-provider: {name: oidc, config: {id-token: hunter2}}}",
        "{}",
    ] {
        let (heads, told) = asked_in_the_open(user, ConnectionOptions::default()).await;
        assert!(!heads.contains("authorization"), "{user}: {heads}");
        assert!(!runs.exists(), "the plugin is not asked");
        assert_eq!(told.len(), 1, "{user}: {told:?}");
        assert!(
            told[0].starts_with("the credentials of user \"u\" are not sent to http://127.0.0.1"),
            "{told:?}"
        );
        assert!(!told[0].contains("hunter2"), "{told:?}");
    }
    let options = ConnectionOptions {
        token: Some("hunter2".to_owned()),
        as_user: Some("eve".to_owned()),
        ..ConnectionOptions::default()
    };
    let (heads, told) = asked_in_the_open("{}", options).await;
    assert!(!heads.contains("authorization"), "{heads}");
    // Whom to impersonate is no secret, and kubectl says it, too.
    assert!(heads.contains("impersonate-user: eve"), "{heads}");
    assert_eq!(told.len(), 1, "{told:?}");
}

#[tokio::test]
async fn password_in_the_address_is_used_and_never_shown() {
    let server = Server::start_secure().await;
    let mut options = server.options();
    options.server = Some(server.url.replace("https://", "https://alice:hunter%322@"));
    let (client, _) = client(&options).await;
    discover(&client).await.expect("an answer");
    let basic = STANDARD.encode("alice:hunter22").to_lowercase();
    let head = server.heads().remove(0);
    assert!(
        head.contains(&format!("authorization: basic {basic}")),
        "{head}"
    );
    assert!(!client.server().to_string().contains("hunter"));
    for address in [
        "https://alice:hunter2@host:port",
        "https://alice:hun/ter2@host",
        "ftp://alice:hunter2@host",
        "https://alice:hunter2@",
    ] {
        let error = Connection::load(
            &ConnectionOptions {
                server: Some(address.to_owned()),
                ..ConnectionOptions::default()
            },
            &Environment::default(),
            &Silent,
        )
        .await
        .expect_err(address);
        let texts = format!("{error} {error:?} {:?}", error.hints());
        assert!(!texts.contains("ter2"), "{texts}");
    }
}

#[tokio::test]
async fn unusable_token_is_not_repeated() {
    let server = Server::start_secure().await;
    let options = ConnectionOptions {
        token: Some("hunter2\nhunter2".to_owned()),
        ..server.options()
    };
    let loaded = Connection::load(&options, &Environment::default(), &Silent).await;
    let error = loaded.expect_err("a bad token");
    assert!(
        error
            .to_string()
            .contains("token contains characters that are invalid in an HTTP header"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}
