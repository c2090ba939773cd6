//! JSON for scripts.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use super::format::RenderError;
use crate::output::escape::{is_hostile, is_plain};

/// One document, indented by two spaces, with a line break at its end.
///
/// # Errors
///
/// When the value holds something that JSON cannot express.
pub fn render(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut document = Vec::new();
    write(value, &mut document)?;
    String::from_utf8(document).map_err(|error| serde_json::Error::io(io::Error::other(error)))
}

/// Writes what [`render`] returns in parts, each of which is text: a report of a large cluster has tens of
/// megabytes, which are never in memory as a whole.
///
/// # Errors
///
/// As [`render`], and when `to` takes no more.
pub fn write(value: &impl Serialize, to: &mut impl Write) -> Result<(), serde_json::Error> {
    let mut escaping = Escaping {
        to,
        pending: Vec::with_capacity(PART),
    };
    serde_json::to_writer_pretty(&mut escaping, value)?;
    let ended = escaping.write_all(b"\n").and_then(|()| escaping.pass());
    ended.map_err(serde_json::Error::io)
}

/// Bytes that are escaped and passed on at a time: the serializer makes millions of writes of a few bytes each.
const PART: usize = 32 * 1024;

/// Escapes what is written to it; every write has to be text, as those of the serializer are.
struct Escaping<'w, W> {
    to: &'w mut W,
    /// Bytes that were not passed on yet.
    pending: Vec<u8>,
}

impl<W: Write> Escaping<'_, W> {
    fn pass(&mut self) -> io::Result<()> {
        let text = str::from_utf8(&self.pending).map_err(io::Error::other)?;
        self.to.write_all(escaped(text, push_utf16).as_bytes())?;
        self.pending.clear();
        Ok(())
    }
}

impl<W: Write> Write for Escaping<'_, W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.pending.len() >= PART {
            self.pass()?;
        }
        self.pending.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass()?;
        self.to.flush()
    }
}

/// Escapes what a string holds raw although it may not reach a terminal. Such characters stand in
/// strings only, where JSON allows every character to be escaped.
pub(super) fn escaped(json: &str, push: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let must_go = |character| is_hostile(character) && character != '\n';
    if is_plain(json) || !json.chars().any(must_go) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if must_go(character) {
            push(&mut text, character);
        } else {
            text.push(character);
        }
    }
    Cow::Owned(text)
}

fn push_utf16(text: &mut String, character: char) {
    // JSON writes characters beyond 16 bits as two escapes (RFC 8259).
    for unit in character.encode_utf16(&mut [0; 2]) {
        let written = write!(text, "\\u{unit:04x}");
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
}

/// One document as kubectl writes it: lists at the depth of their key, long strings on one line,
/// strings quoted that a YAML 1.1 reader would take for something else.
///
/// A document with characters that may not reach a terminal raw is written in YAML's JSON form,
/// where each of them can be escaped.
///
/// # Errors
///
/// When the value holds something that YAML or JSON cannot express.
pub fn render_yaml(value: &impl Serialize) -> Result<String, RenderError> {
    let options = serde_yaml::ser_options! {
        indent_step: 2,
        compact_list_indent: true,
        prefer_block_scalars: false,
    };
    let text = serde_yaml::to_string_with_options(value, options)?;
    if !text
        .chars()
        .any(|character| is_hostile(character) && character != '\n')
    {
        return Ok(text);
    }
    let json = serde_json::to_string_pretty(value)?;
    Ok(escaped(&json, push_code_point).into_owned() + "\n")
}

/// Unlike JSON, YAML knows code points beyond 16 bits, and no pairs of surrogates.
fn push_code_point(text: &mut String, character: char) {
    let written = match u32::from(character) {
        code @ ..=0xffff => write!(text, "\\u{code:04x}"),
        code => write!(text, "\\U{code:08x}"),
    };
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn hostile_characters_are_escaped_and_read_back() {
        let value = "a\n\u{1b}\u{7f}\u{9b}\u{202e}\u{200b}\u{e0041}ü🚀\"\\".to_owned();
        let json = render(&value).unwrap();
        assert_eq!(
            json,
            concat!(
                r#""a\n\u001b\u007f\u009b\u202e\u200b\udb40\udc41ü🚀\"\\""#,
                "\n"
            )
        );
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
    }

    proptest! {
        /// Names, attributes and annotations come from elsewhere and may be anything.
        #[test]
        fn any_text_is_read_back_as_it_was(text in "(?s:.)*") {
            let json = render(&text).unwrap();
            prop_assert!(!json.trim_end().chars().any(is_hostile));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn yaml_looks_as_kubectl_writes_it() {
        let value = serde_json::json!({
            "guards": [],
            "name": null,
            "pods": [{"hazards": ["unmanaged"], "name": "train-0"}],
            "selector": {},
            "why": "a sentence that is so long that it would be folded by those who fold at eighty columns",
        });
        insta::assert_snapshot!(render_yaml(&value).unwrap(), @r"
        guards: []
        name: null
        pods:
        - hazards:
          - unmanaged
          name: train-0
        selector: {}
        why: a sentence that is so long that it would be folded by those who fold at eighty columns
        ");
    }

    #[test]
    fn strings_that_look_like_something_else_are_quoted() {
        let short = [
            "", " ", "~", "null", "Null", "yes", "Yes", "NO", "on", "off", "y", "n", "true",
            "False", "0", "-1", "+1", "1e3", "1E3", "0x1f", "0o17", "017", "0b11", "1_000", ".5",
            "1.", ".inf", ".NaN", "12:30:45", "<<", "=", "---", "- a", "? a", "a: b", "a #b", "#a",
            "&a", "*a", "!a", "|", ">", "'a", "\"a", "%a", "@a", "`a", "{a", "[a", "a:", " a",
            "a ", "a\nb", "a\tb",
        ];
        let times = ["2026-11-21", "2026-11-21T01:00:34Z"];
        for text in short.into_iter().chain(times) {
            let yaml = render_yaml(&text).unwrap();
            assert!(
                yaml.starts_with(['"', '\'']),
                "{text:?} is written {yaml:?}"
            );
            assert_eq!(serde_yaml::from_str::<String>(&yaml).unwrap(), text);
        }
    }

    #[test]
    fn what_yaml_calls_unprintable_is_escaped() {
        assert_eq!(render_yaml(&"\u{ffff}").unwrap(), "\"\\uFFFF\"\n");
        // As YAML 1.2 has it (`c-printable`), which readers such as PyYAML and Go's insist on.
        let printable = |found: char| {
            matches!(found, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
                || found > '\u{ffff}'
        };
        for code in 0..=u32::from(char::MAX) {
            let Some(character) = char::from_u32(code) else {
                continue;
            };
            assert!(
                printable(character) || character == '\n' || is_hostile(character),
                "{code:x}"
            );
        }
    }

    proptest! {
        /// Names, attributes and annotations come from elsewhere and may be anything.
        #[test]
        fn any_text_is_read_back_from_yaml_as_it_was(key in "(?s:.)*", text in "(?s:.)*") {
            let value = BTreeMap::from([(key, vec![text])]);
            let yaml = render_yaml(&value).unwrap();
            prop_assert!(!yaml.chars().any(|found| is_hostile(found) && found != '\n'));
            let read: BTreeMap<String, Vec<String>> = serde_yaml::from_str(&yaml).unwrap();
            prop_assert_eq!(read, value);
        }
    }
}
