//! How deep expressions are nested.

use super::error::Wrong;
use super::lexer::{Token, TokenKind};

/// How deep anything may be nested, as upstream.
const MAXIMUM_NESTING: usize = 250;

const RELATIONS: &[&str] = &["==", "!=", "<=", ">=", "<", ">"];

/// The sign that a word is, with `in`; empty for other words.
pub(super) fn sign_of(token: &Token) -> &'static str {
    if let TokenKind::Sign(sign) = &token.kind {
        sign
    } else if matches!(&token.kind, TokenKind::Name(name) if name == "in") {
        "in"
    } else {
        ""
    }
}

/// What is open between two brackets.
#[derive(Default)]
struct Level {
    /// Conditions whose other case has begun, and those whose first has.
    conditions: usize,
    pending: usize,
    /// Links of the chains that are going on.
    relations: usize,
    sums: usize,
    members: usize,
}

/// How deep the brackets and conditions are nested; refuses what is nested too deep, or is too long a chain: upstream's
/// grammar calls itself for each of these.
pub(super) fn nesting(tokens: &[Token]) -> Result<usize, Wrong> {
    let mut deepest = 0;
    let mut levels = vec![Level::default()];
    let mut before = "";
    for token in tokens {
        let sign = sign_of(token);
        if matches!(sign, ")" | "]" | "}") && levels.len() > 1 {
            levels.pop();
        }
        let Some(level) = levels.last_mut() else {
            continue;
        };
        match sign {
            "," => *level = Level::default(),
            // Upstream balances chains of these, so that they may have any length.
            "&&" | "||" => (level.relations, level.sums, level.members) = (0, 0, 0),
            "?" if !matches!(before, "." | "[" | "{" | ",") => {
                level.pending = level.pending.saturating_add(1);
                (level.relations, level.sums, level.members) = (0, 0, 0);
            }
            ":" if level.pending > 0 => {
                level.pending = level.pending.saturating_sub(1);
                level.conditions = level.conditions.saturating_add(1);
                (level.relations, level.sums, level.members) = (0, 0, 0);
            }
            "+" | "-" | "*" | "/" | "%" if !matches!(before, "(" | "[" | "," | "-" | "!") => {
                (level.sums, level.members) = (level.sums.saturating_add(1), 0);
            }
            "." => level.members = level.members.saturating_add(1),
            "[" if matches!(before, "" | ")" | "]" | "}") => {
                level.members = level.members.saturating_add(1);
            }
            "in" => {
                (level.relations, level.sums, level.members) =
                    (level.relations.saturating_add(1), 0, 0)
            }
            relation if RELATIONS.contains(&relation) => {
                (level.relations, level.sums, level.members) =
                    (level.relations.saturating_add(1), 0, 0);
            }
            _ => {}
        }
        // As upstream was found to do: a sum of 250 terms compiles, which has 249 signs, and one of 251 does not.
        let too_long = level.relations > MAXIMUM_NESTING
            || level.sums >= MAXIMUM_NESTING
            || level.members >= MAXIMUM_NESTING;
        if matches!(sign, "(" | "[" | "{") {
            levels.push(Level::default());
        }
        let conditions = levels.iter().map(|level| level.conditions);
        let depth = conditions.fold(levels.len(), usize::saturating_add);
        deepest = depth.max(deepest);
        if too_long || depth > MAXIMUM_NESTING {
            return Err(Wrong::at(
                token.at,
                format!("expression recursion limit exceeded: {MAXIMUM_NESTING}"),
            ));
        }
        before = sign;
    }
    Ok(deepest)
}
