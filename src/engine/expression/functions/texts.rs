//! Functions of texts; places count characters.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::engine::expression::error::Fault;
use crate::engine::expression::pattern::Pattern;
use crate::engine::expression::value::{Value, list, text};

fn out_of_range(index: i64) -> Fault {
    Fault::runtime(format!("index out of range: {index}"))
}

/// A place within `0..=length`.
fn place(index: i64, length: usize) -> Result<usize, Fault> {
    let place = usize::try_from(index).ok().filter(|place| *place <= length);
    place.ok_or_else(|| out_of_range(index))
}

fn two(values: &[Value]) -> Result<(&str, &str), Fault> {
    match values {
        [Value::Text(left), Value::Text(right)] => Ok((left, right)),
        _ => Err(Fault::overload()),
    }
}

fn one(values: &[Value]) -> Result<&str, Fault> {
    match values {
        [Value::Text(text)] => Ok(text),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn contains(values: &[Value]) -> Result<Value, Fault> {
    two(values).map(|(text, part)| Value::Bool(text.contains(part)))
}

pub(super) fn starts_with(values: &[Value]) -> Result<Value, Fault> {
    two(values).map(|(text, part)| Value::Bool(text.starts_with(part)))
}

pub(super) fn ends_with(values: &[Value]) -> Result<Value, Fault> {
    two(values).map(|(text, part)| Value::Bool(text.ends_with(part)))
}

pub(super) fn matches(values: &[Value]) -> Result<Value, Fault> {
    let (text, pattern) = two(values)?;
    Ok(Value::Bool(Pattern::computed(pattern)?.is_match(text)))
}

pub(super) fn find(values: &[Value]) -> Result<Value, Fault> {
    let (text, pattern) = two(values)?;
    self::text(Pattern::computed(pattern)?.find(text))
}

pub(super) fn find_all(values: &[Value]) -> Result<Value, Fault> {
    let (text, pattern, most) = match values {
        [Value::Text(text), Value::Text(pattern)] => (text, pattern, -1),
        [Value::Text(text), Value::Text(pattern), Value::Int(most)] => (text, pattern, *most),
        // Upstream takes these for text where the pattern is written out, as `Matching` does without a limit.
        [
            Value::Optional(_) | Value::Kind(_),
            Value::Text(_),
            Value::Int(_),
        ] => {
            return Err(Fault::unsupported("findAll() of a value that is no string"));
        }
        _ => return Err(Fault::overload()),
    };
    let pattern = Pattern::computed(pattern)?;
    // A negative number means no limit, here and below, as in Go.
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let found = pattern.find_all(text).take(most);
    list(found.map(self::text).collect::<Result<_, _>>()?)
}

pub(super) fn char_at(values: &[Value]) -> Result<Value, Fault> {
    let [Value::Text(text), Value::Int(index)] = values else {
        return Err(Fault::overload());
    };
    let characters: Vec<char> = text.chars().collect();
    let place = place(*index, characters.len())?;
    let character = characters.get(place).map(char::to_string);
    self::text(character.unwrap_or_default())
}

/// Where an empty text is found: at the offset. Releases of Kubernetes differ on an offset outside of the text: 1.36
/// gives it unchanged, and 1.37 an error or the end.
fn empty_part(offset: i64, length: usize) -> Result<Value, Fault> {
    place(offset, length)
        .map(|_| Value::Int(offset))
        .map_err(|_| {
            Fault::unsupported("the place of an empty string outside of the string searched")
        })
}

/// Where `part` is in `text` from `offset` on.
pub(super) fn index_of(text: &str, part: &str, offset: i64) -> Result<Value, Fault> {
    let characters: Vec<char> = text.chars().collect();
    if part.is_empty() {
        return empty_part(offset, characters.len());
    }
    let offset = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    let part: Vec<char> = part.chars().collect();
    let rest = characters.get(offset..).unwrap_or_default();
    // `windows` takes no length of 0; an empty part was answered above.
    let found = rest.windows(part.len()).position(|window| window == part);
    Ok(position(found.map(|place| place.saturating_add(offset))))
}

/// Where `part` is in `text` for the last time, beginning no later than `offset`.
pub(super) fn last_index_of(text: &str, part: &str, offset: Option<i64>) -> Result<Value, Fault> {
    let characters: Vec<char> = text.chars().collect();
    if part.is_empty() {
        let length = i64::try_from(characters.len()).unwrap_or(i64::MAX);
        return empty_part(offset.unwrap_or(length), characters.len());
    }
    let part: Vec<char> = part.chars().collect();
    let offset = match offset {
        Some(offset) => {
            let place = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
            if place >= characters.len() {
                return Ok(Value::Int(-1));
            }
            place
        }
        None => characters.len(),
    };
    let mut windows = characters
        .windows(part.len())
        .enumerate()
        .take(offset.saturating_add(1));
    let mut found = None;
    for (place, window) in windows.by_ref() {
        if window == part {
            found = Some(place);
        }
    }
    Ok(position(found))
}

pub(super) fn position(found: Option<usize>) -> Value {
    Value::Int(
        found
            .and_then(|place| i64::try_from(place).ok())
            .unwrap_or(-1),
    )
}

pub(super) fn join(values: &[Value]) -> Result<Value, Fault> {
    let (elements, between): (_, &str) = match values {
        [Value::List(elements)] => (elements, ""),
        [Value::List(elements), Value::Text(between)] => (elements, between),
        _ => return Err(Fault::overload()),
    };
    let mut texts = Vec::new();
    for element in elements.iter() {
        if element.is_untold() {
            return Err(Fault::unsupported("the error messages of validate()"));
        }
        let Value::Text(text) = element else {
            return Err(Fault::overload());
        };
        texts.push(text.as_ref());
    }
    text(texts.join(between))
}

pub(super) fn lower(values: &[Value]) -> Result<Value, Fault> {
    text(one(values)?.to_ascii_lowercase())
}

pub(super) fn upper(values: &[Value]) -> Result<Value, Fault> {
    text(one(values)?.to_ascii_uppercase())
}

pub(super) fn trim(values: &[Value]) -> Result<Value, Fault> {
    text(one(values)?.trim())
}

pub(super) fn replace(values: &[Value]) -> Result<Value, Fault> {
    let (text, from, to, most) = match values {
        [Value::Text(text), Value::Text(from), Value::Text(to)] => (text, from, to, -1),
        [
            Value::Text(text),
            Value::Text(from),
            Value::Text(to),
            Value::Int(most),
        ] => (text, from, to, *most),
        _ => return Err(Fault::overload()),
    };
    // Before the text is made: an empty `from` stands before every character.
    let growth = text.len().saturating_mul(to.len());
    if growth > 1_000_000 {
        return Err(Fault::unsupported("a string this long"));
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    self::text(text.replacen(from.as_ref(), to, most))
}

pub(super) fn split(values: &[Value]) -> Result<Value, Fault> {
    let (text, between, most) = match values {
        [Value::Text(text), Value::Text(between)] => (text, between, -1),
        [Value::Text(text), Value::Text(between), Value::Int(most)] => (text, between, *most),
        _ => return Err(Fault::overload()),
    };
    let parts: Vec<Arc<str>> = match usize::try_from(most) {
        Ok(0) => Vec::new(),
        Ok(1) => vec![text.clone()],
        most => {
            let most = most.unwrap_or(usize::MAX);
            if between.is_empty() {
                characters(text, most)
            } else {
                text.splitn(most, between.as_ref()).map(Arc::from).collect()
            }
        }
    };
    list(
        parts
            .into_iter()
            .map(self::text)
            .collect::<Result<_, _>>()?,
    )
}

/// The characters of `text`, of which the last may be all the rest.
fn characters(text: &str, most: usize) -> Vec<Arc<str>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if parts.len().saturating_add(1) >= most {
            parts.push(rest.into());
            return parts;
        }
        let (first, after) = rest.split_at(next.len_utf8());
        parts.push(first.into());
        rest = after;
    }
    parts
}

pub(super) fn substring(values: &[Value]) -> Result<Value, Fault> {
    let (text, start, end) = match values {
        [Value::Text(text), Value::Int(start)] => (text, *start, None),
        [Value::Text(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(Fault::overload()),
    };
    let characters: Vec<char> = text.chars().collect();
    let start_place = place(start, characters.len())?;
    let end_place = match end {
        Some(end) => place(end, characters.len())?,
        None => characters.len(),
    };
    let part = characters.get(start_place..end_place).ok_or_else(|| {
        Fault::runtime(format!(
            "invalid substring range. start: {start}, end: {end_place}"
        ))
    })?;
    self::text(part.iter().collect::<String>())
}

pub(super) fn quote(values: &[Value]) -> Result<Value, Fault> {
    let mut quoted = String::from("\"");
    for character in one(values)?.chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => {
                let _ = write!(quoted, "{other}");
            }
        }
    }
    quoted.push('"');
    text(quoted)
}
