//! Values of expressions.

use core::net::IpAddr;
use std::sync::Arc;

use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::error::Fault;
use super::named::Named;
use super::network::{Cidr, Url};
use super::quantity::Quantity;
use super::version::Version;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    /// In nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    Semver(Arc<Version>),
    Quantity(Quantity),
    Url(Arc<Url>),
    Ip(IpAddr),
    Cidr(Cidr),
    Format(Named),
    /// A type, by its name.
    Kind(&'static str),
    List(Arc<[Value]>),
    Map(Arc<Map>),
    Optional(Option<Arc<Value>>),
    /// There is one, but what it is upstream is not known here.
    Untold,
}

/// A time with the offset in which it was written, which only `string()` shows; times are compared in UTC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamp {
    pub(super) utc: DateTime,
    /// East of UTC.
    pub(super) offset: SignedDuration,
}

/// Values by key, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Map {
    pub(super) entries: Vec<(Value, Value)>,
    /// Whether it holds the domains of a device: asking for one that is missing gives nothing in it.
    pub(super) of_domains: bool,
}

impl Map {
    /// What is at `key`; numbers of different types can be the same key.
    pub(super) fn find(&self, key: &Value) -> Option<&Value> {
        let entry = self
            .entries
            .iter()
            .find(|(other, _)| matches!(equal(key, other), Ok(true)));
        entry.map(|(_, value)| value)
    }
}

/// A list, unless it would take too much memory.
pub(super) fn list(values: Vec<Value>) -> Result<Value, Fault> {
    const MAXIMUM: usize = 20_000;
    if values.len() > MAXIMUM {
        return Err(Fault::unsupported("a list this long"));
    }
    Ok(Value::List(values.into()))
}

/// A text, unless it would take too much memory.
pub(super) fn text(text: impl Into<Arc<str>>) -> Result<Value, Fault> {
    const MAXIMUM: usize = 100_000;
    let text = text.into();
    if text.len() > MAXIMUM {
        return Err(Fault::unsupported("a string this long"));
    }
    Ok(Value::Text(text))
}

impl Value {
    /// The name of its type.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Kind(_) => "type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Untold => "string",
        }
    }

    /// The text that the value is in Go, which a constant pattern is matched against without a look at the type.
    ///
    /// Upstream: the `Value()` of `optionalValue` and of `Type` in cel-go.
    pub(super) fn native_text(&self) -> Option<&str> {
        if let Self::Optional(Some(inner)) = self {
            inner.native_text()
        } else if let Self::Text(text) = self {
            Some(text)
        } else if let Self::Kind(name) = self {
            Some(name)
        } else {
            None
        }
    }

    pub(super) fn is_untold(&self) -> bool {
        matches!(self, Self::Untold)
    }

    /// Whether it is what a value of its type is by default.
    pub(super) fn is_zero(&self) -> Result<bool, Fault> {
        Ok(match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(number) => *number == 0,
            Self::Uint(number) => *number == 0,
            Self::Double(number) => *number == 0.0,
            Self::Text(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Duration(nanoseconds) => *nanoseconds == 0,
            Self::List(elements) => elements.is_empty(),
            Self::Map(map) => map.entries.is_empty(),
            // Upstream knows no zero of these types, `optional.none()` included.
            Self::Optional(_)
            | Self::Semver(_)
            | Self::Quantity(_)
            | Self::Url(_)
            | Self::Ip(_)
            | Self::Cidr(_)
            | Self::Kind(_) => false,
            Self::Timestamp(_) | Self::Format(_) | Self::Untold => {
                return Err(Fault::unsupported("ofNonZeroValue() of this value"));
            }
        })
    }
}

/// Whether two values are the same; of numbers, the types do not matter.
///
/// Fails where upstream does: for a version, a quantity, an address on the left of anything else.
///
/// Upstream: `types.Equal`.
pub(super) fn equal(left: &Value, right: &Value) -> Result<bool, Fault> {
    if left.is_untold() || right.is_untold() {
        return Err(Fault::unsupported("the error messages of validate()"));
    }
    if let (Value::Null, _) | (_, Value::Null) = (left, right) {
        return Ok(matches!((left, right), (Value::Null, Value::Null)));
    }
    if let Some(order) = numeric_order(left, right) {
        return Ok(order == Some(std::cmp::Ordering::Equal));
    }
    Ok(match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::Bytes(left), Value::Bytes(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::Timestamp(left), Value::Timestamp(right)) => left.utc == right.utc,
        (Value::Kind(left), Value::Kind(right)) => left == right,
        (Value::Semver(left), Value::Semver(right)) => left.order(right).is_eq(),
        // Upstream makes of a sum what its own comparison does not take.
        (Value::Quantity(_), Value::Quantity(right)) if right.is_sum() => {
            return Err(Fault::overload());
        }
        (Value::Quantity(left), Value::Quantity(right)) => left.nanos == right.nanos,
        (Value::Url(left), Value::Url(right)) => left == right,
        (Value::Ip(left), Value::Ip(right)) => left == right,
        (Value::Cidr(left), Value::Cidr(right)) => left == right,
        (Value::Format(left), Value::Format(right)) => left == right,
        (Value::List(left), Value::List(right)) => return same_lists(left, right),
        (Value::Map(left), Value::Map(right)) => return same_maps(left, right),
        (Value::Optional(left), Value::Optional(right)) => match (left, right) {
            (Some(left), Some(right)) => return equal(left, right),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        },
        (
            Value::Semver(_)
            | Value::Quantity(_)
            | Value::Url(_)
            | Value::Ip(_)
            | Value::Cidr(_)
            | Value::Format(_),
            _,
        ) => return Err(Fault::overload()),
        _ => false,
    })
}

/// Upstream takes elements for the same whose comparison fails.
fn same_lists(left: &[Value], right: &[Value]) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (left, right) in left.iter().zip(right) {
        if matches!(lenient(equal(left, right))?, Some(false)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_maps(left: &Map, right: &Map) -> Result<bool, Fault> {
    if left.entries.len() != right.entries.len() {
        return Ok(false);
    }
    for (key, value) in &left.entries {
        let Some(other) = right.find(key) else {
            return Ok(false);
        };
        if matches!(lenient(equal(value, other))?, Some(false)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The verdict, or nothing where it fails as upstream does.
pub(super) fn lenient(verdict: Result<bool, Fault>) -> Result<Option<bool>, Fault> {
    match verdict {
        Ok(verdict) => Ok(Some(verdict)),
        Err(Fault::Runtime(_)) => Ok(None),
        Err(fault @ (Fault::Panic(_) | Fault::Unknown | Fault::Unsupported(_))) => Err(fault),
    }
}

/// Whether `list` has `value`.
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

/// How two numbers compare: nothing if one of them is none, and nothing within if one is not a number.
pub(super) fn numeric_order(left: &Value, right: &Value) -> Option<Option<std::cmp::Ordering>> {
    Some(match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Uint(left), Value::Uint(right)) => Some(left.cmp(right)),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Uint(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Uint(left), Value::Int(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Int(left), Value::Double(right)) => whole_to_double(i128::from(*left), *right),
        (Value::Uint(left), Value::Double(right)) => whole_to_double(i128::from(*left), *right),
        (Value::Double(left), Value::Int(right)) => {
            whole_to_double(i128::from(*right), *left).map(std::cmp::Ordering::reverse)
        }
        (Value::Double(left), Value::Uint(right)) => {
            whole_to_double(i128::from(*right), *left).map(std::cmp::Ordering::reverse)
        }
        _ => return None,
    })
}

/// Upstream compares as doubles between the least and the largest whole number.
#[allow(clippy::cast_precision_loss, reason = "upstream rounds just so")]
fn whole_to_double(whole: i128, double: f64) -> Option<std::cmp::Ordering> {
    (whole as f64).partial_cmp(&double)
}

/// How two values of a kind that has an order compare.
pub(super) fn order(left: &Value, right: &Value) -> Result<Option<std::cmp::Ordering>, Fault> {
    if let Some(order) = numeric_order(left, right) {
        return Ok(order);
    }
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Ok(Some(left.cmp(right))),
        (Value::Bool(left), Value::Bool(right)) => Ok(Some(left.cmp(right))),
        (Value::Bytes(left), Value::Bytes(right)) => Ok(Some(left.cmp(right))),
        (Value::Duration(left), Value::Duration(right)) => Ok(Some(left.cmp(right))),
        (Value::Timestamp(left), Value::Timestamp(right)) => Ok(Some(left.utc.cmp(&right.utc))),
        (Value::Untold, _) | (_, Value::Untold) => {
            Err(Fault::unsupported("the error messages of validate()"))
        }
        _ => Err(Fault::overload()),
    }
}
