//! Type checks of expressions.
//!
//! Upstream: `checker.go` of cel-go, constant folding, and the validators that Kubernetes adds.

use super::error::{Fault, Wrong};
use super::functions::FOLDED;
use super::syntax::{Access, Catalogue, Expr, ExprKind, Fold, FoldKind};
use super::value::Value;
use std::fmt;
use std::sync::Arc;

/// Checks an expression, which has to give a truth value.
pub(super) fn check(expr: &Expr) -> Result<(), Wrong> {
    let of = Checker::default().check(expr)?;
    if matches!(of, Type::Bool | Type::Dyn) {
        return Ok(());
    }
    Err(Wrong::at(
        expr.at,
        format!("must evaluate to bool or the unknown type, not {of}"),
    ))
}

#[derive(Default)]
struct Checker {
    /// Names that macros bind, innermost last.
    scopes: Vec<(Arc<str>, Type)>,
}

impl Checker {
    fn check(&mut self, expr: &Expr) -> Result<Type, Wrong> {
        let at = expr.at;
        match &expr.kind {
            ExprKind::Constant(value) => Ok(of_constant(value)),
            ExprKind::Name(name) => self.name(at, name),
            ExprKind::Driver => Ok(Type::Text),
            ExprKind::AllowMultipleAllocations => Ok(Type::Bool),
            ExprKind::Catalogue(catalogue) => Ok(Type::map(
                Type::Text,
                Type::map(Type::Text, entry(*catalogue)),
            )),
            ExprKind::Domain(catalogue, _) => Ok(Type::map(Type::Text, entry(*catalogue))),
            ExprKind::Attribute(found) => Ok(accessed(entry(found.catalogue), found.access)),
            ExprKind::Field(operand, _, access) => {
                let of = self.check(operand)?;
                field(at, &of).map(|value| accessed(value, *access))
            }
            ExprKind::Index(parts, access) => {
                let types = self.all(parts.as_slice())?;
                index(at, &types, *access)
            }
            ExprKind::And(terms) => self.chain(at, terms, "_&&_"),
            ExprKind::Or(terms) => self.chain(at, terms, "_||_"),
            ExprKind::Condition(parts) => {
                let types = self.all(parts.as_slice())?;
                resolve(at, "_?_:_", "bAA>A", &types)
            }
            ExprKind::Call(function, arguments) => {
                let types = self.all(arguments)?;
                if let Some(Err(fault)) = folded(expr) {
                    return Err(match fault {
                        Fault::Runtime(detail) | Fault::Panic(detail) => Wrong::at(at, detail),
                        Fault::Unsupported(construct) => Wrong::Unsupported(construct),
                        Fault::Unpublished => Wrong::unsupported(function.name),
                    });
                }
                resolve(at, function.name, function.types, &types)
            }
            ExprKind::Matching(function, subject, _) => {
                let types = [self.check(subject)?, Type::Text];
                resolve(at, function.name, function.types, &types)
            }
            ExprKind::List(elements) => {
                let types = self.all(elements)?;
                same(at, &types).map(Type::list)
            }
            ExprKind::Fold(fold) => self.fold(at, fold),
            ExprKind::Bind(name, parts) => {
                let [value, body] = &**parts;
                let of = self.check(value)?;
                self.within(&[(name, of)], |checker| checker.check(body))
            }
        }
    }

    fn all(&mut self, parts: &[Expr]) -> Result<Vec<Type>, Wrong> {
        parts.iter().map(|part| self.check(part)).collect()
    }

    fn name(&self, at: usize, name: &str) -> Result<Type, Wrong> {
        let mut scopes = self.scopes.iter();
        if let Some((_, of)) = scopes.rfind(|(bound, _)| **bound == *name) {
            return Ok(of.clone());
        }
        match name {
            "device" | "bool" | "bytes" | "double" | "int" | "list" | "map" | "null_type"
            | "string" | "type" | "uint" => Err(Wrong::unsupported(format!("`{name}` as a value"))),
            _ => Err(Wrong::at(at, format!("undeclared reference to '{name}'"))),
        }
    }

    fn within(
        &mut self,
        names: &[(&Arc<str>, Type)],
        check: impl FnOnce(&mut Self) -> Result<Type, Wrong>,
    ) -> Result<Type, Wrong> {
        let depth = self.scopes.len();
        let names = names.iter();
        self.scopes
            .extend(names.map(|(name, of)| ((*name).clone(), of.clone())));
        let checked = check(self);
        self.scopes.truncate(depth);
        checked
    }

    fn chain(&mut self, at: usize, terms: &[Expr], operator: &str) -> Result<Type, Wrong> {
        for term in terms {
            self.predicate(at, term, operator)?;
        }
        Ok(Type::Bool)
    }

    fn predicate(&mut self, at: usize, expr: &Expr, operator: &str) -> Result<Type, Wrong> {
        let of = self.check(expr)?;
        resolve(at, operator, "b>b", &[of])
    }

    fn fold(&mut self, at: usize, fold: &Fold) -> Result<Type, Wrong> {
        let (first, second) = match (self.check(&fold.range)?, &fold.second) {
            (Type::List(of), None) => (*of, Type::Dyn),
            (Type::List(of), Some(_)) => (Type::Int, *of),
            (Type::Map(key, value), _) => (*key, *value),
            (Type::Dyn, _) => (Type::Dyn, Type::Dyn),
            (other, _) => {
                let detail = format!("type '{other}' cannot be the range of a comprehension");
                return Err(Wrong::at(fold.range.at, detail));
            }
        };
        let mut names = vec![(&fold.first, first)];
        names.extend(fold.second.iter().map(|name| (name, second.clone())));
        self.within(&names, |checker| {
            if let Some(filter) = &fold.filter {
                checker.predicate(at, filter, "_?_:_")?;
            }
            match fold.kind {
                FoldKind::List => checker.check(&fold.body).map(Type::list),
                FoldKind::Exists | FoldKind::All => checker.predicate(at, &fold.body, "_&&_"),
            }
        })
    }
}

fn of_constant(value: &Value) -> Type {
    match value {
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Double(_) => Type::Double,
        Value::Text(_) => Type::Text,
        Value::Semver(_) => Type::Semver,
        Value::Quantity(_) => Type::Quantity,
        Value::List(_) | Value::Map(_) | Value::Optional(_) => Type::Dyn,
    }
}

fn entry(catalogue: Catalogue) -> Type {
    match catalogue {
        Catalogue::Attributes => Type::Dyn,
        Catalogue::Capacity => Type::Quantity,
    }
}

fn accessed(value: Type, access: Access) -> Type {
    match access {
        Access::Value => value,
        Access::Optional => Type::optional(value),
        Access::Presence => Type::Bool,
    }
}

fn field(at: usize, of: &Type) -> Result<Type, Wrong> {
    match of {
        Type::Dyn => Ok(Type::Dyn),
        Type::Map(_, value) => Ok(value.as_ref().clone()),
        // Optional chaining is viral: a field of an optional value is optional itself.
        Type::Optional(inner) => field(at, inner).map(Type::optional),
        Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::Text
        | Type::Semver
        | Type::Quantity
        | Type::List(_) => {
            let detail = format!("type '{of}' does not support field selection");
            Err(Wrong::at(at, detail))
        }
    }
}

fn index(at: usize, types: &[Type], access: Access) -> Result<Type, Wrong> {
    let result = match access {
        Access::Value => resolve(at, "_[_]", "LAi>A MABA>B OLAi>OA OMABA>OB", types)?,
        Access::Optional | Access::Presence => {
            resolve(at, "_[?_]", "LAi>OA OLAi>OA MABA>OB OMABA>OB", types)?
        }
    };
    match types.last() {
        Some(Type::Text | Type::Int | Type::Bool | Type::Double | Type::Dyn) => Ok(result),
        // Upstream refuses some of these as constants, and fails for others.
        _ => Err(Wrong::unsupported("an index of this type")),
    }
}

/// The common type of the elements of a list.
///
/// Upstream: `ValidateHomogeneousAggregateLiterals`.
fn same(at: usize, types: &[Type]) -> Result<Type, Wrong> {
    let Some((first, rest)) = types.split_first() else {
        return Err(Wrong::unsupported("an empty list"));
    };
    match rest.iter().find(|other| *other != first) {
        None => Ok(first.clone()),
        Some(other) => {
            let detail = format!("expected type '{first}' but found '{other}'");
            Err(Wrong::at(at, detail))
        }
    }
}

/// Type of a call, by the overloads that take arguments of these types.
///
/// Upstream: `resolveOverload`.
fn resolve(at: usize, name: &str, overloads: &str, actual: &[Type]) -> Result<Type, Wrong> {
    let mut results = Vec::new();
    for (mut takes, mut gives) in overloads.split(' ').filter_map(|it| it.split_once('>')) {
        let mut parameters = [None, None];
        let fits = actual.iter().all(|of| of.fits(&mut takes, &mut parameters));
        if fits && takes.is_empty() {
            results.push(Type::read(&mut gives, &mut parameters));
        }
    }
    match results.split_first() {
        None => {
            let types: Vec<String> = actual.iter().map(Type::to_string).collect();
            let (name, types) = (name.trim_start_matches(['@', '.']), types.join(", "));
            let detail = format!("found no matching overload for '{name}' applied to '({types})'");
            Err(Wrong::at(at, detail))
        }
        // Upstream decides such a type by a later use.
        Some((None, [])) => Err(Wrong::unsupported(format!(
            "the undecided type of {name}()"
        ))),
        Some((Some(first), rest)) if rest.iter().all(|of| of.as_ref() == Some(first)) => {
            Ok(first.clone())
        }
        // Overloads with different results give `dyn`, as upstream.
        Some(_) => Ok(Type::Dyn),
    }
}

/// Value of a conversion of constants, which upstream computes while it compiles.
fn folded(expr: &Expr) -> Option<Result<Value, Fault>> {
    if let ExprKind::Constant(value) = &expr.kind {
        return Some(Ok(value.clone()));
    }
    let ExprKind::Call(function, arguments) = &expr.kind else {
        return None;
    };
    if !FOLDED.contains(&function.name) {
        return None;
    }
    let mut values = Vec::new();
    for argument in arguments {
        match folded(argument)? {
            Ok(value) => values.push(value),
            Err(fault) => return Some(Err(fault)),
        }
    }
    Some((function.function)(&values))
}

/// Type of an expression, as far as it is known without a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Known only once there is a value.
    Dyn,
    Bool,
    Int,
    /// Of no value here, but upstream has overloads for it.
    Uint,
    Double,
    Text,
    Semver,
    Quantity,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
}

const NAMES: &[(char, Type, &str)] = &[
    ('*', Type::Dyn, "dyn"),
    ('b', Type::Bool, "bool"),
    ('i', Type::Int, "int"),
    ('u', Type::Uint, "uint"),
    ('d', Type::Double, "double"),
    ('s', Type::Text, "string"),
    ('S', Type::Semver, "kubernetes.Semver"),
    ('Q', Type::Quantity, "kubernetes.Quantity"),
];

/// Types of the parameters `A` and `B` of an overload.
pub(super) type Parameters = [Option<Type>; 2];

fn parameter(code: char, parameters: &mut Parameters) -> Option<&mut Option<Type>> {
    match code {
        'A' => parameters.first_mut(),
        'B' => parameters.last_mut(),
        _ => None,
    }
}

fn next(formal: &mut &str) -> Option<char> {
    let mut characters = formal.chars();
    let code = characters.next();
    *formal = characters.as_str();
    code
}

impl Type {
    pub(super) fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// Optional type; an optional optional is none.
    pub(super) fn optional(of: Self) -> Self {
        if matches!(of, Self::Optional(_)) {
            return of;
        }
        Self::Optional(Box::new(of))
    }

    /// The type that both can stand for, if there is one.
    ///
    /// Upstream: `internalIsAssignable` of a type parameter.
    pub(super) fn join(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (left, right) if left == right => Some(left.clone()),
            (Self::Dyn, _) | (_, Self::Dyn) => Some(Self::Dyn),
            (Self::List(left), Self::List(right)) => left.join(right).map(Self::list),
            (Self::Optional(left), Self::Optional(right)) => {
                Some(Self::Optional(Box::new(left.join(right)?)))
            }
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                Some(Self::map(key.join(other_key)?, value.join(other_value)?))
            }
            _ => None,
        }
    }

    /// True if it can stand for the type at the front of `formal`, which is taken off.
    pub(super) fn fits(&self, formal: &mut &str, parameters: &mut Parameters) -> bool {
        let Some(code) = next(formal) else {
            return false;
        };
        if let Some(parameter) = parameter(code, parameters) {
            let joined = match parameter.as_ref() {
                Some(before) => before.join(self),
                None => Some(self.clone()),
            };
            let fits = joined.is_some();
            *parameter = joined;
            return fits;
        }
        let parts = match (code, self) {
            ('L', Self::List(of)) | ('O', Self::Optional(of)) => vec![&**of],
            ('M', Self::Map(key, value)) => vec![&**key, &**value],
            ('L' | 'M' | 'O', _) => {
                Self::read(formal, parameters);
                if code == 'M' {
                    Self::read(formal, parameters);
                }
                return *self == Self::Dyn;
            }
            _ => {
                let of = NAMES.iter().find(|(known, ..)| *known == code);
                return of.is_some_and(|(_, of, _)| self.join(of).is_some());
            }
        };
        parts.into_iter().all(|part| part.fits(formal, parameters))
    }

    /// Reads a type of the table of functions from the front of `formal`.
    pub(super) fn read(formal: &mut &str, parameters: &mut Parameters) -> Option<Self> {
        let code = next(formal)?;
        if let Some(parameter) = parameter(code, parameters) {
            return parameter.clone();
        }
        let mut part = || Self::read(formal, parameters);
        match code {
            'L' => part().map(Self::list),
            'O' => Some(Self::Optional(Box::new(part()?))),
            // Both are taken off before either is looked at.
            'M' => {
                let (key, value) = (part(), part());
                Some(Self::map(key?, value?))
            }
            _ => {
                let of = NAMES.iter().find(|(known, ..)| *known == code);
                of.map(|(_, of, _)| of.clone())
            }
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::List(element) = self {
            return write!(formatter, "list({element})");
        }
        if let Self::Map(key, value) = self {
            return write!(formatter, "map({key}, {value})");
        }
        if let Self::Optional(value) = self {
            return write!(formatter, "optional_type({value})");
        }
        let name = NAMES.iter().find(|(_, of, _)| of == self);
        formatter.write_str(name.map_or("dyn", |(.., name)| name))
    }
}
