//! Encoders for tests: the wire structs written back as JSON.

use serde::Serializer;
use serde::ser::SerializeMap;

use super::attribute::{AttributeEntry, CapacityEntry};

/// Writes entries as the map that they are in JSON.
pub(super) fn attributes<S: Serializer>(
    entries: &[AttributeEntry],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(entries.len()))?;
    for entry in entries {
        map.serialize_entry(&entry.name, &entry.value)?;
    }
    map.end()
}

/// Writes entries as the map that they are in JSON.
pub(super) fn capacity<S: Serializer>(
    entries: &[CapacityEntry],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(entries.len()))?;
    for entry in entries {
        map.serialize_entry(&entry.name, &entry.value)?;
    }
    map.end()
}
