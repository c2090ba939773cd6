//! Operators of numbers, and comparisons of anything.

use std::cmp::Ordering;

use super::times;
use crate::engine::expression::error::Fault;
use crate::engine::expression::value::{self, Value, lenient, list, order, text};

pub(super) fn equal(values: &[Value]) -> Result<Value, Fault> {
    let [left, right] = values else {
        return Err(Fault::overload());
    };
    value::equal(left, right).map(Value::Bool)
}

/// Never fails: what cannot be compared is not the same.
pub(super) fn not_equal(values: &[Value]) -> Result<Value, Fault> {
    let [left, right] = values else {
        return Err(Fault::overload());
    };
    let same = lenient(value::equal(left, right))?;
    Ok(Value::Bool(same != Some(true)))
}

fn ordered(values: &[Value], accepted: fn(Ordering) -> bool) -> Result<Value, Fault> {
    let [left, right] = values else {
        return Err(Fault::overload());
    };
    match order(left, right)? {
        Some(order) => Ok(Value::Bool(accepted(order))),
        None => Err(Fault::runtime("NaN values cannot be ordered")),
    }
}

pub(super) fn less(values: &[Value]) -> Result<Value, Fault> {
    ordered(values, Ordering::is_lt)
}

pub(super) fn less_or_equal(values: &[Value]) -> Result<Value, Fault> {
    ordered(values, Ordering::is_le)
}

pub(super) fn greater(values: &[Value]) -> Result<Value, Fault> {
    ordered(values, Ordering::is_gt)
}

pub(super) fn greater_or_equal(values: &[Value]) -> Result<Value, Fault> {
    ordered(values, Ordering::is_ge)
}

fn overflow() -> Fault {
    Fault::runtime("integer overflow")
}

pub(super) fn add(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Int(left), Value::Int(right)] => left
            .checked_add(*right)
            .map(Value::Int)
            .ok_or_else(overflow),
        [Value::Uint(left), Value::Uint(right)] => left
            .checked_add(*right)
            .map(Value::Uint)
            .ok_or_else(overflow),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left + right)),
        [Value::Text(left), Value::Text(right)] => text(format!("{left}{right}")),
        [Value::Bytes(left), Value::Bytes(right)] => {
            // Bounded as texts are: an expression that doubles a value again and again must not use up memory.
            if left.len().saturating_add(right.len()) > 100_000 {
                return Err(Fault::unsupported("bytes this long"));
            }
            Ok(Value::Bytes([&left[..], &right[..]].concat().into()))
        }
        [Value::List(left), Value::List(right)] => list([&left[..], &right[..]].concat()),
        [left, right] => times::add(left, right),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn subtract(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Int(left), Value::Int(right)] => left
            .checked_sub(*right)
            .map(Value::Int)
            .ok_or_else(overflow),
        [Value::Uint(left), Value::Uint(right)] => left
            .checked_sub(*right)
            .map(Value::Uint)
            .ok_or_else(overflow),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left - right)),
        [left, right] => times::subtract(left, right),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn multiply(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Int(left), Value::Int(right)] => left
            .checked_mul(*right)
            .map(Value::Int)
            .ok_or_else(overflow),
        [Value::Uint(left), Value::Uint(right)] => left
            .checked_mul(*right)
            .map(Value::Uint)
            .ok_or_else(overflow),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left * right)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn divide(values: &[Value]) -> Result<Value, Fault> {
    let by_zero = || Fault::runtime("division by zero");
    match values {
        [Value::Int(_), Value::Int(0)] => Err(by_zero()),
        // Only the least int64 divided by -1 is left to overflow.
        [Value::Int(left), Value::Int(right)] => left
            .checked_div(*right)
            .map(Value::Int)
            .ok_or_else(overflow),
        [Value::Uint(left), Value::Uint(right)] => left
            .checked_div(*right)
            .map(Value::Uint)
            .ok_or_else(by_zero),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left / right)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn remainder(values: &[Value]) -> Result<Value, Fault> {
    let by_zero = || Fault::runtime("modulus by zero");
    match values {
        [Value::Int(_), Value::Int(0)] => Err(by_zero()),
        [Value::Int(left), Value::Int(right)] => left
            .checked_rem(*right)
            .map(Value::Int)
            .ok_or_else(overflow),
        [Value::Uint(left), Value::Uint(right)] => left
            .checked_rem(*right)
            .map(Value::Uint)
            .ok_or_else(by_zero),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn negate(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Int(number)] => number.checked_neg().map(Value::Int).ok_or_else(overflow),
        [Value::Double(number)] => Ok(Value::Double(-number)),
        [Value::Duration(nanoseconds)] => nanoseconds
            .checked_neg()
            .map(Value::Duration)
            .ok_or_else(overflow),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn not(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Bool(value)] => Ok(Value::Bool(!value)),
        _ => Err(Fault::overload()),
    }
}
