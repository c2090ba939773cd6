//! Table of the functions and operators.

use super::{conversions as c, lists as l, numbers as n, quantities as q, texts as t};
use crate::expression::error::Fault;
use crate::expression::value::{Outcome, Value, equal, lenient};

/// A function of values, the target first.
type Function = fn(&[Value]) -> Outcome;

/// A function or an operator; operators have the names that cel-go gives them.
#[derive(Debug)]
pub(crate) struct Overloads {
    /// With a dot before it, a function that is called with a target.
    pub(crate) name: &'static str,
    pub(crate) function: Function,
}

/// Row of the function or operator `name`; absent if there is none.
pub(crate) fn overloads(name: &str) -> Option<&'static Overloads> {
    TABLE.iter().find(|row| row.name == name)
}

const fn row(name: &'static str, function: Function) -> Overloads {
    Overloads { name, function }
}

const TABLE: &[Overloads] = &[
    row("_==_", |v| two(v, equal)),
    row("_!=_", |v| two(v, differs)),
    row("_<_", |v| n::ordered(v, |order| order.is_lt())),
    row("_<=_", |v| n::ordered(v, |order| order.is_le())),
    row("_>_", |v| n::ordered(v, |order| order.is_gt())),
    row("_>=_", |v| n::ordered(v, |order| order.is_ge())),
    row("_+_", n::add),
    row("_-_", n::subtract),
    row("_*_", n::multiply),
    row("_/_", n::divide),
    row("_%_", n::remainder),
    row("-_", n::negate),
    row("!_", n::not),
    row("@in", l::member),
    row("size", l::size),
    row(".size", l::size),
    row("int", c::int),
    row("string", c::string),
    row("dyn", c::dynamic),
    row(".contains", |v| {
        t::test(v, |text, part| text.contains(part))
    }),
    row(".endsWith", |v| {
        t::test(v, |text, part| text.ends_with(part))
    }),
    row(".startsWith", |v| {
        t::test(v, |text, part| text.starts_with(part))
    }),
    row(".matches", t::matches),
    row(".find", t::find),
    row(".lowerAscii", |v| t::map(v, str::to_ascii_lowercase)),
    row(".upperAscii", |v| t::map(v, str::to_ascii_uppercase)),
    row(".trim", |v| t::map(v, |text| text.trim().to_owned())),
    row(".replace", t::replace),
    row(".split", t::split),
    row(".substring", t::substring),
    row(".includes", l::includes),
    row("sets.contains", l::set_contains),
    row("sets.intersects", l::set_intersects),
    row(".value", c::value),
    row(".hasValue", c::has_value),
    // `orValue` is evaluated apart, since its argument may not be needed.
    row(".orValue", |_| Err(Fault::overload())),
    row("quantity", q::quantity),
    // No method, unlike the functions of quantities after it: `q.sign()` does not compile upstream.
    row("sign", q::sign),
    row(".isGreaterThan", |v| {
        q::ordered(v, |order| order.is_gt().into())
    }),
    row(".isLessThan", |v| {
        q::ordered(v, |order| order.is_lt().into())
    }),
    row(".compareTo", |v| {
        q::ordered(v, |order| Value::Int(order as i64))
    }),
    row(".asInteger", q::whole),
    row(".isInteger", q::is_whole),
    row("semver", q::semver),
    row("isSemver", q::is_semver),
    row(".major", |v| q::part(v, 0)),
    row(".minor", |v| q::part(v, 1)),
    row(".patch", |v| q::part(v, 2)),
];

fn two(values: &[Value], test: impl Fn(&Value, &Value) -> Result<bool, Fault>) -> Outcome {
    match values {
        [left, right] => test(left, right).map(Value::Bool),
        _ => Err(Fault::overload()),
    }
}

/// True if the values differ, or if their comparison fails, as upstream.
fn differs(left: &Value, right: &Value) -> Result<bool, Fault> {
    Ok(lenient(equal(left, right))? != Some(true))
}
