//! Elements by keys and indexes.

use std::sync::Arc;

use crate::expression::error::Fault;
use crate::expression::value::{Map, Outcome, Value};

/// The element at a key of a container, `None` if there is none.
fn find(container: &Value, key: &Value) -> Result<Option<Value>, Fault> {
    match (container, key) {
        (Value::Map(map), key) => match (map.find(key), key) {
            (None, Value::Text(_)) if map.of_domains => {
                // Upstream makes an empty map for a domain that is missing, so that `has(device.attributes.no)` is
                // true.
                Ok(Some(Value::Map(Arc::new(Map::default()))))
            }
            (None, _) if map.of_domains => Err(Fault::overload()),
            (found, _) => Ok(found.cloned()),
        },
        (Value::List(elements), Value::Int(index)) => {
            let index = usize::try_from(*index).ok();
            Ok(index.and_then(|index| elements.get(index)).cloned())
        }
        (Value::List(_), Value::Double(_)) => Err(Fault::unsupported("an index that is a double")),
        _ => Err(Fault::overload()),
    }
}

/// The element at a key, which has to be there; of an optional value, again an optional one.
pub(crate) fn at_key(container: &Value, key: &Value) -> Outcome {
    if matches!(container, Value::Optional(_)) {
        return optional_at_key(container, key);
    }
    find(container, key)?.ok_or_else(|| {
        Fault::runtime(if let Value::Text(key) = key {
            format!("no such key: {key}")
        } else {
            "no such key or index".to_owned()
        })
    })
}

/// The element at a key, if there is one; a value that is no container has none.
pub(crate) fn optional_at_key(container: &Value, key: &Value) -> Outcome {
    if let Value::Optional(inner) = container {
        return match inner {
            Some(inner) => optional_at_key(inner, key),
            None => Ok(Value::Optional(None)),
        };
    }
    if matches!(container, Value::Map(_) | Value::List(_)) {
        return Ok(Value::Optional(find(container, key)?.map(Arc::new)));
    }
    if matches!(
        key,
        Value::Text(_) | Value::Int(_) | Value::Bool(_) | Value::Double(_)
    ) {
        return Ok(Value::Optional(None));
    }
    Err(Fault::runtime("invalid qualifier type"))
}
