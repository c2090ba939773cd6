//! Parsing of expressions.
//!
//! Parsing is that of the crate `cel`; its tree is taken apart here, with macros for all that Kubernetes
//! enables and with the places that errors point to.

use cel_interpreter::IdedExpr;
use cel_interpreter::common::ast::{CallExpr, EntryExpr, Expr as Parsed, LiteralValue, operators};
use cel_interpreter::parser::{ParseError, Parser};

use super::error::Wrong;
use super::lexer::{Token, TokenKind, tokens};
use super::macros;
use super::scan::{Scanned, scan, sign_of};
use super::syntax::{Access, Call, Element, Entry, Expr, ExprKind, Field};

/// Stack for the parser, which takes up to 160 KiB for a bracket; only what is used takes memory.
const STACK: usize = 64 << 20;

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

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Expr, Wrong> {
    let tokens = tokens(text)?;
    let scanned = scan(&tokens)?;
    let deep = || Wrong::unsupported("deep nesting");
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().stack_size(STACK);
        let parsed = parser
            .spawn_scoped(scope, || read(&tokens, &scanned))
            .map_err(|_| deep())?;
        parsed.join().map_err(|_| deep())?
    })
}

fn read(tokens: &[Token], scanned: &Scanned) -> Result<Expr, Wrong> {
    let parsed = Parser::default()
        .enable_optional_syntax(true)
        // Above upstream's 250 levels, which `scan` has counted.
        .max_recursion_depth(300)
        .parse(&scanned.text);
    let parsed = parsed.map_err(|errors| {
        // Those of the grammar say where it stops, the others where a part begins.
        let of_grammar = |error: &&ParseError| error.msg.starts_with("Syntax error");
        let found = errors.errors.iter();
        let first = found.clone().find(of_grammar).or(found.clone().next());
        let first = first.map_or(1, |error| error.pos.1);
        unexpected(tokens, scanned, usize::try_from(first).unwrap_or(1))
    })?;
    let mut reader = Reader {
        tokens,
        scanned,
        cursor: 0,
        depth: 0,
    };
    reader.expr(&parsed)
}

/// The word at a column of what the parser was given is not what is expected there.
fn unexpected(tokens: &[Token], scanned: &Scanned, column: usize) -> Wrong {
    let offset = column.saturating_sub(1);
    let place = scanned
        .starts
        .partition_point(|start| *start <= offset)
        .saturating_sub(1);
    let Some(token) = tokens.get(place) else {
        return Wrong::at(0, "syntax error");
    };
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

struct Reader<'a> {
    tokens: &'a [Token],
    scanned: &'a Scanned,
    /// The word that was met last; the tree is read in the order of the text.
    cursor: usize,
    depth: usize,
}

impl Reader<'_> {
    fn expr(&mut self, parsed: &IdedExpr) -> Result<Expr, Wrong> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAXIMUM_DEPTH {
            return Err(Wrong::unsupported("deep nesting"));
        }
        let expr = self.part(parsed)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(expr)
    }

    fn part(&mut self, parsed: &IdedExpr) -> Result<Expr, Wrong> {
        match &parsed.expr {
            Parsed::Ident(name) => self.word(name),
            Parsed::Select(select) => {
                let operand = self.expr(&select.operand)?;
                self.field(operand, &select.field, Access::Value)
            }
            Parsed::Call(call) => self.call(call),
            Parsed::List(list) => {
                let at = self.next("[");
                let mut elements = Vec::new();
                for (place, element) in list.elements.iter().enumerate() {
                    elements.push(Element {
                        optional: list.optional_indices.contains(&place),
                        value: self.expr(element)?,
                    });
                }
                self.next("]");
                Ok(expr(at, ExprKind::List(elements)))
            }
            Parsed::Map(map) => {
                let at = self.next("{");
                let mut entries = Vec::new();
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else {
                        return Err(Wrong::unsupported("a message"));
                    };
                    entries.push(Entry {
                        optional: entry.optional,
                        key: self.expr(&entry.key)?,
                        value: self.expr(&entry.value)?,
                    });
                }
                self.next("}");
                Ok(expr(at, ExprKind::Map(entries)))
            }
            Parsed::Struct(_) => Err(Wrong::unsupported("a message")),
            // Words are given to the parser as names, and its macros with them.
            Parsed::Comprehension(_) | Parsed::Literal(_) | Parsed::Unspecified => {
                Err(Wrong::unsupported("that expression"))
            }
        }
    }

    /// Where the next `sign` stands.
    fn next(&mut self, sign: &str) -> usize {
        let rest = self.tokens.iter().enumerate().skip(self.cursor);
        let found = rest.into_iter().find(|(_, token)| sign_of(token) == sign);
        let Some((place, token)) = found else {
            return 0;
        };
        self.cursor = place.saturating_add(1);
        token.at
    }

    /// The word that a numbered name stands for.
    fn token(&mut self, name: &str) -> Result<(usize, &Token), Wrong> {
        if name.starts_with('.') {
            return Err(Wrong::unsupported("a name that begins with a dot"));
        }
        let number = name
            .strip_prefix('t')
            .and_then(|number| number.parse().ok());
        let found = number.and_then(|place: usize| Some((place, self.tokens.get(place)?)));
        let (place, token) = found.ok_or_else(|| Wrong::unsupported("that expression"))?;
        self.cursor = place.saturating_add(1);
        Ok((place, token))
    }

    fn word(&mut self, name: &str) -> Result<Expr, Wrong> {
        let scanned = self.scanned;
        let (place, token) = self.token(name)?;
        let (at, negative) = (token.at, scanned.negative.contains(&place));
        let invalid = || Wrong::at(at, "invalid int literal");
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
                name => ExprKind::Name(named(at, name)?),
            },
            TokenKind::QuotedName(_) | TokenKind::Sign(_) | TokenKind::End => {
                return Err(Wrong::at(at, "syntax error: unexpected word"));
            }
        };
        Ok(expr(at, kind))
    }

    fn field(&mut self, operand: Expr, name: &str, access: Access) -> Result<Expr, Wrong> {
        let at = self.next(".");
        let (_, token) = self.token(name)?;
        let name = if let TokenKind::Name(name) = &token.kind
            && !matches!(name.as_str(), "true" | "false" | "null")
        {
            name.as_str().into()
        } else if let TokenKind::QuotedName(name) = &token.kind {
            name.as_str().into()
        } else {
            return Err(Wrong::at(
                token.at,
                "syntax error: unexpected word after '.'",
            ));
        };
        let field = Field {
            operand,
            name,
            access,
        };
        Ok(expr(at, ExprKind::Field(Box::new(field))))
    }

    fn call(&mut self, call: &CallExpr) -> Result<Expr, Wrong> {
        let name = call.func_name.as_str();
        if let Some(target) = &call.target {
            let target = self.expr(target)?;
            let (at, name) = self.function(name)?;
            let arguments = self.arguments(&call.args)?;
            self.next(")");
            return macros::method(at, &name, target, arguments);
        }
        match (name, call.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, _) => {
                let mut terms = Vec::new();
                self.terms(call, &mut terms)?;
                let at = terms.first().map_or(0, |term| term.at);
                let kind = if name == operators::LOGICAL_AND {
                    ExprKind::And(terms)
                } else {
                    ExprKind::Or(terms)
                };
                Ok(expr(at, kind))
            }
            (operators::OPT_SELECT, [operand, field]) => {
                let operand = self.expr(operand)?;
                let Parsed::Literal(LiteralValue::String(field)) = &field.expr else {
                    return Err(Wrong::unsupported("that expression"));
                };
                self.field(operand, field.inner(), Access::Optional)
            }
            (operators::LOGICAL_NOT | operators::NEGATE, [operand]) => {
                let at = self.next(&name[..1]);
                let operand = self.expr(operand)?;
                Ok(operator(at, name, vec![operand]))
            }
            (operators::INDEX | operators::OPT_INDEX, [operand, key]) => {
                let operand = self.expr(operand)?;
                let at = self.next("[");
                let key = self.expr(key)?;
                self.next("]");
                Ok(operator(at, name, vec![operand, key]))
            }
            (operators::CONDITIONAL, [test, then, otherwise]) => {
                let test = self.expr(test)?;
                let at = self.next("?");
                let parts = vec![test, self.expr(then)?, self.expr(otherwise)?];
                Ok(operator(at, name, parts))
            }
            (_, [left, right]) if name.starts_with(['_', '@']) => {
                let left = self.expr(left)?;
                let at = self.next(name.trim_matches(['_', '@']));
                let right = self.expr(right)?;
                Ok(operator(at, name, vec![left, right]))
            }
            (_, arguments) => {
                let (at, name) = self.function(name)?;
                let arguments = self.arguments(arguments)?;
                self.next(")");
                macros::function(at, &name, arguments)
            }
        }
    }

    /// All terms of a chain, which the parser has balanced.
    fn terms(&mut self, call: &CallExpr, terms: &mut Vec<Expr>) -> Result<(), Wrong> {
        for term in &call.args {
            if let Parsed::Call(inner) = &term.expr
                && inner.func_name == call.func_name
            {
                self.terms(inner, terms)?;
            } else {
                terms.push(self.expr(term)?);
            }
        }
        Ok(())
    }

    /// The name of a function that is called, and where its bracket opens.
    fn function(&mut self, name: &str) -> Result<(usize, String), Wrong> {
        let (_, token) = self.token(name)?;
        let at = token.at;
        let TokenKind::Name(name) = &token.kind else {
            return Err(Wrong::at(at, "syntax error: no name of a function"));
        };
        let name = named(at, name)?;
        Ok((self.next("("), name))
    }

    fn arguments(&mut self, arguments: &[IdedExpr]) -> Result<Vec<Expr>, Wrong> {
        arguments
            .iter()
            .map(|argument| self.expr(argument))
            .collect()
    }
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

fn operator(at: usize, name: &str, arguments: Vec<Expr>) -> Expr {
    expr(
        at,
        ExprKind::Call(Box::new(Call {
            name: name.to_owned(),
            target: None,
            arguments,
        })),
    )
}
