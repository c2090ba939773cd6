//! Operators, except those of equality and membership.

use std::cmp::Ordering;

use crate::expression::error::Fault;
use crate::expression::value::{Outcome, Value, list, order, text};

pub(super) fn ordered(values: &[Value], accepted: fn(Ordering) -> bool) -> Outcome {
    match values {
        [left, right] => order(left, right).map(|order| accepted(order).into()),
        _ => Err(Fault::overload()),
    }
}

fn overflow() -> Fault {
    Fault::runtime("integer overflow")
}

/// An operation on two whole numbers or two doubles.
fn arithmetic(
    values: &[Value],
    of_ints: fn(i64, i64) -> Option<i64>,
    of_doubles: fn(f64, f64) -> f64,
) -> Outcome {
    match values {
        [Value::Int(left), Value::Int(right)] => {
            of_ints(*left, *right).map(Value::Int).ok_or_else(overflow)
        }
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(of_doubles(*left, *right))),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn add(values: &[Value]) -> Outcome {
    match values {
        [Value::Text(left), Value::Text(right)] => text(format!("{left}{right}")),
        [Value::List(left), Value::List(right)] => list([&left[..], &right[..]].concat()),
        values => arithmetic(values, i64::checked_add, |left, right| left + right),
    }
}

pub(super) fn subtract(values: &[Value]) -> Outcome {
    arithmetic(values, i64::checked_sub, |left, right| left - right)
}

pub(super) fn multiply(values: &[Value]) -> Outcome {
    arithmetic(values, i64::checked_mul, |left, right| left * right)
}

pub(super) fn divide(values: &[Value]) -> Outcome {
    if let [Value::Int(_), Value::Int(0)] = values {
        return Err(Fault::runtime("division by zero"));
    }
    arithmetic(values, i64::checked_div, |left, right| left / right)
}

pub(super) fn remainder(values: &[Value]) -> Outcome {
    match values {
        [Value::Int(_), Value::Int(0)] => Err(Fault::runtime("modulus by zero")),
        [Value::Int(left), Value::Int(right)] => {
            let rest = left.checked_rem(*right);
            rest.map(Value::Int).ok_or_else(overflow)
        }
        _ => Err(Fault::overload()),
    }
}

pub(super) fn negate(values: &[Value]) -> Outcome {
    match values {
        [Value::Int(number)] => number.checked_neg().map(Value::Int).ok_or_else(overflow),
        [Value::Double(number)] => Ok(Value::Double(-number)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn not(values: &[Value]) -> Outcome {
    match values {
        [Value::Bool(value)] => Ok(Value::Bool(!value)),
        _ => Err(Fault::overload()),
    }
}
