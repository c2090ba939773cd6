//! Position in the text of a field that cannot be decoded.
//!
//! Runs only after an error: reads the text once more, for nothing but that place.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use serde_yaml::Spanned;

use super::yaml;

/// A step from a value to one within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To the value of this key.
    Key(String),
    /// To the entry at this index of a list.
    Index(usize),
}

/// The way to the object at these indices into lists.
pub(super) fn to_object(indices: &[usize]) -> Vec<Step> {
    let steps = indices
        .iter()
        .map(|index| [Step::Key("items".to_owned()), Step::Index(*index)]);
    steps.flatten().collect()
}

/// Line and column, from one, of the value to which `way` leads from the document with that `number`,
/// from zero, of a text in JSON.
pub(super) fn in_json(text: &str, number: usize, way: &[Step]) -> Option<(usize, usize)> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let mut value = documents.nth(number)?.ok()?.get();
    for step in way {
        let within = match step {
            Step::Key(key) => {
                let mut fields: BTreeMap<String, &RawValue> = serde_json::from_str(value).ok()?;
                fields.remove(key)?
            }
            Step::Index(index) => {
                let entries: Vec<&RawValue> = serde_json::from_str(value).ok()?;
                entries.get(*index).copied()?
            }
        };
        value = within.get();
    }
    // A `RawValue` borrows from `text`, so the distance of the two pointers is its offset.
    let offset = value.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let before = text.get(..offset)?;
    let last_line = before.rsplit('\n').next().unwrap_or_default();
    let line = before.matches('\n').count().saturating_add(1);
    Some((line, last_line.chars().count().saturating_add(1)))
}

/// Line and column, from one, of the value to which `way` leads from the one document of a text in YAML.
pub(super) fn in_yaml(text: &str, way: &[Step]) -> Option<(u64, u64)> {
    let found: Spanned<IgnoredAny> = yaml_at(text, way).ok()??;
    Some((found.referenced.line(), found.referenced.column()))
}

/// Why the value to which `way` leads is no text in YAML, if it is none.
pub(super) fn not_a_text(text: &str, way: &[Step]) -> Option<serde_yaml::Error> {
    yaml_at::<String>(text, way).err()
}

fn yaml_at<T>(text: &str, way: &[Step]) -> Result<Option<T>, serde_yaml::Error>
where
    T: for<'de> Deserialize<'de>,
{
    let seek = Seek {
        way,
        value: PhantomData,
    };
    yaml::with_deserializer(text, |deserializer| seek.deserialize(deserializer))
}

/// Goes along the way, and reads what is at its end.
struct Seek<'a, T> {
    way: &'a [Step],
    value: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Seek<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
        if self.way.is_empty() {
            T::deserialize(from).map(Some)
        } else {
            from.deserialize_any(self)
        }
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Seek<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("fields or a list")
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<T>, A::Error> {
        let mut found = None;
        // Read to the end even after the value is found: serde requires visitors to consume the whole map.
        while let Some(key) = map.next_key::<String>()? {
            match self.way.split_first() {
                Some((Step::Key(wanted), way)) if *wanted == key => {
                    let value = PhantomData;
                    found = map.next_value_seed(Seek { way, value })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Option<T>, A::Error> {
        let mut found = None;
        for index in 0.. {
            let is_there = match self.way.split_first() {
                Some((Step::Index(wanted), way)) if *wanted == index => {
                    let value = PhantomData;
                    let entry = sequence.next_element_seed(Seek { way, value })?;
                    entry.map(|entry| found = entry).is_some()
                }
                _ => sequence.next_element::<IgnoredAny>()?.is_some(),
            };
            if !is_there {
                break;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(steps: &str) -> Vec<Step> {
        let steps = steps.split('.').filter(|step| !step.is_empty());
        let step = |step: &str| {
            step.parse()
                .map_or_else(|_| Step::Key(step.to_owned()), Step::Index)
        };
        steps.map(step).collect()
    }

    #[test]
    fn place_is_where_the_value_begins() {
        let json = "{\"a\": 1}\n{\"é\": [0,\n  {\"b\": 7}], \"c\": {}}";
        for (number, steps, place) in [
            (0, "a", Some((1, 7))),
            (1, "", Some((2, 1))),
            (1, "é.0", Some((2, 8))),
            (1, "é.1.b", Some((3, 9))),
            (1, "c", Some((3, 19))),
            (1, "d", None),
            (1, "é.2", None),
            (1, "c.0", None),
            (2, "", None),
        ] {
            assert_eq!(
                in_json(json, number, &way(steps)),
                place,
                "{number} {steps}"
            );
        }
        let yaml = "# ours\na:\n- x\n- b: yes\nc:\n";
        for (steps, place) in [
            ("a.1.b", Some((4, 6))),
            ("a.0", Some((3, 3))),
            ("a.2", None),
            ("a.b", None),
            ("d", None),
        ] {
            assert_eq!(in_yaml(yaml, &way(steps)), place, "{steps}");
        }
        assert!(not_a_text(yaml, &way("a.1.b")).is_some());
        assert!(not_a_text(yaml, &way("a.0")).is_none());
    }

    #[test]
    fn objects_of_lists_are_below_items() {
        assert_eq!(to_object(&[2, 0]), way("items.2.items.0"));
    }
}
