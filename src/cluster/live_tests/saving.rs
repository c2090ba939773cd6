//! Everything that a preview may need, to be saved.

use super::server::{Answer, CLAIMS, PODS, RULES, SLICES, Server, TEMPLATES};
use crate::cluster::{ClusterError, discover, read_everything};
use crate::model::Kind;

const NODES: &str = "/api/v1/nodes";
const BUDGETS: &str = "/apis/policy/v1/poddisruptionbudgets";
const CLASSES: &str = "/apis/resource.k8s.io/v1/deviceclasses";

fn list(kind: &str, items: &str, next: &str) -> Answer {
    Answer::json(&format!(
        r#"{{"apiVersion":"x/v1","kind":"{kind}List","metadata":{{"resourceVersion":"9","continue":"{next}"}},"items":[{items}]}}"#
    ))
}

async fn full_server() -> Server {
    let server = Server::start().await;
    let slice =
        r#"{"metadata":{"name":"s","managedFields":[{"manager":"x"}]},"spec":{"driver":"d"}}"#;
    server.answer(SLICES, [list("ResourceSlice", slice, "")]);
    server.answer(
        CLAIMS,
        [list("ResourceClaim", r#"{"metadata":{"name":"c"}}"#, "")],
    );
    server.answer(RULES, [list("DeviceTaintRule", "", "")]);
    server.answer(TEMPLATES, [list("ResourceClaimTemplate", "", "")]);
    let node = r#"{"metadata":{"name":"n"},"status":{"conditions":[],"images":[{"sizeBytes":1}]}}"#;
    server.answer(NODES, [list("Node", node, "")]);
    server.answer(BUDGETS, [list("PodDisruptionBudget", "", "")]);
    server.answer(
        CLASSES,
        [list(
            "DeviceClass",
            r#"{"metadata":{"name":"k"},"spec":{}}"#,
            "",
        )],
    );
    let user = r#"{"metadata":{"name":"p"},"spec":{"resourceClaims":[{"name":"gpu"}]}}"#;
    let other = r#"{"metadata":{"name":"q"},"spec":{}}"#;
    server.answer(PODS, [list("Pod", &format!("{user},{other}"), "more")]);
    let extended =
        r#"{"metadata":{"name":"r"},"spec":{},"status":{"extendedResourceClaimStatus":{}}}"#;
    server.answer(
        &format!("{PODS}?limit=1000&continue=more"),
        [list("Pod", extended, "")],
    );
    server
}

#[tokio::test]
async fn objects_stand_alone_and_idle_pods_are_left_out() {
    let server = full_server().await;
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    let saved = read_everything(&client, &served).await.expect("everything");
    let texts = |kind| -> Vec<String> {
        let list = saved
            .lists
            .iter()
            .find(|list| list.kind == kind)
            .expect("a list");
        list.items
            .iter()
            .map(|item| item.get().to_owned())
            .collect()
    };
    assert_eq!(
        texts(Kind::ResourceSlice),
        [
            r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"d"}}"#
        ]
    );
    let pods = texts(Kind::Pod);
    assert_eq!(pods.len(), 2, "{pods:?}");
    assert!(pods[0].contains(r#""apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}"#));
    assert_eq!(
        texts(Kind::Node),
        [r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"conditions":[]}}"#]
    );
    assert!(saved.gaps.is_empty());
    assert!(saved.lists.iter().all(|list| list.resource_version == "9"));
}

#[tokio::test]
async fn what_may_not_be_read_is_a_gap_and_what_breaks_off_an_error() {
    let server = full_server().await;
    server.answer(PODS, [Answer::forbidden("eve")]);
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    let saved = read_everything(&client, &served).await.expect("the rest");
    assert_eq!(saved.gaps.len(), 1);
    server.answer(
        CLAIMS,
        [Answer::json(
            r#"{"kind":"ResourceClaimList","metadata":{},"items":["#,
        )],
    );
    let error = read_everything(&client, &served)
        .await
        .expect_err("a broken list");
    assert!(matches!(error, ClusterError::Incomplete { .. }), "{error}");
}

#[tokio::test]
async fn without_slices_and_claims_there_is_nothing_to_save() {
    let server = full_server().await;
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    server.answer(CLAIMS, [Answer::forbidden("eve")]);
    let saved = read_everything(&client, &served).await.expect("the rest");
    assert_eq!(saved.gaps.len(), 1);
    server.answer(SLICES, [Answer::forbidden("eve")]);
    let error = read_everything(&client, &served)
        .await
        .expect_err("neither");
    assert!(error.to_string().contains("resourceclaims"), "{error}");
}
