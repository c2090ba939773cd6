//! Values in which no key occurs twice.
//!
//! Of two values of one key, readers of JSON take the one or the other; here that is an error, as it is
//! in YAML.

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map};

/// A value of any sort.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Unambiguous(Value);

impl Unambiguous {
    pub(super) fn into_value(self) -> Value {
        self.0
    }
}

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // YAML has `.nan` and `.inf`, for which JSON has no number.
        let number = Number::from_f64(value).map(Value::Number);
        number.ok_or_else(|| E::custom(format_args!("{value} is not a number in JSON")))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unambiguous(item)) = sequence.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((key, Unambiguous(value))) = map.next_entry::<String, _>()? {
            match fields.entry(key) {
                map::Entry::Vacant(place) => place.insert(value),
                map::Entry::Occupied(known) => return Err(twice(known.key())),
            };
        }
        Ok(fields.into())
    }
}

/// The error for a key that occurs twice in one object.
pub(super) fn twice<E: Error>(key: &str) -> E {
    E::custom(format_args!(
        "the key `{}` occurs twice",
        key.escape_debug()
    ))
}

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
    T: Default + Deserialize<'de>,
{
    deserializer.deserialize_option(UniqueVisitor(PhantomData))
}

struct UniqueVisitor<T>(PhantomData<T>);

impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for UniqueVisitor<T> {
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
        while let Some((key, value)) = map.next_entry::<String, Option<T>>()? {
            match entries.entry(key) {
                btree_map::Entry::Vacant(place) => place.insert(value.unwrap_or_default()),
                btree_map::Entry::Occupied(known) => return Err(twice(known.key())),
            };
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_occurs_twice_is_an_error_at_any_depth() {
        for (json, wrong) in [
            (r#"{"a":1,"b":[{"c":null}]}"#, false),
            (r#"{"a":1,"b":{"a":2}}"#, false),
            (r#"{"a":1,"a":1}"#, true),
            (r#"[{"b":{"c":true,"d":2.5,"c":"x"}}]"#, true),
        ] {
            let read = serde_json::from_str::<Unambiguous>(json);
            assert_eq!(read.is_err(), wrong, "{json}");
            if let Ok(value) = read {
                let plain: Value = serde_json::from_str(json).expect(json);
                assert_eq!(value.into_value(), plain);
            }
        }
    }
}
