//! Objects that decide about disruption: what is read of them with few permissions.

use super::encode;
use super::server::{Answer, PODS, Server};
use crate::cluster::{
    Detail, ReadMore, discover, read_devices, read_devices_and, read_pods_and_disruption_inputs,
};
use crate::model::{Affects, Gap, Kind, Reading};

const NODES: &str = "/api/v1/nodes";
const CORDONED: &str = "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue&limit=1000";
const NODE: &str = "/api/v1/nodes/node-1";
const CLASSES: &str = "/apis/resource.k8s.io/v1/deviceclasses";
const BUDGETS: &str = "/apis/policy/v1/poddisruptionbudgets";

/// A list with a cordoned node of this name.
fn cordoned(name: &str) -> Answer {
    Answer::json(&format!(
        r#"{{"apiVersion":"v1","kind":"NodeList","metadata":{{}},"items":[{{"metadata":{{"name":"{name}","labels":{{"zone":"cordoned"}}}},"spec":{{"unschedulable":true}}}}]}}"#
    ))
}

/// A class, three nodes, the last of them cordoned, and a pod on the first of them.
async fn server() -> Server {
    let server = Server::start().await;
    let pod = encode::object("v1", "Pod", &encode::pod("pod-1", "node-1", "claim-1"));
    server.answer("/api/v1/namespaces/ml/pods/pod-1", [Answer::ok(pod)]);
    let metadata = |name: &str| {
        format!(r#"{{"metadata":{{"name":"{name}","labels":{{"zone":"of-{name}"}}}}}}"#)
    };
    let nodes = ["node-1", "node-2", "node-3"].map(metadata).join(",");
    server.answer(
        NODES,
        [Answer::json(&format!(
            r#"{{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","metadata":{{"resourceVersion":"9"}},"items":[{nodes}]}}"#
        ))],
    );
    server.answer(CORDONED, [cordoned("node-3")]);
    server.answer(
        NODE,
        [Answer::json(
            r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1","labels":{"zone":"whole"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#,
        )],
    );
    server.answer(
        BUDGETS,
        [Answer::json(
            r#"{"apiVersion":"policy/v1","kind":"PodDisruptionBudgetList","metadata":{},"items":[]}"#,
        )],
    );
    server.answer(
        CLASSES,
        [Answer::ok(encode::list(
            "resource.k8s.io/v1",
            "DeviceClass",
            &[],
            "",
        ))],
    );
    server
}

async fn read(server: &Server, known: &[Kind]) -> Reading {
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    let reading = read_devices(&client, &served, Detail::Terms).await;
    let mut reading = reading.expect("devices");
    reading.known.extend(known);
    let on_node_1 = |id: &crate::model::DeviceId| id.pool.as_str() == "node-1";
    read_pods_and_disruption_inputs(&client, &served, reading, None, on_node_1)
        .await
        .expect("the rest")
}

/// The nodes by name, each with the value of a label.
fn nodes(reading: &Reading) -> Vec<String> {
    let nodes = reading.snapshot.nodes.iter();
    nodes
        .map(|node| {
            let zone = node.labels.get("zone").map_or("", String::as_str);
            format!("{} {zone}", node.name)
        })
        .collect()
}

fn missing(reading: &Reading) -> Vec<(&str, Affects)> {
    let gaps = reading.gaps.iter();
    gaps.map(|gap| (gap.what.as_str(), gap.affects)).collect()
}

const REPLACEMENTS: (&str, Affects) = (Gap::REPLACEMENTS, Affects::Details);

fn pods(items: &[Vec<u8>]) -> Answer {
    Answer::ok(encode::list("v1", "Pod", items, ""))
}

/// Pods of claim-1 and claim-2 if all were listed before claims, and the requests for pods.
async fn with_early_pods(early: Answer) -> (Vec<String>, Vec<String>) {
    let server = server().await;
    server.answer(PODS, [early]);
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    let more = ReadMore::EarlyInputsAndPods;
    let read = read_devices_and(&client, &served, Detail::Terms, more).await;
    let (reading, inputs) = read.expect("devices");
    let on_node_1 = |id: &crate::model::DeviceId| id.pool.as_str() == "node-1";
    let read = read_pods_and_disruption_inputs(&client, &served, reading, inputs, on_node_1).await;
    let pods = read.expect("the rest").snapshot.pods;
    let names = pods.iter().map(|pod| {
        let node = pod.node.as_ref().map_or("-", |node| node.as_str());
        format!("{} {node}", pod.name)
    });
    let requests = server.requests().into_iter();
    (
        names.collect(),
        requests.filter(|path| path.contains("/pods")).collect(),
    )
}

#[tokio::test]
async fn pods_that_were_listed_before_their_claims_are_not_read_again() {
    let early = [
        encode::pod("pod-1", "node-1", "claim-1"),
        encode::pod("pod-2", "node-2", "claim-2"),
    ];
    let (found, requests) = with_early_pods(pods(&early)).await;
    assert_eq!(found, ["ml/pod-1 node-1"]);
    assert_eq!(requests.len(), 1, "{requests:?}");
}

#[tokio::test]
async fn pods_that_were_not_listed_or_had_no_node_before_their_claims_are_read_by_name() {
    for early in [
        pods(&[]),
        pods(&[encode::pod("pod-1", "", "claim-1")]),
        Answer::forbidden("eve"),
    ] {
        let (found, requests) = with_early_pods(early).await;
        assert_eq!(found, ["ml/pod-1 node-1"]);
        assert_eq!(requests.len(), 2, "{requests:?}");
        assert!(
            requests[1].contains("/namespaces/ml/pods/pod-1"),
            "{requests:?}"
        );
    }
}

#[tokio::test]
async fn classes_are_one_list_nodes_two_and_nodes_of_pods_and_cordoned_ones_are_whole() {
    let server = server().await;
    let reading = read(&server, &[]).await;
    assert_eq!(missing(&reading), []);
    assert_eq!(
        nodes(&reading),
        ["node-1 whole", "node-2 of-node-2", "node-3 cordoned"]
    );
    let is_cordoned = reading.snapshot.nodes.iter().map(|node| node.unschedulable);
    assert_eq!(is_cordoned.collect::<Vec<_>>(), [false, false, true]);
    let ready: Vec<bool> = reading
        .snapshot
        .nodes
        .iter()
        .map(|node| node.ready().is_some())
        .collect();
    assert_eq!(ready, [true, false, false]);
    assert!(reading.known.contains(&Kind::Node));
    assert!(reading.known.contains(&Kind::DeviceClass));
    assert_eq!(server.count(CLASSES), 1);
    assert_eq!(server.count(NODES), 3, "{:?}", server.requests());
    let heads = server.heads();
    let lists = heads
        .iter()
        .filter(|head| head.contains("partialobjectmetadatalist"));
    assert_eq!(lists.count(), 1);
}

#[tokio::test]
async fn a_node_that_is_cordoned_and_new_is_added() {
    let server = server().await;
    server.answer(CORDONED, [cordoned("node-4")]);
    let reading = read(&server, &[]).await;
    let all = [
        "node-1 whole",
        "node-2 of-node-2",
        "node-3 of-node-3",
        "node-4 cordoned",
    ];
    assert_eq!(nodes(&reading), all);
}

#[tokio::test]
async fn who_may_not_list_nodes_still_sees_those_of_the_pods() {
    for list in [NODES, CORDONED] {
        let server = server().await;
        server.answer(list, [Answer::forbidden("eve")]);
        let reading = read(&server, &[]).await;
        assert_eq!(missing(&reading), [REPLACEMENTS]);
        assert_eq!(nodes(&reading), ["node-1 whole"]);
        assert!(reading.known.contains(&Kind::Node));
    }
}

#[tokio::test]
async fn who_may_only_list_nodes_is_not_told_that_they_are_silent() {
    let server = server().await;
    server.answer(NODE, [Answer::forbidden("eve")]);
    let reading = read(&server, &[]).await;
    assert_eq!(missing(&reading), [("nodes", Affects::Details)]);
    assert_eq!(nodes(&reading), [""; 0]);
    assert!(!reading.known.contains(&Kind::Node));
}
