//! Measures the time from bytes to facts.
//!
//! A generated cluster of believable objects, with all that a preview has to skip: managed fields,
//! environments, probes, conditions. Sizes are those of a real cluster (slice with eight devices:
//! 5.4 kB as JSON and 3.9 kB as protobuf; claim 2.0 and 1.2 kB; pod 8.9 and 6.1 kB).

#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kubectl_devicetaint::model::Kind;
use kubectl_devicetaint::wire::{Detail, Documents, ProtobufList, versions_of};
use serde_json::{Value, json};

#[path = "decode/objects.rs"]
mod objects;
#[path = "decode/protobuf.rs"]
mod protobuf;

/// A twentieth of the largest cluster that is supported.
const SLICES: usize = 250;
const CLAIMS: usize = 4_000;
const PODS: usize = 7_500;

/// All objects as kubectl prints them.
fn json_list() -> Value {
    let slices = (0..SLICES).map(objects::slice);
    let claims = (0..CLAIMS).map(objects::claim);
    let pods = (0..PODS).map(|index| objects::pod(index, index < CLAIMS));
    let items: Vec<Value> = slices.chain(claims).chain(pods).collect();
    json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
}

/// All objects as a server sends them, one list per kind.
fn protobuf_lists() -> Vec<(Kind, Vec<u8>)> {
    let list = |kind: Kind, api_version, objects: Vec<Vec<u8>>| {
        (kind, protobuf::list(api_version, kind.as_str(), &objects))
    };
    let slices = (0..SLICES).map(|index| protobuf::slice(&objects::slice(index)));
    let claims = (0..CLAIMS).map(|index| protobuf::claim(&objects::claim(index)));
    let pods = (0..PODS).map(|index| protobuf::pod(&objects::pod(index, index < CLAIMS)));
    vec![
        list(Kind::ResourceSlice, "resource.k8s.io/v1", slices.collect()),
        list(Kind::ResourceClaim, "resource.k8s.io/v1", claims.collect()),
        list(Kind::Pod, "v1", pods.collect()),
    ]
}

fn decode_protobuf(kind: Kind, body: &[u8]) -> usize {
    let version = versions_of(kind).next().expect("a version");
    let mut list = ProtobufList::new(version, Detail::Attributes);
    let mut items = Vec::new();
    // Size of the chunks that hyper hands over.
    for chunk in body.chunks(16 << 10) {
        items.extend(list.push(chunk).expect("a list"));
    }
    list.finish().expect("the end of a list");
    items.len()
}

fn decode_json(text: &str) -> usize {
    let mut documents = Documents::new();
    documents.decode_json(text).expect("a list");
    documents.finish().items.len()
}

fn decode_yaml(text: &str) -> usize {
    let mut documents = Documents::new();
    documents.decode_yaml(text).expect("a list");
    documents.finish().items.len()
}

fn protobuf(criterion: &mut Criterion) {
    let lists = protobuf_lists();
    let bytes: usize = lists.iter().map(|(_, body)| body.len()).sum();
    let mut group = criterion.benchmark_group("protobuf");
    group
        .sample_size(20)
        .throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("snapshot", |bencher| {
        bencher.iter(|| {
            let decode = |(kind, body): &(Kind, Vec<u8>)| decode_protobuf(*kind, body);
            black_box(lists.iter().map(decode).sum::<usize>())
        });
    });
    for (kind, body) in &lists {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(kind.plural(), |bencher| {
            bencher.iter(|| black_box(decode_protobuf(*kind, body)));
        });
    }
    group.finish();
}

fn text(criterion: &mut Criterion) {
    let list = json_list();
    let compact = list.to_string();
    let pretty = kubectl_json(&list);
    let mut group = criterion.benchmark_group("json");
    group.sample_size(20);
    for (name, text) in [("compact", &compact), ("kubectl", &pretty)] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(decode_json(text)))
        });
    }
    group.finish();

    let mut few = list;
    if let Some(items) = few["items"].as_array_mut() {
        let mut index = 0;
        items.retain(|_| {
            index += 1;
            index % 20 == 0
        });
    }
    let yaml = serde_yaml::to_string(&few).expect("a list");
    let mut group = criterion.benchmark_group("yaml");
    group
        .sample_size(10)
        .throughput(Throughput::Bytes(yaml.len() as u64));
    group.bench_function("kubectl", |bencher| {
        bencher.iter(|| black_box(decode_yaml(&yaml)))
    });
    group.finish();
}

/// As kubectl prints it: four blanks to a level.
fn kubectl_json(value: &Value) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(value, &mut serializer).expect("JSON");
    String::from_utf8(bytes).expect("text")
}

criterion_group!(benches, protobuf, text);
criterion_main!(benches);
