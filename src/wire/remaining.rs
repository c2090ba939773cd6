//! The rest of an object, once it is known what it is.

use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess};
use serde_json::Value;

use super::unambiguous::twice;

/// A map whose first entries were read already: those that came before `apiVersion` and `kind`.
///
/// Everything that prints Kubernetes objects puts these two first, so that normally nothing but the
/// key at hand has been read.
pub(super) struct Remaining<A> {
    read: std::vec::IntoIter<(String, Value)>,
    /// Read, but its value not yet.
    key: Option<String>,
    /// The value of the entry of `read` whose key was given out last.
    value: Option<Value>,
    map: A,
    /// The object has said both what it is and at which version: it cannot do so once more.
    typed: bool,
}

impl<A> Remaining<A> {
    /// `read`, then `key` with the value that comes next in `map`, then the rest of `map`.
    pub(super) fn new(read: Vec<(String, Value)>, key: Option<String>, map: A) -> Self {
        Self {
            read: read.into_iter(),
            key,
            value: None,
            map,
            typed: false,
        }
    }

    /// Of an object that has said itself what it is, and may not do so once more.
    pub(super) fn typed(self) -> Self {
        Self {
            typed: true,
            ..self
        }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Remaining<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let key = match self.read.next() {
            Some((key, value)) => {
                self.value = Some(value);
                key
            }
            None => match self.key.take() {
                Some(key) => key,
                None => match self.map.next_key::<String>()? {
                    Some(key) if self.typed && ["apiVersion", "kind"].contains(&&*key) => {
                        return Err(twice(&key));
                    }
                    Some(key) => key,
                    None => return Ok(None),
                },
            },
        };
        seed.deserialize(StringDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value).map_err(A::Error::custom),
            None => self.map.next_value_seed(seed),
        }
    }
}
