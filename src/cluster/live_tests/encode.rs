//! Objects in the API server's protobuf encoding.

/// A field that holds bytes: a text, a message.
fn field(number: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = varint(number << 3 | 2);
    bytes.extend(varint(content.len() as u64));
    bytes.extend(content);
    bytes
}

fn number(number: u64, value: u64) -> Vec<u8> {
    let mut bytes = varint(number << 3);
    bytes.extend(varint(value));
    bytes
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn text(number: u64, text: &str) -> Vec<u8> {
    field(number, text.as_bytes())
}

fn message(number: u64, fields: &[Vec<u8>]) -> Vec<u8> {
    field(number, &fields.concat())
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = message(1, &[text(1, api_version), text(2, kind)]);
    [
        b"k8s\0".to_vec(),
        type_meta,
        field(2, raw),
        text(3, ""),
        text(4, ""),
    ]
    .concat()
}

/// A list of encoded objects; `next` is where the next page starts.
pub(super) fn list(api_version: &str, kind: &str, items: &[Vec<u8>], next: &str) -> Vec<u8> {
    let metadata = message(1, &[text(2, "1000"), text(3, next)]);
    let items: Vec<u8> = items.iter().flat_map(|item| field(2, item)).collect();
    envelope(
        api_version,
        &format!("{kind}List"),
        &[metadata, items].concat(),
    )
}

/// A single object.
pub(super) fn object(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    envelope(api_version, kind, object)
}

/// The server's account of a failure.
pub(super) fn status(code: u64, reason: &str, words: &str) -> Vec<u8> {
    let fields = [
        text(2, "Failure"),
        text(3, words),
        text(4, reason),
        number(6, code),
    ];
    envelope("v1", "Status", &fields.concat())
}

fn metadata(namespace: &str, name: &str) -> Vec<u8> {
    let uid = text(5, &format!("uid-of-{name}"));
    message(1, &[text(1, name), text(3, namespace), uid])
}

/// A pod of namespace `ml` called `name` that has the UID of `another`.
pub(super) fn renamed(name: &str, another: &str, node: &str, claim: &str) -> Vec<u8> {
    let uid = text(5, &format!("uid-of-{another}"));
    let metadata = message(1, &[text(1, name), text(3, "ml"), uid]);
    let claims = message(39, &[text(1, "gpu"), text(3, claim)]);
    [metadata, message(2, &[text(10, node), claims])].concat()
}

/// An event of a watch.
pub(super) fn event(kind: &str, object: &[u8]) -> Vec<u8> {
    let event = [text(1, kind), message(2, &[field(1, object)])].concat();
    let length = u32::try_from(event.len()).expect("a short event");
    [length.to_be_bytes().to_vec(), event].concat()
}

/// A slice with one pool, named as its node.
pub(super) fn slice(node: &str, devices: &[&str]) -> Vec<u8> {
    let pool = message(2, &[text(1, node), number(2, 1), number(3, 1)]);
    let devices: Vec<u8> = devices
        .iter()
        .flat_map(|name| message(6, &[text(1, name)]))
        .collect();
    let spec = message(
        2,
        &[text(1, "gpu.example.com"), pool, text(3, node), devices],
    );
    [metadata("", &format!("slice-of-{node}")), spec].concat()
}

/// A claim of namespace `ml` that holds `device` of `node` for `consumer`: a pod, or `group/NAME`.
pub(super) fn claim(name: &str, node: &str, device: &str, consumer: &str) -> Vec<u8> {
    [metadata("ml", name), held(node, device, consumer, &[])].concat()
}

/// The status of a claim that holds `device` of `node` for `consumer`.
fn held(node: &str, device: &str, consumer: &str, toleration: &[u8]) -> Vec<u8> {
    let result = [
        text(1, "gpu"),
        text(2, "gpu.example.com"),
        text(3, node),
        text(4, device),
        toleration.to_vec(),
    ];
    let allocation = message(1, &[message(1, &[message(1, &result)])]);
    let reserved = match consumer.strip_prefix("group/") {
        Some(group) => vec![
            text(1, "scheduling.k8s.io"),
            text(3, "podgroups"),
            text(4, group),
        ],
        None => vec![text(3, "pods"), text(4, consumer)],
    };
    let uid = text(5, &format!("uid-of-{consumer}"));
    let reserved = message(2, &[reserved.concat(), uid]);
    message(3, &[allocation, reserved])
}

/// What a claim or a template asks for: `count` devices of the class `gpu`.
fn requests(count: u64) -> Vec<u8> {
    let exactly = [text(1, "gpu"), text(3, "ExactCount"), number(4, count)];
    let request = message(1, &[text(1, "gpu"), message(2, &exactly)]);
    message(2, &[message(1, &[request])])
}

/// The template `gpus` of namespace `ml` for `count` devices.
pub(super) fn template(count: u64) -> Vec<u8> {
    [metadata("ml", "gpus"), message(2, &[requests(count)])].concat()
}

/// claim-1, which was made for pod-1 from that template when it asked for one device, and holds gpu-0 of node-1.
pub(super) fn generated_claim() -> Vec<u8> {
    let (kind, name, version) = (text(1, "Pod"), text(3, "pod-1"), text(5, "v1"));
    let owner = [kind, name, text(4, "uid-of-pod-1"), version, number(6, 1)];
    let named = [text(1, "claim-1"), text(3, "ml"), text(5, "uid-of-claim-1")];
    let metadata = message(1, &[named.concat(), message(13, &owner)]);
    [metadata, requests(1), held("node-1", "gpu-0", "pod-1", &[])].concat()
}

/// pod-1 of `node-1`, which uses that claim.
pub(super) fn pod_of_template() -> Vec<u8> {
    let claims = message(39, &[text(1, "gpu"), text(4, "gpus")]);
    let spec = message(2, &[text(10, "node-1"), claims]);
    let generated = message(15, &[text(1, "gpu"), text(2, "claim-1")]);
    let (kind, name, version) = (text(1, "RayCluster"), text(3, "ray"), text(5, "ray.io/v1"));
    let owner = [kind, name, text(4, "uid-of-ray"), version, number(6, 1)];
    let owned = message(1, &[message(13, &owner)]);
    let status = message(3, &[generated]);
    [metadata("ml", "pod-1"), owned, spec, status].concat()
}

/// The class `gpu`, of all devices.
pub(super) fn class() -> Vec<u8> {
    metadata("", "gpu")
}

/// A pod of namespace `ml` on `node` that refers to `claim`.
pub(super) fn pod(name: &str, node: &str, claim: &str) -> Vec<u8> {
    let claims = message(39, &[text(1, "gpu"), text(3, claim)]);
    [metadata("ml", name), message(2, &[text(10, node), claims])].concat()
}

/// A pod on node-1 that is scheduled together with the PodGroup `group`.
pub(super) fn member(name: &str, claim: &str, group: &str) -> Vec<u8> {
    let claims = message(39, &[text(1, "gpu"), text(3, claim)]);
    let group = message(43, &[text(1, group)]);
    [
        metadata("ml", name),
        message(2, &[text(10, "node-1"), claims, group]),
    ]
    .concat()
}
