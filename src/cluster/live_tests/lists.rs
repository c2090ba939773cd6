//! Lists of any kind: each object once, and an end.

use std::collections::BTreeSet;

use super::encode;
use super::server::{Answer, CLAIMS, RULES, Server};
use crate::cluster::{
    ClusterError, Detail, discover, eviction_events, node_health, read_devices, read_optional,
};
use crate::model::{Kind, Node, NodeHealth, NodeName, PodDisruptionBudget};

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
async fn rules_are_read_in_pages_that_end() {
    let server = Server::start().await;
    let page = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{"continue":"1"},"items":[]}"#;
    server.answer(RULES, [Answer::json(page)]);
    let error = server.devices().await.0.expect_err("a circle");
    assert!(error.to_string().contains("does not end"), "{error}");
    assert_eq!(server.count(RULES), 2);
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

const EVENTS: &str = "/api/v1/events?fieldSelector=involvedObject.kind%3DPod%2Creason%3DDeviceTaintManagerEviction&limit=1000";

fn events(names: &[&str], last: &str, next: &str) -> Answer {
    let items: Vec<String> = names
        .iter()
        .map(|name| {
            format!(
                r#"{{"metadata":{{"name":"{name}","namespace":"ml"}},"involvedObject":{{"kind":"Pod","namespace":"ml","name":"pod-1","uid":"u"}},"type":"Normal","reason":"DeviceTaintManagerEviction","message":"Marking for deletion","lastTimestamp":"{last}"}}"#
            )
        })
        .collect();
    let items = items.join(",");
    Answer::json(&format!(
        r#"{{"apiVersion":"v1","kind":"EventList","metadata":{{"continue":"{next}"}},"items":[{items}]}}"#
    ))
}

#[tokio::test]
async fn events_are_read_in_pages_and_survive_any_time() {
    let server = Server::start().await;
    server.answer(EVENTS, [events(&["b"], "2026-11-21T04:00:00Z", "1")]);
    server.answer(
        &format!("{EVENTS}&continue=1"),
        [events(&["a", "b"], "9999-12-31T23:59:59Z", "")],
    );
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    let events = eviction_events(&client, &served).await.expect("events");
    // Warnings about them are not lost on the way.
    let odd: Vec<&str> = events.warnings.iter().map(|odd| odd.code).collect();
    assert_eq!(odd, ["time-out-of-range", "duplicate-object"]);
    let shown: Vec<_> = events
        .facts
        .iter()
        .map(|event| {
            (
                event.name.to_string(),
                event.last.map(|time| time.to_string()),
            )
        })
        .collect();
    let end = Some("9999-12-30T22:00:00Z".to_owned());
    assert_eq!(
        shown,
        [("ml/a".to_owned(), end.clone()), ("ml/b".to_owned(), end)]
    );
}

#[tokio::test]
async fn nodes_and_budgets_are_read_only_for_who_uses_them() {
    let server = Server::start().await;
    let node = r#"{"metadata":{"name":"node-1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    let list = |kind: &str, items: &str| {
        Answer::json(&format!(
            r#"{{"apiVersion":"v1","kind":"{kind}List","metadata":{{"resourceVersion":"3"}},"items":[{items}]}}"#
        ))
    };
    server.answer("/api/v1/nodes", [list("Node", node)]);
    let budgets = "/apis/policy/v1/poddisruptionbudgets";
    server.answer(budgets, [Answer::forbidden("eve")]);
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    let reading = read_devices(&client, &served, Detail::Names).await;
    let reading = reading.expect("devices");
    assert!(reading.without(Kind::Node).is_some() && reading.gaps.is_empty());
    assert_eq!(server.count("/api/v1/nodes") + server.count(budgets), 0);

    let reading = read_optional::<Node>(&client, &served, reading).await;
    let reading = reading.expect("nodes");
    assert_eq!(reading.snapshot.nodes[0].health(), NodeHealth::Ready);
    assert_eq!(reading.resource_versions["nodes"], "3");
    assert!(reading.without(Kind::Node).is_none());

    let reading = read_optional::<PodDisruptionBudget>(&client, &served, reading).await;
    let reading = reading.expect("a reading");
    assert_eq!(reading.gaps.len(), 1);
    assert_eq!(reading.gaps[0].what, "poddisruptionbudgets");
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
