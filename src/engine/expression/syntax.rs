//! Syntax tree of expressions.

use std::sync::Arc;

/// A part of an expression and the byte that errors about it point to.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) at: usize,
    pub(super) kind: ExprKind,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    Name(String),
    Field(Box<Field>),
    Call(Box<Call>),
    /// All terms of one chain of `&&`.
    And(Vec<Expr>),
    /// All terms of one chain of `||`.
    Or(Vec<Expr>),
    List(Vec<Element>),
    Map(Vec<Entry>),
    Macro(Box<Macro>),
    Bind(Box<Bind>),
}

/// `operand.name`, `operand.?name` or `has(operand.name)`.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) operand: Expr,
    pub(super) name: Arc<str>,
    pub(super) access: Access,
}

/// What is asked of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Value,
    Optional,
    Presence,
}

/// A function or an operator; operators have the names that cel-go gives them.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) target: Option<Expr>,
    pub(super) arguments: Vec<Expr>,
}

/// An element of a list; an optional one is left out if it is nothing.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) optional: bool,
    pub(super) value: Expr,
}

/// An entry of a map; an optional one is left out if it is nothing.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) optional: bool,
    pub(super) key: Expr,
    pub(super) value: Expr,
}

/// What a macro makes of what it iterates over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Exists,
    All,
    ExistsOne,
    /// `map`, `filter` and `transformList`.
    List,
    /// `transformMap`: by the same keys.
    Map,
    /// `transformMapEntry`: by new keys.
    Entries,
}

/// Something that is evaluated for every element.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    pub(super) fold: Fold,
    pub(super) range: Expr,
    /// The element; of a map, the key; with a second name, the index or key.
    pub(super) first: String,
    pub(super) second: Option<String>,
    pub(super) filter: Option<Expr>,
    /// The predicate, or what becomes of an element.
    pub(super) body: Expr,
}

/// What a bound name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// The value itself, evaluated when it is needed.
    Value,
    /// What is in the optional value, or the whole is nothing (`optMap`).
    Mapped,
    /// Likewise, and the body is optional itself (`optFlatMap`).
    FlatMapped,
}

/// `cel.bind(name, value, body)` and its like.
#[derive(Clone, Debug)]
pub(super) struct Bind {
    pub(super) binding: Binding,
    pub(super) name: String,
    pub(super) value: Expr,
    pub(super) body: Expr,
}
