//! Structs that objects are decoded into.

use prost::Message;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::Value;

use super::claim::{self, DeviceClass, ResourceClaim, ResourceClaimTemplate};
use super::error::{self, DecodeError, FieldError};
use super::generated_kinds::{
    Event, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, NamespaceObject,
    PodDisruptionBudget, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use super::node::Node;
use super::object::{Converter, Item, ToObject};
use super::pod::Pod;
use super::rule::DeviceTaintRule;
use super::slice::{self, ResourceSlice};
use super::versions::{Detail, Version};
use super::workload::kinds::*;
use crate::model::Kind;
use crate::model::kind::for_each_kind;

/// Type that the objects of a kind are decoded into.
pub(super) trait Decode: ToObject + Sized {
    /// Decodes the fields of an object, in any encoding.
    fn from_fields(fields: &Value) -> Result<Self, FieldError>;

    /// Decodes an object while its fields are read.
    fn from_text<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;

    /// Decodes an object from protobuf, with no more than `detail` asks for; the error is in words.
    fn from_protobuf(detail: Detail, bytes: &[u8]) -> Result<Self, String>;

    /// The object in protobuf, without an envelope.
    #[cfg(test)]
    fn to_protobuf(&self) -> Vec<u8>;
}

/// A kind with a decoder of our own, of which there may be many objects. Fields that are not used are passed over, and
/// not looked at.
pub(super) trait OwnKind: Message + Default + DeserializeOwned + ToObject {
    /// Decodes what `detail` asks for.
    fn brief(_: Detail, bytes: &[u8]) -> Result<Self, String> {
        message(bytes)
    }
}

impl<T: OwnKind> Decode for T {
    fn from_fields(fields: &Value) -> Result<Self, FieldError> {
        error::decode(fields)
    }

    fn from_text<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }

    fn from_protobuf(detail: Detail, bytes: &[u8]) -> Result<Self, String> {
        Self::brief(detail, bytes)
    }

    #[cfg(test)]
    fn to_protobuf(&self) -> Vec<u8> {
        self.encode_to_vec()
    }
}

impl OwnKind for Pod {}
impl OwnKind for DeviceClass {}
impl OwnKind for ResourceClaimTemplate {}

impl OwnKind for ResourceClaim {
    fn brief(detail: Detail, bytes: &[u8]) -> Result<Self, String> {
        match detail {
            // Only the status is needed, so the requests are not decoded.
            Detail::Names | Detail::Attributes => {
                message::<claim::WithoutSpec>(bytes).map(Self::from)
            }
            Detail::Terms => message(bytes),
        }
    }
}

impl OwnKind for ResourceSlice {
    fn brief(detail: Detail, bytes: &[u8]) -> Result<Self, String> {
        match detail {
            // Attributes and capacities are most of the bytes of a slice. For names alone they are skipped.
            Detail::Names => {
                let slice: ResourceSlice<slice::BareDevice> = message(bytes)?;
                Ok(slice.usual().with(detail))
            }
            Detail::Attributes | Detail::Terms => message(bytes),
        }
    }
}

/// The slice without attributes and capacities of its devices; the error is in words.
pub(super) fn bare(bytes: &[u8]) -> Result<WireObject, String> {
    let slice: ResourceSlice<slice::BareDevice> = message(bytes)?;
    Ok(WireObject::ResourceSlice(slice.usual()))
}

fn message<T: Message + Default>(bytes: &[u8]) -> Result<T, String> {
    T::decode(bytes).map_err(|error| error.to_string())
}

macro_rules! wire_objects {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident { $($columns:tt)* }
    )*) => {
        /// An object as it is on the wire, of any kind.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(test, derive(serde::Serialize), serde(untagged))]
        #[expect(clippy::large_enum_variant, reason = "a box would be an allocation for each object")]
        pub(super) enum WireObject {
            $($kind($kind),)*
        }

        impl WireObject {
            /// Decodes the fields of an object.
            pub(super) fn from_fields(
                version: &Version,
                fields: &Value,
            ) -> Result<Self, FieldError> {
                match version.kind {
                    $(Kind::$kind => $kind::from_fields(fields).map(Self::$kind),)*
                }
            }

            /// Decodes an object while its fields are read.
            pub(super) fn from_text<'de, D: Deserializer<'de>>(
                version: &Version,
                from: D,
            ) -> Result<Self, D::Error> {
                match version.kind {
                    $(Kind::$kind => $kind::from_text(from).map(Self::$kind),)*
                }
            }

            /// Decodes an object from protobuf; the error is in words.
            pub(super) fn decode(
                version: &Version,
                detail: Detail,
                bytes: &[u8],
            ) -> Result<Self, String> {
                match version.kind {
                    $(Kind::$kind => $kind::from_protobuf(detail, bytes).map(Self::$kind),)*
                }
            }

            /// The fact that the object states; see [`Converter::convert`].
            pub(super) fn convert(
                &self,
                converter: &mut Converter,
                position: impl Fn() -> String,
            ) -> Result<Option<Item>, DecodeError> {
                match self {
                    $(Self::$kind(object) => converter.convert(Kind::$kind, object, position),)*
                }
            }

            /// Its kind.
            #[cfg(test)]
            pub(super) fn kind(&self) -> Kind {
                match self { $(Self::$kind(_) => Kind::$kind,)* }
            }

            /// The object in protobuf, without an envelope.
            #[cfg(test)]
            pub(super) fn to_protobuf(&self) -> Vec<u8> {
                match self { $(Self::$kind(object) => object.to_protobuf(),)* }
            }
        }
    };
}

for_each_kind!(wire_objects);
