//! Nothing follows from an answer that is not an API server's, or not of the kind that was asked for.

use super::encode;
use super::server::{Answer, RULES, Server};
use crate::cluster::client::write::document;
use crate::cluster::{ClusterError, Detail, Rules, discover, read_for_preview};

const POD: &str = "/api/v1/namespaces/ml/pods/pod-1";

/// Responses with status 404 from something between client and server.
fn strange_absences() -> Vec<Answer> {
    vec![
        Answer::page(404),
        Answer::refused(404, ""),
        Answer::refused(404, "{}"),
        Answer::refused(404, r#"{"kind":"Status","code":404}"#),
        Answer::refused(404, r#"{"error":"not found"}"#),
        Answer::status(404, "", "no"),
    ]
}

/// Responses with status 200 in place of a list or an object.
fn strange_successes() -> Vec<Answer> {
    vec![
        Answer::json("{}"),
        Answer::json("null"),
        Answer::json("[]"),
        Answer::json(r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}"#),
        Answer::json(r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#),
        Answer::json(
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#,
        ),
        Answer::page(200),
    ]
}

async fn rules(server: &Server) -> Rules {
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    Rules::new(&client, &served).expect("rules")
}

#[tokio::test]
async fn only_the_server_says_that_a_rule_does_not_exist() {
    let server = Server::start().await;
    let rules = rules(&server).await;
    let path = format!("{RULES}/r");
    assert_eq!(rules.get("r").await.expect("an absence"), None);
    for answer in strange_absences().into_iter().chain(strange_successes()) {
        server.answer(&path, [answer.clone()]);
        let found = rules.get("r").await;
        assert!(found.is_err(), "{answer:?}: {found:?}");
    }
}

#[tokio::test]
async fn pod_is_absent_only_if_the_server_says_so() {
    let server = Server::start().await;
    let read = async || {
        let (client, _) = server.client().await;
        let served = discover(&client).await.expect("discovery");
        read_for_preview(&client, &served, Detail::Names, |id| {
            id.pool.as_str() == "node-1"
        })
        .await
    };
    let empty = encode::list("v1", "Pod", &[], "");
    server.answer("/api/v1/namespaces/ml/pods", [Answer::ok(empty)]);
    assert!(read().await.expect("a reading").snapshot.pods.is_empty());
    let claim = encode::claim("pod-1", "node-1", "gpu-0", "pod-1");
    let claim = encode::object("resource.k8s.io/v1", "ResourceClaim", &claim);
    let strange = strange_absences().into_iter().chain(strange_successes());
    for answer in strange.chain([Answer::ok(claim)]) {
        server.answer(POD, [answer.clone()]);
        let found = read().await;
        assert!(found.is_err(), "{answer:?}: {found:?}");
    }
}

#[tokio::test]
async fn what_a_server_lacks_is_not_learned_from_a_stranger() {
    for path in [
        "/version",
        "/apis/resource.k8s.io",
        "/apis/resource.k8s.io/v1",
    ] {
        for answer in strange_absences().into_iter().chain(strange_successes()) {
            let server = Server::start().await;
            server.answer(path, [answer.clone()]);
            let (client, _) = server.client().await;
            let error = discover(&client).await.expect_err("a stranger");
            let expected = !matches!(error, ClusterError::NotServed { .. });
            assert!(expected, "{path}: {answer:?}: {error}");
        }
    }
}

#[tokio::test]
async fn clock_is_the_servers_and_no_other() {
    let server = Server::start().await;
    let dated = |status, date: &str, body: &[u8]| {
        Answer::Whole(status, vec![format!("Date: {date}")], body.to_vec())
    };
    let version = br#"{"gitVersion":"v1.37.0"}"#;
    let gateway = dated(502, "Sat, 21 Nov 2099 04:43:27 GMT", b"<html>");
    server.answer("/version", [gateway, dated(200, "", version)]);
    let (client, _) = server.client().await;
    assert_eq!(client.server_time(), None);
    document::<serde_json::Value>(&client, "/version".to_owned())
        .await
        .expect("an answer");
    assert_eq!(
        client.server_time(),
        None,
        "the gateway's clock is not the server's"
    );
    discover(&client).await.expect("discovery");
    let time = client.server_time().map(|time| time.to_string());
    assert_eq!(time.as_deref(), Some("2026-11-21T04:43:27Z"));
}
