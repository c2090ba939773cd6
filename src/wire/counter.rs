//! Counters that the devices of a pool draw from together: partitions of one device.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::context::Context;
use super::nullable::{or_default, unique};
use super::quantity::Quantity;
use crate::model;

/// `CounterSet`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct CounterSet {
    /// Unique within the pool.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// How much there is of each.
    #[prost(btree_map = "string, message", tag = "2")]
    #[serde(default, deserialize_with = "unique")]
    pub counters: BTreeMap<String, Counter>,
}

/// `Counter`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Counter {
    /// How much.
    #[prost(message, optional, tag = "1")]
    pub value: Option<Quantity>,
}

/// `DeviceCounterConsumption`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceCounterConsumption {
    /// The set.
    #[prost(string, optional, tag = "1")]
    pub counter_set: Option<String>,
    /// How much of each.
    #[prost(btree_map = "string, message", tag = "2")]
    #[serde(default, deserialize_with = "unique")]
    pub counters: BTreeMap<String, Counter>,
    /// What may be in use beside it.
    #[prost(string, repeated, tag = "3")]
    #[serde(default, deserialize_with = "or_default")]
    pub compatibility_groups: Vec<String>,
}

impl CounterSet {
    pub(super) fn to_model(&self, context: &mut Context) -> model::CounterSet {
        model::CounterSet {
            name: context.intern(self.name.as_deref().unwrap_or_default()),
            counters: counters(&self.counters, context),
        }
    }
}

impl DeviceCounterConsumption {
    pub(super) fn to_model(&self, context: &mut Context) -> model::CounterUse {
        model::CounterUse {
            set: context.intern(self.counter_set.as_deref().unwrap_or_default()),
            counters: counters(&self.counters, context),
            has_groups: !self.compatibility_groups.is_empty(),
        }
    }
}

fn counters(
    counters: &BTreeMap<String, Counter>,
    context: &mut Context,
) -> BTreeMap<Arc<str>, Arc<str>> {
    counters
        .iter()
        .map(|(name, counter)| {
            let quantity = counter.value.as_ref();
            (
                context.intern(name),
                // As Go decodes it: an absent quantity is zero.
                context.intern(quantity.map_or("0", Quantity::as_written)),
            )
        })
        .collect()
}
