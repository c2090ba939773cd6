//! Watches in both encodings, however their bytes arrive.

use prost::Message;

use crate::model::Kind;
use crate::wire::meta::ObjectMeta;
use crate::wire::pod::{Pod, PodResourceClaim, PodSpec};
use crate::wire::testing::{envelope, field};
use crate::wire::{Change, Detail, WatchDecoder, WatchEvent, versions_of};

fn pod(name: &str, version: &str, claims: usize) -> Vec<u8> {
    let pod = Pod {
        metadata: Some(ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("ml".to_owned()),
            uid: Some(format!("uid of {name}")),
            resource_version: Some(version.to_owned()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            resource_claims: vec![PodResourceClaim::default(); claims],
            ..PodSpec::default()
        }),
        status: None,
    };
    envelope("v1", "Pod", &pod.encode_to_vec())
}

fn frame(kind: &str, object: &[u8]) -> Vec<u8> {
    let event = [field(1, kind.as_bytes()), field(2, &field(1, object))].concat();
    let length = u32::try_from(event.len()).expect("a short event");
    [length.to_be_bytes().to_vec(), event].concat()
}

fn bookmark(version: &str) -> Vec<u8> {
    let metadata = field(1, &field(6, version.as_bytes()));
    frame("BOOKMARK", &envelope("v1", "Pod", &metadata))
}

fn decoder(kind: Kind) -> WatchDecoder {
    WatchDecoder::new(versions_of(kind).next().expect("a version"), Detail::Names)
}

fn pods() -> WatchDecoder {
    decoder(Kind::Pod)
}

fn rules() -> WatchDecoder {
    decoder(Kind::DeviceTaintRule)
}

/// Events as `+NAME@VERSION` for an object, `-NAME@VERSION` for a missing one, and `=@VERSION` for a bookmark.
fn describe(events: &[WatchEvent]) -> Vec<String> {
    let told = events.iter().map(|event| {
        let version = &event.resource_version;
        match &event.change {
            Change::Present(object) => format!("+{}@{version}", object.name()),
            Change::Absent(name) => format!("-{name}@{version}"),
            Change::Nothing => format!("=@{version}"),
        }
    });
    told.collect()
}

fn in_chunks(mut decoder: WatchDecoder, bytes: &[u8], chunk: usize) -> Vec<String> {
    let mut events = Vec::new();
    for chunk in bytes.chunks(chunk) {
        events.extend(decoder.push(chunk).expect("a watch"));
    }
    describe(&events)
}

fn rule(version: &str, effect: &str) -> String {
    format!(
        r#"{{"kind":"DeviceTaintRule","apiVersion":"resource.k8s.io/v1","metadata":{{"name":"drain","resourceVersion":"{version}"}},"spec":{{"taint":{{"key":"a","effect":"{effect}"}}}}}}"#
    )
}

fn line(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

#[test]
fn every_change_is_told_in_its_order_whatever_the_chunks() {
    let watch = [
        frame("ADDED", &pod("a", "1", 1)),
        frame("ADDED", &pod("bare", "2", 0)),
        frame("MODIFIED", &pod("a", "3", 1)),
        bookmark("5"),
        frame("DELETED", &pod("a", "6", 1)),
    ]
    .concat();
    for chunk in 1..=watch.len() {
        assert_eq!(
            in_chunks(pods(), &watch, chunk),
            ["+ml/a@1", "-ml/bare@2", "+ml/a@3", "=@5", "-ml/a@6"],
            "{chunk}"
        );
    }
}

#[test]
fn rules_are_watched_in_json() {
    let watch = [
        line("ADDED", &rule("1", "None")),
        line("MODIFIED", &rule("2", "Later")),
        line(
            "BOOKMARK",
            r#"{"kind":"DeviceTaintRule","apiVersion":"resource.k8s.io/v1","metadata":{"resourceVersion":"4","creationTimestamp":null},"spec":{"taint":{"key":"","effect":""}}}"#,
        ),
        line("DELETED", &rule("5", "Later")),
    ]
    .concat();
    for chunk in 1..=watch.len() {
        assert_eq!(
            in_chunks(rules(), watch.as_bytes(), chunk),
            ["+drain@1", "+drain@2", "=@4", "-drain@5"],
            "{chunk}"
        );
    }
}

#[test]
fn event_that_does_not_end_is_an_error_before_much_of_it_is_held() {
    let taken = |mut decoder: WatchDecoder, begin: &[u8]| {
        decoder.push(begin).expect("a beginning");
        let chunk = [b'x'; 1 << 20];
        (1..=64).find(|_| decoder.push(&chunk).is_err())
    };
    assert_eq!(taken(rules(), b"{\"type\":\""), Some(16));
    let mut decoder = pods();
    decoder
        .push(&(17_u32 << 20).to_be_bytes())
        .expect_err("17 MiB");
}

#[test]
fn what_the_server_reports_is_an_error_with_its_code() {
    let status = [
        field(3, b"too old"),
        field(4, b"Expired"),
        vec![6 << 3, 0x9a, 3],
    ]
    .concat();
    let expired = frame("ERROR", &envelope("v1", "Status", &status));
    let expected = "the server reports 410 Expired: too old";
    let error = pods().push(&expired).expect_err("a failure");
    assert_eq!(error.to_string(), expected);
    let expired = line(
        "ERROR",
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}"#,
    );
    let error = rules().push(expired.as_bytes()).expect_err("a failure");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_is_no_watch_of_the_kind_is_an_error() {
    let claim = envelope("resource.k8s.io/v1", "ResourceClaim", b"");
    for (name, bytes) in [
        ("another kind", frame("ADDED", &claim)),
        ("unknown event", frame("RENAMED", &pod("a", "1", 1))),
        ("no object", frame("ADDED", b"")),
        ("text", b"<html><body>no</body></html>".to_vec()),
        ("endless", vec![0xff; 8]),
    ] {
        assert!(pods().push(&bytes).is_err(), "{name}");
    }
    for (name, text) in [
        (
            "another kind",
            line("ADDED", r#"{"kind":"Pod","apiVersion":"v1","metadata":{}}"#),
        ),
        ("unknown event", line("RENAMED", &rule("1", "None"))),
        (
            "unreadable",
            line(
                "ADDED",
                r#"{"kind":"DeviceTaintRule","apiVersion":"resource.k8s.io/v1","metadata":{}}"#,
            ),
        ),
        ("text", "<html>\n".to_owned()),
    ] {
        assert!(rules().push(text.as_bytes()).is_err(), "{name}");
    }
}
