//! A file that people write for this program, with the line of every part.
//!
//! Nothing is known here of what it should say, so that whoever reads it can name the line of all that
//! is wrong with it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::Spanned;

use super::yaml::{describe, documents, with_deserializer};
use crate::model::{Content, Field, SourceNode};

/// The one document of a text in YAML, or in JSON, which is YAML.
///
/// # Errors
///
/// What is no YAML, with where, and a second document.
pub fn parse_with_positions(text: &str) -> Result<SourceNode, String> {
    if let [_, second, ..] = documents(text).as_slice() {
        let line = second.first_line.saturating_add(1);
        return Err(format!(
            "line {line}: a second document begins, but only one is allowed"
        ));
    }
    let node = with_deserializer(text, |deserializer| Node::deserialize(deserializer));
    node.map(|node| node.0).map_err(|error| describe(&error, 0))
}

/// A part of the file, on its way to a [`SourceNode`].
struct Node(SourceNode);

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = Spanned::<Inner>::deserialize(deserializer)?;
        Ok(Self(SourceNode {
            line: found.referenced.line(),
            content: found.value.0,
        }))
    }
}

struct Inner(Content);

impl<'de> Deserialize<'de> for Inner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Parts)
    }
}

struct Parts;

impl<'de> Visitor<'de> for Parts {
    type Value = Inner;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string, a list or a mapping")
    }

    fn visit_str<E>(self, text: &str) -> Result<Inner, E> {
        Ok(Inner(Content::Text(text.to_owned())))
    }

    // Unquoted values of other types keep only their line, which is all that an error about them needs.
    fn visit_bool<E>(self, _: bool) -> Result<Inner, E> {
        Ok(Inner(Content::Other))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Inner, E> {
        Ok(Inner(Content::Other))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Inner, E> {
        Ok(Inner(Content::Other))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Inner, E> {
        Ok(Inner(Content::Other))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Inner, E> {
        Ok(Inner(Content::Other))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Inner, E> {
        Ok(Inner(Content::Other))
    }

    fn visit_unit<E>(self) -> Result<Inner, E> {
        Ok(Inner(Content::Other))
    }

    fn visit_none<E>(self) -> Result<Inner, E> {
        Ok(Inner(Content::Other))
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Inner, E> {
        Ok(Inner(Content::Other))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Inner, A::Error> {
        let mut parts = Vec::new();
        while let Some(Node(part)) = sequence.next_element()? {
            parts.push(part);
        }
        Ok(Inner(Content::List(parts)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Inner, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = map.next_key::<Spanned<String>>()? {
            let Node(value) = map.next_value()?;
            fields.push(Field {
                line: name.referenced.line(),
                name: name.value,
                value,
            });
        }
        Ok(Inner(Content::Fields(fields)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a text, one word each with its line.
    fn describe(part: &SourceNode) -> String {
        let line = part.line;
        match &part.content {
            Content::Text(text) => format!("{line}:{text:?}"),
            Content::Other => format!("{line}:?"),
            Content::List(parts) => {
                let parts: Vec<String> = parts.iter().map(describe).collect();
                format!("{line}:[{}]", parts.join(" "))
            }
            Content::Fields(fields) => {
                let fields = fields.iter().map(|field| {
                    format!("{}:{}={}", field.line, field.name, describe(&field.value))
                });
                format!("{line}:{{{}}}", fields.collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn every_part_has_the_line_on_which_it_begins() {
        let text = "# ours\na: x\nb:\n- 'y'\n- c: 5\n  d: \"5\"\ne:\n";
        let read = parse_with_positions(text).unwrap();
        assert_eq!(
            describe(&read),
            r#"2:{2:a=2:"x" 3:b=4:[4:"y" 5:{5:c=5:? 6:d=6:"5"}] 7:e=7:?}"#
        );
    }

    #[test]
    fn json_is_read_too() {
        let read = parse_with_positions("{\"a\": [\"x\",\n \"y\"]}").unwrap();
        assert_eq!(describe(&read), r#"1:{1:a=1:[1:"x" 2:"y"]}"#);
    }

    #[test]
    fn what_is_no_document_is_told_with_its_line() {
        for (text, wanted) in [
            ("a: x\na: y\n", "line 2"),
            ("a: [x\n", "line"),
            (
                "a: x\n---\nb: y\n",
                "line 2: a second document begins, but only one is allowed",
            ),
            ("a: *b\n", "line 1"),
        ] {
            let error = parse_with_positions(text).unwrap_err();
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
        let deep = "[".repeat(100);
        assert!(parse_with_positions(&deep).is_err());
    }

    #[test]
    fn an_empty_text_says_nothing() {
        for text in ["", "# nothing\n", "---\n"] {
            let read = parse_with_positions(text).map(|read| read.content);
            assert_eq!(read, Ok(Content::Other), "{text:?}");
        }
    }
}
