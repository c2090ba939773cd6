//! Resolution of calls to functions, and the arguments that are evaluated.
//!
//! Upstream: `resolveOverload` of cel-go's checker, and what is folded before anything is evaluated.

use std::sync::Arc;

use super::checker::{Checker, Typed, attribute, literal, no_overload, undeclared};
use super::error::{Fault, Wrong};
use super::functions::{
    FOLDED, Function, Overload, WithTarget, check_format, is_qualifier, overloads,
};
use super::named::Named;
use super::pattern::{NoPattern, Pattern};
use super::syntax::{Access, Call, Expr, ExprKind};
use super::tree::{Matching, Node};
use super::types::Type;
use super::value::Value;

/// A call of which the function is known.
#[derive(Clone, Copy)]
struct ResolvedCall<'e> {
    at: usize,
    name: &'e str,
    function: Function,
    /// The target and the arguments, as they are written.
    exprs: &'e [&'e Expr],
}

impl Checker {
    pub(super) fn call(&mut self, at: usize, call: &Call) -> Result<Typed, Wrong> {
        let name = call.name.as_str();
        if let Some((library, of)) = library(call) {
            if library == "format" && of.is_empty() {
                return self.format_by_name(at, call);
            }
            if !overloads(&of, WithTarget::No).is_empty() {
                return self.resolved(at, &of, None, &call.arguments);
            }
        }
        if name == "_?_:_" {
            return self.condition(at, &call.arguments);
        }
        if name == "format" {
            self.formats = self.formats.saturating_add(1);
            let found = self.resolved(at, name, call.target.as_ref(), &call.arguments);
            self.formats = self.formats.saturating_sub(1);
            return found;
        }
        if let ("@in", [_, list]) = (name, call.arguments.as_slice())
            && let Some(constants) = constants(list)
        {
            let (node, of) = self.resolved(at, name, None, &call.arguments)?;
            // cel-go plans `in` a constant list otherwise than a call: a version in a list of constant texts is an
            // error, and false in a list with one element that is no constant.
            if constants.is_empty() {
                return Ok((Node::Constant(Value::Bool(false)), of));
            }
            if let Node::Call(_, mut nodes) = node {
                let element = Box::new(nodes.swap_remove(0));
                return Ok((Node::Member(element, constants), of));
            }
            return Ok((node, of));
        }
        self.resolved(at, name, call.target.as_ref(), &call.arguments)
    }

    /// `format.dns1123Label()` and its like.
    fn format_by_name(&mut self, at: usize, call: &Call) -> Result<Typed, Wrong> {
        match Named::of(&call.name) {
            Some(named) if call.arguments.is_empty() => {
                Ok((Node::Constant(Value::Format(named)), Type::Format))
            }
            Some(_) => Err(no_overload(at, &call.name, &[])),
            None => Err(undeclared(at, &call.name)),
        }
    }

    fn condition(&mut self, at: usize, arguments: &[Expr]) -> Result<Typed, Wrong> {
        let [test, then, otherwise] = arguments else {
            return Err(no_overload(at, "_?_:_", &[]));
        };
        let (test, test_type) = self.check(test)?;
        let (then, then_type) = self.check(then)?;
        let (otherwise, otherwise_type) = self.check(otherwise)?;
        let result = Type::Variable(self.types.variable());
        let actual = [test_type, then_type, otherwise_type];
        let formal = [Type::Bool, result.clone(), result.clone()];
        if !self.types.all_assignable(&actual, &formal) {
            return Err(self.no_overload(at, "_?_:_", &actual));
        }
        let node = Node::Condition(Box::new([test, then, otherwise]));
        Ok((node, self.types.resolve(&result)))
    }

    /// A call of one of the functions of the table.
    fn resolved(
        &mut self,
        at: usize,
        name: &str,
        target: Option<&Expr>,
        arguments: &[Expr],
    ) -> Result<Typed, Wrong> {
        let form = if target.is_some() {
            WithTarget::Yes
        } else {
            WithTarget::No
        };
        let candidates = overloads(name, form);
        let Some(first) = candidates.first() else {
            return Err(undeclared(at, name));
        };
        let exprs: Vec<&Expr> = target.into_iter().chain(arguments).collect();
        let (mut nodes, mut actual) = (Vec::new(), Vec::new());
        for expr in &exprs {
            let (node, of) = self.check(expr)?;
            nodes.push(node);
            actual.push(of);
        }
        let fitting = |overload: &&Overload| {
            let mut takes = overload.takes;
            std::iter::from_fn(|| Type::read(&mut takes, [0; 2])).count() == exprs.len()
        };
        // Upstream would decide for the first that fits, whatever there is in the end.
        let several = candidates.iter().filter(fitting).count() > 1;
        let by_element = matches!(name, "isSorted" | "sum" | "max" | "min" | "sort");
        let open = |of: &Type| is_open(of, by_element);
        if several && actual.iter().any(open) {
            return Err(Wrong::unsupported(format!(
                "{name}() of a value of unknown type"
            )));
        }
        if name == "duration" && matches!(actual.as_slice(), [Type::Int]) {
            // Kubernetes 1.36 compiles it, and 1.37 does not.
            return Err(Wrong::unsupported("a duration from a number"));
        }
        let mut result: Option<Type> = None;
        for candidate in &candidates {
            let variables = [self.types.variable(), self.types.variable()];
            let (mut formal, mut takes) = (Vec::new(), candidate.takes);
            while let Some(next) = Type::read(&mut takes, variables) {
                formal.push(next);
            }
            if self.types.all_assignable(&actual, &formal) {
                let mut gives = candidate.gives;
                let given = Type::read(&mut gives, variables).unwrap_or(Type::Dyn);
                let given = self.types.resolve(&given);
                result = Some(match result {
                    None => given,
                    Some(before) if before == given => before,
                    // Overloads with different results give `dyn`, as upstream.
                    Some(_) => Type::Dyn,
                });
            }
        }
        let result = result.ok_or_else(|| self.no_overload(at, name, &actual))?;
        if name == "format" {
            self.format(at, &exprs)?;
        }
        let call = ResolvedCall {
            at,
            name,
            function: first.function,
            exprs: &exprs,
        };
        let node = self.node(&call, nodes)?;
        Ok((node, result))
    }

    /// What a call is evaluated as.
    fn node(&self, call: &ResolvedCall<'_>, mut nodes: Vec<Node>) -> Result<Node, Wrong> {
        let ResolvedCall {
            at, name, function, ..
        } = *call;
        if let ("_[_]" | "_[?_]", [container, Node::Constant(Value::Text(key))]) =
            (name, nodes.as_slice())
        {
            let access = if name == "_[_]" {
                Access::Value
            } else {
                Access::Optional
            };
            match (container, access) {
                (Node::Catalogue(catalogue), Access::Value) => {
                    return Ok(Node::Domain(*catalogue, key.clone()));
                }
                (Node::Domain(catalogue, domain), _) => {
                    return Ok(attribute(*catalogue, domain.clone(), key, access));
                }
                _ => {}
            }
        }
        if let ("_[_]" | "_[?_]", [_, key]) = (name, nodes.as_slice())
            && !matches!(key, Node::Constant(key) if is_qualifier(key))
            && call.exprs.get(1).is_some_and(|key| is_planned(key))
        {
            return Err(Wrong::at(at, "invalid qualifier type"));
        }
        let matching = match name {
            "matches" => Some(Matching::Test),
            "find" => Some(Matching::First),
            "findAll" if nodes.len() == 2 => Some(Matching::All),
            _ => None,
        };
        if let (Some(matching), [_, Node::Constant(Value::Text(pattern))]) =
            (matching, nodes.as_slice())
        {
            // A constant pattern is compiled with the expression, as upstream: no `||` absorbs that it is invalid.
            let pattern = Pattern::compile(pattern).map_err(|error| match error {
                NoPattern::Invalid => Wrong::at(at, "error parsing regexp"),
                NoPattern::Unsupported => Wrong::unsupported(format!("the pattern {pattern}")),
            })?;
            let text = nodes.swap_remove(0);
            return Ok(Node::Matching(matching, Box::new(text), pattern));
        }
        if let ("or" | "orValue", [_, _]) = (name, nodes.as_slice()) {
            // The pattern has shown that there are two, so that no default is ever taken.
            let second = nodes.pop().unwrap_or(Node::Device);
            let first = nodes.pop().unwrap_or(Node::Device);
            return Ok(Node::Otherwise(function, Box::new((first, second))));
        }
        let is_known = |node: &Node| matches!(node, Node::Constant(_));
        if matches!(name, "_[_]" | "_[?_]") && nodes.len() == 2 && !nodes.iter().all(is_known) {
            let key = nodes.pop().unwrap_or(Node::Device);
            let container = nodes.pop().unwrap_or(Node::Device);
            return Ok(Node::Index(function, Box::new((container, key))));
        }
        self.called(call, nodes)
    }

    /// A call, or its value where all that it takes is written out.
    fn called(&self, call: &ResolvedCall<'_>, nodes: Vec<Node>) -> Result<Node, Wrong> {
        let ResolvedCall {
            at,
            name,
            function,
            exprs,
        } = *call;
        let mut values = Vec::new();
        for node in &nodes {
            if let Node::Constant(value) = node {
                values.push(value.clone());
            }
        }
        if values.len() < nodes.len() || name == "lists.range" {
            return Ok(Node::Call(function, nodes));
        }
        match function(&values) {
            Ok(value) => Ok(Node::Constant(value)),
            Err(Fault::Runtime(detail))
                if FOLDED.contains(&name) && exprs.iter().all(|expr| is_folded(expr)) =>
            {
                Err(Wrong::at(at, detail))
            }
            // Whether the expression compiles depends on it.
            Err(Fault::Unsupported(construct)) if FOLDED.contains(&name) => {
                Err(Wrong::unsupported(construct))
            }
            // Any other error of constants stays one of the run time, which operators absorb: `1 / 0 == 1 || true`
            // is true.
            Err(_) => Ok(Node::Call(function, nodes)),
        }
    }

    /// A format that is written out has to fit its arguments, as far as their types are known.
    fn format(&self, at: usize, exprs: &[&Expr]) -> Result<(), Wrong> {
        let [format, arguments] = exprs else {
            return Ok(());
        };
        let (ExprKind::Text(format), ExprKind::List(arguments)) = (&format.kind, &arguments.kind)
        else {
            return Ok(());
        };
        check_format(format, &self.last_list).map_err(|detail| Wrong::at(at, detail))?;
        // Upstream checks what is written out in lists and maps, too.
        let is_nested = |kind: &ExprKind| matches!(kind, ExprKind::List(_) | ExprKind::Map(_));
        if arguments.iter().any(|it| is_nested(&it.value.kind)) {
            return Err(Wrong::unsupported("a list or map in format()"));
        }
        Ok(())
    }

    fn no_overload(&self, at: usize, name: &str, types: &[Type]) -> Wrong {
        let types: Vec<Type> = types.iter().map(|of| self.types.settled(of)).collect();
        no_overload(at, name, &types)
    }
}

/// The library that a call's target names, and the function's full name; that is empty for a format.
fn library(call: &Call) -> Option<(&str, String)> {
    let target = call.target.as_ref()?;
    let ExprKind::Name(library) = &target.kind else {
        return None;
    };
    if library == "format" && call.name != "named" {
        return Some((library, String::new()));
    }
    Some((library, format!("{library}.{}", call.name)))
}

/// The elements of a list of which all are written out.
fn constants(expr: &Expr) -> Option<Arc<[Value]>> {
    let ExprKind::List(elements) = &expr.kind else {
        return None;
    };
    let values = elements.iter().map(|element| {
        let literal = literal(&element.value).map(|(value, _)| value);
        literal.filter(|_| !element.optional)
    });
    values.collect()
}
/// Whether upstream knows the value before it evaluates anything.
fn is_folded(expr: &Expr) -> bool {
    if let ExprKind::Call(call) = &expr.kind {
        return FOLDED.contains(&call.name.as_str())
            && call.target.is_none()
            && call.arguments.iter().all(is_folded);
    }
    literal(expr).is_some()
}

/// As [`is_folded`], also of lists and maps.
fn is_planned(expr: &Expr) -> bool {
    if let ExprKind::List(elements) = &expr.kind {
        let mut elements = elements.iter();
        return elements.all(|element| !element.optional && is_planned(&element.value));
    }
    if let ExprKind::Map(entries) = &expr.kind {
        let mut entries = entries.iter();
        return entries.all(|it| !it.optional && is_planned(&it.key) && is_planned(&it.value));
    }
    is_folded(expr)
}

/// Whether nothing is known of a type, or of what is in a list where that counts.
fn is_open(of: &Type, by_element: bool) -> bool {
    if let Type::List(element) = of {
        return by_element && matches!(**element, Type::Variable(_));
    }
    matches!(of, Type::Variable(_))
}
