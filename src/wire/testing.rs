//! Encoders for tests: the wire structs written back as JSON.

use serde::Serializer;
use serde::ser::SerializeMap;

use super::pod::VolumeSource;
use super::shape::WireObject;
use super::versions::{Version, versions_of};

/// Writes what kind of volume it is as the field that says so in JSON.
pub(super) fn empty_dir<S: Serializer>(
    source: &Option<VolumeSource>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match source {
        Some(VolumeSource { empty_dir: Some(_) }) => serializer.serialize_map(Some(0))?.end(),
        Some(VolumeSource { empty_dir: None }) | None => serializer.serialize_none(),
    }
}

/// The version of `object` that this plugin prefers.
pub(super) fn version_of(object: &WireObject) -> &'static Version {
    versions_of(object.kind()).next().expect("a version")
}

/// The object in protobuf, without an envelope.
pub(super) fn encode(object: &WireObject) -> Vec<u8> {
    object.to_protobuf()
}

/// A field of protobuf with content.
pub(super) fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend(content);
    bytes
}

/// An envelope as servers write it.
pub(super) fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    let fields = [
        field(1, &type_meta),
        field(2, raw),
        field(3, b""),
        field(4, b""),
    ];
    [b"k8s\0".to_vec(), fields.concat()].concat()
}
