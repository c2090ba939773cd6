//! The ways to a server and into it that are kube's own: that what a kubeconfig says arrives there.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto::ring, server};

use super::proxies::proxy;
use super::server::Server;
use crate::cluster::client::document::document;
use crate::cluster::{
    ApiClient, ClusterError, Connection, ConnectionOptions, Environment, Observer, Silent,
};

const PATH: &str = "/version";

/// A client with a kubeconfig of this cluster and user.
pub(super) async fn client(
    folder: &Path,
    cluster: &str,
    user: &str,
    environment: &Environment,
) -> Result<ApiClient, ClusterError> {
    let path = folder.join("config");
    let content = format!(
        "clusters: [{{name: c, cluster: {cluster}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         current-context: c\n\
         users: [{{name: u, user: {user}}}]\n"
    );
    std::fs::write(&path, content).expect("a kubeconfig");
    let options = ConnectionOptions {
        kubeconfig: Some(path),
        ..ConnectionOptions::default()
    };
    let connection = Connection::load(&options, environment, &Silent).await?;
    let observer: Arc<dyn Observer> = Arc::new(Silent);
    ApiClient::new(connection, observer)
}

/// Asks for the version with it.
pub(super) async fn ask(
    folder: &Path,
    cluster: &str,
    user: &str,
    environment: &Environment,
) -> Result<serde_json::Value, ClusterError> {
    let client = client(folder, cluster, user, environment).await?;
    document(&client, PATH.to_owned()).await
}

fn address_of(server: &Server) -> String {
    let url = server.options().server.expect("a URL");
    url.trim_start_matches("http://").to_owned()
}

#[tokio::test]
async fn proxy_of_the_cluster_is_used_with_its_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start().await;
    let (proxy, asked) = proxy(address_of(&server)).await;
    let cluster = format!(
        "{{server: 'http://api.example.com:6443', proxy-url: 'http://alice:hunter2@{proxy}'}}"
    );
    let answer = ask(folder.path(), &cluster, "{}", &Environment::default()).await;
    answer.expect("the proxy leads there");
    let asked = asked.lock().expect("no panic").join("\n");
    assert!(
        asked.starts_with("CONNECT api.example.com:6443 HTTP/1.1\r\n"),
        "{asked}"
    );
    let password = STANDARD.encode("alice:hunter2");
    assert!(asked.contains(&format!("Basic {password}")), "{asked}");
}

#[tokio::test]
async fn proxy_of_the_environment_is_used_unless_it_spares_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start().await;
    let (proxy, asked) = proxy(address_of(&server)).await;
    let mut environment = Environment {
        http_proxy: Some(proxy),
        ..Environment::default()
    };
    let cluster = "{server: 'http://api.example.invalid:6443'}";
    let answer = ask(folder.path(), cluster, "{}", &environment).await;
    answer.expect("the proxy leads there");
    environment.no_proxy = Some("example.invalid".to_owned());
    let answer = ask(folder.path(), cluster, "{}", &environment).await;
    let error = answer.expect_err("there is no such host");
    assert!(matches!(error, ClusterError::Unreachable { .. }), "{error}");
    assert_eq!(asked.lock().expect("no panic").len(), 1);
}

#[tokio::test]
async fn token_of_an_identity_provider_is_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_secure().await;
    let claims = URL_SAFE_NO_PAD.encode(r#"{"exp":4102444800}"#);
    let token = format!("{}.{claims}.c2ln", URL_SAFE_NO_PAD.encode("{}"));
    let user = format!(
        "{{auth-provider: {{name: oidc, config: {{id-token: {token}, idp-issuer-url: 'https://id.example.com', client-id: k}}}}}}"
    );
    let cluster = format!(
        "{{server: '{}', insecure-skip-tls-verify: true}}",
        server.url
    );
    let answer = ask(folder.path(), &cluster, &user, &Environment::default()).await;
    answer.expect("an answer");
    assert_eq!(server.authorizations(PATH), [format!("Bearer {token}")]);
}

/// A certificate authority, and a server that lets in only whom it has certified.
async fn guarded() -> (String, rcgen::CertifiedIssuer<'static, rcgen::KeyPair>) {
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().expect("a key");
    let authority = rcgen::CertifiedIssuer::self_signed(parameters, key).expect("an authority");
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).expect("a root");
    let provider = Arc::new(ring::default_provider());
    let verifier =
        server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .expect("a verifier");
    let (certificate, key) = certified(&authority, "localhost");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate with its key");
    (serving(config).await, authority)
}

/// A server with that TLS, which says nothing but its version.
pub(super) async fn serving(config: ServerConfig) -> String {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let _ = stream.read(&mut [0; 4096]).await;
            let answer =
                b"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{\"gitVersion\":\"v1.37.0\"}";
            let _ = stream.write_all(answer).await;
        }
    });
    address
}

/// A certificate for `name` and its key as PEM.
fn certified(
    authority: &rcgen::CertifiedIssuer<'static, rcgen::KeyPair>,
    name: &str,
) -> (rcgen::Certificate, String) {
    let parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("parameters");
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = parameters.signed_by(&key, authority).expect("a signature");
    (certificate, key.serialize_pem())
}

#[tokio::test]
async fn client_certificate_opens_a_server_that_asks_for_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, authority) = guarded().await;
    let cluster = format!(
        "{{server: 'https://{address}', tls-server-name: localhost, certificate-authority-data: {}}}",
        STANDARD.encode(authority.pem())
    );
    let (certificate, key) = certified(&authority, "alice");
    std::fs::write(folder.path().join("alice.pem"), certificate.pem()).expect("a file");
    let user = format!(
        "{{client-certificate: alice.pem, client-key-data: {}}}",
        STANDARD.encode(key)
    );
    let environment = Environment::default();
    let answer = ask(folder.path(), &cluster, &user, &environment).await;
    answer.expect("alice is let in");
    let answer = ask(folder.path(), &cluster, "{token: t}", &environment).await;
    let error = answer.expect_err("nobody else is");
    assert!(matches!(error, ClusterError::Tls { .. }), "{error:?}");
}

/// Made with `openssl ecparam -name secp521r1 -genkey`, in both forms.
const P521: [&str; 2] = [
    "\
-----BEGIN PRIVATE KEY-----
MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIAJLKB60e5poqlkXPL
FooQL0lahClEFLxgaxGUQ4XQICtW1JV5kM/peAuiTkF+7s2ovFDdK2Y4v+n6u3Y2
+dEMYjmhgYkDgYYABAGHPve2Ciq3Jye7bjPtKdJ5Fhk0YfOYr1/7YBT1Sy0iRFjJ
noP9ag1TE26a04yUOt4BrHbNEHs/5ND/7mTkLoeDQQBRDQFiDTwfjEVGQjhlDo/M
meOZmqrZLp2M12ZAKayVOldezmGbBM/C3523bXS5zOAp/R6iHN7loofUwCTn6zC+
Tw==
-----END PRIVATE KEY-----
",
    "\
-----BEGIN EC PRIVATE KEY-----
MIHcAgEBBEIAJLKB60e5poqlkXPLFooQL0lahClEFLxgaxGUQ4XQICtW1JV5kM/p
eAuiTkF+7s2ovFDdK2Y4v+n6u3Y2+dEMYjmgBwYFK4EEACOhgYkDgYYABAGHPve2
Ciq3Jye7bjPtKdJ5Fhk0YfOYr1/7YBT1Sy0iRFjJnoP9ag1TE26a04yUOt4BrHbN
EHs/5ND/7mTkLoeDQQBRDQFiDTwfjEVGQjhlDo/MmeOZmqrZLp2M12ZAKayVOlde
zmGbBM/C3523bXS5zOAp/R6iHN7loofUwCTn6zC+Tw==
-----END EC PRIVATE KEY-----
",
];

#[tokio::test]
async fn key_on_the_curve_p521_is_refused_by_name_with_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    for key in P521 {
        let user = format!(
            "{{client-certificate-data: {}, client-key-data: {}}}",
            STANDARD.encode("any"),
            STANDARD.encode(key)
        );
        let cluster = "{server: 'https://127.0.0.1:1'}";
        let refused = ask(folder.path(), cluster, &user, &Environment::default()).await;
        let error = refused.expect_err("refused").to_string();
        assert!(error.starts_with("user \"u\" in "), "{error}");
        assert!(
            error.contains("client-key is on the curve P-521"),
            "{error}"
        );
        assert!(error.contains("use a token"), "{error}");
    }
}

/// A server whose certificate is its own authority, valid until `until`; gives its address and that.
pub(super) async fn self_made(until: i32) -> (String, String) {
    let mut parameters =
        rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = parameters.self_signed(&key).expect("a certificate");
    let private = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .expect("a certificate with its key");
    (serving(config).await, certificate.pem())
}

#[tokio::test]
async fn certificate_that_is_its_own_authority_is_taken_if_it_is_the_trusted_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, own) = self_made(2100).await;
    let (late, expired) = self_made(2020).await;
    let (_, other) = self_made(2100).await;
    for (what, address, authority, name, taken) in [
        ("its own", &address, &own, "localhost", true),
        ("under another name", &address, &own, "example.com", false),
        ("another's", &address, &other, "localhost", false),
        (
            "both",
            &address,
            &format!("{other}{own}"),
            "localhost",
            true,
        ),
        ("expired", &late, &expired, "localhost", false),
    ] {
        let cluster = format!(
            "{{server: 'https://{address}', tls-server-name: {name}, certificate-authority-data: {}}}",
            STANDARD.encode(authority)
        );
        let answer = ask(folder.path(), &cluster, "{}", &Environment::default()).await;
        assert_eq!(answer.is_ok(), taken, "{what}: {answer:?}");
        if let Err(error) = answer {
            assert!(
                matches!(error, ClusterError::Tls { .. }),
                "{what}: {error:?}"
            );
        }
    }
}
