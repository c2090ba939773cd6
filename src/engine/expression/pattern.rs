//! Does a regular expression mean the same here as upstream?
//!
//! Upstream uses RE2 as Go has it, the crate Rust's `regex`. On printable ASCII both agree about what is
//! allowed here; the caller sees to it that texts are just that.

use super::ExpressionError;
use super::tree::{call, text};
use super::values::value;

/// The longest pattern that is compiled, in bytes.
const MAXIMUM_LENGTH: usize = 256;

/// Refuses a pattern that might match otherwise than upstream.
pub(super) fn check(pattern: &str) -> Result<(), ExpressionError> {
    let common = pattern.len() <= MAXIMUM_LENGTH && is_printable(pattern) && is_common(pattern);
    let trial = call("matches", vec![text(""), text(pattern)]);
    if common && value(&trial).is_some() {
        Ok(())
    } else {
        Err(ExpressionError::unsupported(format!(
            "the pattern {pattern}"
        )))
    }
}

/// Returns whether `text` is printable ASCII.
pub(super) fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Returns whether `pattern` uses only what both dialects have in common.
fn is_common(pattern: &str) -> bool {
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(character) = rest.chars().next() {
        rest = &rest[1..];
        let taken = match character {
            '\\' => escape(rest, in_class),
            '[' if in_class => None,
            '[' => {
                in_class = true;
                let negated = usize::from(rest.starts_with('^'));
                (!rest[negated..].starts_with(']')).then_some(negated)
            }
            ']' if in_class => {
                in_class = false;
                Some(0)
            }
            '&' | '~' | '-' if in_class && rest.starts_with(character) => None,
            '(' if !in_class && rest.starts_with('?') => ["?:", "?i)"]
                .into_iter()
                .find(|flag| rest.starts_with(flag))
                .map(str::len),
            '{' if !in_class => repetition(rest),
            '}' | ']' if !in_class => None,
            _ => Some(0),
        };
        let Some(taken) = taken else { return false };
        rest = &rest[taken..];
    }
    !in_class
}

/// Returns how much of `rest` belongs to an escape, or `None` if that is not a common one.
fn escape(rest: &str, in_class: bool) -> Option<usize> {
    let next = rest.chars().next()?;
    let common = "dDwWsS".contains(next) || (next.is_ascii_punctuation() && !"<>".contains(next));
    (common || (next == 'b' && !in_class)).then_some(1)
}

/// Returns how much of `rest` belongs to a count such as `2}` or `2,3}`.
fn repetition(rest: &str) -> Option<usize> {
    let end = rest.find('}')?;
    let (least, most) = rest[..end].split_once(',').unwrap_or((&rest[..end], "1"));
    let is_count = |text: &str| {
        !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    (is_count(least) && (most.is_empty() || is_count(most))).then_some(end.saturating_add(1))
}
