//! Names, keys and values as the API server accepts them, and selectors of labels (`-l SELECTOR`).
//!
//! A selector is `key=value`, `key==value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`, `key`, `!key`, with commas
//! between them; all have to hold.
//!
//! Upstream: `pkg/apis/resource/validation/validation.go` and `apimachinery`'s `util/validation/validation.go`, whose
//! wording the messages follow; `apimachinery/pkg/labels/selector.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::device::NamingError;

const MAX_DRIVER: usize = 63;
const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const VALUE: &str = "a value must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const QUALIFIED: &str = "the name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Checks the name of a driver. Upper case is accepted, as upstream.
///
/// # Errors
///
/// Too long, or no DNS subdomain.
pub fn driver(value: &str) -> Result<(), NamingError> {
    let is_valid = |value: &str| is_subdomain(&value.to_lowercase());
    check(
        "driver",
        value,
        problem(value, MAX_DRIVER, is_valid, SUBDOMAIN),
    )
}

/// Checks the name of a pool: DNS subdomains with `/` between them.
///
/// # Errors
///
/// Too long, or a part that is no DNS subdomain.
pub fn pool(value: &str) -> Result<(), NamingError> {
    let is_valid = |value: &str| value.split('/').all(is_subdomain);
    check(
        "pool",
        value,
        problem(value, MAX_SUBDOMAIN, is_valid, SUBDOMAIN),
    )
}

/// Checks the name of a device.
///
/// # Errors
///
/// Too long, or no DNS label.
pub fn device(value: &str) -> Result<(), NamingError> {
    check("device", value, problem(value, MAX_LABEL, is_label, LABEL))
}

/// Checks the name of a rule: that of any object without special rules.
///
/// # Errors
///
/// Too long, or no DNS subdomain.
pub fn rule(value: &str) -> Result<(), NamingError> {
    check(
        "rule",
        value,
        problem(value, MAX_SUBDOMAIN, is_subdomain, SUBDOMAIN),
    )
}

/// Checks the key of a taint: a label key.
///
/// # Errors
///
/// A prefix that is no DNS subdomain, or a name that is no label name.
pub fn taint_key(value: &str) -> Result<(), NamingError> {
    label_key("taint key", value)
}

/// Checks the value of a taint: a label value, which may be empty.
///
/// # Errors
///
/// Too long, or characters that a label value cannot have.
pub fn taint_value(value: &str) -> Result<(), NamingError> {
    label_value("taint value", value)
}

fn label_key(field: &'static str, value: &str) -> Result<(), NamingError> {
    let (prefix, name) = match value.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, value),
    };
    let of_prefix = prefix.and_then(|prefix| {
        let text = format!("the prefix part: {SUBDOMAIN}");
        problem(prefix, MAX_SUBDOMAIN, is_subdomain, &text)
    });
    let of_name = || problem(name, MAX_LABEL, is_qualified, QUALIFIED);
    check(field, value, of_prefix.or_else(of_name))
}

fn label_value(field: &'static str, value: &str) -> Result<(), NamingError> {
    let problem = problem(value, MAX_LABEL, is_qualified, VALUE);
    check(field, value, problem.filter(|_| !value.is_empty()))
}

fn problem(
    value: &str,
    longest: usize,
    is_valid: impl Fn(&str) -> bool,
    problem: &str,
) -> Option<String> {
    if value.is_empty() {
        Some("must not be empty".to_owned())
    } else if value.len() > longest {
        Some(format!("may not be more than {longest} bytes"))
    } else {
        (!is_valid(value)).then(|| problem.to_owned())
    }
}

fn check(field: &'static str, value: &str, problem: Option<String>) -> Result<(), NamingError> {
    match problem {
        None => Ok(()),
        Some(problem) => Err(NamingError::invalid(field, value, &problem)),
    }
}

fn is_label(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    has_shape(text, lower, |byte| lower(byte) || byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    // `is_label` asks for no length: upstream limits a subdomain as a whole, and not its parts.
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(is_label)
}

fn is_qualified(text: &str) -> bool {
    has_shape(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
    )
}

/// True if `text` starts and ends with an `edge` character and has only `inner` ones between.
fn has_shape(text: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    // Bytes will do: what is not ASCII is allowed nowhere.
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            edge(*first) && edge(*last) && bytes.iter().all(|byte| inner(*byte))
        }
        _ => false,
    }
}

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
    taint_key(key).is_ok().then(|| key.to_owned())
}

fn valid_value(text: &str) -> Option<String> {
    let value = text.trim();
    taint_value(value).is_ok().then(|| value.to_owned())
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
    match taint_value(text) {
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
    label_key("label key", key)?;
    label_value("label value", value)?;
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_accepted_as_the_api_server_accepts_them() {
        type Row = (
            &'static str,
            fn(&str) -> Result<(), NamingError>,
            &'static str,
            bool,
        );
        let rows: [Row; 19] = [
            ("driver", driver, "gpu.example.com", true),
            ("driver in upper case", driver, "GPU.Example.com", true),
            ("driver with underscore", driver, "gpu_x", false),
            ("driver with empty part", driver, "gpu..com", false),
            ("pool of several parts", pool, "rack-1/node.a", true),
            ("pool with empty part", pool, "rack-1//a", false),
            ("pool in upper case", pool, "Rack", false),
            ("rule", rule, "drain-node-7.gpu", true),
            ("rule in upper case", rule, "Drain", false),
            ("rule with a space", rule, "drain node", false),
            ("device", device, "gpu-0", true),
            ("device with dot", device, "gpu.0", false),
            ("device that ends with a dash", device, "gpu-", false),
            ("prefix", taint_key, "example.com/Main_tenance.x", true),
            ("key with two slashes", taint_key, "a/b/c", false),
            ("prefix in upper case", taint_key, "Example.com/a", false),
            ("value", taint_value, "v1.2_x", true),
            ("no value", taint_value, "", true),
            ("value that starts with a dot", taint_value, ".x", false),
        ];
        for (name, accepts, value, valid) in rows {
            assert_eq!(accepts(value).is_ok(), valid, "{name}");
        }
    }

    #[test]
    fn length_limits_are_those_of_the_api() {
        assert!(driver(&"x".repeat(63)).is_ok() && driver(&"x".repeat(64)).is_err());
        assert!(device(&"x".repeat(63)).is_ok() && device(&"x".repeat(64)).is_err());
        assert!(pool(&"x".repeat(253)).is_ok() && pool(&"x".repeat(254)).is_err());
        assert!(taint_key(&format!("{}/x", "p".repeat(253))).is_ok());
        assert!(taint_key(&format!("{}/x", "p".repeat(254))).is_err());
    }

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
