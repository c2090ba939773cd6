//! Labels, and selectors of them (`-l SELECTOR`).
//!
//! A selector is `key=value`, `key==value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`, `key`, `!key`, with commas
//! between them; all have to hold.
//!
//! Upstream: `pkg/apis/resource/validation/validation.go` and `apimachinery`'s `util/validation/validation.go`, whose
//! wording the messages follow; `apimachinery/pkg/labels/selector.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::device::{
    NamingError, check_label_key, check_label_value, check_taint_key, check_taint_value,
};

/// Selector of objects by labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// As it was typed.
    text: String,
    requirements: Vec<Requirement>,
}

/// Requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Present, with one of these values.
    In(String, BTreeSet<String>),
    /// Holds without the label too, as upstream.
    NotIn(String, BTreeSet<String>),
    /// Present, with any value.
    Exists(String),
    /// Absent.
    Absent(String),
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl LabelSelector {
    /// Requirements, one by one.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// True if `labels` meet all requirements.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| match requirement {
                Requirement::In(key, values) => {
                    labels.get(key).is_some_and(|value| values.contains(value))
                }
                Requirement::NotIn(key, values) => {
                    labels.get(key).is_none_or(|value| !values.contains(value))
                }
                Requirement::Exists(key) => labels.contains_key(key),
                Requirement::Absent(key) => !labels.contains_key(key),
            })
    }
}

impl FromStr for LabelSelector {
    type Err = NamingError;

    fn from_str(text: &str) -> Result<Self, NamingError> {
        let parts = split(text).into_iter();
        let requirements = parts.map(|part| requirement(part.trim()));
        let requirements: Option<Vec<Requirement>> = requirements.collect();
        Ok(Self {
            text: text.to_owned(),
            requirements: requirements
                .ok_or_else(|| NamingError::invalid("label selector", text, CONDITIONS))?,
        })
    }
}

/// The parts between commas that are not within parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    // No depth is counted: parentheses do not nest in a selector.
    let (mut start, mut within) = (0, false);
    for (place, character) in text.char_indices() {
        match character {
            '(' => within = true,
            ')' => within = false,
            ',' if !within => {
                parts.push(&text[start..place]);
                start = place.saturating_add(1);
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The requirement, if the text is one.
fn requirement(part: &str) -> Option<Requirement> {
    if let Some(key) = part.strip_prefix('!') {
        return Some(Requirement::Absent(valid_key(key)?));
    }
    if let Some(rest) = part.strip_suffix(')') {
        let (head, values) = rest.split_once('(')?;
        let values = values.split(',').map(valid_value).collect::<Option<_>>()?;
        let words: Vec<&str> = head.split_whitespace().collect();
        return match words[..] {
            [key, "in"] => Some(Requirement::In(valid_key(key)?, values)),
            [key, "notin"] => Some(Requirement::NotIn(valid_key(key)?, values)),
            _ => None,
        };
    }
    // The sign that the others contain comes last.
    for (operator, is_in) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((key, value)) = part.split_once(operator) {
            let (key, values) = (valid_key(key)?, BTreeSet::from([valid_value(value)?]));
            return Some(match is_in {
                true => Requirement::In(key, values),
                false => Requirement::NotIn(key, values),
            });
        }
    }
    Some(Requirement::Exists(valid_key(part)?))
}

fn valid_key(text: &str) -> Option<String> {
    let key = text.trim();
    check_taint_key(key).is_ok().then(|| key.to_owned())
}

fn valid_value(text: &str) -> Option<String> {
    let value = text.trim();
    check_taint_value(value).is_ok().then(|| value.to_owned())
}

/// Accepted conditions, for messages.
const CONDITIONS: &str = "separate conditions by commas; conditions are key=value, key!=value, key in (a,b), \
    key notin (a,b), key, and !key";

/// A name that is the value of a label.
///
/// # Errors
///
/// A value that no label can have, or an empty one.
pub fn parse_label_value(text: &str) -> Result<String, NamingError> {
    match check_taint_value(text) {
        Ok(()) if !text.is_empty() => Ok(text.to_owned()),
        Ok(()) | Err(_) => Err(NamingError::invalid(
            "name",
            text,
            "it must be a label value: at most 63 letters, digits, -, _ and ., with a letter or digit at both ends",
        )),
    }
}

/// Reads a label to set: `KEY=VALUE`.
///
/// # Errors
///
/// No `=`, or a key or value that the API server would refuse.
pub fn parse_label(text: &str) -> Result<(String, String), NamingError> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(NamingError::invalid("label", text, "write KEY=VALUE"));
    };
    check_label_key("label key", key)?;
    check_label_value("label value", value)?;
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_selected_as_kubectl_selects() {
        let labels: BTreeMap<String, String> = [("team", "ml"), ("example.com/row", "b")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        for (text, expected) in [
            ("team=ml", true),
            ("team==ml", true),
            ("team!=ml", false),
            ("other!=ml", true),
            ("team=ml,example.com/row=b", true),
            ("team=ml,example.com/row=a", false),
            ("example.com/row in (a, b),team", true),
            ("team notin (ml)", false),
            ("other notin (ml)", true),
            ("!team", false),
            ("!other , team", true),
            ("other=", false),
        ] {
            let selector: LabelSelector = text.parse().unwrap();
            assert_eq!(selector.matches(&labels), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in ["", "=x", "a=b c", "a in b", "a in (b", "team=ml,", "a>b"] {
            assert!(text.parse::<LabelSelector>().is_err(), "{text}");
        }
        assert!(parse_label("a").is_err() && parse_label("a=b/c").is_err());
        assert_eq!(parse_label("a=").unwrap(), ("a".to_owned(), String::new()));
    }
}
