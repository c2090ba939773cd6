//! `KEY[=VALUE]:EFFECT`, as in `kubectl taint`.

use super::device::NamingError;
use super::labels;
use crate::model::{DriverName, Effect, Taint};

/// The effects that a rule can be given, as the API spells them.
pub const EFFECTS: [&str; 3] = ["None", "NoSchedule", "NoExecute"];

/// Problem of a taint without an effect.
const NO_EFFECT: &str =
    "it has no effect: write KEY[=VALUE]:EFFECT, where EFFECT is None, NoSchedule or NoExecute";

/// Reads a TAINT argument. The result has no time; the caller sets it when the taint is added.
///
/// # Errors
///
/// A missing or unknown effect (`noexecute` is unknown: the API is exact), or a key or value that
/// the API server would refuse.
pub fn parse(text: &str) -> Result<Taint, NamingError> {
    let parts = text.rsplit_once(':');
    let Some((rest, effect)) = parts.filter(|(_, effect)| !effect.is_empty()) else {
        return Err(NamingError::invalid("taint", text, NO_EFFECT));
    };
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    labels::taint_key(key)?;
    labels::taint_value(value)?;
    Ok(Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: parse_effect(text, effect)?,
        time_added: None,
    })
}

/// Reads a TAINT argument whose effect may be left out, and is `default` then.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_or(text: &str, default: &Effect) -> Result<Taint, NamingError> {
    if text.contains(':') {
        parse(text)
    } else {
        parse(&format!("{text}:{default}"))
    }
}

/// The text, if it is a taint's key and nothing else that is written with one `/`: its prefix is a
/// domain, and none of `drivers`.
pub(super) fn plain_key<'a, 'b>(
    text: &'a str,
    mut drivers: impl Iterator<Item = &'b DriverName>,
) -> Option<&'a str> {
    let (prefix, _) = text.split_once('/')?;
    let is_key = prefix.contains('.') && labels::taint_key(text).is_ok();
    (is_key && !drivers.any(|driver| driver.as_str() == prefix)).then_some(text)
}

/// Taints of existing rules: by key, and by value and effect where they matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintPattern {
    /// The key.
    pub key: String,
    /// The value, if it matters.
    pub value: Option<String>,
    /// The effect, if it matters.
    pub effect: Option<Effect>,
}

impl TaintPattern {
    /// Reads `KEY`, `KEY=VALUE`, `KEY:EFFECT` or all of it, with or without the dash that removes taints.
    ///
    /// # Errors
    ///
    /// A key, value or effect that no taint can have.
    pub fn parse(text: &str) -> Result<Self, NamingError> {
        let rest = text.strip_suffix('-').unwrap_or(text);
        let (rest, effect) = match rest.split_once(':') {
            Some((rest, effect)) => (rest, Some(parse_effect(text, effect)?)),
            None => (rest, None),
        };
        let (key, value) = match rest.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (rest, None),
        };
        labels::taint_key(key)?;
        labels::taint_value(value.as_deref().unwrap_or_default())?;
        Ok(Self {
            key: key.to_owned(),
            value,
            effect,
        })
    }

    /// True if `taint` is one of them.
    pub fn matches(&self, taint: &Taint) -> bool {
        let value = self.value.as_ref();
        let effect = self.effect.as_ref();
        self.key == taint.key
            && value.is_none_or(|value| *value == taint.value)
            && effect.is_none_or(|effect| *effect == taint.effect)
    }
}

/// The pattern as it is written, without its dash.
pub fn format(pattern: &TaintPattern) -> String {
    let value = pattern.value.as_ref();
    let effect = pattern.effect.as_ref();
    format!(
        "{}{}{}",
        pattern.key,
        value.map_or_else(String::new, |value| format!("={value}")),
        effect.map_or_else(String::new, |effect| format!(":{effect}"))
    )
}

fn parse_effect(argument: &str, effect: &str) -> Result<Effect, NamingError> {
    if EFFECTS.contains(&effect) {
        return Ok(Effect::from(effect));
    }
    let problem = format!(
        "unknown effect {effect:?}; effects are None, NoSchedule and NoExecute (case-sensitive)"
    );
    Err(NamingError::invalid("taint", argument, &problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taint_has_key_value_and_effect() {
        for text in [
            "example.com/maintenance:NoExecute",
            "example.com/maintenance=firmware:NoSchedule",
            "maintenance:None",
        ] {
            assert_eq!(
                parse(text).map(|taint| taint.to_string()),
                Ok(text.to_owned()),
                "{text}"
            );
        }
        let empty = parse("example.com/maintenance=:None").expect("an empty value is a value");
        assert_eq!(empty.value, "");
    }

    #[test]
    fn taints_are_matched_by_key_and_by_what_else_is_typed() {
        let taint = parse("a/b=c:NoSchedule").unwrap();
        for (text, matches) in [
            ("a/b-", true),
            ("a/b", true),
            ("a/b=c-", true),
            ("a/b=d-", false),
            ("a/b:NoSchedule-", true),
            ("a/b:None-", false),
            ("a/b=c:NoSchedule-", true),
            ("b-", false),
        ] {
            let pattern = TaintPattern::parse(text).unwrap();
            assert_eq!(pattern.matches(&taint), matches, "{text}");
        }
        assert!(TaintPattern::parse("a:Nothing-").is_err());
        assert!(TaintPattern::parse("=-").is_err());
    }

    #[test]
    fn bad_keys_and_values_are_refused() {
        for text in [
            ":NoExecute",
            "=x:NoExecute",
            "a b:NoExecute",
            "-a:NoExecute",
            "example.com/:NoExecute",
            "Example.com/x:NoExecute",
            "a/b/c:NoExecute",
            "a=b c:NoExecute",
            "a=b=c:NoExecute",
            "a=-:NoExecute",
            "a=x",
            "a=x:",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let long = "x".repeat(64);
        assert!(
            parse(&format!("{long}:None")).is_err() && parse(&format!("a={long}:None")).is_err()
        );
    }
}
