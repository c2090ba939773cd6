//! Evaluation of expressions for a device.
//!
//! Upstream: `interpreter` of cel-go.

use super::error::{Fault, Wrong};
use super::functions::{Overloads, at_key, optional_at_key, overloads};
use super::syntax::{Access, Attribute, Expr, ExprKind, Fold, FoldKind};
use super::value::Pattern;
use super::value::{Outcome, Value, list, text};
use crate::model::{Device, DriverName};
use std::sync::Arc;

/// Limit on the steps of an evaluation; upstream's limit of costs is beyond.
//
// More is unsupported and never "no": whether upstream's limit is reached too cannot be derived from steps.
const MAXIMUM_STEPS: usize = 600_000;

/// One device that an expression is evaluated for.
pub(super) struct Evaluation<'a> {
    pub(super) driver: &'a DriverName,
    /// Absent where no driver publishes it, so that nothing is known but its name.
    device: Option<&'a Device>,
    /// Names that macros bind, innermost last.
    names: Vec<(&'a str, Bound<'a>)>,
    steps: usize,
}

/// Value of a bound name.
#[derive(Clone)]
enum Bound<'a> {
    Value(Value),
    /// Not evaluated yet.
    Later(&'a Expr),
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(driver: &'a DriverName, device: Option<&'a Device>) -> Self {
        Self {
            driver,
            device,
            names: Vec::new(),
            steps: 0,
        }
    }

    /// The device, as far as it is known.
    pub(super) fn device(&self) -> Result<&'a Device, Fault> {
        self.device.ok_or(Fault::Unpublished)
    }

    // Each case is a function that is not inlined: this one calls itself for every level of an expression, and its
    // frame would hold the locals of all cases.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Outcome {
        self.spend(1)?;
        match &expr.kind {
            ExprKind::Constant(value) => Ok(value.clone()),
            ExprKind::Attribute(attribute) => self.attribute(attribute),
            ExprKind::Call(function, arguments) => self.call(function, arguments),
            ExprKind::And(terms) => self.chain(terms, false),
            ExprKind::Or(terms) => self.chain(terms, true),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Driver => Ok(Value::Text(self.driver.as_str().into())),
            ExprKind::AllowMultipleAllocations => {
                Ok(self.device()?.allow_multiple_allocations.into())
            }
            ExprKind::Catalogue(catalogue) => self.domains(*catalogue),
            ExprKind::Domain(catalogue, domain) => self.domain(*catalogue, domain),
            ExprKind::Field(operand, name, access) => self.field(operand, name, *access),
            ExprKind::Index(parts, access) => self.index(parts, *access),
            ExprKind::Condition(parts) => self.condition(parts),
            ExprKind::Matching(function, subject, pattern) => {
                self.matching(function, subject, pattern)
            }
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Fold(fold) => self.fold(fold),
            ExprKind::Bind(name, parts) => {
                let [value, body] = &**parts;
                self.names.push((name, Bound::Later(value)));
                let outcome = self.value(body);
                self.names.pop();
                outcome
            }
        }
    }

    fn spend(&mut self, steps: usize) -> Result<(), Fault> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAXIMUM_STEPS {
            let construct = format!("an expression that takes more than {MAXIMUM_STEPS} steps");
            return Err(Fault::unsupported(construct));
        }
        Ok(())
    }

    #[inline(never)]
    fn name(&mut self, name: &str) -> Outcome {
        let index = self.names.iter().rposition(|(known, _)| *known == name);
        let Some((index, bound)) = index.and_then(|index| Some((index, self.names.get(index)?)))
        else {
            return Err(Fault::unsupported(format!("`{name}` as a value")));
        };
        let expr = match &bound.1 {
            Bound::Value(value) => return Ok(value.clone()),
            Bound::Later(expr) => *expr,
        };
        // A bound value is evaluated at its first use, with the names around its macro: `cel.bind(x, 1 / 0, true)` is
        // true.
        let inner = self.names.split_off(index);
        let outcome = self.value(expr);
        self.names.extend(inner);
        if let (Ok(value), Some((_, bound))) = (&outcome, self.names.get_mut(index)) {
            *bound = Bound::Value(value.clone());
        }
        outcome
    }

    #[inline(never)]
    fn call(&mut self, function: &'static Overloads, arguments: &'a [Expr]) -> Outcome {
        if function.name == ".orValue"
            && let [first, second] = arguments
        {
            // The argument is evaluated only if it is needed.
            let Value::Optional(first) = self.value(first)? else {
                return Err(Fault::overload());
            };
            return match first {
                Some(value) => Ok(value.as_ref().clone()),
                None => self.value(second),
            };
        }
        if function.name == "@in"
            && let [element, list] = arguments
            && let ExprKind::List(constants) = &list.kind
            && constants.iter().all(is_constant)
        {
            // Upstream looks up in constants by a hash, which versions do not have.
            if matches!(self.value(element)?, Value::Semver(_)) {
                let detail = "`in` with a list literal fails for a version (hash of unhashable type): compare with == instead";
                return Err(Fault::Panic(detail.to_owned()));
            }
        }
        let mut values = Vec::with_capacity(arguments.len());
        let mut steps = 1_usize;
        for argument in arguments {
            let value = self.value(argument)?;
            // Searches of one argument for the other cost their product upstream.
            steps = steps.saturating_mul(size(&value).saturating_add(1));
            values.push(value);
        }
        self.spend(steps)?;
        let value = (function.function)(&values)?;
        self.spend(size(&value))?;
        Ok(value)
    }

    #[inline(never)]
    fn chain(&mut self, terms: &'a [Expr], deciding: bool) -> Outcome {
        decided(deciding, terms.iter().map(|term| self.value(term)))
    }

    #[inline(never)]
    fn condition(&mut self, parts: &'a [Expr; 3]) -> Outcome {
        let [test, then, otherwise] = parts;
        let Value::Bool(chosen) = self.value(test)? else {
            return Err(Fault::overload());
        };
        self.value(if chosen { then } else { otherwise })
    }

    #[inline(never)]
    fn field(&mut self, operand: &'a Expr, name: &Arc<str>, access: Access) -> Outcome {
        let value = self.value(operand)?;
        let key = Value::Text(name.clone());
        match access {
            Access::Value if matches!(value, Value::List(_)) => Err(Fault::overload()),
            Access::Value => at_key(&value, &key),
            Access::Optional => optional_at_key(&value, &key),
            Access::Presence => {
                let found = optional_at_key(&value, &key)?;
                Ok(matches!(found, Value::Optional(Some(_))).into())
            }
        }
    }

    #[inline(never)]
    fn index(&mut self, parts: &'a [Expr; 2], access: Access) -> Outcome {
        let [container, key] = parts;
        let container = self.value(container)?;
        if matches!(container, Value::Optional(None)) {
            return Ok(container);
        }
        let key = self.value(key)?;
        match access {
            Access::Value => at_key(&container, &key),
            Access::Optional | Access::Presence => optional_at_key(&container, &key),
        }
    }

    #[inline(never)]
    fn matching(&mut self, function: &Overloads, subject: &'a Expr, pattern: &Pattern) -> Outcome {
        let subject = self.value(subject)?;
        let Value::Text(subject) = subject else {
            // Upstream matches the text in an optional value without a look at the type.
            let is_optional = matches!(subject, Value::Optional(_));
            let unsupported = || Fault::unsupported("a pattern for an optional value");
            return Err(if is_optional {
                unsupported()
            } else {
                Fault::overload()
            });
        };
        self.spend(pattern.steps(&subject))?;
        match function.name {
            ".find" => text(pattern.find(&subject)),
            _ => Ok(pattern.is_match(&subject).into()),
        }
    }

    #[inline(never)]
    fn list(&mut self, elements: &'a [Expr]) -> Outcome {
        self.spend(10)?;
        let values = elements.iter().map(|element| self.value(element));
        list(values.collect::<Result<_, _>>()?)
    }

    #[inline(never)]
    fn fold(&mut self, fold: &'a Fold) -> Outcome {
        let range = self.value(&fold.range)?;
        let rounds: Vec<(Value, Value)> = if let Value::Map(map) = range {
            // A map has no order, and upstream iterates at random; `exists` and `all` absorb errors, and so give the
            // same in any order.
            if map.entries.len() > 1 && fold.kind == FoldKind::List {
                let construct = "a list made from a map, whose order is random";
                return Err(Fault::unsupported(construct));
            }
            map.entries.clone()
        } else if let Value::List(elements) = range {
            let elements = elements.iter().cloned();
            match fold.second {
                Some(_) => (0..).map(Value::Int).zip(elements).collect(),
                None => elements.map(|it| (it.clone(), it)).collect(),
            }
        } else {
            return Err(Fault::overload());
        };
        match fold.kind {
            FoldKind::Exists | FoldKind::All => {
                let rounds = rounds.iter();
                let parts = rounds.map(|round| self.round(fold, round, &fold.body));
                decided(fold.kind == FoldKind::Exists, parts)
            }
            FoldKind::List => self.transformed(fold, &rounds),
        }
    }

    /// The value of a part of a macro, with its names bound.
    fn round(&mut self, fold: &'a Fold, round: &(Value, Value), part: &'a Expr) -> Outcome {
        self.spend(4)?;
        let depth = self.names.len();
        self.names
            .push((&fold.first, Bound::Value(round.0.clone())));
        if let Some(second) = &fold.second {
            self.names.push((second, Bound::Value(round.1.clone())));
        }
        let outcome = self.value(part);
        self.names.truncate(depth);
        outcome
    }

    /// The body for each element that the filter keeps.
    fn transformed(&mut self, fold: &'a Fold, rounds: &[(Value, Value)]) -> Outcome {
        let mut values = Vec::new();
        for round in rounds {
            self.spend(10)?;
            let kept = match &fold.filter {
                None => Value::Bool(true),
                Some(filter) => self.round(fold, round, filter)?,
            };
            let Value::Bool(kept) = kept else {
                return Err(Fault::overload());
            };
            if kept {
                values.push(self.round(fold, round, &fold.body)?);
            }
        }
        list(values)
    }
}

/// Steps of reading or making a value.
fn size(value: &Value) -> usize {
    match value {
        // A tenth for a byte, as cel-go's `StringTraversalCostFactor`.
        Value::Text(text) => text.len() / 10,
        Value::List(elements) => elements.len(),
        Value::Map(map) => map.entries.len(),
        Value::Bool(_)
        | Value::Int(_)
        | Value::Double(_)
        | Value::Semver(_)
        | Value::Quantity(_)
        | Value::Optional(_) => 0,
    }
}

fn is_constant(expr: &Expr) -> bool {
    // Quantities and versions are calls upstream.
    let is_call = |value: &Value| matches!(value, Value::Quantity(_) | Value::Semver(_));
    matches!(&expr.kind, ExprKind::Constant(value) if !is_call(value))
}

/// A truth value of many parts, where one that is `by` decides, even over errors and over what is not
/// known: that of `||` and `exists` with true, of `&&` and `all` with false.
fn decided(by: bool, parts: impl Iterator<Item = Outcome>) -> Outcome {
    let mut failed = None;
    for part in parts {
        let fault = match part {
            Ok(Value::Bool(value)) if value == by => return Ok(value.into()),
            Ok(Value::Bool(_)) => continue,
            Ok(_) => Fault::overload(),
            Err(fault @ (Fault::Runtime(_) | Fault::Unpublished)) => fault,
            Err(fault @ (Fault::Panic(_) | Fault::Unsupported(_))) => return Err(fault),
        };
        // Something unknown, which may turn out to decide, comes before the first error: `evalOr.Eval` upstream.
        if failed.is_none() || fault == Fault::Unpublished {
            failed = Some(fault);
        }
    }
    failed.map_or(Ok((!by).into()), Err)
}

/// A call without a target; `has` is a macro.
pub(super) fn function(at: usize, name: &str, mut arguments: Vec<Expr>) -> Result<Expr, Wrong> {
    if name == "has"
        && arguments.len() == 1
        && let Some(argument) = arguments.pop()
    {
        return presence(at, argument);
    }
    call(at, name, arguments)
}

fn presence(at: usize, argument: Expr) -> Result<Expr, Wrong> {
    let access = Access::Presence;
    if let ExprKind::Driver
    | ExprKind::AllowMultipleAllocations
    | ExprKind::Catalogue(_)
    | ExprKind::Domain(..) = argument.kind
    {
        return Err(Wrong::unsupported("has() of what every device has"));
    }
    let kind = if let ExprKind::Field(operand, name, Access::Value) = argument.kind {
        ExprKind::Field(operand, name, access)
    } else if let ExprKind::Attribute(found) = argument.kind
        && found.by_field
        && found.access == Access::Value
    {
        ExprKind::Attribute(Box::new(Attribute { access, ..*found }))
    } else {
        return Err(Wrong::at(at, "invalid argument to has() macro"));
    };
    Ok(Expr {
        at: argument.at,
        kind,
    })
}

/// A call with a target.
pub(super) fn method(
    at: usize,
    name: &str,
    target: Expr,
    mut arguments: Vec<Expr>,
) -> Result<Expr, Wrong> {
    if let ExprKind::Name(library) = &target.kind {
        if (&**library, name, arguments.len()) == ("cel", "bind", 3) {
            return bind(at, arguments);
        }
        let full = format!("{library}.{name}");
        if overloads(&full).is_some() {
            return call(at, &full, arguments);
        }
    }
    let kind = match (name, arguments.len()) {
        ("exists", 2 | 3) => FoldKind::Exists,
        ("all", 2 | 3) => FoldKind::All,
        ("map", 2 | 3) | ("filter", 2) => FoldKind::List,
        _ => {
            arguments.insert(0, target);
            return call(at, &format!(".{name}"), arguments);
        }
    };
    let with_values = kind != FoldKind::List && arguments.len() == 3;
    let last = arguments.pop();
    let mut arguments = arguments.into_iter();
    let first = simple_name(at, arguments.next())?;
    let second = with_values.then(|| simple_name(at, arguments.next()));
    let second = second.transpose()?;
    if second.as_ref() == Some(&first) {
        return Err(Wrong::at(at, format!("duplicate variable name: {first}")));
    }
    let element = ExprKind::Name(first.clone());
    let (filter, body) = match last {
        Some(filter) if name == "filter" => (Some(filter), Expr { at, kind: element }),
        Some(body) => (arguments.next(), body),
        None => return Err(Wrong::at(at, "an argument is missing")),
    };
    let fold = Fold {
        kind,
        range: target,
        first,
        second,
        filter,
        body,
    };
    let kind = ExprKind::Fold(Box::new(fold));
    Ok(Expr { at, kind })
}

fn bind(at: usize, arguments: Vec<Expr>) -> Result<Expr, Wrong> {
    let mut arguments = arguments.into_iter();
    let name = simple_name(at, arguments.next())?;
    let (Some(value), Some(body)) = (arguments.next(), arguments.next()) else {
        return Err(Wrong::at(at, "an argument is missing"));
    };
    let kind = ExprKind::Bind(name, Box::new([value, body]));
    Ok(Expr { at, kind })
}

fn simple_name(at: usize, argument: Option<Expr>) -> Result<Arc<str>, Wrong> {
    match argument.map(|argument| argument.kind) {
        // The parser resolves fields of the device before it sees the macro around them.
        Some(ExprKind::Name(name)) if &*name == "device" => {
            Err(Wrong::unsupported("a macro that binds `device`"))
        }
        Some(ExprKind::Name(name)) => Ok(name),
        _ => Err(Wrong::at(at, "argument must be a simple name")),
    }
}

/// A call of a function of the table, whose constant pattern, quantity or version is read once.
fn call(at: usize, name: &str, mut arguments: Vec<Expr>) -> Result<Expr, Wrong> {
    let known = overloads(name);
    let function =
        known.ok_or_else(|| Wrong::unsupported(format!("{}()", name.trim_start_matches('.'))))?;
    let constant = arguments.last().and_then(|last| constant_text(&last.kind));
    let constant = constant.cloned();
    let kind = match (name, constant, arguments.len()) {
        // An invalid one stays a call, whose error is one of the run time.
        ("quantity" | "semver", Some(text), 1) => match (function.function)(&[Value::Text(text)]) {
            Ok(value) => ExprKind::Constant(value),
            Err(_) => ExprKind::Call(function, arguments),
        },
        (".matches" | ".find", Some(text), 2) => {
            // Upstream compiles it with the expression, so that no `||` absorbs that it is invalid.
            let pattern = Pattern::compile(&text)
                .ok_or_else(|| Wrong::unsupported(format!("the pattern {text}")))?;
            ExprKind::Matching(function, Box::new(arguments.swap_remove(0)), pattern)
        }
        _ => ExprKind::Call(function, arguments),
    };
    Ok(Expr { at, kind })
}

/// The text of a constant.
pub(super) fn constant_text(kind: &ExprKind) -> Option<&Arc<str>> {
    let ExprKind::Constant(Value::Text(text)) = kind else {
        return None;
    };
    Some(text)
}
