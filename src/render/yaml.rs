//! YAML for people who read all of it, and for scripts.

use std::fmt::Write;

use serde::Serialize;

use super::format::RenderError;
use super::json::escaped;
use crate::output::escape::is_hostile;

/// One document as kubectl writes it: lists at the depth of their key, long strings on one line,
/// strings quoted that a YAML 1.1 reader would take for something else.
///
/// A document with characters that may not reach a terminal raw is written in YAML's JSON form,
/// where each of them can be escaped.
///
/// # Errors
///
/// When the value holds something that YAML or JSON cannot express.
pub fn render(value: &impl Serialize) -> Result<String, RenderError> {
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
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn yaml_looks_as_kubectl_writes_it() {
        let value = serde_json::json!({
            "guards": [],
            "name": null,
            "pods": [{"hazards": ["unmanaged"], "name": "train-0"}],
            "selector": {},
            "why": "a sentence that is so long that it would be folded by those who fold at eighty columns",
        });
        insta::assert_snapshot!(render(&value).unwrap(), @r"
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
        for text in [
            "",
            " ",
            "~",
            "null",
            "Null",
            "yes",
            "Yes",
            "NO",
            "on",
            "off",
            "y",
            "n",
            "true",
            "False",
            "0",
            "-1",
            "+1",
            "1e3",
            "1E3",
            "0x1f",
            "0o17",
            "017",
            "0b11",
            "1_000",
            ".5",
            "1.",
            ".inf",
            ".NaN",
            "12:30:45",
            "2026-11-21",
            "2026-11-21T01:00:34Z",
            "<<",
            "=",
            "---",
            "- a",
            "? a",
            "a: b",
            "a #b",
            "#a",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "'a",
            "\"a",
            "%a",
            "@a",
            "`a",
            "{a",
            "[a",
            "a:",
            " a",
            "a ",
            "a\nb",
            "a\tb",
        ] {
            let yaml = render(&text).unwrap();
            assert!(
                yaml.starts_with(['"', '\'']),
                "{text:?} is written {yaml:?}"
            );
            assert_eq!(serde_yaml::from_str::<String>(&yaml).unwrap(), text);
        }
    }

    #[test]
    fn hostile_characters_are_escaped_and_read_back() {
        for text in [
            "\u{1b}[2J",
            "a\u{202e}b",
            "\u{200b}",
            "\u{feff}",
            "\u{85}\u{9b}",
            "\u{e0041}",
            "\u{1bca0}\u{13430}",
            "\u{fffe}",
            "\u{ffff}",
            "\u{1fffe}\u{10ffff}",
            "\r",
        ] {
            let value = BTreeMap::from([("name", text), ("other", "🚀 yes")]);
            let yaml = render(&value).unwrap();
            assert!(
                !yaml.chars().any(|found| is_hostile(found) && found != '\n'),
                "{yaml:?}"
            );
            let read: BTreeMap<String, String> = serde_yaml::from_str(&yaml).unwrap();
            assert_eq!(read["name"], text);
            assert_eq!(read["other"], "🚀 yes");
        }
    }

    #[test]
    fn what_yaml_calls_unprintable_is_escaped() {
        assert_eq!(render(&"\u{ffff}").unwrap(), "\"\\uFFFF\"\n");
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
        fn any_text_is_read_back_as_it_was(key in "(?s:.)*", text in "(?s:.)*") {
            let value = BTreeMap::from([(key, vec![text])]);
            let yaml = render(&value).unwrap();
            prop_assert!(!yaml.chars().any(|found| is_hostile(found) && found != '\n'));
            let read: BTreeMap<String, Vec<String>> = serde_yaml::from_str(&yaml).unwrap();
            prop_assert_eq!(read, value);
        }
    }
}
