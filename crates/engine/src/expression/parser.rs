//! Parsing of expressions.
//!
//! One function for each rule of the grammar, but one for all operators with two sides; macros are expanded on the way.
//!
//! Upstream: `CEL.g4` of cel-go, with optional syntax.

use std::sync::Arc;

use super::error::Wrong;
use super::evaluate;
use super::functions::overloads;
use super::syntax::{Access, Attribute, Catalogue, Expr, ExprKind};
use super::syntax::{Token, TokenKind, tokens};
use super::syntax::{check_depth, sign_of};
use super::value::Value;

/// Words that are no names, though they can be fields.
const RESERVED: &str = "as break const continue else for function if import let loop package namespace return var void while";

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
    check_depth(&tokens)?;
    let mut parser = Parser {
        tokens: &tokens,
        index: 0,
    };
    let expr = parser.expr()?;
    if parser.token().kind != TokenKind::End {
        return Err(parser.unexpected());
    }
    Ok(expr)
}

struct Parser<'a> {
    tokens: &'a [Token],
    index: usize,
}

impl<'a> Parser<'a> {
    fn at_offset(&self, offset: usize) -> &'a Token {
        // There is always a token, since the end is one.
        let last = self.tokens.len().saturating_sub(1);
        &self.tokens[self.index.saturating_add(offset).min(last)]
    }

    fn token(&self) -> &'a Token {
        self.at_offset(0)
    }

    /// Sign of the next token, where `in` counts as one; empty for other tokens.
    fn sign(&self) -> &'static str {
        sign_of(self.token())
    }

    fn advance(&mut self) -> &'a Token {
        let token = self.token();
        self.index = self.index.saturating_add(1);
        token
    }

    /// Takes the sign if it comes next; true if it does.
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

    /// Error about a token that the grammar does not allow.
    fn unexpected(&self) -> Wrong {
        let token = self.token();
        let shown = match &token.kind {
            TokenKind::Sign(sign) => format!("'{sign}'"),
            TokenKind::Name(name) => format!("'{name}'"),
            TokenKind::Text(_) => "a string".to_owned(),
            TokenKind::Int(_) | TokenKind::Double(_) => "a number".to_owned(),
            TokenKind::End => "end of expression".to_owned(),
        };
        Wrong::at(token.at, format!("syntax error: unexpected {shown}"))
    }

    /// `a ? b : c`
    fn expr(&mut self) -> Result<Expr, Wrong> {
        let test = self.binary(1)?;
        let at = self.token().at;
        if !self.takes("?") {
            return Ok(test);
        }
        let then = self.binary(1)?;
        self.expect(":")?;
        let otherwise = self.expr()?;
        let kind = ExprKind::Condition(Box::new([test, then, otherwise]));
        Ok(Expr { at, kind })
    }

    /// Operators that bind at least as tightly as `least`, each from left to right.
    fn binary(&mut self, least: u8) -> Result<Expr, Wrong> {
        let mut left = self.unary()?;
        loop {
            let sign = self.sign();
            let found = OPERATORS.iter().find(|(known, ..)| *known == sign);
            let Some((_, name, binds)) = found.filter(|(.., binds)| *binds >= least) else {
                return Ok(left);
            };
            let at = self.advance().at;
            let right = self.binary(binds.saturating_add(1))?;
            left = match sign {
                "&&" | "||" => chain(left, right, sign),
                _ => operator(at, name, vec![left, right])?,
            };
        }
    }

    fn unary(&mut self) -> Result<Expr, Wrong> {
        let at = self.token().at;
        let name = match self.sign() {
            "!" => "!_",
            // A minus in front of a number belongs to the number.
            "-" if !self.is_negative_number() => "-_",
            _ => return self.member(),
        };
        self.advance();
        if matches!(self.sign(), "!" | "-") {
            return Err(Wrong::unsupported("`!` or `-` before another"));
        }
        let operand = self.member()?;
        operator(at, name, vec![operand])
    }

    fn is_negative_number(&self) -> bool {
        let after = &self.at_offset(1).kind;
        self.sign() == "-" && matches!(after, TokenKind::Int(_) | TokenKind::Double(_))
    }

    /// Fields, elements and methods of an operand.
    fn member(&mut self) -> Result<Expr, Wrong> {
        let mut expr = self.primary()?;
        loop {
            let at = self.token().at;
            if self.takes(".") {
                let optional = self.takes("?");
                expr = if !optional && self.is_call() {
                    let (at, name, arguments) = self.call()?;
                    evaluate::method(at, &name, expr, arguments)?
                } else {
                    let name = self.field_name()?;
                    field(at, expr, name, access(optional))?
                };
            } else if self.takes("[") {
                let optional = self.takes("?");
                let key = self.expr()?;
                self.expect("]")?;
                expr = index(at, expr, key, access(optional));
            } else if self.sign() == "{" {
                return Err(Wrong::unsupported("a message"));
            } else {
                return Ok(expr);
            }
        }
    }

    /// True if a name and a bracket come next.
    fn is_call(&self) -> bool {
        let is_name = matches!(self.token().kind, TokenKind::Name(_)) && self.sign().is_empty();
        is_name && sign_of(self.at_offset(1)) == "("
    }

    fn primary(&mut self) -> Result<Expr, Wrong> {
        let at = self.token().at;
        let negative = self.is_negative_number();
        if negative {
            self.advance();
        }
        match self.sign() {
            "(" => {
                self.advance();
                let expr = self.expr()?;
                self.expect(")")?;
                Ok(expr)
            }
            "[" => {
                self.advance();
                let kind = ExprKind::List(self.parts("]")?);
                Ok(Expr { at, kind })
            }
            "{" => Err(Wrong::unsupported("a map")),
            "." => Err(Wrong::unsupported("a name that begins with a dot")),
            "" if self.is_call() => {
                let (at, name, arguments) = self.call()?;
                evaluate::function(at, &name, arguments)
            }
            "" => self.word(negative),
            _ => Err(self.unexpected()),
        }
    }

    fn word(&mut self, negative: bool) -> Result<Expr, Wrong> {
        let token = self.token();
        let at = token.at;
        let invalid = || Wrong::at(at, "invalid int literal");
        let value = match &token.kind {
            TokenKind::Int(number) if negative => {
                Value::Int(0_i64.checked_sub_unsigned(*number).ok_or_else(invalid)?)
            }
            TokenKind::Int(number) => Value::Int(i64::try_from(*number).map_err(|_| invalid())?),
            TokenKind::Double(number) if negative => Value::Double(-number),
            TokenKind::Double(number) => Value::Double(*number),
            TokenKind::Text(text) => Value::Text(text.clone()),
            TokenKind::Name(name) => match &**name {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => return Err(Wrong::unsupported("null")),
                _ => {
                    self.advance();
                    let kind = ExprKind::Name(unreserved(at, name)?);
                    return Ok(Expr { at, kind });
                }
            },
            TokenKind::Sign(_) | TokenKind::End => {
                return Err(self.unexpected());
            }
        };
        self.advance();
        let kind = ExprKind::Constant(value);
        Ok(Expr { at, kind })
    }

    fn field_name(&mut self) -> Result<Arc<str>, Wrong> {
        if let TokenKind::Name(name) = &self.token().kind
            && !matches!(&**name, "true" | "false" | "null" | "in")
        {
            self.advance();
            return Ok(name.clone());
        }
        Err(self.unexpected())
    }

    /// A name and the arguments after it, with the position of the bracket.
    fn call(&mut self) -> Result<(usize, Arc<str>, Vec<Expr>), Wrong> {
        let at = self.token().at;
        let name = unreserved(at, &self.field_name()?)?;
        let at = self.advance().at;
        Ok((at, name, self.parts(")")?))
    }

    /// The arguments of a call, or the elements of a list.
    fn parts(&mut self, close: &str) -> Result<Vec<Expr>, Wrong> {
        let mut parts = Vec::new();
        if self.takes(close) {
            return Ok(parts);
        }
        loop {
            if close == "]" && matches!(self.sign(), "?" | "," | "]") {
                return Err(Wrong::unsupported(
                    "an element of a list that may be absent",
                ));
            }
            parts.push(self.expr()?);
            if !self.takes(",") {
                self.expect(close)?;
                return Ok(parts);
            }
        }
    }
}

fn access(optional: bool) -> Access {
    if optional {
        Access::Optional
    } else {
        Access::Value
    }
}

/// A chain of `&&`, or of `||`, with one more term.
fn chain(left: Expr, right: Expr, sign: &str) -> Expr {
    let at = left.at;
    let kind = match (left.kind, sign) {
        (ExprKind::And(mut terms), "&&") => {
            terms.push(right);
            ExprKind::And(terms)
        }
        (ExprKind::Or(mut terms), "||") => {
            terms.push(right);
            ExprKind::Or(terms)
        }
        (kind, "&&") => ExprKind::And(vec![Expr { at, kind }, right]),
        (kind, _) => ExprKind::Or(vec![Expr { at, kind }, right]),
    };
    Expr { at, kind }
}

fn operator(at: usize, name: &str, operands: Vec<Expr>) -> Result<Expr, Wrong> {
    let overloads = overloads(name).ok_or_else(|| Wrong::unsupported(name))?;
    let kind = ExprKind::Call(overloads, operands);
    Ok(Expr { at, kind })
}

/// A field by its name; those of the device are known.
fn field(at: usize, operand: Expr, name: Arc<str>, access: Access) -> Result<Expr, Wrong> {
    let is_device = matches!(&operand.kind, ExprKind::Name(of) if **of == *"device");
    if is_device && access != Access::Value {
        let construct = "optional selection of a field that every device has";
        return Err(Wrong::unsupported(construct));
    }
    let kind = if is_device {
        match &*name {
            "driver" => ExprKind::Driver,
            "allowMultipleAllocations" => ExprKind::AllowMultipleAllocations,
            "attributes" => ExprKind::Catalogue(Catalogue::Attributes),
            "capacity" => ExprKind::Catalogue(Catalogue::Capacity),
            _ => return Err(Wrong::at(at, format!("undefined field '{name}'"))),
        }
    } else if let Some(found) = of_catalogue(&operand.kind, &name, access, true) {
        found
    } else {
        ExprKind::Field(Box::new(operand), name, access)
    };
    Ok(Expr { at, kind })
}

/// An element by its index or key.
fn index(at: usize, container: Expr, key: Expr, access: Access) -> Expr {
    let name = evaluate::constant_text(&key.kind);
    let found = name.and_then(|name| of_catalogue(&container.kind, name, access, false));
    let kind = found.unwrap_or_else(|| ExprKind::Index(Box::new([container, key]), access));
    Expr { at, kind }
}

/// Domain or attribute of the device, which are read without a map of all.
fn of_catalogue(of: &ExprKind, key: &Arc<str>, access: Access, by_field: bool) -> Option<ExprKind> {
    if let ExprKind::Catalogue(catalogue) = of {
        let domain = ExprKind::Domain(*catalogue, key.clone());
        return (access == Access::Value).then_some(domain);
    }
    let ExprKind::Domain(catalogue, domain) = of else {
        return None;
    };
    Some(ExprKind::Attribute(Box::new(Attribute {
        catalogue: *catalogue,
        domain: domain.clone(),
        id: key.clone(),
        name: format!("{domain}/{key}"),
        access,
        by_field,
    })))
}

/// The name, unless it is a reserved word.
fn unreserved(at: usize, name: &Arc<str>) -> Result<Arc<str>, Wrong> {
    if RESERVED.split(' ').any(|word| *word == **name) {
        return Err(Wrong::at(at, format!("reserved identifier: {name}")));
    }
    Ok(name.clone())
}
