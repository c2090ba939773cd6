//! Depth of expressions, bounded before they are parsed.

use super::error::Wrong;
use super::lexer::{Token, TokenKind};

/// Bound on the depth of a tree, which parsing, checks, evaluation and drop recurse into.
//
// Upstream's own limits (250 brackets, 250 terms of a sum) are beyond, so that they need no model.
const MAXIMUM_DEPTH: usize = 160;

/// The sign that a token is, with `in`; empty for other tokens.
pub(super) fn sign_of(token: &Token) -> &'static str {
    if let TokenKind::Sign(sign) = &token.kind {
        sign
    } else if matches!(&token.kind, TokenKind::Name(name) if &**name == "in") {
        "in"
    } else {
        ""
    }
}

/// Depth of the content of a pair of brackets: of the chain that is being read, and the most so far.
#[derive(Default)]
struct Level {
    conditions: usize,
    links: usize,
    peak: usize,
}

impl Level {
    fn end_chain(&mut self) -> usize {
        self.peak = self.peak.max(self.conditions.saturating_add(self.links));
        self.links = 0;
        self.peak
    }
}

/// Refuses tokens whose tree may be too deep; counts too much rather than too little.
pub(super) fn check_depth(tokens: &[Token]) -> Result<(), Wrong> {
    let mut levels = vec![Level::default()];
    let mut before = "";
    for token in tokens {
        let sign = sign_of(token);
        let is_condition = matches!(sign, "?" | ":") && !matches!(before, "." | "[");
        before = sign;
        let mut link = usize::from(!sign.is_empty());
        if matches!(sign, "(" | "[" | "{") {
            levels.push(Level::default());
        } else if matches!(sign, ")" | "]" | "}") && levels.len() > 1 {
            let inner = levels.pop().map_or(0, |mut level| level.end_chain());
            // Three more for the nodes of `||`, `&&` and `?:`, which are no links.
            link = inner.saturating_add(4);
        }
        let open = levels.len();
        let Some(level) = levels.last_mut() else {
            continue;
        };
        // A chain of `&&` or `||` is one node.
        if is_condition || matches!(sign, "&&" | "||" | ",") {
            level.end_chain();
            level.conditions = level.conditions.saturating_add(usize::from(is_condition));
        } else {
            level.links = level.links.saturating_add(link);
        }
        let chain = level.conditions.saturating_add(level.links);
        if chain.max(level.peak).saturating_add(open) > MAXIMUM_DEPTH {
            return Err(Wrong::unsupported("deep nesting"));
        }
    }
    Ok(())
}
