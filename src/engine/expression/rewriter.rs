//! What of an expression can be evaluated?
//!
//! Takes the syntax tree that the crate parses and gives one without `device`, macros and optional
//! values: each domain becomes a variable, and only operators and functions that are known to come out
//! as upstream are left.

use std::collections::BTreeSet;

use cel_interpreter::IdedExpr;
use cel_interpreter::common::ast::{
    CallExpr, ComprehensionExpr, Expr, ListExpr, LiteralValue, SelectExpr, operators,
};

use super::ExpressionError;
use super::functions::{MEMBER, SAME};
use super::tree::{balanced, call, constant, depth, field_of, literal, method, node};
use super::values::{quantity, version};
use super::{pattern, tree};

/// How many nodes the rewritten tree may have; names that stand for something are written out.
const MAXIMUM_NODES: usize = 20_000;

/// How deep the rewritten tree may be: without optimization each step takes 40 KiB of stack.
const MAXIMUM_DEPTH: usize = 36;

const BINARY: &[&str] = &[
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::NOT_EQUALS,
    operators::LESS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
    operators::ADD,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
];

/// Functions of a value, and how many arguments they take.
const METHODS: &[(&str, usize)] = &[
    ("startsWith", 1),
    ("endsWith", 1),
    ("contains", 1),
    ("matches", 1),
    ("size", 0),
    ("lowerAscii", 0),
    ("upperAscii", 0),
    ("isGreaterThan", 1),
    ("isLessThan", 1),
    ("compareTo", 1),
    ("add", 1),
    ("sub", 1),
    ("major", 0),
    ("minor", 0),
    ("patch", 0),
];

/// What a device has by domain and identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Catalogue {
    Attributes,
    Capacity,
}

impl Catalogue {
    /// The variable that holds what the device has in `domain`, which may be nothing.
    pub(super) fn variable(self, domain: &str) -> String {
        format!("{self:?}/{domain}")
    }

    /// The variable that says whether the device has anything in `domain`.
    pub(super) fn presence(self, domain: &str) -> String {
        format!("{self:?}?{domain}")
    }
}

/// An expression that the crates evaluate as upstream would.
#[derive(Clone, Debug)]
pub(super) struct Rewritten {
    pub(super) root: IdedExpr,
    /// The domains whose variables it uses.
    pub(super) domains: BTreeSet<(Catalogue, String)>,
    /// Whether a text is matched with a pattern, so that all texts have to be plain.
    pub(super) matches_patterns: bool,
}

/// Rewrites the syntax tree of an expression.
pub(super) fn rewrite(parsed: &IdedExpr) -> Result<Rewritten, ExpressionError> {
    let mut rewriter = Rewriter::default();
    let root = rewriter.value(parsed)?;
    if depth(&root) > MAXIMUM_DEPTH {
        return Err(ExpressionError::unsupported("deep nesting"));
    }
    Ok(Rewritten {
        root,
        domains: rewriter.domains,
        matches_patterns: rewriter.matches_patterns,
    })
}

/// What a part of an expression stands for.
#[derive(Clone)]
enum Part {
    Device,
    Catalogue(Catalogue),
    /// What one domain has; not a value, as there is always one.
    Domain(IdedExpr),
    /// The value that this selects, if there is one.
    Optional(SelectExpr),
    Value(IdedExpr),
}

#[derive(Default)]
struct Rewriter {
    domains: BTreeSet<(Catalogue, String)>,
    matches_patterns: bool,
    /// What names stand for, innermost last, with the number of nodes.
    scopes: Vec<(String, Part, usize)>,
    nodes: usize,
}

impl Rewriter {
    fn value(&mut self, expr: &IdedExpr) -> Result<IdedExpr, ExpressionError> {
        match self.part(expr)? {
            Part::Value(value) => Ok(value),
            Part::Device | Part::Catalogue(_) => {
                Err(ExpressionError::unsupported("`device` as a value"))
            }
            Part::Domain(_) => Err(ExpressionError::unsupported("a domain as a value")),
            Part::Optional(_) => Err(ExpressionError::unsupported(
                "an optional value without `orValue`",
            )),
        }
    }

    fn values(&mut self, exprs: &[IdedExpr]) -> Result<Vec<IdedExpr>, ExpressionError> {
        exprs.iter().map(|expr| self.value(expr)).collect()
    }

    fn part(&mut self, expr: &IdedExpr) -> Result<Part, ExpressionError> {
        self.spend(1)?;
        match &expr.expr {
            Expr::Literal(literal) => constant(literal).map(Part::Value),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.quantifier(comprehension).map(Part::Value),
            Expr::List(list) => self.list(list).map(Part::Value),
            Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => {
                Err(ExpressionError::unsupported("a map or a message"))
            }
        }
    }

    /// A list of constants: what versions and quantities in lists are equal to is not known.
    fn list(&mut self, list: &ListExpr) -> Result<IdedExpr, ExpressionError> {
        let elements = self.values(&list.elements)?;
        let constant = elements
            .iter()
            .all(|element| matches!(element.expr, Expr::Literal(_)));
        if !constant || !list.optional_indices.is_empty() {
            return Err(ExpressionError::unsupported("a list of computed elements"));
        }
        Ok(node(Expr::List(ListExpr::new(elements))))
    }

    fn spend(&mut self, nodes: usize) -> Result<(), ExpressionError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAXIMUM_NODES {
            return Err(ExpressionError::unsupported("an expression of that size"));
        }
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<Part, ExpressionError> {
        if let Some((_, part, nodes)) = self.scopes.iter().rfind(|(bound, ..)| bound == name) {
            let (part, nodes) = (part.clone(), *nodes);
            return self.spend(nodes).map(|()| part);
        }
        match name {
            "device" => Ok(Part::Device),
            other => Err(ExpressionError::unsupported(format!("the name {other}"))),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Result<Part, ExpressionError> {
        let field = select.field.as_str();
        match self.part(&select.operand)? {
            Part::Device if !select.test => match field {
                "driver" | "allowMultipleAllocations" => {
                    Ok(Part::Value(node(Expr::Ident(field.into()))))
                }
                "attributes" => Ok(Part::Catalogue(Catalogue::Attributes)),
                "capacity" => Ok(Part::Catalogue(Catalogue::Capacity)),
                other => Err(ExpressionError::compile(format!(
                    "undefined field '{other}'"
                ))),
            },
            Part::Catalogue(catalogue) if !select.test => Ok(self.domain(catalogue, field)),
            Part::Domain(domain) => Ok(Part::Value(field_of(domain, field, select.test))),
            Part::Device | Part::Catalogue(_) | Part::Optional(_) | Part::Value(_) => Err(
                ExpressionError::unsupported(format!("the field {field} there")),
            ),
        }
    }

    fn domain(&mut self, catalogue: Catalogue, domain: &str) -> Part {
        self.domains.insert((catalogue, domain.into()));
        Part::Domain(node(Expr::Ident(catalogue.variable(domain))))
    }

    fn call(&mut self, call: &CallExpr) -> Result<Part, ExpressionError> {
        if let Some(target) = &call.target {
            return match (call.func_name.as_str(), &target.expr, call.args.as_slice()) {
                ("bind", Expr::Ident(library), [name, value, body]) if library == "cel" => {
                    self.bind(name, value, body)
                }
                (function, _, arguments) => self.method(function, target, arguments),
            };
        }
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::INDEX, [operand, key]) => self.index(operand, key),
            (operators::OPT_INDEX | operators::OPT_SELECT, [operand, key]) => {
                self.optional(operand, key)
            }
            (operators::IN, [left, right]) => self.membership(left, right).map(Part::Value),
            ("semver", [written]) => made_of(version, written),
            ("quantity", [written]) => made_of(quantity, written),
            (operators::LOGICAL_NOT, [_]) | (operators::CONDITIONAL, [_, _, _]) => self.plain(call),
            (operators::EQUALS, [left, right]) => {
                let left = self.value(left)?;
                Ok(Part::Value(method(SAME, left, vec![self.value(right)?])))
            }
            // As a method, because the crate loses the error of the first argument of a function.
            ("size", [value]) => Ok(Part::Value(method("size", self.value(value)?, Vec::new()))),
            (function, [_, _]) if BINARY.contains(&function) => self.plain(call),
            (function, _) => Err(ExpressionError::unsupported(format!("{function}() there"))),
        }
    }

    /// A call that is evaluated as it is.
    fn plain(&mut self, call: &CallExpr) -> Result<Part, ExpressionError> {
        let arguments = self.values(&call.args)?;
        Ok(Part::Value(tree::call(&call.func_name, arguments)))
    }

    fn method(
        &mut self,
        function: &str,
        target: &IdedExpr,
        arguments: &[IdedExpr],
    ) -> Result<Part, ExpressionError> {
        let target = match self.part(target)? {
            Part::Optional(select) => {
                return self
                    .resolve_optional(select, function, arguments)
                    .map(Part::Value);
            }
            Part::Value(target) => target,
            Part::Device | Part::Catalogue(_) | Part::Domain(_) => {
                return Err(ExpressionError::unsupported(format!(
                    "{function}() of a domain"
                )));
            }
        };
        if !METHODS.contains(&(function, arguments.len())) {
            return Err(ExpressionError::unsupported(format!(
                "{function}() of a value"
            )));
        }
        if let ("matches", [written]) = (function, arguments) {
            let written = literal(written)
                .ok_or_else(|| ExpressionError::unsupported("a computed pattern"))?;
            pattern::check(written)?;
            self.matches_patterns = true;
        }
        Ok(Part::Value(method(
            function,
            target,
            self.values(arguments)?,
        )))
    }

    fn index(&mut self, operand: &IdedExpr, key: &IdedExpr) -> Result<Part, ExpressionError> {
        match (self.part(operand)?, literal(key)) {
            (Part::Catalogue(catalogue), Some(domain)) => Ok(self.domain(catalogue, domain)),
            (Part::Domain(domain), Some(id)) => Ok(Part::Value(field_of(domain, id, false))),
            _ => Err(ExpressionError::unsupported("`[]` there")),
        }
    }

    fn optional(&mut self, operand: &IdedExpr, key: &IdedExpr) -> Result<Part, ExpressionError> {
        match (self.part(operand)?, literal(key)) {
            (Part::Domain(domain), Some(id)) => Ok(Part::Optional(SelectExpr {
                operand: Box::new(domain),
                field: id.into(),
                test: false,
            })),
            _ => Err(ExpressionError::unsupported("an optional field there")),
        }
    }

    fn resolve_optional(
        &mut self,
        select: SelectExpr,
        function: &str,
        arguments: &[IdedExpr],
    ) -> Result<IdedExpr, ExpressionError> {
        let present = field_of(*select.operand.clone(), &select.field, true);
        match (function, arguments) {
            ("hasValue", []) => Ok(present),
            ("orValue", [other]) => {
                let arguments = vec![present, node(Expr::Select(select)), self.value(other)?];
                Ok(call(operators::CONDITIONAL, arguments))
            }
            _ => Err(ExpressionError::unsupported(format!(
                "{function}() of an optional value"
            ))),
        }
    }

    fn membership(
        &mut self,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Result<IdedExpr, ExpressionError> {
        if let Expr::List(list) = &right.expr {
            let element = self.value(left)?;
            let list = self.list(list)?;
            return Ok(method(MEMBER, element, vec![list]));
        }
        match (self.part(right)?, literal(left)) {
            (Part::Domain(domain), Some(id)) => Ok(field_of(domain, id, true)),
            (Part::Catalogue(catalogue), Some(domain)) => {
                self.domains.insert((catalogue, domain.into()));
                Ok(node(Expr::Ident(catalogue.presence(domain))))
            }
            _ => Err(ExpressionError::unsupported("`in` there")),
        }
    }

    /// `cel.bind(name, value, body)`: the body with the value in place of the name.
    ///
    /// The same as upstream, which evaluates the value only where the name is used.
    fn bind(
        &mut self,
        name: &IdedExpr,
        value: &IdedExpr,
        body: &IdedExpr,
    ) -> Result<Part, ExpressionError> {
        let Expr::Ident(name) = &name.expr else {
            return Err(ExpressionError::compile(
                "cel.bind() variable names must be simple identifiers",
            ));
        };
        let before = self.nodes;
        let part = self.part(value)?;
        let nodes = self.nodes.saturating_sub(before);
        self.within(name, part, nodes, |rewriter| rewriter.part(body))
    }

    /// `[…].exists(name, predicate)`: the predicates of all elements with `||`; likewise `all`.
    fn quantifier(&mut self, macro_call: &ComprehensionExpr) -> Result<IdedExpr, ExpressionError> {
        let (Expr::List(list), Expr::Literal(start @ LiteralValue::Boolean(_)), Expr::Call(step)) = (
            &macro_call.iter_range.expr,
            &macro_call.accu_init.expr,
            &macro_call.loop_step.expr,
        ) else {
            return Err(ExpressionError::unsupported(
                "a macro other than `exists` and `all` of a list in brackets",
            ));
        };
        let [_, predicate] = step.args.as_slice() else {
            return Err(ExpressionError::unsupported("that macro"));
        };
        let mut terms = vec![constant(start)?];
        for element in &list.elements {
            let Expr::Literal(element) = &element.expr else {
                return Err(ExpressionError::unsupported("a macro of computed elements"));
            };
            let element = Part::Value(constant(element)?);
            let name = &macro_call.iter_var;
            terms.push(self.within(name, element, 1, |rewriter| rewriter.value(predicate))?);
        }
        Ok(balanced(&step.func_name, &terms))
    }

    fn within<T>(
        &mut self,
        name: &str,
        part: Part,
        nodes: usize,
        rewrite: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        self.scopes.push((name.into(), part, nodes));
        let rewritten = rewrite(self);
        self.scopes.pop();
        rewritten
    }
}

/// A version or a quantity that the expression writes out.
fn made_of(
    make: fn(&str) -> Option<IdedExpr>,
    written: &IdedExpr,
) -> Result<Part, ExpressionError> {
    literal(written)
        .and_then(make)
        .map(Part::Value)
        .ok_or_else(|| ExpressionError::unsupported("that version or quantity"))
}
