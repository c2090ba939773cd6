//! What the user hears when a server cannot be reached.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::server::{Server, client};
use crate::cluster::{
    ApiClient, ClusterError, Connection, ConnectionOptions, Environment, Silent, discover,
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
async fn impersonation_reaches_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let options = ConnectionOptions {
        server: Some(format!(
            "http://{}",
            listener.local_addr().expect("an address")
        )),
        token: Some("t".to_owned()),
        as_user: Some("eve".to_owned()),
        as_group: vec!["g1".to_owned(), "g2".to_owned()],
        as_uid: Some("u".to_owned()),
        as_user_extra: vec!["example.com/k=v".to_owned()],
        ..ConnectionOptions::default()
    };
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut head = vec![0; 4096];
        let length = stream.read(&mut head).await.expect("a request");
        let _ = stream
            .write_all(b"HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n")
            .await;
        String::from_utf8_lossy(&head[..length]).to_lowercase()
    });
    let connection = Connection::load(&options, &Environment::default(), &Silent).await;
    let client = ApiClient::new(connection.expect("a connection"), Arc::new(Silent));
    let _ = tokio::time::timeout(
        std::time::Duration::from_secs(5),
        discover(&client.expect("a client")),
    )
    .await;
    let head = heard.await.expect("a request");
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
        !head.contains("accept-encoding"),
        "nothing is compressed on this machine: {head}"
    );
}

#[tokio::test]
async fn unusable_token_is_not_repeated() {
    let server = Server::start().await;
    let options = ConnectionOptions {
        token: Some("hunter2\nhunter2".to_owned()),
        ..server.options()
    };
    let loaded = Connection::load(&options, &Environment::default(), &Silent).await;
    let error = loaded.expect_err("a bad token");
    assert!(
        error
            .to_string()
            .contains("token holds characters that no header can hold"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}
