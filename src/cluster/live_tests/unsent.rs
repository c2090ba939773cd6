//! A change of which nothing has left was not made, and nobody has to look.

use std::time::Duration;

use http::Method;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::server::client;
use crate::cluster::client::request::{Change, JSON, Read};
use crate::cluster::client::write::WriteOutcome;
use crate::cluster::{ClusterError, ConnectionOptions, Permission};
use crate::model::Kind;

/// A listener and a client of it that waits for a moment.
async fn silent(scheme: &str) -> (TcpListener, crate::cluster::ApiClient) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let options = ConnectionOptions {
        server: Some(format!("{scheme}://{address}")),
        insecure_skip_tls_verify: (scheme == "https").then_some(true),
        request_timeout: Some(Duration::from_millis(300)),
        ..ConnectionOptions::default()
    };
    let (client, _) = client(&options).await;
    (listener, client)
}

async fn delete(client: &crate::cluster::ApiClient) -> WriteOutcome {
    let target = Read {
        path: "/apis/resource.k8s.io/v1/devicetaintrules/r".to_owned(),
        accept: JSON,
        permission: Permission::new("delete", Kind::DeviceTaintRule),
    };
    let change = Change {
        method: Method::DELETE,
        content_type: JSON,
        body: b"{}".to_vec(),
    };
    client.write(&target, &change).await
}

#[tokio::test]
async fn change_that_waits_for_a_connection_was_not_made() {
    // Connections are taken, and nothing is said on them, so that there is no TLS.
    let (listener, client) = silent("https").await;
    let outcome = delete(&client).await;
    assert!(
        matches!(outcome, WriteOutcome::Unmade(ClusterError::TimedOut { .. })),
        "{outcome:?}"
    );
    drop(listener);
}

#[tokio::test]
async fn change_that_waits_for_its_answer_may_have_been_made() {
    let (listener, client) = silent("http").await;
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut heard = Vec::new();
        while !heard.ends_with(b"{}") {
            heard.push(stream.read_u8().await.expect("a byte"));
        }
        (stream, String::from_utf8(heard).expect("text"))
    });
    let outcome = delete(&client).await;
    assert!(
        matches!(outcome, WriteOutcome::Lost(ClusterError::TimedOut { .. })),
        "{outcome:?}"
    );
    let (_, heard) = heard.await.expect("no panic");
    assert!(
        heard.to_lowercase().contains("content-length: 2\r\n"),
        "{heard}"
    );
}

#[tokio::test]
async fn connection_that_breaks_under_a_change_may_have_carried_it() {
    let (listener, client) = silent("http").await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.read_u8().await;
    });
    let outcome = delete(&client).await;
    assert!(matches!(outcome, WriteOutcome::Lost(_)), "{outcome:?}");
}
