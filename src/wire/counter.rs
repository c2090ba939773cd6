//! Counters that the devices of a pool draw from together: partitions of one device.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::Context;
use super::message::message;
use super::nullable::unique;
use super::quantity::Quantity;
use crate::model;

message! {
    /// `CounterSet`.
    pub struct CounterSet {
        /// Unique within the pool.
        name: optional string = 1,
        /// Values by counter.
        #[prost(btree_map = "string, message", tag = "2")]
        #[serde(default, deserialize_with = "unique")]
        pub counters: BTreeMap<String, Counter>,
    }

    /// `Counter`.
    pub struct Counter {
        /// Value.
        value: optional Quantity = 1,
    }

    /// `DeviceCounterConsumption`.
    pub struct DeviceCounterConsumption {
        /// The set.
        counter_set: optional string = 1,
        /// Consumption by counter.
        #[prost(btree_map = "string, message", tag = "2")]
        #[serde(default, deserialize_with = "unique")]
        pub counters: BTreeMap<String, Counter>,
        /// Groups of devices that may be in use beside it.
        compatibility_groups: repeated string = 3,
    }
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
