//! Discovery, and permissions of users.

use super::server::{Answer, CLAIMS, RULES, SLICES, Server, TEMPLATES, resources};
use crate::cluster::{ClusterError, discover};
use crate::model::Kind;

fn group(server: &Server, versions: &[&str]) {
    let versions: Vec<String> = versions
        .iter()
        .map(|version| format!(r#"{{"groupVersion":"resource.k8s.io/{version}"}}"#))
        .collect();
    let body = format!(
        r#"{{"kind":"APIGroup","versions":[{}]}}"#,
        versions.join(",")
    );
    server.answer("/apis/resource.k8s.io", [Answer::json(&body)]);
}

#[tokio::test]
async fn each_kind_is_read_at_its_own_newest_version() {
    let server = Server::start().await;
    group(&server, &["v1", "v1beta2", "v1alpha3", "v9"]);
    server.answer(
        "/apis/resource.k8s.io/v1",
        [resources(&["resourceslices", "resourceclaims"])],
    );
    server.answer(
        "/apis/resource.k8s.io/v1beta2",
        [resources(&["resourceslices", "deviceclasses"])],
    );
    server.answer(
        "/apis/resource.k8s.io/v1alpha3",
        [resources(&["devicetaintrules", "devicetaintrules/status"])],
    );
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    let version = |kind| served.version_of(kind).map(|version| version.api_version);
    assert_eq!(version(Kind::ResourceSlice), Some("resource.k8s.io/v1"));
    assert_eq!(
        version(Kind::DeviceTaintRule),
        Some("resource.k8s.io/v1alpha3")
    );
    assert_eq!(version(Kind::DeviceClass), Some("resource.k8s.io/v1beta2"));
    assert_eq!(version(Kind::Pod), Some("v1"));
    assert_eq!(
        served.version.map(|v| v.to_string()).as_deref(),
        Some("1.37.0")
    );
}

#[tokio::test]
async fn server_without_devices_is_an_error_that_says_how_to_get_them() {
    let server = Server::start().await;
    for path in ["/apis/resource.k8s.io", "/apis/resource.k8s.io/v1"] {
        server.answer(path, [Answer::unknown_path()]);
    }
    server.answer("/version", [Answer::json(r#"{"gitVersion":"v1.33.1"}"#)]);
    let (client, _) = server.client().await;
    let error = discover(&client).await.expect_err("no DRA");
    assert!(matches!(error, ClusterError::NotServed { .. }), "{error}");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.contains("1.33 is not supported"), "{hint}");
}

#[tokio::test]
async fn user_who_may_not_discover_gets_the_versions_that_answer() {
    let server = Server::start().await;
    server.answer("/apis/resource.k8s.io", [Answer::forbidden("eve")]);
    server.answer("/version", [Answer::forbidden("eve")]);
    for (path, kind) in [
        (SLICES, "ResourceSlice"),
        (CLAIMS, "ResourceClaim"),
        (TEMPLATES, "ResourceClaimTemplate"),
    ] {
        let list =
            format!(r#"{{"kind":"{kind}List","apiVersion":"resource.k8s.io/v1","items":[]}}"#);
        server.answer(&format!("{path}?limit=1"), [Answer::json(&list)]);
    }
    server.answer(RULES, [Answer::unknown_path()]);
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    assert!(served.version_of(Kind::ResourceSlice).is_some());
    assert!(served.version_of(Kind::DeviceTaintRule).is_none());
    assert_eq!(served.version, None);
}
