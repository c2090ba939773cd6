//! Conversions from one type to another, and from optional values.

use crate::expression::error::Fault;
use crate::expression::value::{Outcome, Value, text};

#[allow(
    clippy::cast_possible_truncation,
    reason = "within the range of the type"
)]
pub(super) fn int(values: &[Value]) -> Outcome {
    match values {
        [value @ Value::Int(_)] => Ok(value.clone()),
        // Upstream excludes both limits, also -2⁶³, which an int64 could hold.
        [Value::Double(number)] if number.abs() < 9_223_372_036_854_775_808.0 => {
            Ok(Value::Int(*number as i64))
        }
        [Value::Double(_)] => Err(Fault::runtime("integer overflow")),
        [Value::Text(text)] => {
            let number = text.parse().map(Value::Int);
            number.map_err(|_| Fault::runtime(format!("cannot convert \"{text}\" to int")))
        }
        _ => Err(Fault::overload()),
    }
}

pub(super) fn string(values: &[Value]) -> Outcome {
    match values {
        [value @ Value::Text(_)] => Ok(value.clone()),
        [Value::Bool(value)] => text(value.to_string()),
        [Value::Int(number)] => text(number.to_string()),
        [Value::Double(_)] => Err(Fault::unsupported("string() of a double")),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn dynamic(values: &[Value]) -> Outcome {
    values.first().cloned().ok_or_else(Fault::overload)
}

pub(super) fn value(values: &[Value]) -> Outcome {
    match values {
        [Value::Optional(Some(inner))] => Ok(inner.as_ref().clone()),
        [Value::Optional(None)] => Err(Fault::runtime("optional.none() dereference")),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn has_value(values: &[Value]) -> Outcome {
    match values {
        [Value::Optional(inner)] => Ok(inner.is_some().into()),
        _ => Err(Fault::overload()),
    }
}
