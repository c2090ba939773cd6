//! Attributes of devices.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::UNKNOWN;
use crate::model::{AttributeValue, Device};

/// The value of an attribute: a boolean, an integer, a string (also for a version), or a list of one of
/// these types; null for a type that this plugin does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AttributeView {
    /// A truth value.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A text or a version.
    Text(String),
    /// Several truth values.
    Bools(Vec<bool>),
    /// Several numbers.
    Ints(Vec<i64>),
    /// Several texts or versions.
    Texts(Vec<String>),
    /// A type that this plugin does not know.
    Unknown,
}

impl From<&AttributeValue> for AttributeView {
    fn from(value: &AttributeValue) -> Self {
        let texts = |texts: &[std::sync::Arc<str>]| {
            let texts = texts.iter().map(ToString::to_string);
            Self::Texts(texts.collect())
        };
        match value {
            AttributeValue::Int(number) => Self::Int(*number),
            AttributeValue::Bool(value) => Self::Bool(*value),
            AttributeValue::String(text) | AttributeValue::Version(text) => {
                Self::Text(text.to_string())
            }
            AttributeValue::Ints(numbers) => Self::Ints(numbers.clone()),
            AttributeValue::Bools(values) => Self::Bools(values.clone()),
            AttributeValue::Strings(several) | AttributeValue::Versions(several) => texts(several),
            // Kept and not left out: the device has the attribute, whatever its type is.
            AttributeValue::Unknown => Self::Unknown,
        }
    }
}

impl AttributeView {
    /// The value as tables show it.
    pub(super) fn cell(&self) -> String {
        fn joined<T: ToString>(values: &[T]) -> String {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            values.join(",")
        }
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Bools(values) => joined(values),
            Self::Ints(numbers) => joined(numbers),
            Self::Texts(texts) => joined(texts),
            Self::Unknown => UNKNOWN.to_owned(),
        }
    }
}

pub(super) fn attributes_of(device: &Device) -> BTreeMap<String, AttributeView> {
    let attributes = device
        .attributes
        .iter()
        .map(|(name, value)| (name.to_string(), value.into()));
    attributes.collect()
}

pub(super) fn capacity_of(device: &Device) -> BTreeMap<String, String> {
    let capacity = device
        .capacity
        .iter()
        .map(|(name, written)| (name.to_string(), written.to_string()));
    capacity.collect()
}
