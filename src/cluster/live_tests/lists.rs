//! Lists of any kind: each object once, and an end.

use std::collections::BTreeSet;

use super::encode;
use super::server::{Answer, CLAIMS, RULES, Server};
use crate::cluster::{ClusterError, discover, node_health};
use crate::model::{NodeHealth, NodeName};

fn page(claims: &[&str], next: &str) -> Answer {
    let claims: Vec<_> = claims
        .iter()
        .map(|claim| encode::claim(claim, "node-1", "gpu-0", "pod-1"))
        .collect();
    Answer::ok(encode::list(
        "resource.k8s.io/v1",
        "ResourceClaim",
        &claims,
        next,
    ))
}

#[tokio::test]
async fn pages_that_lead_back_to_one_of_them_are_an_error() {
    let server = Server::start().await;
    server.answer(CLAIMS, [page(&["a"], "1")]);
    server.answer(&format!("{CLAIMS}?continue=1"), [page(&["b"], "2")]);
    server.answer(&format!("{CLAIMS}?continue=2"), [page(&["c"], "1")]);
    let error = server.devices().await.0.expect_err("a circle");
    assert!(matches!(error, ClusterError::Undecodable { .. }), "{error}");
    assert!(error.to_string().contains("does not end"), "{error}");
    assert_eq!(server.count(CLAIMS), 3);
}

#[tokio::test]
async fn pages_that_begin_as_an_earlier_one_are_an_error() {
    let server = Server::start().await;
    server.answer(CLAIMS, [page(&["a", "b"], "1")]);
    server.answer(&format!("{CLAIMS}?continue=1"), [page(&["c"], "2")]);
    server.answer(&format!("{CLAIMS}?continue=2"), [page(&["a", "b"], "3")]);
    let error = server.devices().await.0.expect_err("a circle");
    assert!(error.to_string().contains("does not end"), "{error}");
    assert_eq!(server.count(CLAIMS), 3);
}

#[tokio::test]
async fn pages_that_are_longer_than_is_held_are_asked_for_with_fewer_objects() {
    let server = Server::start().await;
    let page = |name: &str, next: &str| {
        Answer::json(&format!(
            r#"{{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{{"continue":"{next}"}},"items":[{{"metadata":{{"name":"{name}"}},"spec":{{"taint":{{"key":"a","effect":"None"}}}}}}]}}"#
        ))
    };
    let at = |query: &str| format!("{RULES}?{query}");
    server.answer(&at("limit=1000"), [Answer::Pours]);
    server.answer(&at("limit=100"), [page("a", "1")]);
    server.answer(&at("limit=100&continue=1"), [Answer::Pours]);
    server.answer(&at("limit=10&continue=1"), [page("b", "")]);
    let reading = server.devices().await.0.expect("a reading");
    let rules = reading.snapshot.rules.iter();
    let names: Vec<String> = rules.map(|rule| rule.name.to_string()).collect();
    assert_eq!(names, ["a", "b"]);
    // One object that is longer is none.
    server.answer(RULES, [Answer::Pours]);
    for query in ["limit=1000", "limit=100", "limit=100&continue=1"] {
        server.answer(&at(query), [Answer::Pours]);
    }
    let error = server.devices().await.0.expect_err("endless");
    assert!(
        error.to_string().ends_with("it is longer than 32 MiB"),
        "{error}"
    );
    assert_eq!(server.count(&at("limit=1")), 4 + 4);
}

#[tokio::test]
async fn claims_doubled_over_two_pages_count_once() {
    let server = Server::start().await;
    server.answer(CLAIMS, [page(&["a", "b"], "1")]);
    server.answer(&format!("{CLAIMS}?continue=1"), [page(&["b", "c"], "")]);
    let reading = server.devices().await.0.expect("a reading");
    let names: Vec<_> = reading
        .snapshot
        .claims
        .iter()
        .map(|claim| claim.name.to_string())
        .collect();
    assert_eq!(names, ["ml/a", "ml/b", "ml/c"]);
    let warnings: Vec<_> = reading
        .warnings
        .iter()
        .map(|w| w.message.as_str())
        .collect();
    assert_eq!(
        warnings,
        ["the server returned ResourceClaim ml/b twice; the last one is used"]
    );
}

fn node_list(names: &[&str]) -> Answer {
    let nodes: Vec<String> = names
        .iter()
        .map(|name| {
            format!(
                r#"{{"metadata":{{"name":"{name}"}},"status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}}"#
            )
        })
        .collect();
    let nodes = nodes.join(",");
    Answer::json(&format!(
        r#"{{"apiVersion":"v1","kind":"NodeList","metadata":{{}},"items":[{nodes}]}}"#
    ))
}

#[tokio::test]
async fn few_nodes_are_asked_for_one_by_one_and_many_with_one_list() {
    let server = Server::start().await;
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    let names = |count: usize| -> BTreeSet<NodeName> {
        let names = (0..count).map(|n| NodeName::from(format!("node-{n}").as_str()));
        names.collect()
    };
    let ready = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-0"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    server.answer("/api/v1/nodes/node-0", [Answer::json(ready)]);
    let silent = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1"}}"#;
    server.answer("/api/v1/nodes/node-1", [Answer::json(silent)]);
    let health = node_health(&client, &served, &names(3)).await;
    let health: Vec<_> = health.expect("nodes").facts.into_values().collect();
    let expected = [NodeHealth::Ready, NodeHealth::NotReady, NodeHealth::Gone];
    assert_eq!(health, expected);
    assert_eq!(server.count("/api/v1/nodes"), 3);

    server.answer("/api/v1/nodes", [node_list(&["node-7", "other", "other"])]);
    let health = node_health(&client, &served, &names(30)).await;
    let told = health.expect("nodes");
    assert_eq!(told.warnings[0].code, "duplicate-object");
    let health = told.facts;
    assert_eq!(health.len(), 30);
    assert_eq!(health[&NodeName::from("node-7")], NodeHealth::Ready);
    assert_eq!(health[&NodeName::from("node-8")], NodeHealth::Gone);
    assert_eq!(server.count("/api/v1/nodes"), 4);
}
