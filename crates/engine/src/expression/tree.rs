//! Syntax tree of expressions, as it is checked and evaluated.

use std::sync::Arc;

use super::functions::Overloads;
use super::pattern::Pattern;
use super::value::Value;

/// A part of an expression and the byte that errors about it point to.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) at: usize,
    pub(super) kind: ExprKind,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Constant(Value),
    Name(Arc<str>),
    Driver,
    AllowMultipleAllocations,
    Catalogue(Catalogue),
    /// All of one domain, by identifier.
    Domain(Catalogue, Arc<str>),
    Attribute(Box<Attribute>),
    /// `operand.name`, `operand.?name` or `has(operand.name)`.
    Field(Box<Expr>, Arc<str>, Access),
    /// `container[key]` or `container[?key]`.
    Index(Box<[Expr; 2]>, Access),
    /// All terms of one chain of `&&`.
    And(Vec<Expr>),
    /// All terms of one chain of `||`.
    Or(Vec<Expr>),
    Condition(Box<[Expr; 3]>),
    /// A function or an operator, with its target first.
    Call(&'static Overloads, Vec<Expr>),
    /// `matches` or `find` with a constant pattern.
    Matching(&'static Overloads, Box<Expr>, Pattern),
    List(Vec<Expr>),
    Fold(Box<Fold>),
    /// `cel.bind(name, value, body)`
    Bind(Arc<str>, Box<[Expr; 2]>),
}

/// Attributes or capacities of a device, by domain and identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Catalogue {
    Attributes,
    Capacity,
}

/// Kind of access to a field or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Value,
    Optional,
    Presence,
}

/// One attribute or capacity, found without making a map of all.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) catalogue: Catalogue,
    pub(super) domain: Arc<str>,
    pub(super) id: Arc<str>,
    /// Domain and identifier.
    pub(super) name: String,
    pub(super) access: Access,
    /// Written with a dot, as `has()` demands.
    pub(super) by_field: bool,
}

/// A macro that iterates.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) range: Expr,
    /// Name of the element; of a map, the key; before a second name, the index or key.
    pub(super) first: Arc<str>,
    pub(super) second: Option<Arc<str>>,
    pub(super) filter: Option<Expr>,
    /// The predicate, or the new element.
    pub(super) body: Expr,
}

/// Result of a macro that iterates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldKind {
    Exists,
    All,
    /// `map` and `filter`.
    List,
}
