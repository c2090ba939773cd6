//! The fields of an object from one of them on, once it is known what the object is.

use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess};

use super::unambiguous::twice;

/// The field whose key has been read already, and those behind it.
///
/// An object that says again what it is, or only now, is an error here.
pub(super) struct Rest<A> {
    first: Option<String>,
    map: A,
}

impl<A> Rest<A> {
    /// From the value of `first` on, which comes next in `map`.
    pub(super) fn new(first: String, map: A) -> Self {
        Self {
            first: Some(first),
            map,
        }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let key = match self.first.take() {
            Some(first) => Some(first),
            None => self.map.next_key::<String>()?,
        };
        let Some(key) = key else {
            return Ok(None);
        };
        // The decoder was chosen by the first occurrence; a second one could contradict it.
        if key == "apiVersion" || key == "kind" {
            return Err(twice(&key));
        }
        let key: StringDeserializer<A::Error> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
