//! `KEY[=VALUE]:EFFECT`, as in `kubectl taint`.

use super::{NamingError, nearest, validate};
use crate::model::{Effect, Taint};

/// The effects that a rule can be given, as the API spells them.
pub const EFFECTS: [&str; 3] = ["None", "NoSchedule", "NoExecute"];

/// Reads a TAINT argument. The result has no time; whoever uses it knows when it is added.
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

fn parse_effect(argument: &str, effect: &str) -> Result<Effect, NamingError> {
    if EFFECTS.contains(&effect) {
        return Ok(Effect::from(effect));
    }
    Err(NamingError::UnknownEffect {
        argument: argument.to_owned(),
        effect: effect.to_owned(),
        nearest: nearest::nearest(&effect.to_lowercase(), EFFECTS.map(str::to_lowercase))
            .first()
            .and_then(|found| {
                EFFECTS
                    .into_iter()
                    .find(|known| known.eq_ignore_ascii_case(found))
            }),
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
    fn misspelt_effect_is_refused_with_the_right_one() {
        for (text, expected) in [
            ("a:noexecute", Some("NoExecute")),
            ("a:NoExcute", Some("NoExecute")),
            ("a:no-schedule", Some("NoSchedule")),
            ("a:PreferNoSchedule", Some("NoSchedule")),
            ("a:none", Some("None")),
            ("a:zzzzzzzzzzzzz", None),
        ] {
            let Err(NamingError::UnknownEffect { nearest, .. }) = parse(text) else {
                panic!("{text}");
            };
            assert_eq!(nearest, expected, "{text}");
        }
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
