//! `KEY[=VALUE]:EFFECT`, as in `kubectl taint`.

use super::error::NamingError;
use super::validate;
use crate::model::{DriverName, Effect, Taint};

/// The effects that a rule can be given, as the API spells them.
pub const EFFECTS: [&str; 3] = ["None", "NoSchedule", "NoExecute"];

/// Reads a TAINT argument. The result has no time; the caller sets it when the taint is added.
///
/// # Errors
///
/// A missing or unknown effect (`noexecute` is unknown: the API is exact), or a key or value that
/// the API server would refuse.
pub fn parse(text: &str) -> Result<Taint, NamingError> {
    let Some((rest, effect)) = text.rsplit_once(':') else {
        return Err(NamingError::NoEffect {
            argument: text.to_owned(),
        });
    };
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    validate::taint_key(key)?;
    validate::taint_value(value)?;
    if effect.is_empty() {
        return Err(NamingError::NoEffect {
            argument: text.to_owned(),
        });
    }
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
    let is_key = prefix.contains('.') && validate::taint_key(text).is_ok();
    (is_key && !drivers.any(|driver| driver.as_str() == prefix)).then_some(text)
}

/// Taints to remove: `KEY-`, `KEY=VALUE-`, `KEY:EFFECT-` or all of it.
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
    /// Reads an argument that ends in `-`, or says that it is none by `None`.
    ///
    /// # Errors
    ///
    /// A key, value or effect that no taint can have.
    pub fn parse(text: &str) -> Option<Result<Self, NamingError>> {
        text.strip_suffix('-').map(|rest| Self::of(text, rest))
    }

    fn of(argument: &str, rest: &str) -> Result<Self, NamingError> {
        let (rest, effect) = match rest.split_once(':') {
            Some((rest, effect)) => (rest, Some(parse_effect(argument, effect)?)),
            None => (rest, None),
        };
        let (key, value) = match rest.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (rest, None),
        };
        validate::taint_key(key)?;
        validate::taint_value(value.as_deref().unwrap_or_default())?;
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
    Err(NamingError::UnknownEffect {
        argument: argument.to_owned(),
        effect: effect.to_owned(),
    })
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
    fn a_dash_at_the_end_takes_a_taint_away() {
        let taint = parse("a/b=c:NoSchedule").unwrap();
        for (text, matches) in [
            ("a/b-", true),
            ("a/b=c-", true),
            ("a/b=d-", false),
            ("a/b:NoSchedule-", true),
            ("a/b:None-", false),
            ("a/b=c:NoSchedule-", true),
            ("b-", false),
        ] {
            let pattern = TaintPattern::parse(text).unwrap().unwrap();
            assert_eq!(pattern.matches(&taint), matches, "{text}");
        }
        assert!(TaintPattern::parse("a:Nothing-").unwrap().is_err());
        assert!(TaintPattern::parse("=-").unwrap().is_err());
        assert!(TaintPattern::parse("a").is_none());
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
