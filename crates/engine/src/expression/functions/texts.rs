//! Functions of texts; indexes count characters.

use crate::expression::error::Fault;
use crate::expression::value::Pattern;
use crate::expression::value::{Outcome, Value, list, text};

fn two(values: &[Value]) -> Result<(&str, &str), Fault> {
    match values {
        [Value::Text(left), Value::Text(right)] => Ok((left, right)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn test(values: &[Value], test: fn(&str, &str) -> bool) -> Outcome {
    two(values).map(|(text, part)| test(text, part).into())
}

pub(super) fn map(values: &[Value], map: fn(&str) -> String) -> Outcome {
    match values {
        [Value::Text(text)] => self::text(map(text)),
        _ => Err(Fault::overload()),
    }
}

fn with_pattern(values: &[Value]) -> Result<(&str, Pattern), Fault> {
    let (text, pattern) = two(values)?;
    let compiled = Pattern::compile(pattern);
    let refused = || Fault::unsupported(format!("the pattern {pattern}"));
    Ok((text, compiled.ok_or_else(refused)?))
}

pub(super) fn matches(values: &[Value]) -> Outcome {
    let (text, pattern) = with_pattern(values)?;
    Ok(pattern.is_match(text).into())
}

pub(super) fn find(values: &[Value]) -> Outcome {
    let (text, pattern) = with_pattern(values)?;
    self::text(pattern.find(text))
}

pub(super) fn replace(values: &[Value]) -> Outcome {
    match values {
        [Value::Text(text), Value::Text(from), Value::Text(to)] => {
            // Before the text is made: an empty `from` stands before every character.
            if text.len().saturating_mul(to.len()) > 1_000_000 {
                return Err(Fault::unsupported("a string this long"));
            }
            self::text(text.replace(from.as_ref(), to))
        }
        [
            Value::Text(_),
            Value::Text(_),
            Value::Text(_),
            Value::Int(_),
        ] => Err(Fault::unsupported("replace() with a limit")),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn split(values: &[Value]) -> Outcome {
    match values {
        [Value::Text(text), Value::Text(between)] if !between.is_empty() => {
            let parts = text.split(between.as_ref()).map(self::text);
            list(parts.collect::<Result<_, _>>()?)
        }
        [Value::Text(_), Value::Text(_)] => Err(Fault::unsupported("split() into characters")),
        [Value::Text(_), Value::Text(_), Value::Int(_)] => {
            Err(Fault::unsupported("split() with a limit"))
        }
        _ => Err(Fault::overload()),
    }
}

pub(super) fn substring(values: &[Value]) -> Outcome {
    let (text, start, end) = match values {
        [Value::Text(text), Value::Int(start)] => (text, *start, None),
        [Value::Text(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(Fault::overload()),
    };
    let characters: Vec<char> = text.chars().collect();
    let part = || {
        let start = usize::try_from(start).ok()?;
        let end = match end {
            Some(end) => usize::try_from(end).ok()?,
            None => characters.len(),
        };
        characters.get(start..end)
    };
    let part = part().ok_or_else(|| Fault::runtime("substring() out of range"))?;
    self::text(part.iter().collect::<String>())
}
