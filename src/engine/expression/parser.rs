//! Parsing of expressions.
//!
//! One function for each rule of the grammar, but one for all operators with two sides; macros are expanded on the way.
//!
//! Upstream: `CEL.g4` of cel-go, with optional syntax.

use super::error::Wrong;
use super::lexer::{Token, TokenKind, tokens};
use super::macros;
use super::nesting::{nesting, sign_of};
use super::syntax::{Access, Call, Element, Entry, Expr, ExprKind, Field};

/// Stack for what is nested deeper than [`SHALLOW`]; only what is used takes memory.
const STACK: usize = 64 << 20;

/// What is nested no deeper is parsed on any stack.
const SHALLOW: usize = 16;

/// How deep the tree may be; what is deeper is refused before it is checked.
const MAXIMUM_DEPTH: usize = 400;

/// Words that are no names, though they can be fields.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Operators with two sides: the sign, the name in cel-go, and how tightly it binds.
const OPERATORS: &[(&str, &str, u8)] = &[
    ("||", "_||_", 1),
    ("&&", "_&&_", 2),
    ("<", "_<_", 3),
    ("<=", "_<=_", 3),
    (">=", "_>=_", 3),
    (">", "_>_", 3),
    ("==", "_==_", 3),
    ("!=", "_!=_", 3),
    ("in", "@in", 3),
    ("+", "_+_", 4),
    ("-", "_-_", 4),
    ("*", "_*_", 5),
    ("/", "_/_", 5),
    ("%", "_%_", 5),
];

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Expr, Wrong> {
    let tokens = tokens(text)?;
    if nesting(&tokens)? <= SHALLOW {
        return parse_tokens(&tokens);
    }
    let deep = || Wrong::unsupported("deep nesting");
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().stack_size(STACK);
        let parsed = parser
            .spawn_scoped(scope, || parse_tokens(&tokens))
            .map_err(|_| deep())?;
        parsed.join().map_err(|_| deep())?
    })
}

fn parse_tokens(tokens: &[Token]) -> Result<Expr, Wrong> {
    let mut parser = Parser {
        tokens,
        place: 0,
        unsupported: None,
    };
    let parsed = parser.expr()?;
    if parser.token().kind != TokenKind::End {
        return Err(parser.unexpected());
    }
    match parser.unsupported {
        Some(wrong) => Err(wrong),
        None => Ok(parsed.expr),
    }
}

/// A part of an expression, and how deep its tree is.
struct Parsed {
    expr: Expr,
    depth: usize,
}

struct Parser<'a> {
    tokens: &'a [Token],
    place: usize,
    /// What Kubernetes accepts and this plugin does not evaluate. What is wrong with the rest counts more.
    unsupported: Option<Wrong>,
}

impl<'a> Parser<'a> {
    fn token(&self) -> &'a Token {
        static END: Token = Token {
            at: 0,
            kind: TokenKind::End,
        };
        let last = self.tokens.last().unwrap_or(&END);
        self.tokens.get(self.place).unwrap_or(last)
    }

    /// The sign that comes next, with `in`; empty for other words.
    fn sign(&self) -> &'static str {
        sign_of(self.token())
    }

    fn advance(&mut self) -> &'a Token {
        let token = self.token();
        self.place = self.place.saturating_add(1);
        token
    }

    /// Takes the sign if it comes next.
    fn takes(&mut self, sign: &str) -> bool {
        let found = self.sign() == sign;
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Wrong> {
        if self.takes(sign) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// The next word is not what is expected there.
    fn unexpected(&self) -> Wrong {
        let token = self.token();
        let shown = match &token.kind {
            TokenKind::Sign(sign) => format!("'{sign}'"),
            TokenKind::Name(name) => format!("'{name}'"),
            TokenKind::QuotedName(name) => format!("`{name}`"),
            TokenKind::Text(_) | TokenKind::Bytes(_) => "a string".to_owned(),
            TokenKind::Int(_) | TokenKind::Uint(_) | TokenKind::Double(_) => "a number".to_owned(),
            TokenKind::End => "end of expression".to_owned(),
        };
        Wrong::at(token.at, format!("syntax error: unexpected {shown}"))
    }

    /// `a ? b : c`
    fn expr(&mut self) -> Result<Parsed, Wrong> {
        let test = self.binary(1)?;
        let at = self.token().at;
        if !self.takes("?") {
            return Ok(test);
        }
        let then = self.binary(1)?;
        self.expect(":")?;
        let otherwise = self.expr()?;
        operator(at, "_?_:_", vec![test, then, otherwise])
    }

    /// Operators that bind at least as tightly as `least`, each from left to right.
    fn binary(&mut self, least: u8) -> Result<Parsed, Wrong> {
        let mut left = self.unary()?;
        loop {
            let sign = self.sign();
            let found = OPERATORS.iter().find(|(known, _, _)| *known == sign);
            let Some((_, name, binds)) = found.filter(|(_, _, binds)| *binds >= least) else {
                return Ok(left);
            };
            let at = self.advance().at;
            let right = self.binary(binds.saturating_add(1))?;
            left = match sign {
                "&&" => chain(left, right, true)?,
                "||" => chain(left, right, false)?,
                _ => operator(at, name, vec![left, right])?,
            };
        }
    }

    /// Several `!` or `-` in front of something, of which two take each other back.
    fn unary(&mut self) -> Result<Parsed, Wrong> {
        let sign = self.sign();
        let at = self.token().at;
        let name = match sign {
            "!" => "!_",
            "-" => "-_",
            _ => return self.member(),
        };
        let count = self.run(sign);
        let even = count.saturating_sub(count % 2);
        self.place = self.place.saturating_add(even);
        // A minus that is left in front of a number belongs to the number.
        if even == count || self.is_negative_number() {
            return self.member();
        }
        self.advance();
        let operand = self.member()?;
        operator(at, name, vec![operand])
    }

    /// How many of these signs stand here.
    fn run(&self, sign: &str) -> usize {
        let rest = self.tokens.get(self.place..).unwrap_or_default();
        rest.iter()
            .take_while(|token| sign_of(token) == sign)
            .count()
    }

    /// Whether a minus and a number stand here.
    fn is_negative_number(&self) -> bool {
        let after = self.tokens.get(self.place.saturating_add(1));
        let after = after.map(|token| &token.kind);
        self.sign() == "-" && matches!(after, Some(TokenKind::Int(_) | TokenKind::Double(_)))
    }

    /// Fields, elements and methods of something.
    fn member(&mut self) -> Result<Parsed, Wrong> {
        let is_name = self.is_name() || self.sign() == ".";
        let mut parsed = self.primary()?;
        // Names alone may be that of a message.
        let mut is_message = is_name && matches!(parsed.expr.kind, ExprKind::Name(_));
        loop {
            let at = self.token().at;
            match self.sign() {
                "." => {
                    self.advance();
                    let access = if self.takes("?") {
                        Access::Optional
                    } else {
                        Access::Value
                    };
                    let is_call = access == Access::Value && self.is_call();
                    is_message &= access == Access::Value && !is_call && self.is_name();
                    parsed = if is_call {
                        let (at, name, arguments) = self.call()?;
                        let depth = deeper(&arguments).max(parsed.depth.saturating_add(1));
                        let arguments = arguments.into_iter().map(|part| part.expr);
                        let expr = macros::method(at, &name, parsed.expr, arguments.collect())?;
                        part(expr, depth)?
                    } else {
                        self.field(at, parsed, access)?
                    };
                }
                "[" => {
                    self.advance();
                    let name = if self.takes("?") { "_[?_]" } else { "_[_]" };
                    let key = self.expr()?;
                    self.expect("]")?;
                    parsed = operator(at, name, vec![parsed, key])?;
                    is_message = false;
                }
                "{" if is_message => {
                    self.advance();
                    self.entries(true)?;
                    self.refuse("a message");
                    is_message = false;
                }
                _ => return Ok(parsed),
            }
        }
    }

    /// Whether a name stands here that is no other word.
    fn is_name(&self) -> bool {
        matches!(self.token().kind, TokenKind::Name(_)) && self.sign().is_empty()
    }

    /// Whether a name and a bracket stand here.
    fn is_call(&self) -> bool {
        let after = self.tokens.get(self.place.saturating_add(1));
        let is_word = matches!(
            self.token().kind,
            TokenKind::Name(_) | TokenKind::QuotedName(_)
        );
        is_word && self.sign().is_empty() && after.is_some_and(|token| sign_of(token) == "(")
    }

    fn primary(&mut self) -> Result<Parsed, Wrong> {
        let token = self.token();
        let at = token.at;
        let negative = self.is_negative_number();
        if negative {
            self.advance();
        }
        match self.sign() {
            "(" => {
                self.advance();
                let parsed = self.expr()?;
                self.expect(")")?;
                Ok(parsed)
            }
            "[" => {
                self.advance();
                self.list(at)
            }
            "{" => {
                self.advance();
                let (entries, depth) = self.entries(false)?;
                part(expr(at, ExprKind::Map(entries)), depth)
            }
            "." => {
                self.advance();
                if self.is_call() {
                    self.refuse("a function whose name begins with a dot");
                    return self.primary();
                }
                if !self.is_name() {
                    return Err(self.unexpected());
                }
                let ExprKind::Name(name) = self.word(false)? else {
                    return Err(Wrong::at(at, "syntax error: unexpected '.'"));
                };
                part(expr(self.before(), ExprKind::Name(format!(".{name}"))), 1)
            }
            "" if self.is_call() => {
                let (at, name, arguments) = self.call()?;
                let depth = deeper(&arguments);
                let arguments = arguments.into_iter().map(|part| part.expr);
                part(macros::function(at, &name, arguments.collect())?, depth)
            }
            "" => {
                let kind = self.word(negative)?;
                part(expr(self.before(), kind), 1)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Where the word begins that was taken last.
    fn before(&self) -> usize {
        let before = self.place.checked_sub(1);
        let token = before.and_then(|before| self.tokens.get(before));
        token.map_or(0, |token| token.at)
    }

    fn word(&mut self, negative: bool) -> Result<ExprKind, Wrong> {
        let token = self.token();
        let invalid = || Wrong::at(token.at, "invalid int literal");
        let kind = match &token.kind {
            TokenKind::Int(number) if negative => {
                ExprKind::Int(0_i64.checked_sub_unsigned(*number).ok_or_else(invalid)?)
            }
            TokenKind::Int(number) => ExprKind::Int(i64::try_from(*number).map_err(|_| invalid())?),
            TokenKind::Uint(number) => ExprKind::Uint(*number),
            TokenKind::Double(number) if negative => ExprKind::Double(-number),
            TokenKind::Double(number) => ExprKind::Double(*number),
            TokenKind::Text(text) => ExprKind::Text(text.clone()),
            TokenKind::Bytes(bytes) => ExprKind::Bytes(bytes.clone()),
            TokenKind::Name(name) => match name.as_str() {
                "true" => ExprKind::Bool(true),
                "false" => ExprKind::Bool(false),
                "null" => ExprKind::Null,
                name => ExprKind::Name(named(token.at, name)?),
            },
            TokenKind::QuotedName(_) | TokenKind::Sign(_) | TokenKind::End => {
                return Err(self.unexpected());
            }
        };
        self.advance();
        Ok(kind)
    }

    /// The name of a field after its dot, which is at `at`.
    fn field(&mut self, at: usize, operand: Parsed, access: Access) -> Result<Parsed, Wrong> {
        let token = self.token();
        let name = if let TokenKind::Name(name) = &token.kind
            && !matches!(name.as_str(), "true" | "false" | "null" | "in")
        {
            name
        } else if let TokenKind::QuotedName(name) = &token.kind {
            name
        } else {
            return Err(self.unexpected());
        };
        self.advance();
        let field = Field {
            operand: operand.expr,
            name: name.as_str().into(),
            access,
        };
        let depth = operand.depth.saturating_add(1);
        part(expr(at, ExprKind::Field(Box::new(field))), depth)
    }

    /// A name and the arguments after it, with the place of the bracket.
    fn call(&mut self) -> Result<(usize, String, Vec<Parsed>), Wrong> {
        let token = self.token();
        let TokenKind::Name(name) = &token.kind else {
            return Err(self.unexpected());
        };
        let name = named(token.at, name)?;
        self.advance();
        let at = self.advance().at;
        let mut arguments = Vec::new();
        if self.takes(")") {
            return Ok((at, name, arguments));
        }
        loop {
            arguments.push(self.expr()?);
            if !self.takes(",") {
                self.expect(")")?;
                return Ok((at, name, arguments));
            }
        }
    }

    /// The rest of a list, which begins at `at`.
    fn list(&mut self, at: usize) -> Result<Parsed, Wrong> {
        let mut elements = Vec::new();
        let mut depth = 1;
        while !self.ends("]", elements.is_empty())? {
            let optional = self.takes("?");
            let value = self.expr()?;
            depth = value.depth.saturating_add(1).max(depth);
            elements.push(Element {
                optional,
                value: value.expr,
            });
        }
        part(expr(at, ExprKind::List(elements)), depth)
    }

    /// The rest of a map, or of a message, of which each key is a name; and how deep it is.
    fn entries(&mut self, of_message: bool) -> Result<(Vec<Entry>, usize), Wrong> {
        let mut entries = Vec::new();
        let mut depth = 1;
        while !self.ends("}", entries.is_empty())? {
            let optional = self.takes("?");
            let key = if of_message {
                let (TokenKind::Name(name) | TokenKind::QuotedName(name)) = &self.token().kind
                else {
                    return Err(self.unexpected());
                };
                part(expr(self.advance().at, ExprKind::Name(name.clone())), 1)?
            } else {
                self.expr()?
            };
            self.expect(":")?;
            let value = self.expr()?;
            depth = key.depth.max(value.depth).saturating_add(1).max(depth);
            entries.push(Entry {
                optional,
                key: key.expr,
                value: value.expr,
            });
        }
        Ok((entries, depth))
    }

    /// Whether a list or a map ends here, after a comma if it likes; a comma parts it from what was before.
    fn ends(&mut self, close: &str, is_first: bool) -> Result<bool, Wrong> {
        if self.takes(close) {
            return Ok(true);
        }
        if is_first && self.sign() != "," {
            return Ok(false);
        }
        self.expect(",")?;
        if is_first {
            // Only a comma stands between the brackets.
            self.expect(close)?;
            return Ok(true);
        }
        Ok(self.takes(close))
    }

    /// Notes what cannot be evaluated; the first counts.
    fn refuse(&mut self, construct: &str) {
        self.unsupported
            .get_or_insert_with(|| Wrong::unsupported(construct));
    }
}

/// A chain of `&&`, or of `||`, whose sides may be such chains themselves.
fn chain(left: Parsed, right: Parsed, is_and: bool) -> Result<Parsed, Wrong> {
    let at = left.expr.at;
    let mut depth = 0;
    let mut terms = Vec::new();
    for mut side in [left, right] {
        if let Some(inner) = terms_of(&mut side.expr.kind, is_and) {
            terms.extend(inner);
            depth = side.depth.max(depth);
        } else {
            terms.push(side.expr);
            depth = side.depth.saturating_add(1).max(depth);
        }
    }
    let kind = if is_and {
        ExprKind::And(terms)
    } else {
        ExprKind::Or(terms)
    };
    part(expr(at, kind), depth)
}

/// The terms of a chain of the same sort.
fn terms_of(kind: &mut ExprKind, is_and: bool) -> Option<Vec<Expr>> {
    if let ExprKind::And(terms) = kind
        && is_and
    {
        Some(std::mem::take(terms))
    } else if let ExprKind::Or(terms) = kind
        && !is_and
    {
        Some(std::mem::take(terms))
    } else {
        None
    }
}

fn operator(at: usize, name: &str, arguments: Vec<Parsed>) -> Result<Parsed, Wrong> {
    let depth = deeper(&arguments);
    let arguments = arguments.into_iter().map(|part| part.expr).collect();
    let call = Call {
        name: name.to_owned(),
        target: None,
        arguments,
    };
    part(expr(at, ExprKind::Call(Box::new(call))), depth)
}

/// How deep something is that has these parts.
fn deeper(parts: &[Parsed]) -> usize {
    let deepest = parts.iter().map(|part| part.depth).max();
    deepest.unwrap_or_default().saturating_add(1)
}

fn part(expr: Expr, depth: usize) -> Result<Parsed, Wrong> {
    if depth > MAXIMUM_DEPTH {
        return Err(Wrong::unsupported("deep nesting"));
    }
    Ok(Parsed { expr, depth })
}

/// A name, unless it is a word that can be none.
fn named(at: usize, name: &str) -> Result<String, Wrong> {
    if RESERVED.contains(&name) {
        return Err(Wrong::at(at, format!("reserved identifier: {name}")));
    }
    if matches!(name, "true" | "false" | "null") {
        return Err(Wrong::at(at, format!("syntax error: unexpected '{name}'")));
    }
    Ok(name.to_owned())
}

fn expr(at: usize, kind: ExprKind) -> Expr {
    Expr { at, kind }
}
