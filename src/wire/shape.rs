//! Which struct an object is decoded into.

use prost::Message;
use serde::de::{Deserialize, Deserializer};

use super::claim::ResourceClaim;
use super::class::DeviceClass;
use super::error::DecodeError;
use super::object::{Converter, Item};
use super::pod::Pod;
use super::rule::DeviceTaintRule;
use super::slice::ResourceSlice;
use super::versions::Shape;
use super::{slice_names, slice_v1beta1};
use crate::model::Kind;

/// How much of each device to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Name, node and taints.
    Names,
    /// Attributes and capacities too: for selection by expression or class, and for the rules of
    /// Kubernetes 1.33 and 1.34.
    Attributes,
}

/// An object as it is on the wire, of any needed kind.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize), serde(untagged))]
pub(super) enum WireObject {
    Slice(ResourceSlice),
    Claim(ResourceClaim),
    Rule(DeviceTaintRule),
    Class(DeviceClass),
    Pod(Pod),
}

impl WireObject {
    /// Decodes the fields of an object from JSON or YAML.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        shape: Shape,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        match shape {
            Shape::Slice => ResourceSlice::deserialize(deserializer).map(Self::Slice),
            Shape::SliceV1beta1 => slice_v1beta1::ResourceSlice::deserialize(deserializer)
                .map(|slice| Self::Slice(slice.into())),
            Shape::Claim => ResourceClaim::deserialize(deserializer).map(Self::Claim),
            Shape::Rule => DeviceTaintRule::deserialize(deserializer).map(Self::Rule),
            Shape::Class => DeviceClass::deserialize(deserializer).map(Self::Class),
            Shape::Pod => Pod::deserialize(deserializer).map(Self::Pod),
        }
    }

    /// Decodes an object from protobuf.
    pub(super) fn decode(
        shape: Shape,
        detail: Detail,
        bytes: &[u8],
    ) -> Result<Self, prost::DecodeError> {
        match shape {
            Shape::Slice => match detail {
                Detail::Names => {
                    slice_names::ResourceSlice::decode(bytes).map(|slice| Self::Slice(slice.into()))
                }
                Detail::Attributes => ResourceSlice::decode(bytes).map(Self::Slice),
            },
            Shape::SliceV1beta1 => {
                let slice = slice_v1beta1::ResourceSlice::decode(bytes)?;
                Ok(Self::Slice(ResourceSlice::from(slice).with(detail)))
            }
            Shape::Claim => ResourceClaim::decode(bytes).map(Self::Claim),
            Shape::Rule => DeviceTaintRule::decode(bytes).map(Self::Rule),
            Shape::Class => DeviceClass::decode(bytes).map(Self::Class),
            Shape::Pod => Pod::decode(bytes).map(Self::Pod),
        }
    }

    /// The fact that the object states; see [`Converter::convert`].
    pub(super) fn convert(
        &self,
        converter: &mut Converter,
        position: impl Fn() -> String,
    ) -> Result<Option<Item>, DecodeError> {
        match self {
            Self::Slice(slice) => converter.convert(Kind::ResourceSlice, slice, position),
            Self::Claim(claim) => converter.convert(Kind::ResourceClaim, claim, position),
            Self::Rule(rule) => converter.convert(Kind::DeviceTaintRule, rule, position),
            Self::Class(class) => converter.convert(Kind::DeviceClass, class, position),
            Self::Pod(pod) => converter.convert(Kind::Pod, pod, position),
        }
    }
}
