//! `DeviceTaintSelector`, with what this plugin does not know about it.
//!
//! A selector field from the future may narrow or widen what a rule hits, so that it must not go
//! unnoticed: JSON tells its name, protobuf only its number.

use std::fmt;

use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer};

use super::context::Context;
use super::message::message;
use crate::model;

/// Selector of the devices that a rule taints.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct DeviceTaintSelector {
    /// The fields of all known versions.
    #[cfg_attr(test, serde(flatten))]
    pub known: SelectorFields,
    /// Others, by name, or as `field 7` where only the number is known.
    #[cfg_attr(test, serde(skip))]
    pub unknown: Vec<String>,
}

message! {
    /// The fields of a selector, of all known versions.
    pub struct SelectorFields {
        /// Absent means any.
        driver: optional string = 2,
        /// Absent means any.
        pool: optional string = 3,
        /// Absent means any.
        device: optional string = 4,
    }
}

const KNOWN_NAMES: [&str; 3] = ["driver", "pool", "device"];

impl DeviceTaintSelector {
    /// The selector as a fact. Unknown fields are warnings in `context`.
    pub(super) fn to_model(&self, context: &mut Context) -> model::DeviceSelector {
        for field in &self.unknown {
            let what = format!(
                "the unknown field `spec.deviceSelector.{}`, which this plugin ignores",
                field.escape_debug()
            );
            context.odd("unknown-selector-field", what);
        }
        // An empty text is no wildcard: it equals no name, as upstream.
        let mut name = |text: &Option<String>| text.as_deref().map(|text| context.intern(text));
        let driver: Option<std::sync::Arc<str>> = name(&self.known.driver);
        let pool = name(&self.known.pool);
        let device = name(&self.known.device);
        model::DeviceSelector {
            driver: driver.map(Into::into),
            pool: pool.map(Into::into),
            device: device.map(Into::into),
            unknown_fields: self.unknown.clone(),
        }
    }
}

impl prost::Message for DeviceTaintSelector {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        self.known.encode_raw(buffer);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), prost::DecodeError> {
        let unknown = match tag {
            2..=4 => None,
            // These two are fields of 1.34, whose numbers no newer field takes.
            1 => Some("deviceClassName".to_owned()),
            5 => Some("selectors".to_owned()),
            _ => Some(format!("field {tag}")),
        };
        self.unknown.extend(unknown);
        // Also for unknown fields: prost has to skip their bytes before it can read the next field.
        self.known.merge_field(tag, wire_type, buffer, context)
    }

    fn encoded_len(&self) -> usize {
        self.known.encoded_len()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl<'de> Deserialize<'de> for DeviceTaintSelector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SelectorVisitor)
    }
}

struct SelectorVisitor;

impl<'de> Visitor<'de> for SelectorVisitor {
    type Value = DeviceTaintSelector;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a device selector")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut unknown = Vec::new();
        let noticing = Noticing {
            map,
            unknown: &mut unknown,
        };
        let known = SelectorFields::deserialize(MapAccessDeserializer::new(noticing))?;
        Ok(DeviceTaintSelector { known, unknown })
    }
}

/// Passes on the known fields of a map and notes the names of the others.
struct Noticing<'a, A> {
    map: A,
    unknown: &'a mut Vec<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Noticing<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: serde::de::DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.map.next_key::<String>()? {
            if KNOWN_NAMES.contains(&name.as_str()) {
                return seed
                    .deserialize(serde::de::value::StringDeserializer::new(name))
                    .map(Some);
            }
            self.map.next_value::<IgnoredAny>()?;
            self.unknown.push(name);
        }
        Ok(None)
    }

    fn next_value_seed<V: serde::de::DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
