//! Large clusters in protobuf: needed data field by field, the rest as a field of the same number and size.

use serde_json::Value;

/// A body as a server sends it.
pub fn list(api_version: &str, kind: &str, objects: &[Vec<u8>]) -> Vec<u8> {
    let metadata = [text(2, "123456")].concat();
    let mut raw = content(1, &metadata);
    for object in objects {
        raw.extend(content(2, object));
    }
    let type_meta = [text(1, api_version), text(2, &format!("{kind}List"))].concat();
    [
        b"k8s\0".to_vec(),
        content(1, &type_meta),
        content(2, &raw),
        text(3, ""),
        text(4, ""),
    ]
    .concat()
}

/// `ResourceSlice`.
pub fn slice(json: &Value) -> Vec<u8> {
    let spec = &json["spec"];
    let pool = &spec["pool"];
    let pool = [string(1, &pool["name"]), number(2, 1), number(3, 1)].concat();
    let mut encoded = [
        string(1, &spec["driver"]),
        content(2, &pool),
        string(3, &spec["nodeName"]),
        number(5, 0),
    ]
    .concat();
    for device in array(&spec["devices"]) {
        encoded.extend(content(6, &self::device(device)));
    }
    [
        content(1, &metadata(&json["metadata"])),
        content(2, &encoded),
    ]
    .concat()
}

fn device(json: &Value) -> Vec<u8> {
    let mut encoded = string(1, &json["name"]);
    for (name, value) in json["attributes"].as_object().expect("attributes") {
        let value = match value.as_object().and_then(|value| value.iter().next()) {
            Some((kind, value)) if kind == "int" => number(2, value.as_u64().unwrap_or_default()),
            Some((kind, value)) if kind == "version" => string(5, value),
            Some((_, value)) => string(4, value),
            None => Vec::new(),
        };
        encoded.extend(content(2, &[text(1, name), content(2, &value)].concat()));
    }
    let quantity = string(1, &json["capacity"]["memory"]["value"]);
    let capacity = [text(1, "memory"), content(2, &content(1, &quantity))].concat();
    encoded.extend(content(3, &capacity));
    encoded
}

/// `ResourceClaim`.
pub fn claim(json: &Value) -> Vec<u8> {
    let result = &json["status"]["allocation"]["devices"]["results"][0];
    let toleration = &result["tolerations"][0];
    let toleration = [
        string(1, &toleration["key"]),
        string(2, &toleration["operator"]),
        string(4, &toleration["effect"]),
        number(5, 300),
    ]
    .concat();
    let result = [
        string(1, &result["request"]),
        string(2, &result["driver"]),
        string(3, &result["pool"]),
        string(4, &result["device"]),
        content(6, &toleration),
    ]
    .concat();
    let selector = rest(&json["status"]["allocation"]["nodeSelector"]);
    let allocation = [content(1, &content(1, &result)), content(3, &selector)].concat();
    let consumer = &json["status"]["reservedFor"][0];
    let consumer = [
        string(3, &consumer["resource"]),
        string(4, &consumer["name"]),
        string(5, &consumer["uid"]),
    ]
    .concat();
    let status = [content(1, &allocation), content(2, &consumer)].concat();
    let spec = rest(&json["spec"]);
    [
        content(1, &metadata(&json["metadata"])),
        content(2, &spec),
        content(3, &status),
    ]
    .concat()
}

/// `Pod`.
pub fn pod(json: &Value) -> Vec<u8> {
    [
        content(1, &metadata(&json["metadata"])),
        content(2, &pod_spec(&json["spec"])),
        content(3, &pod_status(&json["status"])),
    ]
    .concat()
}

fn pod_spec(json: &Value) -> Vec<u8> {
    let mut encoded = content(1, &rest(&json["volumes"]));
    for container in array(&json["containers"]) {
        encoded.extend(content(2, &rest(container)));
    }
    encoded.extend(
        [
            text(3, "Always"),
            number(4, 30),
            text(6, "ClusterFirst"),
            string(10, &json["nodeName"]),
        ]
        .concat(),
    );
    encoded.extend(
        [
            content(14, &[]),
            text(19, "default-scheduler"),
            content(22, &rest(&json["tolerations"])),
        ]
        .concat(),
    );
    encoded.extend(
        [
            text(24, "training"),
            number(25, 1000),
            text(31, "PreemptLowerPriority"),
        ]
        .concat(),
    );
    for claim in array(&json["resourceClaims"]) {
        encoded.extend(content(
            39,
            &[
                string(1, &claim["name"]),
                string(4, &claim["resourceClaimTemplateName"]),
            ]
            .concat(),
        ));
    }
    encoded
}

fn pod_status(json: &Value) -> Vec<u8> {
    let mut encoded = text(1, "Running");
    for condition in array(&json["conditions"]) {
        encoded.extend(content(2, &rest(condition)));
    }
    encoded.extend([text(5, "10.0.0.1"), text(6, "10.244.0.17")].concat());
    for status in array(&json["containerStatuses"]) {
        encoded.extend(content(8, &rest(status)));
    }
    encoded.extend(text(9, "Burstable"));
    for status in array(&json["resourceClaimStatuses"]) {
        encoded.extend(content(
            15,
            &[
                string(1, &status["name"]),
                string(2, &status["resourceClaimName"]),
            ]
            .concat(),
        ));
    }
    encoded
}

fn metadata(json: &Value) -> Vec<u8> {
    let mut encoded = [
        string(1, &json["name"]),
        string(2, &json["generateName"]),
        string(3, &json["namespace"]),
    ]
    .concat();
    encoded.extend(
        [
            text(4, ""),
            string(5, &json["uid"]),
            string(6, &json["resourceVersion"]),
            number(7, 1),
        ]
        .concat(),
    );
    encoded.extend(content(
        8,
        &[number(1, 1_793_527_200), number(2, 0)].concat(),
    ));
    for (name, value) in json["labels"].as_object().into_iter().flatten() {
        encoded.extend(content(11, &[text(1, name), string(2, value)].concat()));
    }
    for owner in array(&json["ownerReferences"]) {
        let owner = [
            string(1, &owner["kind"]),
            string(3, &owner["name"]),
            string(4, &owner["uid"]),
            string(5, &owner["apiVersion"]),
            number(6, 1),
        ]
        .concat();
        encoded.extend(content(13, &owner));
    }
    encoded.extend(content(17, &rest(&json["managedFields"])));
    encoded
}

/// Something that is skipped: of the size that it has in protobuf, about two thirds of JSON.
fn rest(json: &Value) -> Vec<u8> {
    let text = json.to_string();
    text.as_bytes()[..text.len() * 2 / 3].to_vec()
}

fn array(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn string(field: u64, json: &Value) -> Vec<u8> {
    json.as_str()
        .map_or_else(Vec::new, |value| text(field, value))
}

fn text(field: u64, value: &str) -> Vec<u8> {
    content(field, value.as_bytes())
}

fn content(field: u64, value: &[u8]) -> Vec<u8> {
    [
        varint(field << 3 | 2),
        varint(value.len() as u64),
        value.to_vec(),
    ]
    .concat()
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
