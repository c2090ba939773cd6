//! Signatures of functions.

use super::conversions as c;
use super::kubernetes as k;
use super::lists as l;
use super::numbers as n;
use super::optionals as o;
use super::printed as p;
use super::texts as t;
use super::times as d;
use crate::engine::expression::error::Fault;
use crate::engine::expression::value::Value;

/// What a function does with values, the target first.
pub(crate) type Function = fn(&[Value]) -> Result<Value, Fault>;

/// A way to call a function. Where an argument's type is not known, the first that fits decides it, so
/// that the order is upstream's.
#[derive(Clone, Copy)]
pub(crate) struct Overload {
    /// Types of target and arguments, as [`Type::read`](super::super::types::Type::read) reads them.
    pub(crate) takes: &'static str,
    pub(crate) gives: &'static str,
    pub(crate) function: Function,
}

/// The ways to call `name`, with a target or without.
pub(crate) fn overloads(name: &str, with_target: WithTarget) -> Vec<Overload> {
    let rows = TABLE
        .iter()
        .filter(|row| row.name == name && row.form == with_target);
    let overloads = rows.flat_map(|row| {
        row.types.split(' ').filter_map(|types| {
            let (takes, gives) = types.split_once('>')?;
            Some(Overload {
                takes,
                gives,
                function: row.function,
            })
        })
    });
    overloads.collect()
}

/// Whether a call has a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithTarget {
    Yes,
    No,
}

struct Row {
    name: &'static str,
    form: WithTarget,
    types: &'static str,
    function: Function,
}

const fn plain(name: &'static str, types: &'static str, function: Function) -> Row {
    Row {
        name,
        form: WithTarget::No,
        types,
        function,
    }
}

const fn method(name: &'static str, types: &'static str, function: Function) -> Row {
    Row {
        name,
        form: WithTarget::Yes,
        types,
        function,
    }
}

const ORDERED: &str = "bb>b ii>b id>b iu>b uu>b ud>b ui>b dd>b di>b du>b ss>b yy>b TT>b DD>b";
const COMPARABLE: &str = "Li>b Lu>b Ld>b Lb>b LD>b LT>b Ls>b Ly>b";
const EXTREME: &str = "Li>i Lu>u Ld>d Lb>b LD>D LT>T Ls>s Ly>y";
const SORT: &str = "Li>Li Lu>Lu Ld>Ld Lb>Lb LD>LD LT>LT Ls>Ls Ly>Ly";
const SORT_BY: &str = "LALi>LA LALu>LA LALd>LA LALb>LA LALD>LA LALT>LA LALs>LA LALy>LA";
const SIZE: &str = "y>i LA>i MAB>i s>i";
const OPTIONAL_INDEX: &str = "LAi>OA OLAi>OA MABA>OB OMABA>OB";

const TABLE: &[Row] = &[
    plain("_==_", "AA>b", n::equal),
    plain("_!=_", "AA>b", n::not_equal),
    plain("_<_", ORDERED, n::less),
    plain("_<=_", ORDERED, n::less_or_equal),
    plain("_>_", ORDERED, n::greater),
    plain("_>=_", ORDERED, n::greater_or_equal),
    plain(
        "_+_",
        "yy>y dd>d DD>D DT>T TD>T ii>i LALA>LA ss>s uu>u",
        n::add,
    ),
    plain("_-_", "dd>d DD>D ii>i TD>T TT>D uu>u", n::subtract),
    plain("_*_", "dd>d ii>i uu>u", n::multiply),
    plain("_/_", "dd>d ii>i uu>u", n::divide),
    plain("_%_", "ii>i uu>u", n::remainder),
    plain("-_", "d>d i>i", n::negate),
    plain("!_", "b>b", n::not),
    plain("@in", "ALA>b AMAB>b", l::member),
    plain("_[_]", "LAi>A MABA>B OLAi>OA OMABA>OB", o::index),
    plain("_[?_]", OPTIONAL_INDEX, o::optional_index),
    plain("size", SIZE, l::size),
    method("size", SIZE, l::size),
    plain("bool", "b>b s>b", c::bool),
    plain("bytes", "y>y s>y", c::bytes),
    plain("double", "d>d i>d s>d u>d", c::double),
    plain("duration", "D>D i>D s>D", c::duration),
    plain("int", "i>i d>i D>i s>i T>i u>i", c::int),
    plain(
        "string",
        "s>s b>s y>s d>s D>s i>s T>s u>s I>s C>s",
        c::string,
    ),
    plain("timestamp", "T>T i>T s>T", c::timestamp),
    plain("uint", "u>u d>u i>u s>u", c::uint),
    plain("dyn", "A>*", c::dynamic),
    plain("type", "A>K", c::kind),
    method("contains", "ss>b", t::contains),
    method("endsWith", "ss>b", t::ends_with),
    method("startsWith", "ss>b", t::starts_with),
    method("matches", "ss>b", t::matches),
    plain("matches", "ss>b", t::matches),
    method("find", "ss>s", t::find),
    method("findAll", "ss>Ls ssi>Ls", t::find_all),
    method("charAt", "si>s", t::char_at),
    method("indexOf", "ss>i ssi>i LAA>i", l::index_of),
    method("lastIndexOf", "ss>i ssi>i LAA>i", l::last_index_of),
    method("join", "Ls>s Lss>s", t::join),
    method("lowerAscii", "s>s", t::lower),
    method("upperAscii", "s>s", t::upper),
    method("replace", "sss>s sssi>s", t::replace),
    method("split", "ss>Ls ssi>Ls", t::split),
    method("substring", "si>s sii>s", t::substring),
    method("trim", "s>s", t::trim),
    plain("strings.quote", "s>s", t::quote),
    method("format", "sL*>s", p::format),
    method("isSorted", COMPARABLE, l::is_sorted),
    method("sum", "Li>i Lu>u Ld>d LD>D", l::sum),
    method("max", EXTREME, l::max),
    method("min", EXTREME, l::min),
    method("includes", "**>b", l::includes),
    method("slice", "LAii>LA", l::slice),
    method("flatten", "LLA>LA L*i>L*", l::flatten),
    method("sort", SORT, l::sort),
    method("@sortByAssociatedKeys", SORT_BY, l::sort_by),
    plain("lists.range", "i>Li", l::range),
    method("reverse", "LA>LA", l::reverse),
    method("distinct", "LA>LA", l::distinct),
    method("first", "LA>OA", l::first),
    method("last", "LA>OA", l::last),
    plain("sets.contains", "LALA>b", l::set_contains),
    plain("sets.equivalent", "LALA>b", l::set_equivalent),
    plain("sets.intersects", "LALA>b", l::set_intersects),
    plain("optional.of", "A>OA", o::of),
    plain("optional.ofNonZeroValue", "A>OA", o::of_non_zero),
    plain("optional.none", ">OA", o::none),
    plain("optional.unwrap", "LOA>LA", o::unwrap),
    method("unwrapOpt", "LOA>LA", o::unwrap),
    method("value", "OA>A", o::value),
    method("hasValue", "OA>b", o::has_value),
    method("or", "OAOA>OA", o::or),
    method("orValue", "OAA>A", o::or_value),
    plain("quantity", "s>Q", k::quantity),
    plain("isQuantity", "s>b", k::is_quantity),
    // No method, unlike the functions of quantities after it: `q.sign()` does not compile upstream.
    plain("sign", "Q>i", k::sign),
    method("isGreaterThan", "QQ>b SS>b", k::is_greater),
    method("isLessThan", "QQ>b SS>b", k::is_less),
    method("compareTo", "QQ>i SS>i", k::compare),
    method("asApproximateFloat", "Q>d", k::approximate),
    method("asInteger", "Q>i", k::whole),
    method("isInteger", "Q>b", k::is_whole),
    method("add", "QQ>Q Qi>Q", k::add),
    method("sub", "QQ>Q Qi>Q", k::subtract),
    plain("semver", "s>S sb>S", k::semver),
    plain("isSemver", "s>b sb>b", k::is_semver),
    method("major", "S>i", k::major),
    method("minor", "S>i", k::minor),
    method("patch", "S>i", k::patch),
    plain("url", "s>U", k::url),
    plain("isURL", "s>b", k::is_url),
    method("getScheme", "U>s", k::scheme),
    method("getHost", "U>s", k::host),
    method("getHostname", "U>s", k::hostname),
    method("getPort", "U>s", k::port),
    method("getEscapedPath", "U>s", k::path),
    method("getQuery", "U>MsLs", k::query),
    plain("ip", "s>I", k::ip),
    plain("isIP", "s>b", k::is_ip),
    plain("ip.isCanonical", "s>b", k::is_canonical),
    method("family", "I>i", k::family),
    method("isUnspecified", "I>b", k::is_unspecified),
    method("isLoopback", "I>b", k::is_loopback),
    method("isLinkLocalMulticast", "I>b", k::is_link_local_multicast),
    method("isLinkLocalUnicast", "I>b", k::is_link_local_unicast),
    method("isGlobalUnicast", "I>b", k::is_global_unicast),
    plain("cidr", "s>C", k::cidr),
    plain("isCIDR", "s>b", k::is_cidr),
    method("containsIP", "Cs>b CI>b", k::contains_ip),
    method("containsCIDR", "Cs>b CC>b", k::contains_cidr),
    method("ip", "C>I", k::ip_of),
    method("prefixLength", "C>i", k::prefix_length),
    method("masked", "C>C", k::masked),
    plain("format.named", "s>OF", k::named),
    method("validate", "Fs>OLs", k::validate),
    method("getFullYear", "T>i Ts>i", d::year),
    method("getMonth", "T>i Ts>i", d::month),
    method("getDayOfYear", "T>i Ts>i", d::day_of_year),
    method("getDayOfMonth", "T>i Ts>i", d::day_of_month),
    method("getDate", "T>i Ts>i", d::date),
    method("getDayOfWeek", "T>i Ts>i", d::day_of_week),
    method("getHours", "T>i Ts>i D>i", d::hours),
    method("getMinutes", "T>i Ts>i D>i", d::minutes),
    method("getSeconds", "T>i Ts>i D>i", d::seconds),
    method("getMilliseconds", "T>i Ts>i D>i", d::milliseconds),
];
