//! Tokens of expressions.
//!
//! Upstream: `CEL.g4` of cel-go.

use std::sync::Arc;

use super::error::Wrong;

/// A word and the byte at which it begins.
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

/// Longer ones first.
const SIGNS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", "{", "}", ".", ",", "-", "!",
    "?", ":", "+", "*", "/", "%",
];

/// Returns the words of `text`, with an end.
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

    /// A string, in which a backslash is a character like others if it is `raw`.
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
