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
    Uint(u64),
    Double(f64),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    Name(String),
    /// A name between back quotes, which can only be a field.
    QuotedName(String),
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
        let mut characters = rest.chars();
        let Some(first) = characters.next() else {
            return Ok(TokenKind::End);
        };
        let second = characters.next();
        if first.is_ascii_digit() || (first == '.' && second.is_some_and(|c| c.is_ascii_digit())) {
            return self.number();
        }
        if let Some(opening) = opening_of_text(rest) {
            return self.quoted(&opening);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let name = self.take(|next| next.is_ascii_alphanumeric() || next == '_');
            return Ok(TokenKind::Name(name.to_owned()));
        }
        if first == '`' {
            return self.quoted_name();
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
        let rest = self.rest();
        let hexadecimal = rest.strip_prefix("0x").filter(|digits| {
            let first = digits.chars().next();
            first.is_some_and(|digit| digit.is_ascii_hexdigit())
        });
        let (digits, radix) = if hexadecimal.is_some() {
            self.at = self.at.saturating_add(2);
            (self.take(|next| next.is_ascii_hexdigit()), 16)
        } else {
            if let Some(end) = end_of_double(rest) {
                self.at = self.at.saturating_add(end);
                let number = rest[..end].parse::<f64>().ok();
                let finite = number.filter(|number| number.is_finite());
                return finite
                    .map(TokenKind::Double)
                    .ok_or_else(|| Wrong::at(at, "invalid double literal"));
            }
            (self.take(|next| next.is_ascii_digit()), 10)
        };
        let number = u64::from_str_radix(digits, radix);
        let unsigned = self.rest().starts_with(['u', 'U']);
        if unsigned {
            self.at = self.at.saturating_add(1);
            let number = number.map_err(|_| Wrong::at(at, "invalid uint literal"))?;
            return Ok(TokenKind::Uint(number));
        }
        let number = number.map_err(|_| Wrong::at(at, "invalid int literal"))?;
        Ok(TokenKind::Int(number))
    }

    fn quoted_name(&mut self) -> Result<TokenKind, Wrong> {
        let at = self.at;
        self.at = self.at.saturating_add(1);
        let name = self.take(|next| next.is_ascii_alphanumeric() || "_.-/ ".contains(next));
        if name.is_empty() || !self.rest().starts_with('`') {
            return Err(Wrong::at(at, "syntax error: a back quote has no end"));
        }
        self.at = self.at.saturating_add(1);
        Ok(TokenKind::QuotedName(name.to_owned()))
    }

    fn quoted(&mut self, opening: &Opening) -> Result<TokenKind, Wrong> {
        let at = self.at;
        self.at = self.at.saturating_add(opening.length);
        let mut written = Written::default();
        loop {
            let rest = self.rest();
            if rest.starts_with(opening.close) {
                self.at = self.at.saturating_add(opening.close.len());
                break;
            }
            let next = rest
                .chars()
                .next()
                .filter(|next| opening.close.len() == 3 || !matches!(next, '\n' | '\r'))
                .ok_or_else(|| Wrong::at(at, "syntax error: a string has no end"))?;
            if next == '\\' && !opening.raw {
                self.escape(&mut written, opening.bytes)?;
            } else {
                self.at = self.at.saturating_add(next.len_utf8());
                written.character(next);
            }
        }
        if opening.bytes {
            return Ok(TokenKind::Bytes(written.bytes.into()));
        }
        String::from_utf8(written.bytes)
            .map(|text| TokenKind::Text(text.into()))
            .map_err(|_| Wrong::at(at, "syntax error: invalid string"))
    }

    fn escape(&mut self, written: &mut Written, bytes: bool) -> Result<(), Wrong> {
        let at = self.at;
        let wrong = || Wrong::at(at, "syntax error: no such escape in a string");
        // The backslash is one byte.
        let rest = &self.rest()[1..];
        let kind = rest.chars().next().ok_or_else(wrong)?;
        let simple = match kind {
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            '\\' | '\'' | '"' | '`' | '?' => Some(kind),
            _ => None,
        };
        if let Some(simple) = simple {
            written.character(simple);
            self.at = self.at.saturating_add(2);
            return Ok(());
        }
        let (skipped, digits, radix): (usize, usize, u32) = match kind {
            'x' | 'X' => (1, 2, 16),
            'u' if !bytes => (1, 4, 16),
            'U' if !bytes => (1, 8, 16),
            // The largest byte is `\377`.
            '0'..='3' => (0, 3, 8),
            _ => return Err(wrong()),
        };
        let end = skipped.saturating_add(digits);
        let digits = rest.get(skipped..end).ok_or_else(wrong)?;
        if !digits.chars().all(|digit| digit.is_digit(radix)) {
            return Err(wrong());
        }
        let code = u32::from_str_radix(digits, radix).map_err(|_| wrong())?;
        if bytes {
            written.bytes.push(u8::try_from(code).map_err(|_| wrong())?);
        } else {
            written.character(char::from_u32(code).ok_or_else(wrong)?);
        }
        self.at = self.at.saturating_add(end).saturating_add(1);
        Ok(())
    }
}

/// What has been read of a string.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
}

impl Written {
    fn character(&mut self, character: char) {
        let mut buffer = [0; 4];
        self.bytes
            .extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }
}

/// How a string begins, and what ends it.
struct Opening {
    length: usize,
    raw: bool,
    bytes: bool,
    close: &'static str,
}

fn opening_of_text(rest: &str) -> Option<Opening> {
    let (bytes, after) = match rest.strip_prefix(['b', 'B']) {
        Some(after) => (true, after),
        None => (false, rest),
    };
    let (raw, after) = match after.strip_prefix(['r', 'R']) {
        Some(after) => (true, after),
        None => (false, after),
    };
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let close = quotes.into_iter().find(|quote| after.starts_with(quote))?;
    let prefix = rest.len().saturating_sub(after.len());
    Some(Opening {
        length: prefix.saturating_add(close.len()),
        raw,
        bytes,
        close,
    })
}

/// Where the number with a fraction or an exponent ends that `rest` begins with.
fn end_of_double(rest: &str) -> Option<usize> {
    let digits = |from: usize| {
        let rest = rest.get(from..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_digit());
        from.saturating_add(end.unwrap_or(rest.len()))
    };
    let whole = digits(0);
    let mut end = whole;
    if rest[whole..].starts_with('.') {
        let fraction = digits(whole.saturating_add(1));
        if fraction > whole.saturating_add(1) {
            end = fraction;
        }
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(
            rest[end..]
                .get(1..)
                .is_some_and(|r| r.starts_with(['+', '-'])),
        );
        let start = end.saturating_add(1).saturating_add(sign);
        let exponent = digits(start);
        if exponent > start {
            end = exponent;
        }
    }
    (end > whole).then_some(end)
}
