//! Capacities of devices, and in which portions they are handed out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::context::Context;
use super::nullable::{or_default, unique};
use super::quantity::Quantity;
use crate::model;

/// `CapacityRequestPolicy`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct CapacityRequestPolicy {
    /// The portion of whoever asks for none.
    #[prost(message, optional, tag = "1")]
    pub default: Option<Quantity>,
    /// The portions that there are.
    #[prost(message, repeated, tag = "3")]
    #[serde(default, deserialize_with = "or_default")]
    pub valid_values: Vec<Quantity>,
    /// The portions that there are, as a range.
    #[prost(message, optional, tag = "4")]
    pub valid_range: Option<CapacityRequestPolicyRange>,
}

/// `CapacityRequestPolicyRange`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct CapacityRequestPolicyRange {
    /// The smallest.
    #[prost(message, optional, tag = "1")]
    pub min: Option<Quantity>,
    /// The largest.
    #[prost(message, optional, tag = "2")]
    pub max: Option<Quantity>,
    /// By how much they differ.
    #[prost(message, optional, tag = "3")]
    pub step: Option<Quantity>,
}

/// `CapacityRequirements`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct CapacityRequirements {
    /// How much of each.
    #[prost(btree_map = "string, message", tag = "1")]
    #[serde(default, deserialize_with = "unique")]
    pub requests: BTreeMap<String, Quantity>,
}

/// Quantities by name.
pub(super) fn quantities(
    written: &BTreeMap<String, Quantity>,
    context: &mut Context,
) -> BTreeMap<Arc<str>, Arc<str>> {
    written
        .iter()
        .map(|(name, quantity)| (context.intern(name), context.intern(quantity.as_written())))
        .collect()
}

impl CapacityRequestPolicy {
    pub(super) fn to_model(&self, context: &mut Context) -> model::CapacityPolicy {
        let mut intern = |quantity: &Quantity| context.intern(quantity.as_written());
        model::CapacityPolicy {
            default: self.default.as_ref().map(&mut intern),
            values: self.valid_values.iter().map(&mut intern).collect(),
            range: self.valid_range.as_ref().map(|range| model::CapacityRange {
                min: range.min.as_ref().map(&mut intern),
                max: range.max.as_ref().map(&mut intern),
                step: range.step.as_ref().map(&mut intern),
            }),
        }
    }
}
