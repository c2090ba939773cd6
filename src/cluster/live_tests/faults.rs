//! A list is whole, or an error: whatever happens on the way.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;

use super::encode;
use super::server::{Answer, CLAIMS, RULES, SLICES, Server, claims, client, slices};
use crate::cluster::{ClusterError, Detail, discover, read_devices};
use crate::model::Reading;

/// Slices, claims and rules that were read.
fn sizes(reading: &Reading) -> (usize, usize, usize) {
    let snapshot = &reading.snapshot;
    (
        snapshot.slices.len(),
        snapshot.claims.len(),
        snapshot.rules.len(),
    )
}

/// Error of reading devices within this timeout.
async fn failure_within(server: &Server, request_timeout: Duration) -> ClusterError {
    let mut options = server.options();
    options.request_timeout = Some(request_timeout);
    let (client, _) = client(&options).await;
    let served = discover(&client).await.expect("discovery");
    let reading = read_devices(&client, &served, Detail::Names).await;
    reading.expect_err("a failure")
}

#[tokio::test]
async fn healthy_server_is_asked_for_each_thing_once() {
    let server = Server::start().await;
    let (reading, notices) = server.devices().await;
    let reading = reading.expect("a reading");
    assert_eq!(sizes(&reading), (2, 2, 0));
    assert_eq!(
        reading.observed_at,
        Some("2026-11-21T04:43:27Z".parse().expect("a time"))
    );
    assert_eq!(
        reading
            .resource_versions
            .get("resourceclaims")
            .map(String::as_str),
        Some("1000")
    );
    assert!(reading.gaps.is_empty() && notices.is_empty());
    assert_eq!(server.requests().len(), 6, "{:?}", server.requests());
}

/// Reads devices once for every place at which the list of claims may be cut; `answers` says what
/// the server does there.
async fn at_every_cut(
    answers: impl Fn(Vec<u8>, usize) -> Vec<Answer>,
    check: impl Fn(usize, &Server, Result<Reading, ClusterError>),
) {
    const LANES: usize = 16;
    let (answers, check) = (&answers, &check);
    join_all((0..LANES).map(|lane| async move {
        let server = Server::start().await;
        let (client, _) = server.client().await;
        let served = discover(&client).await.expect("discovery");
        for length in (lane..claims().len()).step_by(LANES) {
            server.answer(CLAIMS, answers(claims(), length));
            check(
                length,
                &server,
                read_devices(&client, &served, Detail::Names).await,
            );
        }
    }))
    .await;
}

#[tokio::test]
async fn list_that_ends_early_is_asked_for_again() {
    let answers =
        |body: Vec<u8>, length| vec![Answer::Ends(body.clone(), length), Answer::ok(body)];
    at_every_cut(answers, |length, _, reading| {
        assert_eq!(
            sizes(&reading.expect("a reading")),
            (2, 2, 0),
            "cut at {length}"
        );
    })
    .await;
}

#[tokio::test]
async fn list_that_always_breaks_off_is_an_error() {
    let answers = |body, length| vec![Answer::Breaks(200, body, length)];
    at_every_cut(answers, |length, server, reading| {
        let error = reading.expect_err("no list");
        let expected = matches!(error, ClusterError::Incomplete { .. });
        assert!(expected, "cut at {length}: {error}");
        assert_eq!(server.count(CLAIMS) % 3, 0, "{:?}", server.requests());
    })
    .await;
}

#[tokio::test]
async fn broken_rules_are_an_error_too() {
    let list = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{},"items":[]}"#;
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":500}"#;
    for body in [
        format!("{list}{status}"),
        format!("{list}{list}"),
        format!("{list}xyz"),
        list[..60].to_owned(),
        status.to_owned(),
        String::new(),
    ] {
        let server = Server::start().await;
        server.answer(RULES, [Answer::json(&body)]);
        let error = server.devices().await.0.expect_err("no rules");
        let expected = matches!(error, ClusterError::Incomplete { .. });
        assert!(expected, "{body}: {error}");
    }
}

#[tokio::test]
async fn reset_connection_is_asked_again() {
    let server = Server::start().await;
    server.answer(SLICES, [Answer::Resets, Answer::ok(slices())]);
    let (reading, notices) = server.devices().await;
    assert_eq!(sizes(&reading.expect("a reading")), (2, 2, 0));
    assert_eq!(notices.len(), 1, "{notices:?}");
}

#[tokio::test]
async fn busy_server_is_waited_for_as_it_says() {
    join_all([429, 503].map(|status| async move {
        let server = Server::start().await;
        server.answer(CLAIMS, [Answer::busy(status, 1), Answer::ok(claims())]);
        let started = Instant::now();
        let (reading, notices) = server.devices().await;
        assert_eq!(sizes(&reading.expect("a reading")), (2, 2, 0));
        assert!(started.elapsed() >= Duration::from_secs(1));
        assert!(notices[0].contains(&status.to_string()), "{notices:?}");
    }))
    .await;
}

#[tokio::test]
async fn silence_ends_with_the_request_timeout() {
    for answer in [Answer::Silence, Answer::Stalls(slices())] {
        let server = Server::start().await;
        server.answer(SLICES, [answer]);
        let error = failure_within(&server, Duration::from_millis(300)).await;
        let url = &server.url;
        let expected = format!("the server at {url} did not respond to {SLICES} within 0.3s");
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn refusal_that_does_not_end_is_one_all_the_same() {
    let server = Server::start().await;
    let body = vec![b'x'; 8 << 20];
    server.answer(SLICES, [Answer::Whole(403, Vec::new(), body)]);
    let error = server.devices().await.0.expect_err("refused");
    assert!(matches!(error, ClusterError::Undecodable { .. }), "{error}");
}

#[tokio::test]
async fn expired_page_begins_the_list_again() {
    let server = Server::start().await;
    let page = |claim, next| {
        let item = encode::claim(claim, "node-1", "gpu-0", "pod-1");
        Answer::ok(encode::list(
            "resource.k8s.io/v1",
            "ResourceClaim",
            &[item],
            next,
        ))
    };
    let expired = Answer::status(410, "Expired", "too old");
    server.answer(CLAIMS, [Answer::Breaks(200, claims(), 20)]);
    server.answer(
        &format!("{CLAIMS}?limit=1000"),
        [page("a", "n%=1"), page("a", "n%=2")],
    );
    server.answer(&format!("{CLAIMS}?limit=1000&continue=n%25%3D1"), [expired]);
    server.answer(
        &format!("{CLAIMS}?limit=1000&continue=n%25%3D2"),
        [page("b", "")],
    );
    let (reading, notices) = server.devices().await;
    let reading = reading.expect("a reading");
    let names: Vec<_> = reading
        .snapshot
        .claims
        .iter()
        .map(|c| c.name.to_string())
        .collect();
    assert_eq!(names, ["ml/a", "ml/b"]);
    assert!(
        notices
            .iter()
            .any(|notice| notice.contains("reading it again")),
        "{notices:?}"
    );
}

#[tokio::test]
async fn list_that_keeps_expiring_is_an_error() {
    let server = Server::start().await;
    server.answer(
        CLAIMS,
        [Answer::ok(encode::status(410, "Expired", "too old"))],
    );
    let error = server.devices().await.0.expect_err("expired");
    assert!(matches!(error, ClusterError::Incomplete { .. }), "{error}");
}

#[tokio::test]
async fn undecodable_object_is_an_error_at_once() {
    let server = Server::start().await;
    let nameless = encode::list("resource.k8s.io/v1", "ResourceClaim", &[Vec::new()], "");
    server.answer(CLAIMS, [Answer::ok(nameless)]);
    let error = server.devices().await.0.expect_err("undecodable");
    assert!(matches!(error, ClusterError::Undecodable { .. }), "{error}");
    assert_eq!(server.count(CLAIMS), 1);
}
