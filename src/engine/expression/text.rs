//! Is a text safe to parse?
//!
//! The parser and the evaluator call themselves for everything that is nested, so depth is bounded
//! before either sees the text. Strings and operators that the parser misreads are refused, too.

use std::iter::Peekable;
use std::str::Chars;

use super::ExpressionError;

/// How many brackets may be open at once: without optimization each takes the parser 160 KiB of stack.
const MAXIMUM_BRACKETS: usize = 8;

/// How deep the syntax tree may be.
const MAXIMUM_DEPTH: usize = 40;

/// Refuses a text that cannot be parsed safely, or that would be misread.
pub(super) fn check(text: &str) -> Result<(), ExpressionError> {
    if text.len() > ExpressionError::MAXIMUM_LENGTH {
        return Err(ExpressionError::TooLong { bytes: text.len() });
    }
    let code = without_strings(text)?;
    if let Some(odd) = ["//", "`", "{"].into_iter().find(|odd| code.contains(odd)) {
        return Err(ExpressionError::unsupported(format!("`{odd}`")));
    }
    // The parser keeps only one of several.
    let dense: String = code.split_whitespace().collect();
    if dense.contains("!!") || dense.contains("--") {
        return Err(ExpressionError::unsupported("a repeated `!` or `-`"));
    }
    check_depth(&code)
}

/// Returns `text` with a single quote character for every string.
fn without_strings(text: &str) -> Result<String, ExpressionError> {
    let mut code = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if matches!(character, '"' | '\'') {
            let word = code.rsplit(|c: char| !c.is_alphanumeric()).next();
            let raw = match word.unwrap_or_default() {
                "" => false,
                "r" | "R" => true,
                other => {
                    return Err(ExpressionError::unsupported(format!(
                        "a string after {other}"
                    )));
                }
            };
            skip_string(&mut characters, character, raw)?;
            code.push('"');
        } else {
            code.push(character);
        }
    }
    Ok(code)
}

fn skip_string(
    characters: &mut Peekable<Chars>,
    quote: char,
    raw: bool,
) -> Result<(), ExpressionError> {
    let mut empty = true;
    while let Some(character) = characters.next() {
        if character == quote {
            return match characters.peek() {
                Some(next) if *next == quote && empty => {
                    Err(ExpressionError::unsupported("a string in triple quotes"))
                }
                Some(_) | None => Ok(()),
            };
        }
        if character == '\\' && !raw && characters.next() != Some('\\') {
            return Err(ExpressionError::unsupported("an escape in a string"));
        }
        empty = false;
    }
    Err(ExpressionError::compile("a string has no end"))
}

/// Refuses code whose syntax tree might be too deep.
///
/// Every operator, member and bracket nests what comes before it, until `&&`, `||` or `,` starts
/// anew; what follows the `?` of a condition is nested in it to the end.
fn check_depth(code: &str) -> Result<(), ExpressionError> {
    let mut levels = vec![0_usize];
    let (mut conditions, mut previous) = (0_usize, ' ');
    for character in code.chars() {
        let mut step = 0;
        match character {
            '(' | '[' => levels.push(1),
            ')' | ']' => {
                levels.pop();
                step = 1;
            }
            '&' | '|' | ',' => {
                levels.pop();
                levels.push(1);
            }
            '?' if !matches!(previous, '.' | '[') => conditions = conditions.saturating_add(2),
            '.' | '+' | '-' | '*' | '/' | '%' | '!' | '=' | '<' | '>' => step = 1,
            'n' if previous == 'i' => step = 1,
            _ => {}
        }
        let Some(level) = levels.last_mut() else {
            return Err(ExpressionError::compile(
                "a bracket is closed that is not open",
            ));
        };
        *level = level.saturating_add(step);
        let depth = levels
            .iter()
            .copied()
            .fold(conditions, usize::saturating_add);
        if levels.len() > MAXIMUM_BRACKETS + 1 || depth > MAXIMUM_DEPTH {
            return Err(ExpressionError::unsupported("deep nesting"));
        }
        previous = character;
    }
    Ok(())
}
