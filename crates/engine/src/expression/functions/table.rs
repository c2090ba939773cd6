//! Signatures of functions.

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
    /// `takes>gives` for each overload, as [`Type::read`](super::super::checker::Type::read) reads them.
    pub(crate) types: &'static str,
    pub(crate) function: Function,
}

/// The overloads of `name`.
pub(crate) fn overloads(name: &str) -> Option<&'static Overloads> {
    TABLE.iter().find(|row| row.name == name)
}

const fn row(name: &'static str, types: &'static str, function: Function) -> Overloads {
    Overloads {
        name,
        types,
        function,
    }
}

/// The functions that upstream calls as soon as their argument is constant: what fails does not compile
/// then.
pub(crate) const FOLDED: &[&str] = &["int", "string"];

const ORDERED: &str = "bb>b ii>b id>b dd>b di>b ss>b";
const SIZE: &str = "LA>i MAB>i s>i";

const TABLE: &[Overloads] = &[
    row("_==_", "AA>b", |v| two(v, equal)),
    row("_!=_", "AA>b", |v| two(v, differs)),
    row("_<_", ORDERED, |v| n::ordered(v, |order| order.is_lt())),
    row("_<=_", ORDERED, |v| n::ordered(v, |order| order.is_le())),
    row("_>_", ORDERED, |v| n::ordered(v, |order| order.is_gt())),
    row("_>=_", ORDERED, |v| n::ordered(v, |order| order.is_ge())),
    row("_+_", "dd>d ii>i LALA>LA ss>s", n::add),
    row("_-_", "dd>d ii>i", n::subtract),
    row("_*_", "dd>d ii>i", n::multiply),
    row("_/_", "dd>d ii>i", n::divide),
    row("_%_", "ii>i uu>u", n::remainder),
    row("-_", "d>d i>i", n::negate),
    row("!_", "b>b", n::not),
    row("@in", "ALA>b AMAB>b", l::member),
    row("size", SIZE, l::size),
    row(".size", SIZE, l::size),
    row("int", "i>i d>i s>i", c::int),
    row("string", "s>s b>s d>s i>s", c::string),
    row("dyn", "A>*", c::dynamic),
    row(".contains", "ss>b", |v| {
        t::test(v, |text, part| text.contains(part))
    }),
    row(".endsWith", "ss>b", |v| {
        t::test(v, |text, part| text.ends_with(part))
    }),
    row(".startsWith", "ss>b", |v| {
        t::test(v, |text, part| text.starts_with(part))
    }),
    row(".matches", "ss>b", t::matches),
    row(".find", "ss>s", t::find),
    row(".lowerAscii", "s>s", |v| t::map(v, str::to_ascii_lowercase)),
    row(".upperAscii", "s>s", |v| t::map(v, str::to_ascii_uppercase)),
    row(".trim", "s>s", |v| t::map(v, |text| text.trim().to_owned())),
    row(".replace", "sss>s sssi>s", t::replace),
    row(".split", "ss>Ls ssi>Ls", t::split),
    row(".substring", "si>s sii>s", t::substring),
    row(".includes", "**>b", l::includes),
    row("sets.contains", "LALA>b", l::set_contains),
    row("sets.intersects", "LALA>b", l::set_intersects),
    row(".value", "OA>A", c::value),
    row(".hasValue", "OA>b", c::has_value),
    // Evaluated apart, since the argument may not be needed.
    row(".orValue", "OAA>A", |_| Err(Fault::overload())),
    row("quantity", "s>Q", q::quantity),
    // No method, unlike the functions of quantities after it: `q.sign()` does not compile upstream.
    row("sign", "Q>i", q::sign),
    row(".isGreaterThan", "QQ>b SS>b", |v| {
        q::ordered(v, |order| order.is_gt().into())
    }),
    row(".isLessThan", "QQ>b SS>b", |v| {
        q::ordered(v, |order| order.is_lt().into())
    }),
    row(".compareTo", "QQ>i SS>i", |v| {
        q::ordered(v, |order| Value::Int(order as i64))
    }),
    row(".asInteger", "Q>i", q::whole),
    row(".isInteger", "Q>b", q::is_whole),
    row("semver", "s>S sb>S", q::semver),
    row("isSemver", "s>b sb>b", q::is_semver),
    row(".major", "S>i", |v| q::part(v, 0)),
    row(".minor", "S>i", |v| q::part(v, 1)),
    row(".patch", "S>i", |v| q::part(v, 2)),
];

fn two(values: &[Value], test: impl Fn(&Value, &Value) -> Result<bool, Fault>) -> Outcome {
    match values {
        [left, right] => test(left, right).map(Value::Bool),
        _ => Err(Fault::overload()),
    }
}

/// Upstream takes values for different whose comparison fails.
fn differs(left: &Value, right: &Value) -> Result<bool, Fault> {
    Ok(lenient(equal(left, right))? != Some(true))
}
