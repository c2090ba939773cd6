//! Optional values, and what is at a key or an index.

use std::sync::Arc;

use crate::engine::expression::error::Fault;
use crate::engine::expression::value::{Map, Value, list};

/// What is at a key of `value`, of which `None` says that there is nothing.
///
/// Fails for what holds nothing.
fn find(value: &Value, key: &Value) -> Result<Option<Value>, Fault> {
    if let Value::Map(map) = value {
        let found = map.find(key).cloned();
        if found.is_some() || !map.of_domains {
            return Ok(found);
        }
        // Upstream makes an empty map for a domain that is missing, so that `has(device.attributes.no)` is true.
        return match (key,) {
            (Value::Text(_),) => Ok(Some(Value::Map(Arc::new(Map::default())))),
            _ => Err(Fault::overload()),
        };
    }
    match (value, key) {
        (Value::List(elements), Value::Int(index)) => Ok(at(elements, usize::try_from(*index))),
        (Value::List(elements), Value::Uint(index)) => Ok(at(elements, usize::try_from(*index))),
        (Value::List(elements), Value::Double(index)) => {
            let place = whole(*index)?;
            Ok(place.and_then(|place| elements.get(place)).cloned())
        }
        (Value::Untold, _) => Err(Fault::unsupported("the error messages of validate()")),
        _ => Err(Fault::overload()),
    }
}

fn at<E>(elements: &[Value], place: Result<usize, E>) -> Option<Value> {
    place.ok().and_then(|place| elements.get(place)).cloned()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small whole number that is not negative"
)]
fn whole(index: f64) -> Result<Option<usize>, Fault> {
    if index.fract() != 0.0 {
        return Err(Fault::overload());
    }
    Ok((0.0..1e9).contains(&index).then_some(index as usize))
}

fn missing(key: &Value) -> Fault {
    Fault::runtime(if let Value::Text(key) = key {
        format!("no such key: {key}")
    } else if let Value::Int(index) = key {
        format!("index out of bounds: {index}")
    } else {
        "no such key".to_owned()
    })
}

/// What is at a key, which has to be there; of an optional value, again an optional one.
pub(super) fn index(values: &[Value]) -> Result<Value, Fault> {
    let [value, key] = values else {
        return Err(Fault::overload());
    };
    if matches!(value, Value::Optional(_)) {
        return optional_index(values);
    }
    find(value, key)?.ok_or_else(|| missing(key))
}

/// What is at a key, if it is there.
pub(super) fn optional_index(values: &[Value]) -> Result<Value, Fault> {
    let [value, key] = values else {
        return Err(Fault::overload());
    };
    let container = if let Value::Optional(inner) = value {
        let Some(inner) = inner else {
            return Ok(Value::Optional(None));
        };
        inner
    } else {
        value
    };
    if !is_qualifier(key) {
        return Err(Fault::runtime("invalid qualifier type"));
    }
    let found = find_any(container, key)?;
    Ok(Value::Optional(found.map(Arc::new)))
}

/// Whether a value of this type can be the key or index of anything.
///
/// Upstream: `newQualifier` in `interpreter/attributes.go` of cel-go.
pub(crate) fn is_qualifier(key: &Value) -> bool {
    matches!(
        key,
        Value::Text(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_)
    )
}

/// What is at a key of whatever value: what is no container has nothing.
fn find_any(value: &Value, key: &Value) -> Result<Option<Value>, Fault> {
    if matches!(value, Value::Map(_) | Value::List(_) | Value::Untold) {
        find(value, key)
    } else {
        Ok(None)
    }
}

/// What is at a name, as `.name` asks for it, or with `optional` as `.?name` does.
pub(crate) fn field(value: Value, name: &Arc<str>) -> Result<Value, Fault> {
    if matches!(value, Value::List(_)) {
        return Err(Fault::overload());
    }
    index(&[value, Value::Text(name.clone())])
}

/// What is at a name, as `.?name` asks for it: what can have no fields has none.
pub(crate) fn optional_field(value: &Value, name: &Arc<str>) -> Result<Value, Fault> {
    let found = presence(value, name)?;
    Ok(Value::Optional(found.map(Arc::new)))
}

/// Whether there is anything at a name.
pub(crate) fn has_field(value: &Value, name: &Arc<str>) -> Result<Value, Fault> {
    let found = presence(value, name)?;
    Ok(Value::Bool(found.is_some()))
}

fn presence(value: &Value, name: &Arc<str>) -> Result<Option<Value>, Fault> {
    let key = Value::Text(name.clone());
    if let Value::Optional(inner) = value {
        let found = inner.as_ref().map(|inner| presence(inner, name));
        return Ok(found.transpose()?.flatten());
    }
    find_any(value, &key)
}

pub(super) fn of(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value] => Ok(Value::Optional(Some(Arc::new(value.clone())))),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn of_non_zero(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value] if value.is_zero()? => Ok(Value::Optional(None)),
        values => of(values),
    }
}

pub(super) fn none(_: &[Value]) -> Result<Value, Fault> {
    Ok(Value::Optional(None))
}

pub(super) fn value(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Optional(Some(value))] => Ok(value.as_ref().clone()),
        [Value::Optional(None)] => Err(Fault::runtime("optional.none() dereference")),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn has_value(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn or(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [found @ Value::Optional(Some(_)), _] => Ok(found.clone()),
        [Value::Optional(None), other @ Value::Optional(_)] => Ok(other.clone()),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn or_value(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Optional(Some(value)), _] => Ok(value.as_ref().clone()),
        [Value::Optional(None), other] => Ok(other.clone()),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn unwrap(values: &[Value]) -> Result<Value, Fault> {
    let [Value::List(elements)] = values else {
        return Err(Fault::overload());
    };
    let mut found = Vec::new();
    for element in elements.iter() {
        let Value::Optional(value) = element else {
            return Err(Fault::overload());
        };
        found.extend(value.as_deref().cloned());
    }
    list(found)
}
