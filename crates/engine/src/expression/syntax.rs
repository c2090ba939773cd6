//! Tokens and trees of expressions, and the bound on the depth of trees.
//!
//! Upstream: `CEL.g4` of cel-go.

use super::error::Wrong;
use super::functions::Overloads;
use super::value::Pattern;
use super::value::Value;
use std::sync::Arc;

/// Token, and the byte at which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    // Without its sign: the magnitude of the least int64 is no int64.
    Int(u64),
    Double(f64),
    Text(Arc<str>),
    Name(Arc<str>),
    Sign(&'static str),
    End,
}

/// Signs, longer ones first, since the first that fits is taken.
const SIGNS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", "{", "}", ".", ",", "-", "!",
    "?", ":", "+", "*", "/", "%",
];

/// Tokens of `text`; the last is [`TokenKind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Wrong> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let at = lexer.at;
        let kind = lexer.next()?;
        let end = kind == TokenKind::End;
        tokens.push(Token { at, kind });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, accepted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|next| !accepted(next)).unwrap_or(rest.len());
        self.at = self.at.saturating_add(end);
        &rest[..end]
    }

    fn skip_blank(&mut self) {
        loop {
            self.take(|next| matches!(next, ' ' | '\t' | '\r' | '\n' | '\u{c}'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.take(|next| next != '\n');
        }
    }

    fn next(&mut self) -> Result<TokenKind, Wrong> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(TokenKind::End);
        };
        if first.is_ascii_digit() {
            return self.number();
        }
        let raw = usize::from(rest.starts_with(['r', 'R']));
        if rest[raw..].starts_with(['"', '\'']) {
            return self.quoted(raw == 1);
        }
        let after_b = rest.strip_prefix(['b', 'B']).unwrap_or_default();
        if after_b
            .trim_start_matches(['r', 'R'])
            .starts_with(['"', '\''])
        {
            return Err(Wrong::unsupported("bytes"));
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let name = self.take(|next| next.is_ascii_alphanumeric() || next == '_');
            return Ok(TokenKind::Name(name.into()));
        }
        if first == '`' {
            return Err(Wrong::unsupported("a name in back quotes"));
        }
        let sign = SIGNS
            .iter()
            .find(|sign| rest.starts_with(**sign))
            .ok_or_else(|| {
                let shown = first.escape_debug();
                Wrong::at(
                    self.at,
                    format!("syntax error: unexpected character '{shown}'"),
                )
            })?;
        self.at = self.at.saturating_add(sign.len());
        Ok(TokenKind::Sign(sign))
    }

    fn number(&mut self) -> Result<TokenKind, Wrong> {
        let at = self.at;
        let digits = |next: char| next.is_ascii_digit();
        let whole = self.take(digits);
        let mut after = self.rest().chars();
        let is_double = after.next() == Some('.') && after.next().is_some_and(digits);
        let kind = if is_double {
            self.at = self.at.saturating_add(1);
            let fraction = self.take(digits);
            let number = format!("{whole}.{fraction}").parse();
            let finite = number.ok().filter(|number: &f64| number.is_finite());
            finite.map(TokenKind::Double)
        } else {
            whole.parse().ok().map(TokenKind::Int)
        };
        if self.rest().starts_with(['e', 'E', 'u', 'U', 'x']) {
            return Err(Wrong::unsupported(
                "a number with an exponent, a base or `u`",
            ));
        }
        kind.ok_or_else(|| Wrong::at(at, "invalid number literal"))
    }

    /// Reads a string; if it is `raw`, a backslash is a character like others.
    fn quoted(&mut self, raw: bool) -> Result<TokenKind, Wrong> {
        let at = self.at;
        self.at = self.at.saturating_add(usize::from(raw));
        let close = if self.rest().starts_with('"') {
            '"'
        } else {
            '\''
        };
        if self.rest().starts_with(&close.to_string().repeat(3)) {
            return Err(Wrong::unsupported("a string in triple quotes"));
        }
        self.at = self.at.saturating_add(1);
        let mut text = String::new();
        loop {
            let next = self.rest().chars().next();
            let next = next.filter(|next| !matches!(next, '\n' | '\r'));
            let next = next.ok_or_else(|| Wrong::at(at, "syntax error: a string has no end"))?;
            if next == '\\' && !raw {
                text.push(self.escape()?);
                continue;
            }
            self.at = self.at.saturating_add(next.len_utf8());
            if next == close {
                return Ok(TokenKind::Text(text.into()));
            }
            text.push(next);
        }
    }

    fn escape(&mut self) -> Result<char, Wrong> {
        const ESCAPES: &[(char, char)] = &[
            ('n', '\n'),
            ('r', '\r'),
            ('t', '\t'),
            ('\\', '\\'),
            ('\'', '\''),
            ('"', '"'),
        ];
        // The backslash is one byte.
        let kind = self.rest()[1..].chars().next();
        let found = ESCAPES.iter().find(|(known, _)| Some(*known) == kind);
        if let Some((_, character)) = found {
            self.at = self.at.saturating_add(2);
            return Ok(*character);
        }
        if kind.is_some_and(|kind| "abfvxXuU`?0123".contains(kind)) {
            return Err(Wrong::unsupported("this escape in a string"));
        }
        let detail = "syntax error: no such escape in a string";
        Err(Wrong::at(self.at, detail))
    }
}

/// A part of an expression and the byte that errors about it point to.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) at: usize,
    pub(super) kind: ExprKind,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Constant(Value),
    Name(Arc<str>),
    Driver,
    AllowMultipleAllocations,
    Catalogue(Catalogue),
    /// All of one domain, by identifier.
    Domain(Catalogue, Arc<str>),
    Attribute(Box<Attribute>),
    /// `operand.name`, `operand.?name` or `has(operand.name)`.
    Field(Box<Expr>, Arc<str>, Access),
    /// `container[key]` or `container[?key]`.
    Index(Box<[Expr; 2]>, Access),
    /// All terms of one chain of `&&`.
    And(Vec<Expr>),
    /// All terms of one chain of `||`.
    Or(Vec<Expr>),
    Condition(Box<[Expr; 3]>),
    /// A function or an operator, with its target first.
    Call(&'static Overloads, Vec<Expr>),
    /// `matches` or `find` with a constant pattern.
    Matching(&'static Overloads, Box<Expr>, Pattern),
    List(Vec<Expr>),
    Fold(Box<Fold>),
    /// `cel.bind(name, value, body)`
    Bind(Arc<str>, Box<[Expr; 2]>),
}

/// Attributes or capacities of a device, by domain and identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Catalogue {
    Attributes,
    Capacity,
}

/// Kind of access to a field or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Value,
    Optional,
    Presence,
}

/// One attribute or capacity, found without making a map of all.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) catalogue: Catalogue,
    pub(super) domain: Arc<str>,
    pub(super) id: Arc<str>,
    /// Domain and identifier.
    pub(super) name: String,
    pub(super) access: Access,
    /// Written with a dot, as `has()` demands.
    pub(super) by_field: bool,
}

/// A macro that iterates.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) range: Expr,
    /// First name: the element of a list or the key of a map; before a second name, the index or key.
    pub(super) first: Arc<str>,
    pub(super) second: Option<Arc<str>>,
    pub(super) filter: Option<Expr>,
    /// The predicate, or the new element.
    pub(super) body: Expr,
}

/// Result of a macro that iterates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldKind {
    Exists,
    All,
    /// `map` and `filter`.
    List,
}

/// Bound on the depth of a tree, which parsing, evaluation and drop recurse into.
//
// Upstream's own limits (250 brackets, 250 terms of a sum) are beyond, so that they need no model.
const MAXIMUM_DEPTH: usize = 160;

/// Sign of a token, where `in` counts as one; empty for other tokens.
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
            // One for the brackets, and three for the nodes of `||`, `&&` and `?:`, which are no links.
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
