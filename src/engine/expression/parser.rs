//! What does the text of an expression say?
//!
//! Upstream: `parser.go` of cel-go with the macros of the libraries that Kubernetes enables.

use super::error::Wrong;
use super::lexer::{Token, TokenKind, tokens};
use super::macros;
use super::syntax::{Access, Call, Element, Entry, Expr, ExprKind, Field};

/// How deep anything may be nested, as upstream.
const MAXIMUM_NESTING: usize = 250;

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

/// Operators from those that bind least, with the names that cel-go gives them.
const RELATIONS: &[(&str, &str)] = &[
    ("==", "_==_"),
    ("!=", "_!=_"),
    ("<=", "_<=_"),
    (">=", "_>=_"),
    ("<", "_<_"),
    (">", "_>_"),
    ("in", "@in"),
];
const SUMS: &[(&str, &str)] = &[("+", "_+_"), ("-", "_-_")];
const PRODUCTS: &[(&str, &str)] = &[("*", "_*_"), ("/", "_/_"), ("%", "_%_")];
const LEVELS: &[&[(&str, &str)]] = &[RELATIONS, SUMS, PRODUCTS];

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Expr, Wrong> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        next: 0,
        nesting: 0,
    };
    let expr = parser.expression()?;
    if *parser.peek() == TokenKind::End {
        Ok(expr)
    } else {
        Err(parser.unexpected())
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a TokenKind {
        self.tokens
            .get(self.next)
            .map_or(&TokenKind::End, |token| &token.kind)
    }

    fn at(&self) -> usize {
        let token = self.tokens.get(self.next).or(self.tokens.last());
        token.map_or(0, |token| token.at)
    }

    fn advance(&mut self) {
        self.next = self.next.saturating_add(1);
    }

    fn is(&self, sign: &str) -> bool {
        match self.peek() {
            TokenKind::Sign(found) => *found == sign,
            TokenKind::Name(name) => name == "in" && sign == "in",
            TokenKind::Int(_)
            | TokenKind::Uint(_)
            | TokenKind::Double(_)
            | TokenKind::Text(_)
            | TokenKind::Bytes(_)
            | TokenKind::QuotedName(_)
            | TokenKind::End => false,
        }
    }

    fn accept(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Wrong> {
        if self.accept(sign) {
            Ok(())
        } else {
            Err(Wrong::at(
                self.at(),
                format!("syntax error: {} where '{sign}' is expected", self.shown()),
            ))
        }
    }

    /// The next word, as an error names it.
    fn shown(&self) -> String {
        match self.peek() {
            TokenKind::Sign(sign) => format!("'{sign}'"),
            TokenKind::Name(name) => format!("'{name}'"),
            TokenKind::QuotedName(name) => format!("`{name}`"),
            TokenKind::Text(_) | TokenKind::Bytes(_) => "a string".to_owned(),
            TokenKind::Int(_) | TokenKind::Uint(_) | TokenKind::Double(_) => "a number".to_owned(),
            TokenKind::End => "the end".to_owned(),
        }
    }

    fn unexpected(&self) -> Wrong {
        Wrong::at(
            self.at(),
            format!("syntax error: unexpected {}", self.shown()),
        )
    }

    fn too_deep(&self) -> Wrong {
        Wrong::at(
            self.at(),
            format!("expression recursion limit exceeded: {MAXIMUM_NESTING}"),
        )
    }

    fn expression(&mut self) -> Result<Expr, Wrong> {
        if self.nesting >= MAXIMUM_NESTING {
            return Err(self.too_deep());
        }
        self.nesting = self.nesting.saturating_add(1);
        let expr = self.condition()?;
        self.nesting = self.nesting.saturating_sub(1);
        Ok(expr)
    }

    fn condition(&mut self) -> Result<Expr, Wrong> {
        let first = self.alternatives()?;
        let at = self.at();
        if !self.accept("?") {
            return Ok(first);
        }
        let then = self.alternatives()?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        Ok(operator(at, "_?_:_", vec![first, then, otherwise]))
    }

    fn alternatives(&mut self) -> Result<Expr, Wrong> {
        let at = self.at();
        let mut terms = vec![self.conjunction()?];
        while self.accept("||") {
            terms.push(self.conjunction()?);
        }
        Ok(chain(at, terms, ExprKind::Or))
    }

    fn conjunction(&mut self) -> Result<Expr, Wrong> {
        let at = self.at();
        let mut terms = vec![self.binary(0)?];
        while self.accept("&&") {
            terms.push(self.binary(0)?);
        }
        Ok(chain(at, terms, ExprKind::And))
    }

    /// Operators of `level` and of those that bind more, from left to right.
    fn binary(&mut self, level: usize) -> Result<Expr, Wrong> {
        let mut stack: Vec<(usize, &'static str, usize, Expr)> = Vec::new();
        let mut links = [0_usize; 3];
        loop {
            let mut operand = self.unary()?;
            let found = self.operator();
            let bind = found.map_or(level, |(level, _)| level);
            // Whatever binds as much or more on the left is complete now.
            while let Some((left_level, name, at, left)) =
                stack.pop_if(|(left, ..)| found.is_none() || *left >= bind)
            {
                let _ = left_level;
                operand = operator(at, name, vec![left, operand]);
            }
            let Some((found, name)) = found else {
                return Ok(operand);
            };
            // Sums and products are one rule of upstream's grammar, relations another.
            let rule = usize::from(found > 0);
            links[rule] = links[rule].saturating_add(1);
            if links[rule] >= MAXIMUM_NESTING.saturating_add(usize::from(found == 0)) {
                return Err(self.too_deep());
            }
            let at = self.at();
            self.advance();
            stack.push((found, name, at, operand));
        }
    }

    fn operator(&self) -> Option<(usize, &'static str)> {
        LEVELS.iter().enumerate().find_map(|(level, operators)| {
            let found = operators.iter().find(|(sign, _)| self.is(sign));
            found.map(|(_, name)| (level, *name))
        })
    }

    fn unary(&mut self) -> Result<Expr, Wrong> {
        let at = self.at();
        let negative_number = self.is("-")
            && matches!(
                self.tokens
                    .get(self.next.saturating_add(1))
                    .map(|token| &token.kind),
                Some(TokenKind::Int(_) | TokenKind::Double(_))
            );
        if negative_number {
            return self.member();
        }
        for (sign, name) in [("!", "!_"), ("-", "-_")] {
            let mut odd = false;
            let mut any = false;
            // A minus right before a number is part of it.
            while self.accept(sign) {
                odd = !odd;
                any = true;
            }
            if any {
                let operand = self.member()?;
                return Ok(if odd {
                    operator(at, name, vec![operand])
                } else {
                    operand
                });
            }
        }
        self.member()
    }

    fn member(&mut self) -> Result<Expr, Wrong> {
        let mut expr = self.primary()?;
        let mut links = 0_usize;
        loop {
            let at = self.at();
            if self.accept(".") {
                let optional = self.accept("?");
                expr = self.field(at, expr, optional)?;
            } else if self.accept("[") {
                let name = if self.accept("?") { "_[?_]" } else { "_[_]" };
                let key = self.expression()?;
                self.expect("]")?;
                expr = operator(at, name, vec![expr, key]);
            } else if self.is("{") && matches!(expr.kind, ExprKind::Field(_)) {
                return Err(Wrong::unsupported("a message"));
            } else {
                return Ok(expr);
            }
            links = links.saturating_add(1);
            if links >= MAXIMUM_NESTING {
                return Err(self.too_deep());
            }
        }
    }

    fn field(&mut self, at: usize, operand: Expr, optional: bool) -> Result<Expr, Wrong> {
        let (name, quoted) = if let TokenKind::Name(name) = self.peek()
            && !is_literal(name)
        {
            (name, false)
        } else if let TokenKind::QuotedName(name) = self.peek() {
            (name, true)
        } else {
            return Err(self.unexpected());
        };
        self.advance();
        let open = self.at();
        if !quoted && !optional && self.accept("(") {
            let arguments = self.arguments()?;
            return macros::method(open, name, operand, arguments);
        }
        let access = if optional {
            Access::Optional
        } else {
            Access::Value
        };
        Ok(Expr {
            at,
            kind: ExprKind::Field(Box::new(Field {
                operand,
                name: name.as_str().into(),
                access,
            })),
        })
    }

    /// What follows a bracket, up to the one that closes it.
    fn arguments(&mut self) -> Result<Vec<Expr>, Wrong> {
        let mut arguments = Vec::new();
        if self.accept(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if self.accept(")") {
                return Ok(arguments);
            }
            if !self.is(",") {
                return Err(Wrong::at(
                    self.at(),
                    format!(
                        "syntax error: {} where ',' or ')' is expected",
                        self.shown()
                    ),
                ));
            }
            self.advance();
        }
    }

    fn primary(&mut self) -> Result<Expr, Wrong> {
        let at = self.at();
        let kind = match self.peek() {
            TokenKind::Int(number) => {
                let number = i64::try_from(*number);
                ExprKind::Int(number.map_err(|_| Wrong::at(at, "invalid int literal"))?)
            }
            TokenKind::Uint(number) => ExprKind::Uint(*number),
            TokenKind::Double(number) => ExprKind::Double(*number),
            TokenKind::Text(text) => ExprKind::Text(text.clone()),
            TokenKind::Bytes(bytes) => ExprKind::Bytes(bytes.clone()),
            TokenKind::Name(name) => return self.name(at, name),
            TokenKind::Sign("(") => {
                self.advance();
                let expr = self.expression()?;
                self.expect(")")?;
                return Ok(expr);
            }
            TokenKind::Sign("[") => return self.list(at),
            TokenKind::Sign("{") => return self.map(at),
            TokenKind::Sign("-") => return self.negative(at),
            TokenKind::Sign(".") => {
                return Err(Wrong::unsupported("a name that begins with a dot"));
            }
            TokenKind::Sign(_) | TokenKind::QuotedName(_) | TokenKind::End => {
                return Err(self.unexpected());
            }
        };
        self.advance();
        Ok(Expr { at, kind })
    }

    fn negative(&mut self, at: usize) -> Result<Expr, Wrong> {
        self.advance();
        let kind = if let TokenKind::Int(number) = self.peek() {
            let number = 0_i64.checked_sub_unsigned(*number);
            ExprKind::Int(number.ok_or_else(|| Wrong::at(at, "invalid int literal"))?)
        } else if let TokenKind::Double(number) = self.peek() {
            ExprKind::Double(-number)
        } else {
            return Err(self.unexpected());
        };
        self.advance();
        Ok(Expr { at, kind })
    }

    fn name(&mut self, at: usize, name: &str) -> Result<Expr, Wrong> {
        let literal = match name {
            "true" => Some(ExprKind::Bool(true)),
            "false" => Some(ExprKind::Bool(false)),
            "null" => Some(ExprKind::Null),
            "in" => return Err(self.unexpected()),
            _ => None,
        };
        if RESERVED.contains(&name) {
            return Err(Wrong::at(at, format!("reserved identifier: {name}")));
        }
        self.advance();
        if let Some(kind) = literal {
            return Ok(Expr { at, kind });
        }
        let open = self.at();
        if self.accept("(") {
            let arguments = self.arguments()?;
            return macros::function(open, name, arguments);
        }
        if self.is("{") {
            return Err(Wrong::unsupported(format!("a message of type {name}")));
        }
        let kind = ExprKind::Name(name.to_owned());
        Ok(Expr { at, kind })
    }

    fn list(&mut self, at: usize) -> Result<Expr, Wrong> {
        self.advance();
        let mut elements = Vec::new();
        while !self.accept("]") {
            let optional = self.accept("?");
            let value = self.expression()?;
            elements.push(Element { optional, value });
            if !self.is("]") {
                self.expect(",")?;
            }
        }
        let kind = ExprKind::List(elements);
        Ok(Expr { at, kind })
    }

    fn map(&mut self, at: usize) -> Result<Expr, Wrong> {
        self.advance();
        let mut entries = Vec::new();
        while !self.accept("}") {
            let optional = self.accept("?");
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            entries.push(Entry {
                optional,
                key,
                value,
            });
            if !self.is("}") {
                self.expect(",")?;
            }
        }
        let kind = ExprKind::Map(entries);
        Ok(Expr { at, kind })
    }
}

fn is_literal(name: &str) -> bool {
    matches!(name, "true" | "false" | "null" | "in")
}

fn operator(at: usize, name: &str, arguments: Vec<Expr>) -> Expr {
    Expr {
        at,
        kind: ExprKind::Call(Box::new(Call {
            name: name.to_owned(),
            target: None,
            arguments,
        })),
    }
}

/// Several terms as a chain, one as itself.
fn chain(at: usize, mut terms: Vec<Expr>, kind: impl Fn(Vec<Expr>) -> ExprKind) -> Expr {
    match terms.pop() {
        Some(only) if terms.is_empty() => only,
        last => {
            terms.extend(last);
            Expr {
                at,
                kind: kind(terms),
            }
        }
    }
}
