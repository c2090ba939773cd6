//! Preparation of expressions for the parser crate, which reads some tokens otherwise than Kubernetes.
//!
//! The parser of the crate reads operators and brackets well, but not all words as upstream does: strings with
//! escapes, fields in back quotes, keywords as fields, and it reads `!!x` twice. So it gets a numbered
//! name for every word, and the numbers lead back to the words and their places.

use std::collections::BTreeSet;

use super::error::Wrong;
use super::lexer::{Token, TokenKind};

/// How deep anything may be nested, as upstream.
const MAXIMUM_NESTING: usize = 250;

const RELATIONS: &[&str] = &["==", "!=", "<=", ">=", "<", ">"];

/// What the parser is given.
pub(super) struct Scanned {
    /// Operators, brackets and numbered names.
    pub(super) text: String,
    /// Where each word begins in it, for errors.
    pub(super) starts: Vec<usize>,
    /// The numbers that a minus belongs to.
    pub(super) negative: BTreeSet<usize>,
}

/// Scans words; refuses what is nested too deep.
pub(super) fn scan(tokens: &[Token]) -> Result<Scanned, Wrong> {
    check_nesting(tokens)?;
    let mut scanned = Scanned {
        text: String::new(),
        starts: Vec::new(),
        negative: BTreeSet::new(),
    };
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        let run = run_of_signs(tokens, place);
        if run > 0 {
            let after = place.saturating_add(run);
            scanned.signs(tokens, place, after);
            place = after;
            continue;
        }
        scanned.word(place, token);
        place = place.saturating_add(1);
    }
    Ok(scanned)
}

impl Scanned {
    fn push(&mut self, word: &str) {
        self.starts.push(self.text.len());
        self.text.push_str(word);
        self.text.push(' ');
    }

    fn word(&mut self, place: usize, token: &Token) {
        let sign = sign_of(token);
        if matches!(token.kind, TokenKind::End) {
            self.starts.push(self.text.len());
        } else if sign.is_empty() {
            self.push(&format!("t{place}"));
        } else {
            self.push(sign);
        }
    }

    /// Several `!` or `-` in front of something, of which two take each other back.
    fn signs(&mut self, tokens: &[Token], from: usize, to: usize) {
        let sign = tokens.get(from).map_or("", sign_of);
        let odd = to.saturating_sub(from) % 2 == 1;
        let number = matches!(
            tokens.get(to).map(|token| &token.kind),
            Some(TokenKind::Int(_) | TokenKind::Double(_))
        );
        for place in from..to {
            let first = place == from;
            if odd && first && sign == "-" && number {
                self.negative.insert(to);
                self.starts.push(self.text.len());
            } else if odd && first {
                self.push(sign);
            } else {
                self.starts.push(self.text.len());
            }
        }
    }
}

/// The sign that a word is, with `in`; empty for other words.
pub(super) fn sign_of(token: &Token) -> &'static str {
    if let TokenKind::Sign(sign) = token.kind {
        sign
    } else if token.kind == TokenKind::Name("in".to_owned()) {
        "in"
    } else {
        ""
    }
}

/// How many equal `!` or `-` stand there in front of something.
fn run_of_signs(tokens: &[Token], place: usize) -> usize {
    let sign = tokens.get(place).map_or("", sign_of);
    let before = place.checked_sub(1).and_then(|before| tokens.get(before));
    let ends_operand = before.is_some_and(|token| matches!(sign_of(token), "" | ")" | "]" | "}"));
    // After an operand a minus subtracts.
    if !matches!(sign, "!" | "-") || (sign == "-" && ends_operand) {
        return 0;
    }
    let rest = tokens.get(place..).unwrap_or_default();
    rest.iter()
        .take_while(|token| sign_of(token) == sign)
        .count()
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

/// Upstream's grammar calls itself for each of these.
fn check_nesting(tokens: &[Token]) -> Result<(), Wrong> {
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
        if too_long || depth > MAXIMUM_NESTING {
            return Err(Wrong::at(
                token.at,
                format!("expression recursion limit exceeded: {MAXIMUM_NESTING}"),
            ));
        }
        before = sign;
    }
    Ok(())
}
