//! Functions of lists, and those that lists share with texts and maps.

use crate::expression::error::Fault;
use crate::expression::value::{Outcome, Value, contains, equal, lenient};

pub(super) fn member(values: &[Value]) -> Outcome {
    match values {
        [value, Value::List(elements)] => contains(elements, value).map(Value::Bool),
        [value, Value::Map(map)] => Ok(map.find(value).is_some().into()),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn size(values: &[Value]) -> Outcome {
    let size = match values {
        [Value::Text(text)] => text.chars().count(),
        [Value::List(elements)] => elements.len(),
        [Value::Map(map)] => map.entries.len(),
        _ => return Err(Fault::overload()),
    };
    let size = i64::try_from(size).map(Value::Int);
    size.map_err(|_| Fault::overload())
}

/// True if the list has the value, or if the single value equals it.
pub(super) fn includes(values: &[Value]) -> Outcome {
    match values {
        [Value::List(elements), value] => contains(elements, value).map(Value::Bool),
        [Value::Map(_), _] => Err(Fault::unsupported("includes() of a map")),
        [single, value] => {
            let same = lenient(equal(single, value))?;
            Ok((same == Some(true)).into())
        }
        _ => Err(Fault::overload()),
    }
}

pub(super) fn set_contains(values: &[Value]) -> Outcome {
    let (list, wanted) = two(values)?;
    for value in wanted {
        if !contains(list, value)? {
            return Ok(false.into());
        }
    }
    Ok(true.into())
}

pub(super) fn set_intersects(values: &[Value]) -> Outcome {
    let (left, right) = two(values)?;
    for value in left {
        if contains(right, value)? {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

fn two(values: &[Value]) -> Result<(&[Value], &[Value]), Fault> {
    match values {
        [Value::List(left), Value::List(right)] => Ok((left, right)),
        _ => Err(Fault::overload()),
    }
}
