//! Capacities of devices, and in which portions they are handed out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::Context;
use super::message::message;
use super::nullable::unique;
use super::quantity::Quantity;
use crate::model;

message! {
    /// `CapacityRequestPolicy`.
    pub struct CapacityRequestPolicy {
        /// Portion for requests without one.
        default: optional Quantity = 1,
        /// The portions that there are.
        valid_values: repeated Quantity = 3,
        /// The portions that there are, as a range.
        valid_range: optional CapacityRequestPolicyRange = 4,
    }

    /// `CapacityRequestPolicyRange`.
    pub struct CapacityRequestPolicyRange {
        /// The smallest.
        min: optional Quantity = 1,
        /// The largest.
        max: optional Quantity = 2,
        /// By how much they differ.
        step: optional Quantity = 3,
    }

    /// `CapacityRequirements`.
    pub struct CapacityRequirements {
        /// Requested amounts.
        #[prost(btree_map = "string, message", tag = "1")]
        #[serde(default, deserialize_with = "unique")]
        pub requests: BTreeMap<String, Quantity>,
    }
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
