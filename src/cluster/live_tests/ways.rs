//! The ways to a server and into it that are kube's own: that what a kubeconfig says arrives there.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

use super::server::Server;
use crate::cluster::client::write::document;
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
async fn ask(
    folder: &Path,
    cluster: &str,
    user: &str,
    environment: &Environment,
) -> Result<serde_json::Value, ClusterError> {
    let client = client(folder, cluster, user, environment).await?;
    document(&client, PATH.to_owned()).await
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

/// A server with that TLS, which says nothing but its version.
async fn serving(config: ServerConfig) -> String {
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

/// A server whose certificate is its own authority, valid until `until`; gives its address and that.
async fn self_made(until: i32) -> (String, String) {
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

/// Protocol of a proxy.
#[derive(Clone, Copy)]
enum ProxyKind {
    Http,
    /// Lets in only alice.
    Socks,
}

/// A proxy that leads everything to `target`; gives its address, and what it was asked for.
async fn proxy(kind: ProxyKind, target: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = match kind {
                ProxyKind::Http => pass(stream, &target, &noted).await,
                ProxyKind::Socks => pass_socks(stream, &target, &noted).await,
            };
        }
    });
    (address, asked)
}

async fn pass(mut stream: TcpStream, target: &str, asked: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    asked.lock().expect("no panic").push(head);
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    let mut server = TcpStream::connect(target).await?;
    tokio::spawn(async move { copy_bidirectional(&mut stream, &mut server).await });
    Ok(())
}

/// RFC 1928, and RFC 1929 for the login.
async fn pass_socks(
    mut stream: TcpStream,
    target: &str,
    asked: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let text = async |stream: &mut TcpStream| -> io::Result<String> {
        let mut text = vec![0; usize::from(stream.read_u8().await?)];
        stream.read_exact(&mut text).await?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    stream.read_u8().await?;
    text(&mut stream).await?;
    stream.write_all(&[5, 2]).await?;
    stream.read_u8().await?;
    let login = (text(&mut stream).await?, text(&mut stream).await?);
    let welcome = login == ("alice".to_owned(), "hunter2".to_owned());
    stream.write_all(&[1, u8::from(!welcome)]).await?;
    let mut request = [0; 4];
    stream.read_exact(&mut request).await?;
    if !welcome || request != [5, 1, 0, 3] {
        // Version, CONNECT, reserved, a name: nothing else is known here.
        return Ok(());
    }
    let name = text(&mut stream).await?;
    let port = stream.read_u16().await?;
    asked
        .lock()
        .expect("no panic")
        .push(format!("{name}:{port}"));
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let mut server = TcpStream::connect(target).await?;
    tokio::spawn(async move { copy_bidirectional(&mut stream, &mut server).await });
    Ok(())
}

#[tokio::test]
async fn socks_proxy_finds_the_server_and_is_told_the_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, authority) = self_made(2100).await;
    let (proxy, asked) = proxy(ProxyKind::Socks, address).await;
    let cluster = |login: &str| {
        format!(
            "{{server: 'https://localhost.example.com:6443', tls-server-name: localhost, \
             proxy-url: 'socks5://{login}{proxy}', certificate-authority-data: {}}}",
            STANDARD.encode(&authority)
        )
    };
    let environment = Environment::default();
    let answer = ask(
        folder.path(),
        &cluster("alice:hunter2@"),
        "{}",
        &environment,
    )
    .await;
    answer.expect("the proxy leads there");
    let told = asked.lock().expect("no panic").clone();
    assert_eq!(told, ["localhost.example.com:6443"]);
    let answer = ask(folder.path(), &cluster("alice:wrong@"), "{}", &environment).await;
    let error = answer.expect_err("the proxy does not");
    assert!(
        matches!(error, ClusterError::Unreachable { .. }),
        "{error:?}"
    );
    assert!(!error.to_string().contains("wrong"), "{error}");
}

#[tokio::test]
async fn certificate_that_is_its_own_authority_is_taken_if_it_is_the_trusted_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, own) = self_made(2100).await;
    let (late, expired) = self_made(2020).await;
    let (_, other) = self_made(2100).await;
    let both = format!("{other}{own}");
    for (what, address, authority, name, taken) in [
        ("its own", &address, &own, "localhost", true),
        ("under another name", &address, &own, "example.com", false),
        ("another's", &address, &other, "localhost", false),
        ("both", &address, &both, "localhost", true),
        ("expired", &late, &expired, "localhost", false),
    ] {
        let (tunnel, _) = proxy(ProxyKind::Http, address.clone()).await;
        let (socks, _) = proxy(ProxyKind::Socks, address.clone()).await;
        for way in [
            format!("https://{address}"),
            format!("https://api.example.com:6443', proxy-url: 'http://alice:hunter2@{tunnel}"),
            format!("https://api.example.com:6443', proxy-url: 'socks5://alice:hunter2@{socks}"),
        ] {
            let cluster = format!(
                "{{server: '{way}', tls-server-name: {name}, certificate-authority-data: {}}}",
                STANDARD.encode(authority)
            );
            let answer = ask(folder.path(), &cluster, "{}", &Environment::default()).await;
            let is_refused = matches!(answer, Err(ClusterError::Tls { .. }));
            assert_eq!(
                (answer.is_ok(), is_refused),
                (taken, !taken),
                "{what} {way}: {answer:?}"
            );
        }
    }
}
