//! Quantities and versions.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::expression::error::Fault;
use crate::expression::value::Quantity;
use crate::expression::value::Version;
use crate::expression::value::{Outcome, Value};

pub(super) fn quantity(values: &[Value]) -> Outcome {
    let [Value::Text(text)] = values else {
        return Err(Fault::overload());
    };
    let quantity = Quantity::parse(text)?.map(Value::Quantity);
    quantity.ok_or_else(|| Fault::runtime("quantities must match the regular expression"))
}

fn one(values: &[Value]) -> Result<&Quantity, Fault> {
    match values {
        [Value::Quantity(quantity)] => Ok(quantity),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn sign(values: &[Value]) -> Outcome {
    let order = one(values)?.nanos.cmp(&0);
    Ok(Value::Int(order as i64))
}

pub(super) fn ordered(values: &[Value], result: fn(Ordering) -> Value) -> Outcome {
    match values {
        [Value::Quantity(left), Value::Quantity(right)] => Ok(result(left.nanos.cmp(&right.nanos))),
        [Value::Semver(left), Value::Semver(right)] => Ok(result(left.order(right))),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn whole(values: &[Value]) -> Outcome {
    let number = one(values)?.whole.map(Value::Int);
    number.ok_or_else(|| Fault::runtime("cannot convert value to integer"))
}

pub(super) fn is_whole(values: &[Value]) -> Outcome {
    one(values).map(|quantity| quantity.whole.is_some().into())
}

fn parsed_version(values: &[Value]) -> Result<Option<Version>, Fault> {
    match values {
        [Value::Text(text)] | [Value::Text(text), Value::Bool(false)] => Ok(Version::parse(text)),
        [Value::Text(text), Value::Bool(true)] => Ok(Version::parse_loosely(text)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn semver(values: &[Value]) -> Outcome {
    let version = parsed_version(values)?.map(|version| Value::Semver(Arc::new(version)));
    version.ok_or_else(|| Fault::runtime("not a semantic version"))
}

pub(super) fn is_semver(values: &[Value]) -> Outcome {
    parsed_version(values).map(|version| version.is_some().into())
}

pub(super) fn part(values: &[Value], index: usize) -> Outcome {
    let [Value::Semver(version)] = values else {
        return Err(Fault::overload());
    };
    let number = version.numbers.get(index).copied().unwrap_or_default();
    let number = i64::try_from(number).map(Value::Int);
    number.map_err(|_| Fault::unsupported("a version with such a large number"))
}
