//! Type checks of expressions, and the parts that need evaluation.
//!
//! Upstream: `checker.go` of cel-go, and the validators that Kubernetes adds.

use std::sync::Arc;

use super::error::Wrong;
use super::syntax::{Access, Bind, Binding, Element, Entry, Expr, ExprKind, Field, Fold, Macro};
use super::tree::{Attribute, BindNode, Catalogue, FoldNode, Node, Part};
use super::types::{Substitutions, Type};
use super::value::Value;

/// How deep an expression may be: evaluating it takes stack for every step.
const MAXIMUM_DEPTH: usize = 260;

/// A checked expression.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) root: Node,
    /// How many names it binds.
    pub(super) slots: usize,
}

/// Checks an expression, which has to give a truth value.
pub(super) fn check(expr: &Expr) -> Result<Checked, Wrong> {
    let mut checker = Checker::default();
    let (root, of) = checker.check(expr)?;
    let aggregates = std::mem::take(&mut checker.aggregates);
    // In the end, when all variables are decided: upstream validates the checked tree.
    for (at, types) in aggregates {
        checker.same_types(at, &types)?;
    }
    let of = checker.types.settled(&of);
    if matches!(of, Type::Bool | Type::Dyn) {
        return Ok(Checked {
            root,
            slots: checker.slots,
        });
    }
    Err(Wrong::at(
        expr.at,
        format!("must evaluate to bool or the unknown type, not {of}"),
    ))
}

/// What is evaluated, and the type of it.
pub(super) type Typed = (Node, Type);

/// What is known while an expression is checked.
#[derive(Default)]
pub(super) struct Checker {
    pub(super) types: Substitutions,
    /// What names stand for, innermost last.
    scopes: Vec<(String, Type, usize)>,
    slots: usize,
    depth: usize,
    /// How many calls of `format` are around: in them, lists may mix types.
    pub(super) formats: usize,
    /// The types in lists and maps that are written out, which have to be the same.
    aggregates: Vec<(usize, Vec<Type>)>,
    /// The types in the list that was checked last.
    pub(super) last_list: Vec<Type>,
}

impl Checker {
    pub(super) fn check(&mut self, expr: &Expr) -> Result<Typed, Wrong> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAXIMUM_DEPTH {
            return Err(Wrong::unsupported("deep nesting"));
        }
        let (node, of) = self.part(expr)?;
        self.depth = self.depth.saturating_sub(1);
        Ok((node, self.types.resolve(&of)))
    }

    fn part(&mut self, expr: &Expr) -> Result<Typed, Wrong> {
        let at = expr.at;
        if let Some((value, of)) = literal(expr) {
            return Ok((Node::Constant(value), of));
        }
        match &expr.kind {
            ExprKind::Name(name) => self.name(at, name),
            ExprKind::Field(field) => self.field(at, field),
            ExprKind::Call(call) => self.call(at, call),
            ExprKind::And(terms) => Ok((Node::And(self.terms(at, terms, "_&&_")?), Type::Bool)),
            ExprKind::Or(terms) => Ok((Node::Or(self.terms(at, terms, "_||_")?), Type::Bool)),
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Macro(found) => self.fold(at, found),
            ExprKind::Bind(bind) => self.bind(at, bind),
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Uint(_)
            | ExprKind::Double(_)
            | ExprKind::Text(_)
            | ExprKind::Bytes(_) => Err(Wrong::at(at, "no expression")),
        }
    }

    fn name(&self, at: usize, name: &str) -> Result<Typed, Wrong> {
        let mut scopes = self.scopes.iter();
        if let Some((_, of, slot)) = scopes.rfind(|(bound, ..)| bound == name) {
            return Ok((Node::Variable(*slot), of.clone()));
        }
        // A leading dot keeps names that macros bind out of account.
        let kind = match name.strip_prefix('.').unwrap_or(name) {
            "device" => return Ok((Node::Device, Type::Device)),
            "bool" => "bool",
            "bytes" => "bytes",
            "double" => "double",
            "int" => "int",
            "list" => "list",
            "map" => "map",
            "null_type" => "null_type",
            "string" => "string",
            "type" => "type",
            "uint" => "uint",
            _ => return Err(undeclared(at, name)),
        };
        Ok((Node::Constant(Value::Kind(kind)), Type::Kind))
    }

    fn field(&mut self, at: usize, field: &Field) -> Result<Typed, Wrong> {
        let (operand, of) = self.check(&field.operand)?;
        let (name, access) = (&field.name, field.access);
        if of == Type::Device {
            return self.of_device(at, name, access);
        }
        let value = self.type_of_field(at, &of)?;
        let result = match access {
            Access::Presence => Type::Bool,
            Access::Optional => optional(value),
            // Optional chaining is viral: a field of an optional value is optional itself.
            Access::Value if matches!(of, Type::Optional(_)) => optional(value),
            Access::Value => value,
        };
        let node = match (operand, access) {
            (Node::Catalogue(catalogue), Access::Value) => Node::Domain(catalogue, name.clone()),
            (Node::Domain(catalogue, domain), _) => attribute(catalogue, domain, name, access),
            (operand, _) => Node::Field(Box::new((operand, name.clone(), access))),
        };
        Ok((node, result))
    }

    fn type_of_field(&self, at: usize, of: &Type) -> Result<Type, Wrong> {
        match of {
            Type::Dyn | Type::Variable(_) => Ok(Type::Dyn),
            Type::Map(_, value) => Ok(value.as_ref().clone()),
            Type::Optional(inner) => self.type_of_field(at, &self.types.resolve(inner)),
            Type::Null
            | Type::Bool
            | Type::Int
            | Type::Uint
            | Type::Double
            | Type::Text
            | Type::Bytes
            | Type::Duration
            | Type::Timestamp
            | Type::Semver
            | Type::Quantity
            | Type::Url
            | Type::Ip
            | Type::Cidr
            | Type::Format
            | Type::Kind
            | Type::Device
            | Type::List(_) => Err(Wrong::at(
                at,
                format!("type '{of}' does not support field selection"),
            )),
        }
    }

    fn of_device(&mut self, at: usize, name: &str, access: Access) -> Result<Typed, Wrong> {
        let by_domain = |value: Type| {
            let by_id = Type::Map(Box::new(Type::Text), Box::new(value));
            Type::Map(Box::new(Type::Text), Box::new(by_id))
        };
        let found = match name {
            "driver" => (Node::Driver, Type::Text),
            "allowMultipleAllocations" => (Node::AllowMultipleAllocations, Type::Bool),
            "attributes" => (Node::Catalogue(Catalogue::Attributes), by_domain(Type::Dyn)),
            "capacity" => (
                Node::Catalogue(Catalogue::Capacity),
                by_domain(Type::Quantity),
            ),
            _ => return Err(Wrong::at(at, format!("undefined field '{name}'"))),
        };
        match access {
            Access::Value => Ok(found),
            Access::Optional | Access::Presence => Err(Wrong::unsupported(
                "has() or optional selection of a field that every device has",
            )),
        }
    }

    /// The terms of `&&` or `||`.
    fn terms(&mut self, at: usize, terms: &[Expr], operator: &str) -> Result<Vec<Node>, Wrong> {
        let mut nodes = Vec::new();
        for term in terms {
            nodes.push(self.predicate(at, term, operator)?);
        }
        Ok(nodes)
    }

    /// An expression that has to give a truth value.
    fn predicate(&mut self, at: usize, expr: &Expr, operator: &str) -> Result<Node, Wrong> {
        let (node, of) = self.check(expr)?;
        if self.types.assignable(&of, &Type::Bool) {
            Ok(node)
        } else {
            Err(no_overload(at, operator, &[self.types.settled(&of)]))
        }
    }

    fn list(&mut self, elements: &[Element]) -> Result<Typed, Wrong> {
        let (mut nodes, mut found) = (Vec::new(), Vec::new());
        for element in elements {
            let (node, of) = self.check(&element.value)?;
            let (part, of) = self.optional_part(element.optional, element.value.at, of)?;
            nodes.push((part, node));
            found.push((element.value.at, of));
        }
        let settled = found.iter().map(|(_, of)| self.types.settled(of));
        self.last_list = settled.collect();
        let of = self.joined(&found);
        Ok((Node::List(nodes), Type::List(Box::new(of))))
    }

    fn map(&mut self, entries: &[Entry]) -> Result<Typed, Wrong> {
        let (mut nodes, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            let (key, key_type) = self.check(&entry.key)?;
            let (value, of) = self.check(&entry.value)?;
            let (part, of) = self.optional_part(entry.optional, entry.value.at, of)?;
            nodes.push((part, key, value));
            keys.push((entry.key.at, key_type));
            values.push((entry.value.at, of));
        }
        let key = self.joined(&keys);
        let value = self.joined(&values);
        Ok((Node::Map(nodes), Type::Map(Box::new(key), Box::new(value))))
    }

    fn optional_part(&self, is_optional: bool, at: usize, of: Type) -> Result<(Part, Type), Wrong> {
        match (is_optional, of) {
            (false, of) => Ok((Part::Always, of)),
            (true, Type::Optional(inner)) if self.types.settled(&inner) != Type::Dyn => {
                Ok((Part::Optional, *inner))
            }
            (true, Type::Optional(_) | Type::Dyn | Type::Variable(_)) => Err(Wrong::unsupported(
                "an optional element (`?`) of unknown type in a list or map",
            )),
            (true, other) => Err(Wrong::at(
                at,
                format!("expected type 'optional_type' but found '{other}'"),
            )),
        }
    }

    /// The type of several parts together, which are checked against each other in the end.
    fn joined(&mut self, parts: &[(usize, Type)]) -> Type {
        let mut joined: Option<Type> = None;
        for (_, of) in parts {
            joined = Some(match joined {
                None => of.clone(),
                Some(before) if before == *of => before,
                Some(before) => {
                    let variable = Type::Variable(self.types.variable());
                    let both = [before, of.clone()];
                    let formal = [variable.clone(), variable.clone()];
                    if self.types.all_assignable(&both, &formal) {
                        self.types.resolve(&variable)
                    } else {
                        Type::Dyn
                    }
                }
            });
        }
        if self.formats == 0
            && let Some((at, _)) = parts.get(1)
        {
            let types = parts.iter().map(|(_, of)| of.clone()).collect();
            self.aggregates.push((*at, types));
        }
        joined.unwrap_or_else(|| Type::Variable(self.types.variable()))
    }

    /// Upstream: `ValidateHomogeneousAggregateLiterals`.
    fn same_types(&self, at: usize, types: &[Type]) -> Result<(), Wrong> {
        let mut types = types.iter().map(|of| self.types.settled(of));
        let Some(first) = types.next() else {
            return Ok(());
        };
        match types.find(|other| *other != first) {
            Some(other) => Err(Wrong::at(
                at,
                format!("expected type '{first}' but found '{other}'"),
            )),
            None => Ok(()),
        }
    }

    fn fold(&mut self, at: usize, found: &Macro) -> Result<Typed, Wrong> {
        let (range, of) = self.check(&found.range)?;
        let two = found.second.is_some();
        let (first, second) = match (of, two) {
            (Type::List(element), false) => (*element, Type::Dyn),
            (Type::List(element), true) => (Type::Int, *element),
            (Type::Map(key, value), _) => (*key, *value),
            (Type::Dyn | Type::Variable(_), _) => (Type::Dyn, Type::Dyn),
            (other, _) => {
                return Err(Wrong::at(
                    found.range.at,
                    format!(
                        "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                    ),
                ));
            }
        };
        let depth = self.scopes.len();
        let first_slot = self.bound(&found.first, first.clone());
        let second_slot = found.second.as_ref().map(|name| self.bound(name, second));
        let filter = match &found.filter {
            Some(filter) => Some(self.predicate(at, filter, "_?_:_")?),
            None => None,
        };
        let (body, body_type) = match found.fold {
            Fold::Exists | Fold::All | Fold::ExistsOne => {
                (self.predicate(at, &found.body, "_&&_")?, Type::Bool)
            }
            Fold::List | Fold::Map | Fold::Entries => self.check(&found.body)?,
        };
        self.scopes.truncate(depth);
        let result = match (found.fold, body_type) {
            (Fold::Exists | Fold::All | Fold::ExistsOne, _) => Type::Bool,
            (Fold::List, body) => Type::List(Box::new(body)),
            (Fold::Map, body) => Type::Map(Box::new(first), Box::new(body)),
            (Fold::Entries, body @ Type::Map(..)) => body,
            (Fold::Entries, Type::Dyn) => Type::Map(Box::new(Type::Dyn), Box::new(Type::Dyn)),
            (Fold::Entries, other) => return Err(no_overload(at, "cel.@mapInsert", &[other])),
        };
        let node = FoldNode {
            fold: found.fold,
            range,
            first: first_slot,
            second: second_slot,
            filter,
            body,
        };
        Ok((Node::Fold(Box::new(node)), result))
    }

    fn bound(&mut self, name: &str, of: Type) -> usize {
        let slot = self.slots;
        self.slots = self.slots.saturating_add(1);
        self.scopes.push((name.to_owned(), of, slot));
        slot
    }

    fn bind(&mut self, at: usize, bind: &Bind) -> Result<Typed, Wrong> {
        let (value, of) = self.check(&bind.value)?;
        let of = match (bind.binding, of) {
            (Binding::Value, of) => of,
            (Binding::Mapped | Binding::FlatMapped, Type::Optional(inner)) => *inner,
            // Upstream types the value by its first use.
            (Binding::Mapped | Binding::FlatMapped, Type::Dyn | Type::Variable(_)) => {
                Type::Variable(self.types.variable())
            }
            (Binding::Mapped | Binding::FlatMapped, other) => {
                return Err(no_overload(at, "hasValue", &[other]));
            }
        };
        let depth = self.scopes.len();
        let slot = self.bound(&bind.name, of);
        let (body, body_type) = self.check(&bind.body)?;
        self.scopes.truncate(depth);
        let result = match (bind.binding, body_type) {
            (Binding::Value, of) => of,
            (Binding::Mapped, of) => optional(of),
            (Binding::FlatMapped, of @ (Type::Optional(_) | Type::Dyn)) => of,
            (Binding::FlatMapped, Type::Variable(_)) => {
                return Err(Wrong::unsupported(
                    "optFlatMap() of a value of unknown type",
                ));
            }
            (Binding::FlatMapped, other) => return Err(no_overload(at, "_?_:_", &[other])),
        };
        let node = BindNode {
            binding: bind.binding,
            slot,
            value,
            body,
        };
        Ok((Node::Bind(Box::new(node)), result))
    }
}

pub(super) fn undeclared(at: usize, name: &str) -> Wrong {
    Wrong::at(at, format!("undeclared reference to '{name}'"))
}

pub(super) fn no_overload(at: usize, name: &str, types: &[Type]) -> Wrong {
    let types: Vec<String> = types.iter().map(Type::to_string).collect();
    let name = name.trim_start_matches('@');
    Wrong::at(
        at,
        format!(
            "found no matching overload for '{name}' applied to '({})'",
            types.join(", ")
        ),
    )
}

fn optional(of: Type) -> Type {
    if matches!(of, Type::Optional(_)) {
        of
    } else {
        Type::Optional(Box::new(of))
    }
}

pub(super) fn attribute(
    catalogue: Catalogue,
    domain: Arc<str>,
    id: &Arc<str>,
    access: Access,
) -> Node {
    Node::Attribute(Box::new(Attribute {
        catalogue,
        name: format!("{domain}/{id}"),
        domain,
        id: id.clone(),
        access,
    }))
}

/// What is written out.
pub(super) fn literal(expr: &Expr) -> Option<(Value, Type)> {
    match &expr.kind {
        ExprKind::Null => Some((Value::Null, Type::Null)),
        ExprKind::Bool(value) => Some((Value::Bool(*value), Type::Bool)),
        ExprKind::Int(number) => Some((Value::Int(*number), Type::Int)),
        ExprKind::Uint(number) => Some((Value::Uint(*number), Type::Uint)),
        ExprKind::Double(number) => Some((Value::Double(*number), Type::Double)),
        ExprKind::Text(text) => Some((Value::Text(text.clone()), Type::Text)),
        ExprKind::Bytes(bytes) => Some((Value::Bytes(bytes.clone()), Type::Bytes)),
        ExprKind::Name(_)
        | ExprKind::Field(_)
        | ExprKind::Call(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Macro(_)
        | ExprKind::Bind(_) => None,
    }
}
