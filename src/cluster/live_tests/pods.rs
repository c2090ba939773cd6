//! Only the pods that matter, however many there are.

use super::encode;
use super::server::{Answer, CLAIMS, PODS, Server};
use crate::cluster::{Detail, discover, read_for_preview};
use crate::model::{DeviceId, Reading};

async fn preview(server: &Server, selects: impl Fn(&DeviceId) -> bool) -> Reading {
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    read_for_preview(&client, &served, Detail::Names, selects)
        .await
        .expect("a reading")
}

fn names(reading: &Reading) -> Vec<String> {
    reading
        .snapshot
        .pods
        .iter()
        .map(|pod| pod.name.to_string())
        .collect()
}

fn on_node_1(id: &DeviceId) -> bool {
    id.pool.as_str() == "node-1"
}

fn list_of(kind: &str, items: &[Vec<u8>]) -> Answer {
    let api_version = if kind == "Pod" {
        "v1"
    } else {
        "resource.k8s.io/v1"
    };
    Answer::ok(encode::list(api_version, kind, items, ""))
}

/// Returns `count` claims on devices of node-1, each with a pod.
fn many(server: &Server, count: usize) -> Vec<Vec<u8>> {
    let claim = |n: usize| {
        encode::claim(
            &format!("claim-{n}"),
            "node-1",
            "gpu-0",
            &format!("pod-{n}"),
        )
    };
    let claims: Vec<_> = (0..count).map(claim).collect();
    server.answer(CLAIMS, [list_of("ResourceClaim", &claims)]);
    (0..count)
        .map(|n| encode::pod(&format!("pod-{n}"), "node-1", &format!("claim-{n}")))
        .collect()
}

#[tokio::test]
async fn few_pods_are_read_by_name() {
    let server = Server::start().await;
    let pod = encode::object("v1", "Pod", &encode::pod("pod-1", "node-1", "claim-1"));
    server.answer("/api/v1/namespaces/ml/pods/pod-1", [Answer::ok(pod)]);
    assert_eq!(names(&preview(&server, on_node_1).await), ["ml/pod-1"]);
    assert_eq!(server.count("/api/v1/"), 1);
}

#[tokio::test]
async fn pod_that_is_gone_is_not_there() {
    let server = Server::start().await;
    server.answer("/api/v1/namespaces/ml/pods", [list_of("Pod", &[])]);
    let reading = preview(&server, on_node_1).await;
    assert!(names(&reading).is_empty() && reading.gaps.is_empty());
}

#[tokio::test]
async fn pod_is_found_by_its_uid_under_whatever_name() {
    let server = Server::start().await;
    let pods = [
        encode::pod("other", "node-1", "claim-1"),
        encode::renamed("renamed", "pod-1", "node-1", "claim-1"),
    ];
    server.answer("/api/v1/namespaces/ml/pods", [list_of("Pod", &pods)]);
    assert_eq!(names(&preview(&server, on_node_1).await), ["ml/renamed"]);
    // Another pod has the name by now.
    let later = encode::renamed("pod-1", "a-later-one", "node-1", "claim-1");
    let later = encode::object("v1", "Pod", &later);
    server.answer("/api/v1/namespaces/ml/pods/pod-1", [Answer::ok(later)]);
    let found = names(&preview(&server, on_node_1).await);
    assert_eq!(found, ["ml/pod-1", "ml/renamed"]);
}

#[tokio::test]
async fn user_who_may_not_look_for_a_uid_is_told_that_somebody_may_be_missing() {
    let server = Server::start().await;
    server.answer("/api/v1/namespaces/ml/pods", [Answer::forbidden("eve")]);
    let reading = preview(&server, on_node_1).await;
    let missing: Vec<_> = reading.gaps.iter().map(|gap| gap.what.as_str()).collect();
    assert_eq!(missing, ["pods"]);
}

#[tokio::test]
async fn nothing_selected_means_no_pods() {
    let server = Server::start().await;
    preview(&server, |_| false).await;
    assert_eq!(server.count("/api/v1/"), 0);
}

#[tokio::test]
async fn pods_of_a_node_are_listed_when_they_are_many() {
    let server = Server::start().await;
    let mut pods = many(&server, 60);
    // One runs elsewhere; another of the node uses no selected device.
    pods.pop();
    pods.push(encode::pod("other", "node-1", "claim-of-another-node"));
    let path = format!("{PODS}?fieldSelector=spec.nodeName%3Dnode-1");
    server.answer(&path, [list_of("Pod", &pods)]);
    let elsewhere = encode::object("v1", "Pod", &encode::pod("pod-59", "", "claim-59"));
    server.answer("/api/v1/namespaces/ml/pods/pod-59", [Answer::ok(elsewhere)]);
    let reading = preview(&server, on_node_1).await;
    assert_eq!(reading.snapshot.pods.len(), 60);
    assert!(!names(&reading).contains(&"ml/other".to_owned()));
    assert_eq!(server.count("/api/v1/"), 2, "{:?}", server.requests());
}

#[tokio::test]
async fn all_pods_are_listed_when_their_nodes_do_not_say_where_they_are() {
    let server = Server::start().await;
    let pods = many(&server, 60);
    server.answer(
        &format!("{PODS}?fieldSelector=spec.nodeName%3Dnode-1"),
        [list_of("Pod", &[])],
    );
    server.answer(PODS, [list_of("Pod", &pods)]);
    let reading = preview(&server, on_node_1).await;
    assert_eq!(reading.snapshot.pods.len(), 60);
    assert_eq!(
        reading.resource_versions.get("pods").map(String::as_str),
        Some("1000")
    );
}

#[tokio::test]
async fn user_who_may_only_list_pods_gets_the_same_answer() {
    let server = Server::start().await;
    server.answer(
        "/api/v1/namespaces/ml/pods/pod-1",
        [Answer::forbidden("eve")],
    );
    let pods = [
        encode::pod("pod-1", "node-1", "claim-1"),
        encode::pod("pod-2", "node-2", "claim-2"),
    ];
    server.answer(PODS, [list_of("Pod", &pods)]);
    let reading = preview(&server, on_node_1).await;
    assert_eq!(names(&reading), ["ml/pod-1"]);
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
}

#[tokio::test]
async fn user_who_may_only_read_pods_by_name_gets_the_same_answer() {
    let server = Server::start().await;
    let pods = many(&server, 60);
    for (n, pod) in pods.iter().enumerate() {
        let path = format!("/api/v1/namespaces/ml/pods/pod-{n}");
        server.answer(&path, [Answer::ok(encode::object("v1", "Pod", pod))]);
    }
    server.answer(PODS, [Answer::forbidden("eve")]);
    let reading = preview(&server, on_node_1).await;
    assert_eq!(reading.snapshot.pods.len(), 60);
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
}

#[tokio::test]
async fn pods_of_a_group_are_found_in_its_namespace() {
    let server = Server::start().await;
    let claim = encode::claim("claim-1", "node-1", "gpu-0", "group/gang");
    server.answer(CLAIMS, [list_of("ResourceClaim", &[claim])]);
    let pods = [
        encode::pod("pod-1", "node-1", "claim-1"),
        encode::member("pod-2", "claim-1", "gang"),
    ];
    server.answer("/api/v1/namespaces/ml/pods", [list_of("Pod", &pods)]);
    assert_eq!(names(&preview(&server, on_node_1).await), ["ml/pod-2"]);
}
