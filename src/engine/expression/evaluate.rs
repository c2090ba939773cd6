//! Evaluation of expressions for a device.
//!
//! Upstream: `interpreter` of cel-go.

use std::sync::Arc;

use super::error::Fault;
use super::functions::{Function, field, has_field, optional_field};
use super::syntax::{Access, Binding, Fold};
use super::tree::{BindNode, FoldNode, Matching, Node, Part};
use super::value::{Map, Value, list, text};
use crate::model::{Device, DriverName};

/// How many steps an expression may take; upstream's limit of costs is beyond.
//
// What takes more is unsupported and never "no": whether upstream's limit is reached too cannot be told from steps.
const MAXIMUM_STEPS: usize = 600_000;

/// One device that an expression is evaluated for.
pub(super) struct Evaluation<'a> {
    pub(super) driver: &'a DriverName,
    /// Absent where no driver publishes it, so that nothing is known but its name.
    device: Option<&'a Device>,
    slots: Vec<Slot<'a>>,
    steps: usize,
}

/// What a bound name stands for.
#[derive(Clone)]
enum Slot<'a> {
    Empty,
    Value(Value),
    /// Not evaluated yet.
    Later(&'a Node),
}

/// A value, or why there is none.
pub(super) type Outcome = Result<Value, Fault>;

impl<'a> Evaluation<'a> {
    pub(super) fn new(driver: &'a DriverName, device: Option<&'a Device>, slots: usize) -> Self {
        Self {
            driver,
            device,
            slots: vec![Slot::Empty; slots],
            steps: 0,
        }
    }

    /// The device, as far as it is known.
    pub(super) fn device(&self) -> Result<&'a Device, Fault> {
        self.device.ok_or(Fault::Unknown)
    }

    pub(super) fn value(&mut self, node: &'a Node) -> Outcome {
        match node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Attribute(attribute) => self.attribute(attribute),
            Node::Call(function, arguments) => self.call(*function, arguments),
            Node::And(terms) => self.chain(terms, false),
            Node::Or(terms) => self.chain(terms, true),
            Node::Variable(slot) => self.variable(*slot),
            Node::Member(element, list) => self.member(element, list),
            Node::Device
            | Node::Driver
            | Node::AllowMultipleAllocations
            | Node::Catalogue(_)
            | Node::Domain(..)
            | Node::Field(_)
            | Node::Condition(_)
            | Node::Otherwise(..)
            | Node::Index(..)
            | Node::Matching(..)
            | Node::List(_)
            | Node::Map(_)
            | Node::Fold(_)
            | Node::Bind(_) => self.rare(node),
        }
    }

    // Not inlined, as its like below: `value` calls itself for every level of an expression, and its frame would
    // hold the locals of all cases.
    #[inline(never)]
    fn rare(&mut self, node: &'a Node) -> Outcome {
        self.spend(1)?;
        match node {
            Node::Driver => Ok(Value::Text(self.driver.as_str().into())),
            Node::AllowMultipleAllocations => {
                Ok(Value::Bool(self.device()?.allow_multiple_allocations))
            }
            Node::Catalogue(catalogue) => self.all_of(*catalogue),
            Node::Domain(catalogue, domain) => self.domain(*catalogue, domain),
            Node::Field(field) => self.field(&field.0, &field.1, field.2),
            Node::Condition(parts) => self.condition(parts),
            Node::Otherwise(function, parts) => self.otherwise(*function, &parts.0, &parts.1),
            Node::Index(function, parts) => self.index(*function, &parts.0, &parts.1),
            Node::Matching(matching, text, pattern) => {
                let text = self.value(text)?;
                self.matching(*matching, &text, pattern)
            }
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Fold(fold) => self.fold(fold),
            Node::Bind(bind) => self.bind(bind),
            Node::Device
            | Node::Constant(_)
            | Node::Attribute(_)
            | Node::Call(..)
            | Node::And(_)
            | Node::Or(_)
            | Node::Variable(_)
            | Node::Member(..) => Err(Fault::unsupported("`device` as a value")),
        }
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Fault> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAXIMUM_STEPS {
            return Err(Fault::unsupported(format!(
                "an expression that takes more than {MAXIMUM_STEPS} steps"
            )));
        }
        Ok(())
    }

    /// Pays for a value that a function has read or made.
    fn spend_on(&mut self, value: &Value) -> Result<(), Fault> {
        match value {
            // A tenth for a byte, as cel-go's `StringTraversalCostFactor`.
            Value::Text(text) => self.spend(text.len() / 10),
            Value::Bytes(bytes) => self.spend(bytes.len() / 10),
            Value::List(elements) => self.spend(elements.len()),
            Value::Map(map) => self.spend(map.entries.len()),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
            | Value::Semver(_)
            | Value::Quantity(_)
            | Value::Url(_)
            | Value::Ip(_)
            | Value::Cidr(_)
            | Value::Format(_)
            | Value::Kind(_)
            | Value::Optional(_)
            | Value::Untold => Ok(()),
        }
    }

    #[inline(never)]
    fn variable(&mut self, slot: usize) -> Outcome {
        self.spend(1)?;
        let node = match self.slots.get(slot) {
            Some(Slot::Value(value)) => return Ok(value.clone()),
            Some(Slot::Later(node)) => *node,
            Some(Slot::Empty) | None => return Err(Fault::unsupported("a name without value")),
        };
        let value = self.value(node)?;
        // A bound value is evaluated when it is needed first, and once: `cel.bind(x, 1 / 0, true)` is true.
        self.set(slot, Slot::Value(value.clone()));
        Ok(value)
    }

    fn set(&mut self, slot: usize, to: Slot<'a>) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = to;
        }
    }

    #[inline(never)]
    fn call(&mut self, function: Function, arguments: &'a [Node]) -> Outcome {
        self.spend(1)?;
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let value = self.value(argument)?;
            self.spend_on(&value)?;
            values.push(value);
        }
        let value = function(&values)?;
        self.spend_on(&value)?;
        Ok(value)
    }

    /// `&&` with `deciding` false, `||` with true: that value wins, even over errors and over what is
    /// not known.
    #[inline(never)]
    fn chain(&mut self, terms: &'a [Node], deciding: bool) -> Outcome {
        self.spend(1)?;
        let mut decision = Decision::by(deciding);
        for term in terms {
            let outcome = self.value(term);
            if let Some(value) = decision.hear(outcome)? {
                return Ok(value);
            }
        }
        decision.end()
    }

    /// Upstream looks up what is written out by a hash, which versions do not have.
    #[inline(never)]
    fn member(&mut self, element: &'a Node, list: &[Value]) -> Outcome {
        self.spend(1)?;
        let value = self.value(element)?;
        if matches!(value, Value::Semver(_)) && !list.is_empty() {
            return Err(Fault::Panic(
                "`in` with a list literal fails for a version (hash of unhashable type): compare with == instead".to_owned(),
            ));
        }
        super::value::contains(list, &value).map(Value::Bool)
    }

    fn condition(&mut self, parts: &'a [Node; 3]) -> Outcome {
        let [test, then, otherwise] = parts;
        let Value::Bool(chosen) = self.value(test)? else {
            return Err(Fault::overload());
        };
        self.value(if chosen { then } else { otherwise })
    }

    fn otherwise(&mut self, function: Function, first: &'a Node, second: &'a Node) -> Outcome {
        let first = self.value(first)?;
        let Value::Optional(found) = &first else {
            return Err(Fault::overload());
        };
        let second = match found {
            Some(_) => Value::Null,
            None => self.value(second)?,
        };
        function(&[first, second])
    }

    fn index(&mut self, function: Function, container: &'a Node, key: &'a Node) -> Outcome {
        let container = self.value(container)?;
        if matches!(container, Value::Optional(None)) {
            return Ok(container);
        }
        let key = self.value(key)?;
        function(&[container, key])
    }

    fn matching(
        &mut self,
        matching: Matching,
        subject: &Value,
        pattern: &super::pattern::Pattern,
    ) -> Outcome {
        let subject = subject.native_text().ok_or_else(Fault::overload)?;
        self.spend(subject.len())?;
        match matching {
            Matching::Test => Ok(Value::Bool(pattern.is_match(subject))),
            Matching::First => text(pattern.find(subject)),
            Matching::All => {
                let found = pattern.find_all(subject).map(text);
                list(found.collect::<Result<_, _>>()?)
            }
        }
    }

    fn field(&mut self, operand: &'a Node, name: &Arc<str>, access: Access) -> Outcome {
        let value = self.value(operand)?;
        match access {
            Access::Value => field(value, name),
            Access::Optional => optional_field(&value, name),
            Access::Presence => has_field(&value, name),
        }
    }

    fn list(&mut self, elements: &'a [(Part, Node)]) -> Outcome {
        self.spend(10)?;
        let mut values = Vec::with_capacity(elements.len());
        for (part, node) in elements {
            let value = self.value(node)?;
            values.extend(present(*part, value)?);
        }
        list(values)
    }

    fn map(&mut self, entries: &'a [(Part, Node, Node)]) -> Outcome {
        // cel-go's `MapCreateBaseCost`, as the 10 of a list are its `ListCreateBaseCost`.
        self.spend(30)?;
        let mut map = Map::default();
        for (part, key, value) in entries {
            let key = self.value(key)?;
            let value = self.value(value)?;
            if let Some(value) = present(*part, value)? {
                // Here, not upstream, a key is compared with every one before it.
                self.spend(map.entries.len())?;
                // Upstream lets a literal give a key twice; only comprehensions fail over that.
                insert(&mut map, key, value, Repeated::Replaces)?;
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }

    #[inline(never)]
    fn bind(&mut self, bind: &'a BindNode) -> Outcome {
        if bind.binding == Binding::Value {
            self.set(bind.slot, Slot::Later(&bind.value));
            return self.value(&bind.body);
        }
        let Value::Optional(found) = self.value(&bind.value)? else {
            return Err(Fault::overload());
        };
        let Some(inner) = found else {
            return Ok(Value::Optional(None));
        };
        self.set(bind.slot, Slot::Value(inner.as_ref().clone()));
        let value = self.value(&bind.body)?;
        Ok(match bind.binding {
            Binding::Mapped => Value::Optional(Some(Arc::new(value))),
            Binding::FlatMapped | Binding::Value => value,
        })
    }

    #[inline(never)]
    fn fold(&mut self, fold: &'a FoldNode) -> Outcome {
        let range = self.value(&fold.range)?;
        let rounds = rounds(fold, &range)?;
        match fold.fold {
            Fold::Exists => self.quantified(fold, &rounds, true),
            Fold::All => self.quantified(fold, &rounds, false),
            Fold::ExistsOne => self.exists_one(fold, &rounds),
            Fold::List => self.transformed(fold, &rounds),
            Fold::Map | Fold::Entries => self.transformed_map(fold, &rounds),
        }
    }

    /// Binds the names of a round.
    fn enter(&mut self, fold: &FoldNode, round: &(Value, Option<Value>)) -> Result<(), Fault> {
        self.spend(4)?;
        self.set(fold.first, Slot::Value(round.0.clone()));
        if let (Some(slot), Some(value)) = (fold.second, &round.1) {
            self.set(slot, Slot::Value(value.clone()));
        }
        Ok(())
    }

    /// `exists` with `deciding` true, `all` with false: that value wins, even over errors and over
    /// what is not known.
    fn quantified(
        &mut self,
        fold: &'a FoldNode,
        rounds: &[(Value, Option<Value>)],
        deciding: bool,
    ) -> Outcome {
        let mut decision = Decision::by(deciding);
        for round in rounds {
            self.enter(fold, round)?;
            let outcome = self.value(&fold.body);
            if let Some(value) = decision.hear(outcome)? {
                return Ok(value);
            }
        }
        decision.end()
    }

    fn exists_one(&mut self, fold: &'a FoldNode, rounds: &[(Value, Option<Value>)]) -> Outcome {
        let mut count = 0_usize;
        for round in rounds {
            self.enter(fold, round)?;
            let Value::Bool(counts) = self.value(&fold.body)? else {
                return Err(Fault::overload());
            };
            count = count.saturating_add(usize::from(counts));
        }
        Ok(Value::Bool(count == 1))
    }

    /// Whether a round counts.
    fn is_kept(&mut self, fold: &'a FoldNode) -> Result<bool, Fault> {
        match &fold.filter {
            None => Ok(true),
            Some(filter) => {
                let Value::Bool(kept) = self.value(filter)? else {
                    return Err(Fault::overload());
                };
                Ok(kept)
            }
        }
    }

    fn transformed(&mut self, fold: &'a FoldNode, rounds: &[(Value, Option<Value>)]) -> Outcome {
        let mut values = Vec::new();
        for round in rounds {
            self.enter(fold, round)?;
            if self.is_kept(fold)? {
                self.spend(10)?;
                values.push(self.value(&fold.body)?);
            }
        }
        list(values)
    }

    fn transformed_map(
        &mut self,
        fold: &'a FoldNode,
        rounds: &[(Value, Option<Value>)],
    ) -> Outcome {
        let mut map = Map::default();
        for round in rounds {
            self.enter(fold, round)?;
            if !self.is_kept(fold)? {
                continue;
            }
            self.spend(map.entries.len().saturating_add(30))?;
            let value = self.value(&fold.body)?;
            if fold.fold == Fold::Map {
                insert(&mut map, round.0.clone(), value, Repeated::Fails)?;
                continue;
            }
            let Value::Map(entries) = value else {
                return Err(Fault::overload());
            };
            for (key, value) in &entries.entries {
                insert(&mut map, key.clone(), value.clone(), Repeated::Fails)?;
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }
}

/// A truth value of many parts, where one that is `by` decides, even over errors and over what is not
/// known: that of `||` and `exists` with true, of `&&` and `all` with false.
struct Decision {
    by: bool,
    failed: Option<Fault>,
}

impl Decision {
    fn by(by: bool) -> Self {
        Self { by, failed: None }
    }

    /// The value of the whole, if this part decides it.
    fn hear(&mut self, part: Outcome) -> Result<Option<Value>, Fault> {
        let fault = match part {
            Ok(Value::Bool(value)) if value == self.by => return Ok(Some(Value::Bool(self.by))),
            Ok(Value::Bool(_)) => return Ok(None),
            Ok(_) => Fault::overload(),
            Err(fault @ (Fault::Runtime(_) | Fault::Unknown)) => fault,
            Err(fault @ (Fault::Panic(_) | Fault::Unsupported(_))) => return Err(fault),
        };
        self.failed = Some(stronger(self.failed.take(), fault));
        Ok(None)
    }

    /// The value of the whole, if no part has decided it.
    fn end(self) -> Outcome {
        self.failed.map_or(Ok(Value::Bool(!self.by)), Err)
    }
}

/// What is said of two parts that decide nothing: that something is not known, which may turn out to
/// decide, before the first error.
///
/// Upstream: `evalOr.Eval`.
fn stronger(before: Option<Fault>, fault: Fault) -> Fault {
    match (before, fault) {
        (Some(Fault::Unknown), _) | (_, Fault::Unknown) => Fault::Unknown,
        (Some(before @ (Fault::Runtime(_) | Fault::Panic(_) | Fault::Unsupported(_))), _) => before,
        (None, fault) => fault,
    }
}

/// What the names of a macro stand for, round by round.
fn rounds(fold: &FoldNode, range: &Value) -> Result<Vec<(Value, Option<Value>)>, Fault> {
    if range.is_untold() {
        return Err(Fault::unsupported("the error messages of validate()"));
    }
    if let Value::List(elements) = range {
        let elements = elements.iter().cloned();
        return Ok(match fold.second {
            None => elements.map(|element| (element, None)).collect(),
            Some(_) => (0_i64..).map(Value::Int).zip(elements.map(Some)).collect(),
        });
    }
    let Value::Map(map) = range else {
        return Err(Fault::overload());
    };
    // A map has no order, and upstream goes through it as it happens. The other macros give the same in any order:
    // `exists` and `all` absorb errors, and the rest fail whichever part comes first.
    if map.entries.len() > 1 && fold.fold == Fold::List {
        return Err(Fault::unsupported(
            "a list made from a map, whose order is random",
        ));
    }
    let entries = map.entries.iter().cloned();
    Ok(entries.map(|(key, value)| (key, Some(value))).collect())
}

/// What happens when a key is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeated {
    Replaces,
    Fails,
}

fn insert(map: &mut Map, key: Value, value: Value, repeated: Repeated) -> Result<(), Fault> {
    if !matches!(
        key,
        Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Text(_)
    ) {
        return Err(Fault::unsupported(format!("a map by {}", key.kind())));
    }
    match map
        .entries
        .iter()
        .position(|(known, _)| super::value::equal(known, &key) == Ok(true))
    {
        None => map.entries.push((key, value)),
        Some(_) if repeated == Repeated::Fails => {
            return Err(Fault::runtime("insert failed: key already exists"));
        }
        Some(place) => map.entries[place] = (key, value),
    }
    Ok(())
}

/// The value of a part of a list or a map, unless it is left out.
fn present(part: Part, value: Value) -> Result<Option<Value>, Fault> {
    match (part, value) {
        (Part::Always, value) => Ok(Some(value)),
        (Part::Optional, Value::Optional(value)) => Ok(value.as_deref().cloned()),
        (Part::Optional, _) => Err(Fault::overload()),
    }
}
