//! Attributes and capacities of devices, for selection by expression.

use std::collections::BTreeMap;
use std::sync::Arc;

use litemap::LiteMap;

use super::capacity::CapacityRequestPolicy;
use super::context::Context;
use super::message::message;
use super::nullable::{MapEntry, or_default};
use super::quantity::Quantity;
use crate::model::{AttributeValue, CapacityPolicy, Lazy};

message! {
    /// `DeviceAttribute`: exactly one field is set, unless a newer API has added another.
    pub struct DeviceAttribute {
        /// A number.
        int: optional int64 = 2,
        /// A truth value.
        bool: optional bool = 3,
        /// A text.
        string: optional string = 4,
        /// A semantic version.
        version: optional string = 5,
        /// Several numbers.
        // generated.proto is proto2, where repeated numbers are packed only if it says so.
        #[prost(int64, repeated, packed = "false", tag = "6")]
        #[serde(default, deserialize_with = "or_default")]
        pub ints: Vec<i64>,
        /// Several truth values.
        #[prost(bool, repeated, packed = "false", tag = "7")]
        #[serde(default, deserialize_with = "or_default")]
        pub bools: Vec<bool>,
        /// Several texts.
        strings: repeated string = 8,
        /// Several semantic versions.
        versions: repeated string = 9,
    }
}

impl DeviceAttribute {
    fn to_model(&self, context: &mut Context) -> AttributeValue {
        if let Some(number) = self.int {
            AttributeValue::Int(number)
        } else if let Some(truth) = self.bool {
            AttributeValue::Bool(truth)
        } else if let Some(text) = &self.string {
            AttributeValue::String(context.intern(text))
        } else if let Some(version) = &self.version {
            AttributeValue::Version(context.intern(version))
        } else {
            self.list_to_model(context)
        }
    }

    fn list_to_model(&self, context: &mut Context) -> AttributeValue {
        if !self.ints.is_empty() {
            AttributeValue::Ints(self.ints.clone())
        } else if !self.bools.is_empty() {
            AttributeValue::Bools(self.bools.clone())
        } else if !self.strings.is_empty() {
            AttributeValue::Strings(interned(&self.strings, context))
        } else if !self.versions.is_empty() {
            AttributeValue::Versions(interned(&self.versions, context))
        } else {
            // An empty list and a type of a newer API look alike in protobuf: nothing that is known is set.
            AttributeValue::Unknown
        }
    }
}

fn interned(texts: &[String], context: &mut Context) -> Vec<Arc<str>> {
    texts.iter().map(|text| context.intern(text)).collect()
}

/// An entry of `attributes`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttributeEntry {
    /// With the domain, or without one for the driver's own.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// The attribute.
    #[prost(message, optional, tag = "2")]
    pub value: Option<DeviceAttribute>,
}

impl MapEntry for AttributeEntry {
    type Value = DeviceAttribute;

    fn new(name: String, value: Option<DeviceAttribute>) -> Self {
        Self {
            name: Some(name),
            value,
        }
    }
}

message! {
    /// `DeviceCapacity`.
    pub struct DeviceCapacity {
        /// Amount.
        value: optional Quantity = 1,
        /// In which portions.
        request_policy: optional CapacityRequestPolicy = 2,
    }
}

/// An entry of `capacity`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CapacityEntry {
    /// With the domain, or without one for the driver's own.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// The capacity.
    #[prost(message, optional, tag = "2")]
    pub value: Option<DeviceCapacity>,
}

impl MapEntry for CapacityEntry {
    type Value = DeviceCapacity;

    fn new(name: String, value: Option<DeviceCapacity>) -> Self {
        Self {
            name: Some(name),
            value,
        }
    }
}

/// The attributes as facts, by name. Those of an unknown type are kept as such, with a warning in `context`.
pub(super) fn attributes(
    entries: &[AttributeEntry],
    context: &mut Context,
) -> Lazy<LiteMap<Arc<str>, AttributeValue>> {
    entries
        .iter()
        .map(|entry| {
            let name = entry.name.as_deref().unwrap_or_default();
            let value = entry
                .value
                .as_ref()
                .map_or(AttributeValue::Unknown, |value| value.to_model(context));
            if value == AttributeValue::Unknown {
                let what = format!(
                    "the attribute `{}`, whose type this plugin does not know",
                    name.escape_debug()
                );
                context.odd("unknown-attribute-type", what);
            }
            (context.intern(name), value)
        })
        .collect()
}

/// The capacities as facts, by name.
pub(super) fn capacity(
    entries: &[CapacityEntry],
    context: &mut Context,
) -> Lazy<LiteMap<Arc<str>, Arc<str>>> {
    entries
        .iter()
        .map(|entry| {
            let quantity = entry
                .value
                .as_ref()
                .and_then(|capacity| capacity.value.as_ref());
            // No unknown becomes a zero here: Go decodes an absent
            // quantity as zero, and the allocator counts with that.
            let text = quantity.map_or("0", Quantity::as_written);
            (
                context.intern(entry.name.as_deref().unwrap_or_default()),
                context.intern(text),
            )
        })
        .collect()
}

/// The policies of those capacities that have one.
pub(super) fn policies(
    entries: &[CapacityEntry],
    context: &mut Context,
) -> BTreeMap<Arc<str>, CapacityPolicy> {
    let mut policies = BTreeMap::new();
    for entry in entries {
        let capacity = entry.value.as_ref();
        if let Some(policy) = capacity.and_then(|capacity| capacity.request_policy.as_ref()) {
            let name = context.intern(entry.name.as_deref().unwrap_or_default());
            policies.insert(name, policy.to_model(context));
        }
    }
    policies
}
