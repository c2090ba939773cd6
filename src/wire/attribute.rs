//! Attributes and capacities of devices, for selection by expression.

use std::collections::BTreeMap;
use std::sync::Arc;

use litemap::LiteMap;

use super::message::message;
use super::object::Context;
use super::slice::CapacityRequestPolicy;
use super::time::Quantity;
use super::unambiguous::or_default;
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
            AttributeValue::Strings(context.intern_all(&self.strings))
        } else if !self.versions.is_empty() {
            AttributeValue::Versions(context.intern_all(&self.versions))
        } else {
            // An empty list and a type of a newer API look alike in protobuf: nothing that is known is set.
            AttributeValue::Unknown
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

/// The attributes as facts, by name. Those of an unknown type are kept as such, with a warning in `context`.
pub(super) fn attributes(
    entries: &BTreeMap<String, DeviceAttribute>,
    context: &mut Context,
) -> Lazy<LiteMap<Arc<str>, AttributeValue>> {
    let entries = entries.iter().map(|(name, value)| {
        let value = value.to_model(context);
        if value == AttributeValue::Unknown {
            let what = "the attribute of an unknown type";
            context.unknown("unknown-attribute-type", what, name);
        }
        (context.intern(name), value)
    });
    entries.collect()
}

/// The capacities as facts, by name.
pub(super) fn capacity(
    entries: &BTreeMap<String, DeviceCapacity>,
    context: &mut Context,
) -> Lazy<LiteMap<Arc<str>, Arc<str>>> {
    let entries = entries.iter().map(|(name, capacity)| {
        // No unknown becomes a zero here: Go decodes an absent
        // quantity as zero, and the allocator counts with that.
        let text = capacity.value.as_ref().map_or("0", Quantity::as_written);
        (context.intern(name), context.intern(text))
    });
    entries.collect()
}

/// The policies of those capacities that have one.
pub(super) fn policies(
    entries: &BTreeMap<String, DeviceCapacity>,
    context: &mut Context,
) -> BTreeMap<Arc<str>, CapacityPolicy> {
    let mut policies = BTreeMap::new();
    for (name, capacity) in entries {
        if let Some(policy) = &capacity.request_policy {
            policies.insert(context.intern(name), policy.to_model(context));
        }
    }
    policies
}
