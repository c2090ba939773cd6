//! What Go accepts as JSON and serde does not.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Reads `null` as if the field were absent, as Go does.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A map entry, which protobuf writes as a message of its own.
///
/// A list of entries is as good as a map here and cheaper: it is read once, front to back.
pub(super) trait Entry {
    /// What the key leads to.
    type Value;

    /// Joins a key and its value.
    fn new(key: String, value: Option<Self::Value>) -> Self;
}

/// Reads a JSON object, or `null`, as a list of entries.
pub(super) fn entries<'de, D, E>(deserializer: D) -> Result<Vec<E>, D::Error>
where
    D: Deserializer<'de>,
    E: Entry,
    E::Value: Deserialize<'de>,
{
    deserializer.deserialize_option(EntriesVisitor(PhantomData))
}

struct EntriesVisitor<E>(PhantomData<E>);

impl<'de, E> Visitor<'de> for EntriesVisitor<E>
where
    E: Entry,
    E::Value: Deserialize<'de>,
{
    type Value = Vec<E>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_none<Error>(self) -> Result<Self::Value, Error> {
        Ok(Vec::new())
    }

    fn visit_unit<Error>(self) -> Result<Self::Value, Error> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry()? {
            entries.push(E::new(key, value));
        }
        Ok(entries)
    }
}
