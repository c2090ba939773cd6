//! How is an object decoded, in either encoding?

use serde::de::Deserializer;

use super::detail::Detail;
use super::object::ToObject;
use super::versions::Layout;

/// What the objects of a kind are decoded into.
pub(super) trait Decode: ToObject + Sized {
    /// Decodes the fields of an object from JSON or YAML.
    fn from_text<'de, D: Deserializer<'de>>(
        layout: Layout,
        deserializer: D,
    ) -> Result<Self, D::Error>;

    /// Decodes an object from protobuf, with no more than `detail` asks for; the error is in words.
    fn from_protobuf(layout: Layout, detail: Detail, bytes: &[u8]) -> Result<Self, String>;

    /// The object in protobuf, without an envelope.
    #[cfg(test)]
    fn to_protobuf(&self) -> Vec<u8>;
}
