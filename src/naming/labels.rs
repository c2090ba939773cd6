//! `-l SELECTOR`: rules by their labels, as kubectl selects.
//!
//! `key=value`, `key==value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`, `key`, `!key`, with
//! commas between them; all have to hold.
//!
//! Upstream: `apimachinery/pkg/labels/selector.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::error::NamingError;
use super::validate::{taint_key, taint_value};

/// Selector of objects by labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
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

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &BTreeSet<String>| {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            values.join(",")
        };
        match self {
            Self::In(key, values) if values.len() == 1 => {
                write!(formatter, "{key}={}", list(values))
            }
            Self::In(key, values) => write!(formatter, "{key} in ({})", list(values)),
            Self::NotIn(key, values) if values.len() == 1 => {
                write!(formatter, "{key}!={}", list(values))
            }
            Self::NotIn(key, values) => write!(formatter, "{key} notin ({})", list(values)),
            Self::Exists(key) => formatter.write_str(key),
            Self::Absent(key) => write!(formatter, "!{key}"),
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.requirements.iter().map(ToString::to_string).collect();
        formatter.write_str(&parts.join(","))
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
        let requirements = split(text)
            .into_iter()
            .map(|part| requirement(part.trim(), text))
            .collect::<Result<_, _>>()?;
        Ok(Self { requirements })
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

fn requirement(part: &str, whole: &str) -> Result<Requirement, NamingError> {
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement::Absent(label_key(key, whole)?));
    }
    if let Some(rest) = part.strip_suffix(')') {
        let (head, values) = rest.split_once('(').ok_or_else(|| invalid(whole))?;
        let values = values
            .split(',')
            .map(|value| label_value(value, whole))
            .collect::<Result<_, _>>()?;
        let words: Vec<&str> = head.split_whitespace().collect();
        return match words[..] {
            [key, "in"] => Ok(Requirement::In(label_key(key, whole)?, values)),
            [key, "notin"] => Ok(Requirement::NotIn(label_key(key, whole)?, values)),
            _ => Err(invalid(whole)),
        };
    }
    let one = |value: &str| Ok::<_, NamingError>(BTreeSet::from([label_value(value, whole)?]));
    // The sign that the others contain comes last.
    for (operator, is_in) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((key, value)) = part.split_once(operator) {
            let (key, values) = (label_key(key, whole)?, one(value)?);
            return Ok(if is_in {
                Requirement::In(key, values)
            } else {
                Requirement::NotIn(key, values)
            });
        }
    }
    Ok(Requirement::Exists(label_key(part, whole)?))
}

fn label_key(text: &str, whole: &str) -> Result<String, NamingError> {
    let key = text.trim();
    // A taint's key is a label key.
    taint_key(key).map_err(|_| invalid(whole))?;
    Ok(key.to_owned())
}

fn label_value(text: &str, whole: &str) -> Result<String, NamingError> {
    let value = text.trim();
    taint_value(value).map_err(|_| invalid(whole))?;
    Ok(value.to_owned())
}

/// A name that is the value of a label.
///
/// # Errors
///
/// A value that no label can have, or an empty one.
pub fn parse_label_value(text: &str) -> Result<String, NamingError> {
    match taint_value(text) {
        Ok(()) if !text.is_empty() => Ok(text.to_owned()),
        Ok(()) | Err(_) => Err(NamingError::Invalid {
            field: "name",
            value: text.to_owned(),
            problem: "it must be a label value: at most 63 letters, digits, -, _ and ., with a letter or digit at both ends".to_owned(),
        }),
    }
}

fn invalid(whole: &str) -> NamingError {
    NamingError::Invalid {
        field: "label selector",
        value: whole.to_owned(),
        problem: "separate conditions by commas; conditions are key=value, key!=value, key in (a,b), key notin (a,b), key, and !key".to_owned(),
    }
}

/// Reads a label to set: `KEY=VALUE`.
///
/// # Errors
///
/// No `=`, or a key or value that the API server would refuse.
pub fn parse_label(text: &str) -> Result<(String, String), NamingError> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(NamingError::Invalid {
            field: "label",
            value: text.to_owned(),
            problem: "write KEY=VALUE".to_owned(),
        });
    };
    taint_key(key).map_err(|error| of_a_label(error, "label key"))?;
    taint_value(value).map_err(|error| of_a_label(error, "label value"))?;
    Ok((key.to_owned(), value.to_owned()))
}

fn of_a_label(error: NamingError, field: &'static str) -> NamingError {
    if let NamingError::Invalid { value, problem, .. } = error {
        return NamingError::Invalid {
            field,
            value,
            problem,
        };
    }
    error
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
