//! Discovery, and permissions of users.

use super::server::{Answer, CLAIMS, RULES, SLICES, Server, TEMPLATES, resources};
use crate::cluster::{ClusterError, Detail, discover, read_devices, with_admission};
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
async fn policies_that_change_objects_are_used_at_the_newest_version_that_is_served() {
    const GROUP: &str = "admissionregistration.k8s.io";
    for (versions, expected) in [
        (&["v1", "v1beta1"][..], Some("v1")),
        (&["v1beta1", "v1alpha1"], Some("v1beta1")),
        (&["v1alpha1"], Some("v1alpha1")),
        (&[], None),
    ] {
        let server = Server::start().await;
        let (client, _) = server.client().await;
        let served = discover(&client).await.expect("discovery");
        let path = format!("/apis/{GROUP}");
        assert_eq!(server.count(&path), 0, "most commands never ask for it");
        let listed = versions
            .iter()
            .map(|version| format!(r#"{{"groupVersion":"{GROUP}/{version}"}}"#));
        // Policies that refuse objects are in v1 in any case.
        let listed: Vec<String> = std::iter::once(format!(r#"{{"groupVersion":"{GROUP}/v1"}}"#))
            .chain(listed)
            .collect();
        let body = format!(r#"{{"kind":"APIGroup","versions":[{}]}}"#, listed.join(","));
        server.answer(&path, [Answer::json(&body)]);
        for version in ["v1", "v1beta1", "v1alpha1"] {
            let has = versions.contains(&version);
            let mutating = [
                "mutatingadmissionpolicies",
                "mutatingadmissionpolicybindings",
            ];
            let listed = if has {
                &mutating[..]
            } else {
                &["validatingadmissionpolicies"]
            };
            server.answer(&format!("{path}/{version}"), [resources(listed)]);
        }
        let served = with_admission(&client, served).await.expect("discovery");
        let found = served.version_of(Kind::MutatingAdmissionPolicy);
        let expected = expected.map(|version| format!("{GROUP}/{version}"));
        assert_eq!(
            found.map(|found| found.api_version.to_owned()),
            expected,
            "{versions:?}"
        );
        let validating = served.version_of(Kind::ValidatingAdmissionPolicy);
        assert!(validating.is_some_and(|found| found.api_version.ends_with("/v1")));
    }
}

#[tokio::test]
async fn rules_that_are_not_served_are_a_finding() {
    let server = Server::start().await;
    server.answer(
        "/version",
        [Answer::json(r#"{"gitVersion":"v1.36.2-gke.100"}"#)],
    );
    server.answer(
        "/apis/resource.k8s.io/v1",
        [resources(&[
            "resourceslices",
            "resourceclaims",
            "deviceclasses",
        ])],
    );
    let reading = server.devices().await.0.expect("devices");
    assert_eq!(reading.warnings[0].code, "rules-not-served");
    let fix = reading.warnings[0].fix.as_deref().unwrap_or_default();
    assert!(
        fix.contains("DRADeviceTaintRules") && fix.contains("v1beta2"),
        "{fix}"
    );
    assert!(reading.gaps.is_empty());
    assert_eq!(server.count(RULES), 0);
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

#[tokio::test]
async fn what_a_user_may_not_read_is_a_gap() {
    for (path, what) in [
        (SLICES, "resourceslices"),
        (CLAIMS, "resourceclaims"),
        (RULES, "devicetaintrules"),
    ] {
        let server = Server::start().await;
        server.answer(path, [Answer::forbidden("eve")]);
        let (client, _) = server.client().await;
        let served = discover(&client).await.expect("discovery");
        let reading = read_devices(&client, &served, Detail::Names)
            .await
            .expect("the rest");
        assert_eq!(reading.gaps.len(), 1);
        assert_eq!(reading.gaps[0].what, what);
        let why = &reading.gaps[0].why;
        let start = format!("cannot list {what}.resource.k8s.io: access denied for eve: ");
        assert!(why.starts_with(&start), "{why}");
    }
}

#[tokio::test]
async fn nothing_can_be_said_without_slices_and_claims() {
    let server = Server::start().await;
    server.answer(SLICES, [Answer::forbidden("eve")]);
    server.answer(CLAIMS, [Answer::forbidden("eve")]);
    let error = server.devices().await.0.expect_err("nothing");
    assert!(error.denied().is_some(), "{error}");
}
