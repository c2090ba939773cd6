//! Decoding of objects in either encoding.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

use super::detail::Detail;
use super::error_path::FieldsError;
use super::object::ToObject;
use super::unambiguous::Unambiguous;

/// Type that the objects of a kind are decoded into.
pub(super) trait Decode: ToObject + Sized {
    /// Decodes the fields of an object, in any encoding.
    fn from_fields(fields: &Value) -> Result<Self, FieldsError>;

    /// Decodes an object while its fields are read. Kinds of which there are many do so without the way
    /// over [`Value`]; what they pass over is not looked at.
    fn from_text<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = Unambiguous::deserialize(from)?.into_value();
        Self::from_fields(&fields).map_err(D::Error::custom)
    }

    /// Decodes an object from protobuf, with no more than `detail` asks for; the error is in words.
    fn from_protobuf(detail: Detail, bytes: &[u8]) -> Result<Self, String>;

    /// The object in protobuf, without an envelope.
    #[cfg(test)]
    fn to_protobuf(&self) -> Vec<u8>;
}
