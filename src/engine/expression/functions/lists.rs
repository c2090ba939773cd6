//! Functions of lists, and what they share with texts and maps.

use std::cmp::Ordering;
use std::sync::Arc;

use super::texts;
use crate::engine::expression::error::Fault;
use crate::engine::expression::value::{Value, contains, equal, lenient, list, order};

fn one(values: &[Value]) -> Result<&[Value], Fault> {
    match values {
        [Value::List(elements)] => Ok(elements),
        _ => Err(Fault::overload()),
    }
}

fn two(values: &[Value]) -> Result<(&[Value], &[Value]), Fault> {
    match values {
        [Value::List(left), Value::List(right)] => Ok((left, right)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn member(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value, Value::List(elements)] => contains(elements, value).map(Value::Bool),
        [value, Value::Map(map)] => Ok(Value::Bool(map.find(value).is_some())),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn size(values: &[Value]) -> Result<Value, Fault> {
    let size = match values {
        [Value::Text(text)] => text.chars().count(),
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(elements)] => elements.len(),
        [Value::Map(map)] => map.entries.len(),
        [Value::Untold] => return Err(Fault::unsupported("the error messages of validate()")),
        _ => return Err(Fault::overload()),
    };
    i64::try_from(size)
        .map(Value::Int)
        .map_err(|_| Fault::overload())
}

pub(super) fn index_of(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Text(text), Value::Text(part)] => texts::index_of(text, part, 0),
        [Value::Text(text), Value::Text(part), Value::Int(offset)] => {
            texts::index_of(text, part, *offset)
        }
        [Value::List(elements), value] => Ok(texts::position(position(elements.iter(), value)?)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn last_index_of(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Text(text), Value::Text(part)] => texts::last_index_of(text, part, None),
        [Value::Text(text), Value::Text(part), Value::Int(offset)] => {
            texts::last_index_of(text, part, Some(*offset))
        }
        [Value::List(elements), value] => {
            let mut places = (0..elements.len()).rev();
            let found = position(elements.iter().rev(), value)?;
            Ok(texts::position(found.and_then(|place| places.nth(place))))
        }
        _ => Err(Fault::overload()),
    }
}

fn position<'a>(
    elements: impl Iterator<Item = &'a Value>,
    value: &Value,
) -> Result<Option<usize>, Fault> {
    for (place, element) in elements.enumerate() {
        if lenient(equal(element, value))? == Some(true) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// A list has it, or something else is it.
pub(super) fn includes(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::List(elements), value] => contains(elements, value).map(Value::Bool),
        [Value::Map(_), _] => Err(Fault::unsupported("includes() of a map")),
        [single, value] => {
            let same = lenient(equal(single, value))?;
            Ok(Value::Bool(same == Some(true)))
        }
        _ => Err(Fault::overload()),
    }
}

/// How two elements compare that have to be of one type.
fn order_of(left: &Value, right: &Value) -> Result<Ordering, Fault> {
    if std::mem::discriminant(left) != std::mem::discriminant(right) {
        return Err(Fault::unsupported("a list of elements of several types"));
    }
    order(left, right)?
        .ok_or_else(|| Fault::unsupported("the order of values that are not numbers"))
}

pub(super) fn is_sorted(values: &[Value]) -> Result<Value, Fault> {
    for pair in one(values)?.windows(2) {
        if let [left, right] = pair
            && order_of(left, right)?.is_gt()
        {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn sum_of(left: &Value, right: &Value) -> Result<Value, Fault> {
    super::numbers::add(&[left.clone(), right.clone()])
}

pub(super) fn sum(values: &[Value]) -> Result<Value, Fault> {
    let mut elements = one(values)?.iter();
    let Some(first) = elements.next() else {
        // Upstream gives a zero of the type of the elements, which an empty list does not show.
        return Err(Fault::unsupported("sum() of an empty list"));
    };
    if !matches!(
        first,
        Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)
    ) {
        return Err(Fault::overload());
    }
    elements.try_fold(first.clone(), |sum, element| sum_of(&sum, element))
}

fn extreme(values: &[Value], name: &str, wanted: Ordering) -> Result<Value, Fault> {
    let mut elements = one(values)?.iter();
    let Some(mut best) = elements.next() else {
        return Err(Fault::runtime(format!("{name} called on empty list")));
    };
    for element in elements {
        if order_of(element, best)? == wanted {
            best = element;
        }
    }
    // A single element was compared with nothing, and has to be of a type with an order too.
    order_of(best, best)?;
    Ok(best.clone())
}

pub(super) fn max(values: &[Value]) -> Result<Value, Fault> {
    extreme(values, "max", Ordering::Greater)
}

pub(super) fn min(values: &[Value]) -> Result<Value, Fault> {
    extreme(values, "min", Ordering::Less)
}

pub(super) fn slice(values: &[Value]) -> Result<Value, Fault> {
    let [Value::List(elements), Value::Int(start), Value::Int(end)] = values else {
        return Err(Fault::overload());
    };
    let wrong = || Fault::runtime(format!("cannot slice({start}, {end})"));
    let from = usize::try_from(*start).map_err(|_| wrong())?;
    let to = usize::try_from(*end).map_err(|_| wrong())?;
    let part = elements.get(from..to).ok_or_else(wrong)?;
    list(part.to_vec())
}

pub(super) fn flatten(values: &[Value]) -> Result<Value, Fault> {
    let (elements, depth) = match values {
        [Value::List(elements)] => (elements, 1),
        [Value::List(elements), Value::Int(depth)] => (elements, *depth),
        _ => return Err(Fault::overload()),
    };
    if depth < 0 {
        return Err(Fault::runtime("level must be non-negative"));
    }
    list(flattened(elements, depth.min(300)))
}

fn flattened(elements: &[Value], depth: i64) -> Vec<Value> {
    let mut flat = Vec::new();
    for element in elements {
        if let Value::List(inner) = element
            && depth > 0
        {
            flat.extend(flattened(inner, depth.saturating_sub(1)));
        } else {
            flat.push(element.clone());
        }
    }
    flat
}

/// The places of `keys` in their order; equal ones stay as they are.
fn sorted_places(keys: &[Value]) -> Result<Vec<usize>, Fault> {
    // Before sorting, whose comparisons have no way to fail.
    for pair in keys.windows(2) {
        if let [left, right] = pair {
            order_of(left, right)?;
        }
    }
    if let Some(first) = keys.first() {
        order_of(first, first)?;
    }
    let mut places: Vec<usize> = (0..keys.len()).collect();
    places.sort_by(|left, right| {
        let pair = keys.get(*left).zip(keys.get(*right));
        let order = pair.and_then(|(left, right)| order(left, right).ok().flatten());
        order.unwrap_or(Ordering::Equal)
    });
    Ok(places)
}

pub(super) fn sort(values: &[Value]) -> Result<Value, Fault> {
    let elements = one(values)?;
    let places = sorted_places(elements)?.into_iter();
    list(
        places
            .filter_map(|place| elements.get(place).cloned())
            .collect(),
    )
}

pub(super) fn sort_by(values: &[Value]) -> Result<Value, Fault> {
    let (elements, keys) = two(values)?;
    let places = sorted_places(keys)?.into_iter();
    list(
        places
            .filter_map(|place| elements.get(place).cloned())
            .collect(),
    )
}

pub(super) fn range(values: &[Value]) -> Result<Value, Fault> {
    let [Value::Int(end)] = values else {
        return Err(Fault::overload());
    };
    // Before the list is made: upstream makes any list, and meets its limit of costs afterwards.
    if *end > 20_000 {
        return Err(Fault::unsupported("a list this long"));
    }
    list((0..*end).map(Value::Int).collect())
}

pub(super) fn reverse(values: &[Value]) -> Result<Value, Fault> {
    list(one(values)?.iter().rev().cloned().collect())
}

pub(super) fn distinct(values: &[Value]) -> Result<Value, Fault> {
    let elements = one(values)?;
    // Each is compared with all that were found: half a million comparisons at the most.
    if elements.len() > 1_000 {
        return Err(Fault::unsupported("distinct() of more than 1000 elements"));
    }
    let mut found: Vec<Value> = Vec::new();
    for element in elements {
        if !contains(&found, element)? {
            found.push(element.clone());
        }
    }
    list(found)
}

pub(super) fn first(values: &[Value]) -> Result<Value, Fault> {
    Ok(Value::Optional(one(values)?.first().cloned().map(Arc::new)))
}

pub(super) fn last(values: &[Value]) -> Result<Value, Fault> {
    Ok(Value::Optional(one(values)?.last().cloned().map(Arc::new)))
}

fn has_all(list: &[Value], wanted: &[Value]) -> Result<bool, Fault> {
    for value in wanted {
        if !contains(list, value)? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn set_contains(values: &[Value]) -> Result<Value, Fault> {
    let (list, wanted) = bounded_pair(values)?;
    has_all(list, wanted).map(Value::Bool)
}

pub(super) fn set_equivalent(values: &[Value]) -> Result<Value, Fault> {
    let (left, right) = bounded_pair(values)?;
    Ok(Value::Bool(has_all(left, right)? && has_all(right, left)?))
}

pub(super) fn set_intersects(values: &[Value]) -> Result<Value, Fault> {
    let (left, right) = bounded_pair(values)?;
    for value in left {
        if contains(right, value)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// Two lists that can be compared with each other, element by element, in no time.
fn bounded_pair(values: &[Value]) -> Result<(&[Value], &[Value]), Fault> {
    let (left, right) = two(values)?;
    if left.len().saturating_mul(right.len()) > 250_000 {
        return Err(Fault::unsupported("sets this large"));
    }
    Ok((left, right))
}
