//! Lists in protobuf, in chunks of any size, complete or damaged.

use proptest::prelude::*;
use prost::Message;

use crate::model::Kind;
use crate::wire::meta::ObjectMeta;
use crate::wire::pod::{Pod, PodResourceClaim, PodSpec};
use crate::wire::testing::{envelope, field};
use crate::wire::{
    DecodeError, Detail, Item, ListEnd, ProtobufList, decode_protobuf_object, versions_of,
};

fn pod(name: &str) -> Pod {
    Pod {
        metadata: Some(ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("ml".to_owned()),
            uid: Some(format!("uid of {name}")),
            resource_version: Some("7".to_owned()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            resource_claims: vec![PodResourceClaim::default()],
            ..PodSpec::default()
        }),
        status: None,
    }
}

/// A list of pods that use claims, and one that does not.
fn list(metadata_first: bool) -> Vec<u8> {
    let metadata = field(1, &[field(2, b"123"), field(3, b"more")].concat());
    let mut bare = pod("bare");
    bare.spec = None;
    let pods = [pod("a"), bare, pod("b"), pod("c")];
    let pods = pods.iter().flat_map(|pod| field(2, &pod.encode_to_vec()));
    let raw: Vec<u8> = if metadata_first {
        metadata.into_iter().chain(pods).collect()
    } else {
        pods.chain(metadata).collect()
    };
    envelope("v1", "PodList", &raw)
}

fn decode(body: &[u8], chunk: usize) -> Result<(Vec<Item>, ListEnd), DecodeError> {
    let version = versions_of(Kind::Pod).next().expect("a version");
    let mut list = ProtobufList::new(version, Detail::Attributes);
    let mut items = Vec::new();
    for chunk in body.chunks(chunk) {
        items.extend(list.push(chunk)?);
    }
    Ok((items, list.finish()?))
}

fn names(items: &[Item]) -> Vec<String> {
    items.iter().map(|item| item.object.name()).collect()
}

#[test]
fn chunks_make_no_difference() {
    for metadata_first in [true, false] {
        let body = list(metadata_first);
        for chunk in 1..=body.len() {
            let (items, end) = decode(&body, chunk).expect("a list");
            assert_eq!(names(&items), ["ml/a", "ml/b", "ml/c"], "{chunk}");
            assert_eq!(end.metadata.resource_version, "123");
            assert_eq!(end.metadata.continue_token, "more");
            assert_eq!(end.objects, 4);
        }
    }
}

#[test]
fn list_that_is_cut_off_is_an_error_wherever_it_is_cut() {
    let body = list(true);
    // The envelope ends with two empty fields, which an older server might not send.
    for cut in 0..body.len() - 4 {
        let error = decode(&body[..cut], 16).expect_err("not whole");
        assert!(
            error.to_string().contains("ends too early"),
            "{cut}: {error}"
        );
    }
}

#[test]
fn anything_after_the_list_is_an_error() {
    let body = list(true);
    let status = envelope("v1", "Status", &[]);
    for (name, rest) in [
        ("status in protobuf", status.as_slice()),
        ("status in JSON", br#"{"kind":"Status"}"#),
        ("the list again", body.as_slice()),
        ("a blank", b"\n"),
        ("nothing that means anything", &[0]),
    ] {
        let error = decode(&[&body, rest].concat(), 16).expect_err(name);
        assert!(
            error.to_string().contains("followed by other data"),
            "{name}: {error}"
        );
    }
}

#[test]
fn list_that_comes_again_and_again_is_an_error_before_its_end() {
    let pods = ["a", "b", "c"].map(|name| field(2, &pod(name).encode_to_vec()));
    let round = pods.concat();
    let whole = envelope("v1", "PodList", &round.repeat(100_000));
    let version = versions_of(Kind::Pod).next().expect("a version");
    let mut list = ProtobufList::new(version, Detail::Attributes);
    let mut chunks = whole.chunks(round.len());
    let error = chunks
        .by_ref()
        .take(100)
        .find_map(|chunk| list.push(chunk).err());
    let error = error.expect("a circle").to_string();
    assert!(error.contains("objects are repeated"), "{error}");
    // Duplicates are the reader's to count once.
    let twice = envelope("v1", "PodList", &round.repeat(2));
    assert_eq!(decode(&twice, 64).expect("a list").0.len(), 6);
}

#[test]
fn object_that_does_not_end_is_an_error_before_it_is_held() {
    let version = versions_of(Kind::Pod).next().expect("a version");
    let mut list = ProtobufList::new(version, Detail::Attributes);
    let begin = envelope("v1", "PodList", &[]);
    let begin = begin
        .strip_suffix(&[0x12, 0, 0x1a, 0, 0x22, 0])
        .unwrap_or(&begin);
    // A list of a terabyte, whose first object has 17 MiB.
    let endless = [
        begin,
        b"\x12\x80\x80\x80\x80\x80\x20",
        b"\x12\x80\x80\xc0\x08",
    ]
    .concat();
    let error = list.push(&endless).expect_err("too long").to_string();
    assert!(error.contains("exceeds the length of its list"), "{error}");
}

#[test]
fn content_encoding_that_was_not_asked_for_is_an_error() {
    let mut body = list(true);
    body.truncate(body.len() - 4);
    body.extend(field(3, b"gzip"));
    let error = decode(&body, 16).expect_err("encoded");
    assert!(error.to_string().contains("`gzip`"), "{error}");
}

#[test]
fn list_of_another_kind_or_version_is_an_error() {
    for (api_version, kind) in [("v1", "NodeList"), ("v2", "PodList"), ("v1", "Pod")] {
        let error = decode(&envelope(api_version, kind, &[]), 64).expect_err(kind);
        assert!(matches!(error, DecodeError::Unusable(_)), "{error}");
    }
}

#[test]
fn malformed_object_is_named_with_its_field() {
    let metadata = [field(1, b"train-0"), field(3, b"ml")].concat();
    // Field 10 of a pod's spec is the node's name, not a number.
    let spec = field(2, &[10 << 3, 1]);
    let bad = [field(1, &metadata), spec].concat();
    let raw = [field(2, &pod("a").encode_to_vec()), field(2, &bad)].concat();
    let error = decode(&envelope("v1", "PodList", &raw), 16).expect_err("malformed");
    let text = error.to_string();
    assert!(
        text.starts_with("Pod ml/train-0: ") && text.contains("node_name"),
        "{text}"
    );
}

#[test]
fn single_object_is_what_it_says_it_is() {
    let body = envelope("v1", "Pod", &pod("a").encode_to_vec());
    let (item, warnings) = decode_protobuf_object(&body, Detail::Attributes).expect("a pod");
    assert_eq!(item.map(|item| item.object.name()).as_deref(), Some("ml/a"));
    // The pod's entry names no claim.
    assert_eq!(warnings.len(), 1);
    let secret = envelope("v1", "Secret", &[]);
    assert!(matches!(
        decode_protobuf_object(&secret, Detail::Attributes),
        Err(DecodeError::Unusable(_))
    ));
}

proptest! {
    #[test]
    fn damaged_list_never_panics(place in any::<prop::sample::Index>(), bits in 1..=255_u8) {
        let mut body = list(true);
        let place = place.index(body.len());
        body[place] ^= bits;
        if let Ok((items, end)) = decode(&body, 16) {
            prop_assert!(items.len() <= end.objects);
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_list(bytes in any::<Vec<u8>>()) {
        prop_assert!(decode(&bytes, 16).is_err());
        prop_assert!(decode(&[&b"k8s\0"[..], &bytes].concat(), 16).is_err());
        prop_assert!(decode_protobuf_object(&bytes, Detail::Attributes).is_err());
    }
}
