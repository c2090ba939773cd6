//! Facts that are kept current, against a server that misbehaves on demand.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::encode;
use super::server::{Answer, CLAIMS, Notices, PODS, RULES, Server, client};
use crate::cluster::{Detail, Watched, discover, read_devices};
use crate::model::{DeviceId, Kind};

/// Everything of the server but its pods, with the rules and claims watched.
async fn watched(server: &Server, request_timeout: u64) -> (Watched, Arc<Notices>) {
    watched_for(server, Duration::from_secs(request_timeout)).await
}

async fn watched_for(server: &Server, request_timeout: Duration) -> (Watched, Arc<Notices>) {
    let mut options = server.options();
    options.request_timeout = Some(request_timeout);
    let (client, notices) = client(&options).await;
    let served = discover(&client).await.expect("discovery");
    let reading = read_devices(&client, &served, Detail::Names).await;
    let reading = reading.expect("a reading");
    let watched = Watched::keep(&client, &served, reading);
    (watched.watching(&[Kind::DeviceTaintRule]), notices)
}

fn watch_of(path: &str, state: &str) -> String {
    format!("{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds=30&resourceVersion={state}")
}

fn rule(name: &str, version: u32) -> String {
    format!(
        r#"{{"kind":"DeviceTaintRule","apiVersion":"resource.k8s.io/v1","metadata":{{"name":"{name}","resourceVersion":"{version}"}},"spec":{{"taint":{{"key":"a","effect":"None"}}}}}}"#
    )
}

fn line(kind: &str, name: &str, version: u32) -> Vec<u8> {
    let object = rule(name, version);
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into_bytes()
}

fn rules(names: &[&str], version: u32) -> Answer {
    let items: Vec<String> = names.iter().map(|name| rule(name, version)).collect();
    Answer::json(&format!(
        r#"{{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#,
        items.join(",")
    ))
}

fn names(watched: &Watched) -> Vec<String> {
    let rules = watched.reading().snapshot.rules.iter();
    let mut names: Vec<String> = rules.map(|rule| rule.name.to_string()).collect();
    names.sort();
    names
}

fn pods(watched: &Watched) -> Vec<String> {
    let pods = watched.reading().snapshot.pods.iter();
    let mut names: Vec<String> = pods.map(|pod| pod.name.to_string()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_watch_resumes_where_it_broke_off() {
    let server = Server::start().await;
    let first = [line("ADDED", "a", 8), line("ADDED", "b", 9)].concat();
    // An event that was cut off is sent again.
    let cut = [first, line("DELETED", "a", 10)[..30].to_vec()].concat();
    server.answer(&watch_of(RULES, "7"), [Answer::ok(cut)]);
    let second = [line("DELETED", "a", 10), line("ADDED", "c", 11)].concat();
    server.answer(&watch_of(RULES, "9"), [Answer::Holds(second)]);
    let (mut watched, _) = watched(&server, 5).await;
    watched.changed().await.expect("changes");
    assert_eq!(names(&watched), ["a", "b"]);
    watched.changed().await.expect("changes");
    assert_eq!(names(&watched), ["b", "c"]);
    assert_eq!(server.count(RULES), 3, "{:?}", server.requests());
}

#[tokio::test]
async fn a_watch_that_is_given_up_for_something_else_loses_nothing() {
    let server = Server::start().await;
    let told = line("ADDED", "a", 8);
    server.answer(&watch_of(RULES, "7"), [Answer::Holds(told)]);
    let (mut watched, _) = watched(&server, 5).await;
    let mut looks = 0;
    while names(&watched).is_empty() {
        let short = Duration::from_micros(200);
        let _ = tokio::time::timeout(short, watched.changed()).await;
        looks += 1;
        assert!(looks < 20_000, "nothing came");
    }
    assert_eq!(server.count(&format!("{RULES}?watch")), 1);
}

#[tokio::test]
async fn a_state_that_is_no_longer_known_is_read_anew() {
    let server = Server::start().await;
    let expired = Answer::refused(
        410,
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}"#,
    );
    server.answer(&watch_of(RULES, "7"), [expired]);
    let in_the_middle = b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410}}\n";
    server.answer(&watch_of(RULES, "20"), [Answer::ok(*in_the_middle)]);
    let held = Answer::Holds(line("DELETED", "b", 31));
    server.answer(&watch_of(RULES, "30"), [held]);
    let (mut watched, _) = watched(&server, 5).await;
    server.answer(RULES, [rules(&["a", "b"], 20), rules(&["b", "c"], 30)]);
    watched.changed().await.expect("the first list");
    assert_eq!(names(&watched), ["a", "b"]);
    watched.changed().await.expect("the second list");
    assert_eq!(names(&watched), ["b", "c"]);
    watched.changed().await.expect("a change");
    assert_eq!(names(&watched), ["c"]);
}

#[tokio::test]
async fn whoever_may_not_watch_lists_again_and_is_told() {
    let server = Server::start().await;
    server.answer(&watch_of(RULES, "7"), [Answer::forbidden("alice")]);
    let (mut watched, notices) = watched(&server, 5).await;
    server.answer(RULES, [rules(&["a"], 8), rules(&["a", "b"], 9)]);
    watched.changed().await.expect("a list");
    assert_eq!(names(&watched), ["a"]);
    watched.changed().await.expect("another list");
    assert_eq!(names(&watched), ["a", "b"]);
    let told = notices.texts().concat();
    assert!(
        told.contains("cannot watch devicetaintrules") && told.contains("polling"),
        "{told}"
    );
    assert_eq!(server.count(&format!("{RULES}?watch")), 1);
}

#[tokio::test]
async fn a_watch_that_something_on_the_way_holds_back_becomes_lists() {
    let server = Server::start().await;
    server.answer(&watch_of(RULES, "7"), [Answer::Silence]);
    let (mut watched, notices) = watched_for(&server, Duration::from_millis(300)).await;
    server.answer(RULES, [rules(&["a"], 8)]);
    watched.changed().await.expect("a list");
    assert_eq!(names(&watched), ["a"]);
    let told = notices.texts().join("\n");
    assert!(told.contains("polling with list"), "{told}");
    server.answer(RULES, [Answer::Silence]);
    assert!(watched.changed().await.is_err(), "the server is gone");
}

#[tokio::test]
async fn a_server_that_is_gone_for_longer_than_the_request_timeout_ends_the_watch() {
    let cases = [
        ("reset", Answer::Resets),
        ("ends at once", Answer::ok("")),
        ("asks to come back at once", Answer::busy(429, 0)),
        ("fails", Answer::refused(500, "no")),
    ];
    join_all(cases.map(|(name, answer)| async move {
        let server = Server::start().await;
        server.answer(&watch_of(RULES, "7"), [answer]);
        let (mut watched, _) = watched(&server, 1).await;
        assert!(watched.changed().await.is_err(), "{name}");
        let tries = server.count(&format!("{RULES}?watch"));
        assert!((2..=10).contains(&tries), "{name}: {tries}");
    }))
    .await;
}

#[tokio::test]
async fn what_is_no_watch_is_an_error_at_once() {
    let server = Server::start().await;
    let gone = Answer::refused(404, "<html>not here</html>");
    let other = line("RENAMED", "a", 8);
    for answer in [gone, Answer::Holds(other)] {
        server.answer(&watch_of(RULES, "7"), [answer]);
        let (mut watched, _) = watched(&server, 1).await;
        let result = watched.changed().await;
        assert!(result.is_err(), "{result:?}");
    }
}

fn on_node_1(id: &DeviceId) -> bool {
    id.pool.as_str() == "node-1"
}

const ON_NODE_1: &str = "&fieldSelector=spec.nodeName%3Dnode-1";

#[tokio::test]
async fn pods_of_few_nodes_are_watched_there() {
    let server = Server::start().await;
    let list = encode::list(
        "v1",
        "Pod",
        &[encode::pod("pod-1", "node-1", "claim-1")],
        "",
    );
    server.answer(
        &format!("{PODS}?fieldSelector=spec.nodeName%3Dnode-1"),
        [Answer::ok(list)],
    );
    let pod = |name| encode::object("v1", "Pod", &encode::pod(name, "node-1", "claim-1"));
    let told = [
        encode::event("ADDED", &pod("pod-3")),
        encode::event("DELETED", &pod("pod-1")),
    ];
    let path = watch_of(PODS, "1000") + ON_NODE_1;
    server.answer(&path, [Answer::Holds(told.concat())]);
    server.answer(&watch_of(RULES, "7"), [Answer::Holds(Vec::new())]);
    let (mut watched, _) = watched(&server, 5).await;
    watched.keep_pods(on_node_1).await.expect("pods");
    assert_eq!(pods(&watched), ["ml/pod-1"]);
    assert!(!watched.asks_by_name());
    watched.changed().await.expect("changes");
    assert_eq!(pods(&watched), ["ml/pod-3"]);
    assert!(!watched.misses_force_deletions());
    // It is gone, and its reservation is out of date: it is not requested again.
    watched.keep_pods(on_node_1).await.expect("pods");
    assert!(!watched.asks_by_name());
    assert_eq!(server.count("/api/v1/namespaces"), 0);
}

#[tokio::test]
async fn pods_that_no_watched_node_has_are_watched_everywhere_and_each_is_kept_once() {
    let server = Server::start().await;
    let other = || encode::pod("other", "node-1", "claim-1");
    let path = format!("{PODS}{}", ON_NODE_1.replace('&', "?"));
    server.answer(&path, [pod_list(&[other()])]);
    let moved = encode::pod("pod-1", "node-2", "claim-1");
    server.answer(PODS, [pod_list(&[other(), moved])]);
    let (mut watched, _) = watched(&server, 5).await;
    for _ in 0..2 {
        watched.keep_pods(on_node_1).await.expect("pods");
        assert_eq!(pods(&watched), ["ml/other", "ml/pod-1"]);
    }
    assert_eq!(server.count(PODS), 2, "{:?}", server.requests());
}

#[tokio::test]
async fn pods_that_may_not_be_listed_are_asked_for_by_name() {
    let server = Server::start().await;
    claim_for(&server, "pod-1");
    let path = "/api/v1/namespaces/ml/pods/pod-1";
    let pod = encode::object("v1", "Pod", &encode::pod("pod-1", "node-1", "claim-1"));
    server.answer(path, [Answer::ok(pod), Answer::absent("pods", "pod-1")]);
    server.answer(PODS, [Answer::forbidden("me")]);
    server.answer(PODS_OF_ML, [pod_list(&[])]);
    let (mut watched, notices) = watched(&server, 5).await;
    watched.keep_pods(|_| true).await.expect("pods");
    assert_eq!(pods(&watched), ["ml/pod-1"]);
    assert!(watched.asks_by_name() && watched.misses_force_deletions());
    let told = notices.texts().join("\n");
    assert!(told.contains("no permission to list pods"), "{told}");
    watched.keep_pods(|_| false).await.expect("pods");
    assert!(pods(&watched).is_empty() && !watched.asks_by_name());
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        watched.keep_pods(|_| true).await.expect("pods");
        assert_eq!(pods(&watched), [""; 0]);
    }
    assert!(!watched.asks_by_name());
    assert_eq!(
        server.count(path),
        2,
        "a pod that is gone does not come back"
    );
}

#[tokio::test]
async fn how_a_pod_ends_whose_driver_is_away_is_told_by_the_watch_of_all_pods() {
    let server = Server::start().await;
    claim_for(&server, "pod-1");
    let pod = || encode::pod("pod-1", "node-1", "claim-1");
    server.answer(PODS, [pod_list(&[pod()])]);
    let gone = encode::event("DELETED", &encode::object("v1", "Pod", &pod()));
    server.answer(&watch_of(PODS, "1000"), [Answer::Holds(gone)]);
    let (mut watched, _) = watched(&server, 5).await;
    watched.keep_pods(|_| true).await.expect("pods");
    assert_eq!(pods(&watched), ["ml/pod-1"]);
    assert!(!watched.asks_by_name());
    watched.changed().await.expect("changes");
    let departed = watched.take_departed();
    assert_eq!(departed.len(), 1, "{departed:?}");
}

/// One claim on a device that is nowhere, reserved for this consumer.
fn claim_for(server: &Server, consumer: &str) {
    let claim = encode::claim("claim-1", "nowhere", "gpu-0", consumer);
    let claims = encode::list("resource.k8s.io/v1", "ResourceClaim", &[claim], "");
    server.answer(CLAIMS, [Answer::ok(claims)]);
}

const PODS_OF_ML: &str = "/api/v1/namespaces/ml/pods";

fn pod_list(pods: &[Vec<u8>]) -> Answer {
    Answer::ok(encode::list("v1", "Pod", pods, ""))
}

#[tokio::test]
async fn pods_that_may_not_be_read_are_a_gap() {
    let server = Server::start().await;
    server.answer(PODS, [Answer::forbidden("alice")]);
    for pod in ["pod-1", "pod-2"] {
        let path = format!("/api/v1/namespaces/ml/pods/{pod}");
        server.answer(&path, [Answer::forbidden("alice")]);
    }
    let (mut watched, _) = watched(&server, 5).await;
    for _ in 0..2 {
        watched.keep_pods(|_| true).await.expect("pods");
        let gaps = &watched.reading().gaps;
        let gaps: Vec<&str> = gaps.iter().map(|gap| gap.what.as_str()).collect();
        assert_eq!(gaps, ["pods"]);
    }
}
