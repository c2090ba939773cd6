//! An object as it is written, beside what is made of it.

use serde::de::{DeserializeSeed, Error, MapAccess};
use serde_json::{Map, Value};

use super::unambiguous::{Unambiguous, twice};

/// What the object is, which has been noted already, be it because its list has said so.
const TYPE: [&str; 2] = ["apiVersion", "kind"];

/// The fields of an object, each of which is noted as it is read.
///
/// One pass gives both what this plugin knows of an object and all that it says.
pub(super) struct Written<'a, A> {
    fields: A,
    noted: &'a mut Map<String, Value>,
    key: String,
}

impl<'a, A> Written<'a, A> {
    /// Notes all of `fields` in `noted`.
    pub(super) fn new(fields: A, noted: &'a mut Map<String, Value>) -> Self {
        Self {
            fields,
            noted,
            key: String::new(),
        }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Written<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.fields.next_key::<String>()? else {
            return Ok(None);
        };
        if !TYPE.contains(&&*key) && self.noted.contains_key(&key) {
            return Err(twice(&key));
        }
        self.key.clone_from(&key);
        let key = serde::de::value::StringDeserializer::new(key);
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        let value = self.fields.next_value::<Unambiguous>()?.into_value();
        let key = std::mem::take(&mut self.key);
        if !TYPE.contains(&&*key) {
            self.noted.insert(key, value.clone());
        }
        seed.deserialize(value).map_err(A::Error::custom)
    }
}
