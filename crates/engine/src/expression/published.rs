//! Attributes and capacities of a device, as values of expressions.

use std::sync::Arc;

use litemap::LiteMap;

use super::error::Fault;
use super::evaluate::Evaluation;
use super::quantity::Quantity;
use super::tree::{Access, Attribute, Catalogue};
use super::value::{Map, Outcome, Value};
use super::version::Version;
use crate::model::AttributeValue;

impl Evaluation<'_> {
    #[inline(never)]
    pub(super) fn attribute(&self, wanted: &Attribute) -> Outcome {
        let device = self.device()?;
        let own = *wanted.domain == *self.driver.as_str();
        let found = match wanted.catalogue {
            Catalogue::Attributes => found(&device.attributes, wanted, own)?.map(of_attribute),
            Catalogue::Capacity => found(&device.capacity, wanted, own)?.map(of_capacity),
        };
        // Its existence does not depend on its value, but a value that cannot be read may be one that upstream refuses
        // as a whole.
        let found = match found {
            Some(Some(value)) => Some(value),
            Some(None) => return Err(unreadable(&wanted.name)),
            None => None,
        };
        match (wanted.access, found) {
            (Access::Value, Some(value)) => Ok(value),
            (Access::Value, None) => Err(Fault::runtime(format!("no such key: {}", wanted.id))),
            (Access::Optional, found) => Ok(Value::Optional(found.map(Arc::new))),
            (Access::Presence, found) => Ok(found.is_some().into()),
        }
    }

    /// Everything in one domain, by identifier.
    pub(super) fn domain(&self, catalogue: Catalogue, domain: &str) -> Outcome {
        let mut map = Map::default();
        for (name, value) in self.all(catalogue)? {
            let (of, id) = name.split_once('/').unwrap_or((self.driver.as_str(), name));
            if of == domain {
                let key = Value::Text(id.into());
                // With the driver's domain and without it: which of the two wins is left to chance upstream.
                if map.find(&key).is_some() {
                    return Err(unreadable(name));
                }
                map.entries
                    .push((key, value.ok_or_else(|| unreadable(name))?));
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }

    pub(super) fn domains(&self, catalogue: Catalogue) -> Outcome {
        let driver = self.driver.as_str();
        let names = self.all(catalogue)?.into_iter().map(|(name, _)| name);
        let mut domains: Vec<&str> = names
            .map(|name| name.split_once('/').map_or(driver, |(domain, _)| domain))
            .collect();
        domains.sort_unstable();
        domains.dedup();
        let entries = domains.into_iter().map(|domain| {
            let values = self.domain(catalogue, domain)?;
            Ok((Value::Text(domain.into()), values))
        });
        Ok(Value::Map(Arc::new(Map {
            entries: entries.collect::<Result<_, Fault>>()?,
            of_domains: true,
        })))
    }

    fn all(&self, catalogue: Catalogue) -> Result<Vec<(&str, Option<Value>)>, Fault> {
        let device = self.device()?;
        match catalogue {
            Catalogue::Attributes => {
                let all = device.attributes.iter();
                Ok(all
                    .map(|(name, value)| (&**name, of_attribute(value)))
                    .collect())
            }
            Catalogue::Capacity => {
                let all = device.capacity.iter();
                Ok(all
                    .map(|(name, value)| (&**name, of_capacity(value)))
                    .collect())
            }
        }
    }
}

/// The value of that name; of one that is there with and without the driver's domain, upstream
/// takes any.
fn found<'m, T>(
    values: &'m LiteMap<Arc<str>, T>,
    wanted: &Attribute,
    own: bool,
) -> Result<Option<&'m T>, Fault> {
    let full = values.get(wanted.name.as_str());
    let short = own.then(|| values.get(&wanted.id)).flatten();
    match (full, short) {
        (Some(_), Some(_)) => Err(unreadable(&wanted.name)),
        (found, other) => Ok(found.or(other)),
    }
}

fn unreadable(name: &str) -> Fault {
    Fault::unsupported(format!("the value of {name}"))
}

fn of_version(text: &str) -> Option<Value> {
    Version::parse(text).map(|version| Value::Semver(Arc::new(version)))
}

fn of_attribute(attribute: &AttributeValue) -> Option<Value> {
    let list = |values: Vec<Value>| Value::List(values.into());
    match attribute {
        AttributeValue::Int(number) => Some(Value::Int(*number)),
        AttributeValue::Bool(value) => Some(Value::Bool(*value)),
        AttributeValue::String(text) => Some(Value::Text(text.clone())),
        AttributeValue::Version(text) => of_version(text),
        AttributeValue::Ints(numbers) => {
            Some(list(numbers.iter().copied().map(Value::Int).collect()))
        }
        AttributeValue::Bools(values) => {
            Some(list(values.iter().copied().map(Value::Bool).collect()))
        }
        AttributeValue::Strings(texts) => {
            Some(list(texts.iter().cloned().map(Value::Text).collect()))
        }
        AttributeValue::Versions(versions) => {
            let versions = versions.iter().map(|version| of_version(version));
            versions.collect::<Option<_>>().map(list)
        }
        AttributeValue::Unknown => None,
    }
}

fn of_capacity(written: &Arc<str>) -> Option<Value> {
    Quantity::parse(written).ok().flatten().map(Value::Quantity)
}
