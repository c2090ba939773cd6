//! How is an object decoded, in either encoding?

use serde_json::Value;

use super::culprit::FieldsError;
use super::detail::Detail;
use super::object::ToObject;
use super::versions::Layout;

/// What the objects of a kind are decoded into.
pub(super) trait Decode: ToObject + Sized {
    /// Decodes the fields of an object, whatever they were written in.
    fn from_fields(layout: Layout, fields: &Value) -> Result<Self, FieldsError>;

    /// Decodes an object from protobuf, with no more than `detail` asks for; the error is in words.
    fn from_protobuf(layout: Layout, detail: Detail, bytes: &[u8]) -> Result<Self, String>;

    /// The object in protobuf, without an envelope.
    #[cfg(test)]
    fn to_protobuf(&self) -> Vec<u8>;
}
