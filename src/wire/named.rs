//! Who is the object that could not be decoded?
//!
//! Runs only after an error: reads the text once more, for nothing but names.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::yaml;

/// An object or a list, reduced to names.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    metadata: NamedMeta,
    #[serde(default)]
    items: Vec<Named>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedMeta {
    name: Text,
    namespace: Text,
}

/// A text, or nothing if it is something else.
#[derive(Default)]
struct Text(Option<String>);

/// Name of the object at `path`, whose first element counts documents from `first` on.
pub(super) fn in_json(text: &str, first: usize, path: &[usize]) -> Option<String> {
    let (document, path) = path.split_first()?;
    serde_json::Deserializer::from_str(text)
        .into_iter::<Named>()
        .nth(document.checked_sub(first)?)?
        .ok()?
        .find(path)
}

/// Name of the object at `path`, whose first element stands for the document at hand.
pub(super) fn in_yaml(text: &str, path: &[usize]) -> Option<String> {
    let (_, path) = path.split_first()?;
    yaml::with_deserializer(text, |deserializer| Named::deserialize(deserializer))
        .ok()?
        .find(path)
}

impl Named {
    fn find(&self, path: &[usize]) -> Option<String> {
        if let Some((index, rest)) = path.split_first() {
            return self.items.get(*index)?.find(rest);
        }
        let name = self.metadata.name.0.as_ref()?;
        Some(match &self.metadata.namespace.0 {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.clone(),
        })
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("anything")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(Some(text.to_owned())))
    }

    fn visit_unit<E: Error>(self) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Text, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }
}
