//! Values of expressions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::error::Fault;
use super::quantity::Quantity;
use super::version::Version;

/// A value, or why there is none.
pub(super) type Outcome = Result<Value, Fault>;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Arc<str>),
    Semver(Arc<Version>),
    Quantity(Quantity),
    List(Arc<[Value]>),
    Map(Arc<Map>),
    Optional(Option<Arc<Value>>),
}

/// Values by key, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Map {
    pub(super) entries: Vec<(Value, Value)>,
    /// True if it holds the domains of a device: a domain that is missing is an empty map.
    pub(super) of_domains: bool,
}

impl Map {
    /// The value at `key`; numbers of different types can be the same key.
    pub(super) fn find(&self, key: &Value) -> Option<&Value> {
        let entry = self
            .entries
            .iter()
            .find(|(other, _)| matches!(equal(key, other), Ok(true)));
        entry.map(|(_, value)| value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// A list, unless it would take too much memory.
pub(super) fn list(values: Vec<Value>) -> Outcome {
    const MAXIMUM: usize = 20_000;
    if values.len() > MAXIMUM {
        return Err(Fault::unsupported("a list this long"));
    }
    Ok(Value::List(values.into()))
}

/// A text, unless it would take too much memory.
pub(super) fn text(text: impl Into<Arc<str>>) -> Outcome {
    const MAXIMUM: usize = 100_000;
    let text = text.into();
    if text.len() > MAXIMUM {
        return Err(Fault::unsupported("a string this long"));
    }
    Ok(Value::Text(text))
}

/// True if two values are the same; of numbers, the types do not matter.
///
/// Fails where upstream does: for a version or a quantity on the left of anything else.
///
/// Upstream: `types.Equal`.
pub(super) fn equal(left: &Value, right: &Value) -> Result<bool, Fault> {
    if let Some(order) = numeric_order(left, right) {
        return Ok(order == Some(Ordering::Equal));
    }
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Text(left), Value::Text(right)) => Ok(left == right),
        (Value::Semver(left), Value::Semver(right)) => Ok(left.order(right).is_eq()),
        (Value::Quantity(left), Value::Quantity(right)) => Ok(left.nanos == right.nanos),
        (Value::List(left), Value::List(right)) => same_lists(left, right),
        (Value::Map(_), Value::Map(_)) => Err(Fault::unsupported("a comparison of maps")),
        (Value::Optional(Some(left)), Value::Optional(Some(right))) => equal(left, right),
        (Value::Optional(left), Value::Optional(right)) => Ok(left.is_none() && right.is_none()),
        (Value::Semver(_) | Value::Quantity(_), _) => Err(Fault::overload()),
        _ => Ok(false),
    }
}

/// Upstream takes elements for the same whose comparison fails.
fn same_lists(left: &[Value], right: &[Value]) -> Result<bool, Fault> {
    for (left, right) in left.iter().zip(right) {
        if lenient(equal(left, right))? == Some(false) {
            return Ok(false);
        }
    }
    Ok(left.len() == right.len())
}

/// The verdict, or nothing where it fails as upstream does.
pub(super) fn lenient(verdict: Result<bool, Fault>) -> Result<Option<bool>, Fault> {
    match verdict {
        Ok(verdict) => Ok(Some(verdict)),
        Err(Fault::Runtime(_)) => Ok(None),
        Err(fault @ (Fault::Panic(_) | Fault::Unpublished | Fault::Unsupported(_))) => Err(fault),
    }
}

/// True if `list` has `value`.
///
/// Upstream: `baseList.Contains`.
pub(super) fn contains(list: &[Value], value: &Value) -> Result<bool, Fault> {
    for element in list {
        if lenient(equal(value, element))? == Some(true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Order of two numbers: nothing if one of them is none, and nothing within if one is not a number.
#[allow(clippy::cast_precision_loss, reason = "upstream rounds just so")]
pub(super) fn numeric_order(left: &Value, right: &Value) -> Option<Option<Ordering>> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(Some(left.cmp(right))),
        (Value::Double(left), Value::Double(right)) => Some(left.partial_cmp(right)),
        (Value::Int(left), Value::Double(right)) => Some((*left as f64).partial_cmp(right)),
        (Value::Double(left), Value::Int(right)) => Some(left.partial_cmp(&(*right as f64))),
        _ => None,
    }
}

/// Order of two values of a type that has one.
pub(super) fn order(left: &Value, right: &Value) -> Result<Ordering, Fault> {
    if let Some(order) = numeric_order(left, right) {
        return order.ok_or_else(|| Fault::runtime("NaN values cannot be ordered"));
    }
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Ok(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
        _ => Err(Fault::overload()),
    }
}
