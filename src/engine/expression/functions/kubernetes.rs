//! Quantities, versions, addresses, URLs and formats.

use std::sync::Arc;

use crate::engine::expression::error::Fault;
use crate::engine::expression::named::Named;
use crate::engine::expression::network::{self, Cidr, Url};
use crate::engine::expression::quantity::{Quantity, Subtract};
use crate::engine::expression::value::{Map, Value, list, text};
use crate::engine::expression::version::Version;

fn one_text(values: &[Value]) -> Result<&str, Fault> {
    match values {
        [Value::Text(text)] => Ok(text),
        _ => Err(Fault::overload()),
    }
}

fn one_quantity(values: &[Value]) -> Result<&Quantity, Fault> {
    match values {
        [Value::Quantity(quantity)] => Ok(quantity),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn quantity(values: &[Value]) -> Result<Value, Fault> {
    let text = one_text(values)?;
    Quantity::parse(text)?
        .map(Value::Quantity)
        .ok_or_else(|| Fault::runtime("quantities must match the regular expression of the API"))
}

pub(super) fn is_quantity(values: &[Value]) -> Result<Value, Fault> {
    Quantity::parse(one_text(values)?).map(|found| Value::Bool(found.is_some()))
}

pub(super) fn sign(values: &[Value]) -> Result<Value, Fault> {
    let sign = one_quantity(values)?.nanos.signum();
    Ok(Value::Int(i64::try_from(sign).unwrap_or_default()))
}

fn order_of(values: &[Value]) -> Result<std::cmp::Ordering, Fault> {
    match values {
        [Value::Quantity(left), Value::Quantity(right)] => Ok(left.nanos.cmp(&right.nanos)),
        [Value::Semver(left), Value::Semver(right)] => Ok(left.order(right)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn is_greater(values: &[Value]) -> Result<Value, Fault> {
    order_of(values).map(|order| Value::Bool(order.is_gt()))
}

pub(super) fn is_less(values: &[Value]) -> Result<Value, Fault> {
    order_of(values).map(|order| Value::Bool(order.is_lt()))
}

pub(super) fn compare(values: &[Value]) -> Result<Value, Fault> {
    order_of(values).map(|order| Value::Int(i64::from(order as i8)))
}

pub(super) fn approximate(values: &[Value]) -> Result<Value, Fault> {
    one_quantity(values)?.approximate().map(Value::Double)
}

pub(super) fn whole(values: &[Value]) -> Result<Value, Fault> {
    let number = one_quantity(values)?.whole()?;
    number
        .map(Value::Int)
        .ok_or_else(|| Fault::runtime("cannot convert value to integer"))
}

pub(super) fn is_whole(values: &[Value]) -> Result<Value, Fault> {
    let number = one_quantity(values)?.whole()?;
    Ok(Value::Bool(number.is_some()))
}

fn combined(values: &[Value], subtract: Subtract) -> Result<Value, Fault> {
    let (left, right) = match values {
        [Value::Quantity(left), Value::Quantity(right)] => (left, *right),
        [Value::Quantity(left), Value::Int(right)] => (left, Quantity::of_whole(*right)),
        _ => return Err(Fault::overload()),
    };
    left.combine(&right, subtract).map(Value::Quantity)
}

pub(super) fn add(values: &[Value]) -> Result<Value, Fault> {
    combined(values, Subtract::No)
}

pub(super) fn subtract(values: &[Value]) -> Result<Value, Fault> {
    combined(values, Subtract::Yes)
}

fn version_of(values: &[Value]) -> Result<Option<Version>, Fault> {
    match values {
        [Value::Text(text)] | [Value::Text(text), Value::Bool(false)] => Ok(Version::parse(text)),
        [Value::Text(text), Value::Bool(true)] => Ok(Version::parse_loosely(text)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn semver(values: &[Value]) -> Result<Value, Fault> {
    let version = version_of(values)?.map(|version| Value::Semver(Arc::new(version)));
    version.ok_or_else(|| Fault::runtime("not a semantic version"))
}

pub(super) fn is_semver(values: &[Value]) -> Result<Value, Fault> {
    version_of(values).map(|version| Value::Bool(version.is_some()))
}

fn part(values: &[Value], place: usize) -> Result<Value, Fault> {
    let [Value::Semver(version)] = values else {
        return Err(Fault::overload());
    };
    let number = version.numbers.get(place).copied().unwrap_or_default();
    let number = i64::try_from(number);
    number
        .map(Value::Int)
        .map_err(|_| Fault::unsupported("a version with such a large number"))
}

pub(super) fn major(values: &[Value]) -> Result<Value, Fault> {
    part(values, 0)
}

pub(super) fn minor(values: &[Value]) -> Result<Value, Fault> {
    part(values, 1)
}

pub(super) fn patch(values: &[Value]) -> Result<Value, Fault> {
    part(values, 2)
}

pub(super) fn url(values: &[Value]) -> Result<Value, Fault> {
    let url = Url::parse(one_text(values)?)?.map(|url| Value::Url(Arc::new(url)));
    url.ok_or_else(|| Fault::runtime("URL parse error during conversion from string"))
}

pub(super) fn is_url(values: &[Value]) -> Result<Value, Fault> {
    Url::parse(one_text(values)?).map(|url| Value::Bool(url.is_some()))
}

fn of_url(values: &[Value], part: impl Fn(&Url) -> &str) -> Result<Value, Fault> {
    match values {
        [Value::Url(url)] => text(part(url)),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn scheme(values: &[Value]) -> Result<Value, Fault> {
    of_url(values, |url| &url.scheme)
}

pub(super) fn host(values: &[Value]) -> Result<Value, Fault> {
    of_url(values, |url| &url.host)
}

pub(super) fn hostname(values: &[Value]) -> Result<Value, Fault> {
    of_url(values, Url::hostname)
}

pub(super) fn port(values: &[Value]) -> Result<Value, Fault> {
    of_url(values, Url::port)
}

pub(super) fn path(values: &[Value]) -> Result<Value, Fault> {
    of_url(values, |url| &url.path)
}

pub(super) fn query(values: &[Value]) -> Result<Value, Fault> {
    let [Value::Url(url)] = values else {
        return Err(Fault::overload());
    };
    let mut map = Map::default();
    for (name, _) in &url.query {
        let key = text(name.as_str())?;
        if map.find(&key).is_none() {
            let of_name = url.query.iter().filter(|(other, _)| other == name);
            let found = of_name.map(|(_, value)| text(value.as_str()));
            let found = list(found.collect::<Result<_, _>>()?)?;
            map.entries.push((key, found));
        }
    }
    Ok(Value::Map(Arc::new(map)))
}

fn wrong_address() -> Fault {
    Fault::runtime("IP Address parse error during conversion from string")
}

fn wrong_network() -> Fault {
    Fault::runtime("network address parse error during conversion from string")
}

pub(super) fn ip(values: &[Value]) -> Result<Value, Fault> {
    network::address(one_text(values)?)
        .map(Value::Ip)
        .ok_or_else(wrong_address)
}

pub(super) fn is_ip(values: &[Value]) -> Result<Value, Fault> {
    Ok(Value::Bool(network::address(one_text(values)?).is_some()))
}

pub(super) fn is_canonical(values: &[Value]) -> Result<Value, Fault> {
    let text = one_text(values)?;
    let address = network::address(text).ok_or_else(wrong_address)?;
    Ok(Value::Bool(address.to_string() == text))
}

fn of_ip(values: &[Value], test: impl Fn(&core::net::IpAddr) -> bool) -> Result<Value, Fault> {
    match values {
        [Value::Ip(address)] => Ok(Value::Bool(test(address))),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn family(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::Ip(address)] => Ok(Value::Int(if address.is_ipv4() { 4 } else { 6 })),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn is_unspecified(values: &[Value]) -> Result<Value, Fault> {
    of_ip(values, core::net::IpAddr::is_unspecified)
}

pub(super) fn is_loopback(values: &[Value]) -> Result<Value, Fault> {
    of_ip(values, core::net::IpAddr::is_loopback)
}

pub(super) fn is_link_local_multicast(values: &[Value]) -> Result<Value, Fault> {
    of_ip(values, network::is_link_local_multicast)
}

pub(super) fn is_link_local_unicast(values: &[Value]) -> Result<Value, Fault> {
    of_ip(values, network::is_link_local)
}

pub(super) fn is_global_unicast(values: &[Value]) -> Result<Value, Fault> {
    of_ip(values, network::is_global_unicast)
}

pub(super) fn cidr(values: &[Value]) -> Result<Value, Fault> {
    Cidr::parse(one_text(values)?)
        .map(Value::Cidr)
        .ok_or_else(wrong_network)
}

pub(super) fn is_cidr(values: &[Value]) -> Result<Value, Fault> {
    Ok(Value::Bool(Cidr::parse(one_text(values)?).is_some()))
}

pub(super) fn contains_ip(values: &[Value]) -> Result<Value, Fault> {
    let (cidr, address) = match values {
        [Value::Cidr(cidr), Value::Ip(address)] => (cidr, *address),
        [Value::Cidr(cidr), Value::Text(text)] => {
            (cidr, network::address(text).ok_or_else(wrong_address)?)
        }
        _ => return Err(Fault::overload()),
    };
    Ok(Value::Bool(cidr.contains(&address)))
}

pub(super) fn contains_cidr(values: &[Value]) -> Result<Value, Fault> {
    let (cidr, other) = match values {
        [Value::Cidr(cidr), Value::Cidr(other)] => (cidr, *other),
        [Value::Cidr(cidr), Value::Text(text)] => {
            (cidr, Cidr::parse(text).ok_or_else(wrong_network)?)
        }
        _ => return Err(Fault::overload()),
    };
    Ok(Value::Bool(
        cidr.bits <= other.bits && cidr.contains(&other.address),
    ))
}

fn one_cidr(values: &[Value]) -> Result<&Cidr, Fault> {
    match values {
        [Value::Cidr(cidr)] => Ok(cidr),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn ip_of(values: &[Value]) -> Result<Value, Fault> {
    one_cidr(values).map(|cidr| Value::Ip(cidr.address))
}

pub(super) fn prefix_length(values: &[Value]) -> Result<Value, Fault> {
    one_cidr(values).map(|cidr| Value::Int(i64::from(cidr.bits)))
}

pub(super) fn masked(values: &[Value]) -> Result<Value, Fault> {
    one_cidr(values).map(|cidr| Value::Cidr(cidr.masked()))
}

pub(super) fn named(values: &[Value]) -> Result<Value, Fault> {
    let format = Named::of(one_text(values)?).map(|named| Arc::new(Value::Format(named)));
    Ok(Value::Optional(format))
}

/// What is wrong with a text; upstream's words about it are not known here.
pub(super) fn validate(values: &[Value]) -> Result<Value, Fault> {
    let [Value::Format(named), Value::Text(text)] = values else {
        return Err(Fault::overload());
    };
    match named.has(text) {
        Some(true) => Ok(Value::Optional(None)),
        Some(false) => Ok(Value::Optional(Some(Arc::new(Value::Untold)))),
        None => Err(Fault::unsupported(format!("the format {named:?}"))),
    }
}
