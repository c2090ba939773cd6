//! Deserialization of JSON that Go accepts and serde does not.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::unambiguous::twice;

/// Reads `null` as if the field were absent, as Go does.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a JSON object, or `null`, as a map; a key that occurs twice is an error.
pub(super) fn unique<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_option(UniqueVisitor(PhantomData))
}

struct UniqueVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for UniqueVisitor<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_none<Error>(self) -> Result<Self::Value, Error> {
        Ok(BTreeMap::new())
    }

    fn visit_unit<Error>(self) -> Result<Self::Value, Error> {
        Ok(BTreeMap::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = map.next_entry::<String, T>()? {
            match entries.entry(key) {
                Entry::Vacant(place) => place.insert(value),
                Entry::Occupied(known) => return Err(twice(known.key())),
            };
        }
        Ok(entries)
    }
}

/// A map entry, which protobuf writes as a message of its own.
pub(super) trait MapEntry {
    /// Type of the key's value.
    type Value;

    /// Joins a key and its value.
    fn new(key: String, value: Option<Self::Value>) -> Self;
}

/// Reads a JSON object, or `null`, as a list of entries, by key.
pub(super) fn entries<'de, D, E>(deserializer: D) -> Result<Vec<E>, D::Error>
where
    D: Deserializer<'de>,
    E: MapEntry,
    E::Value: Deserialize<'de>,
{
    let entries: BTreeMap<String, Option<E::Value>> = unique(deserializer)?;
    Ok(entries
        .into_iter()
        .map(|(key, value)| E::new(key, value))
        .collect())
}
