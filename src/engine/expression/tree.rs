//! Checked expressions, ready for evaluation.

use std::sync::Arc;

use super::functions::Function;
use super::pattern::Pattern;
use super::syntax::{Access, Binding, Fold};
use super::value::Value;

/// What a device has by domain and identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Catalogue {
    Attributes,
    Capacity,
}

/// A part of a checked expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Constant(Value),
    /// What is in the slot of a bound name.
    Variable(usize),
    Device,
    Driver,
    AllowMultipleAllocations,
    Catalogue(Catalogue),
    Domain(Catalogue, Arc<str>),
    Attribute(Box<Attribute>),
    Field(Box<(Node, Arc<str>, Access)>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Condition(Box<[Node; 3]>),
    Call(Function, Vec<Node>),
    /// `or` and `orValue`, whose argument is evaluated only if it is needed.
    Otherwise(Function, Box<(Node, Node)>),
    /// An index or key, which is not evaluated where there is nothing (`optional.none()`).
    Index(Function, Box<(Node, Node)>),
    /// `in` with a list that is written out.
    Member(Box<Node>, Arc<[Value]>),
    /// A function of a pattern that is written out.
    Matching(Matching, Box<Node>, Pattern),
    List(Vec<(Part, Node)>),
    Map(Vec<(Part, Node, Node)>),
    Fold(Box<FoldNode>),
    Bind(Box<BindNode>),
}

/// Whether a part of a list or a map may be nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Always,
    Optional,
}

/// What is done with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matching {
    Test,
    First,
    All,
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
}

#[derive(Clone, Debug)]
pub(super) struct FoldNode {
    pub(super) fold: Fold,
    pub(super) range: Node,
    pub(super) first: usize,
    pub(super) second: Option<usize>,
    pub(super) filter: Option<Node>,
    pub(super) body: Node,
}

#[derive(Clone, Debug)]
pub(super) struct BindNode {
    pub(super) binding: Binding,
    pub(super) slot: usize,
    pub(super) value: Node,
    pub(super) body: Node,
}
