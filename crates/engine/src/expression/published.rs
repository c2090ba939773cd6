//! Attributes and capacities of a device, as values of expressions.

use super::error::{ExpressionError, Fault};
use super::evaluate::Evaluation;
use super::parser::parse;
use super::syntax::{Access, Attribute, Catalogue, Expr};
use super::value::{Map, Outcome, Quantity, Value, Version};
use crate::model::{AttributeValue, Device, DriverName};
use litemap::LiteMap;
use std::sync::Arc;

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

/// An expression that says of any device whether it is selected.
///
/// Compiled once, then evaluated for as many devices as there are.
///
/// Upstream: `CompilationResult`.
#[derive(Clone, Debug)]
pub struct DeviceExpression {
    root: Arc<Expr>,
}

impl DeviceExpression {
    /// Reads an expression. Types are not checked: an API server has done that with what it stores, and what is wrong
    /// otherwise fails when it is evaluated.
    ///
    /// # Errors
    ///
    /// Never [`ExpressionError::Runtime`].
    ///
    /// Upstream: `CompileCELExpression`.
    pub fn compile(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > ExpressionError::MAXIMUM_LENGTH {
            return Err(ExpressionError::TooLong { bytes: text.len() });
        }
        let parsed = parse(text).map_err(|wrong| wrong.describe(text))?;
        Ok(Self {
            root: Arc::new(parsed),
        })
    }

    /// Returns whether the expression selects `device`.
    ///
    /// `driver` is the domain of names that have none.
    ///
    /// # Errors
    ///
    /// [`ExpressionError::Runtime`] where upstream fails, too. [`ExpressionError::Unsupported`] where it
    /// is not known here what upstream would say.
    ///
    /// Upstream: `DeviceMatches`.
    pub fn matches(&self, driver: &DriverName, device: &Device) -> Result<bool, ExpressionError> {
        self.verdict(driver, Some(device))
    }

    /// Returns whether the expression selects a device of `driver` that no driver publishes: nothing
    /// else is known of it. `false && unknown` is false, and `true || unknown` is true.
    ///
    /// # Errors
    ///
    /// [`ExpressionError::Unpublished`] where that depends on what is not known, and as
    /// [`DeviceExpression::matches`].
    ///
    /// Upstream: unknown values of cel-go, which the allocator has no use for.
    pub fn matches_unpublished(&self, driver: &DriverName) -> Result<bool, ExpressionError> {
        self.verdict(driver, None)
    }

    fn verdict(
        &self,
        driver: &DriverName,
        device: Option<&Device>,
    ) -> Result<bool, ExpressionError> {
        let verdict = Evaluation::new(driver, device).value(&self.root)?;
        let Value::Bool(selected) = verdict else {
            let detail = "the result of the expression is no bool".to_owned();
            return Err(ExpressionError::Runtime { detail });
        };
        Ok(selected)
    }
}

/// An attribute that has exactly one value: `uuid=GPU-18db…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeCondition {
    name: String,
    value: String,
}

impl AttributeCondition {
    /// Condition that an attribute has exactly this value.
    pub fn is(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
        }
    }

    /// True if `device` meets it; without a domain, the attribute of any domain counts. A device that has no such
    /// attribute does not.
    ///
    /// # Errors
    ///
    /// A value of a type that is unknown.
    pub fn holds(&self, driver: &DriverName, device: &Device) -> Result<bool, ExpressionError> {
        let mut failure = None;
        for (name, value) in &device.attributes {
            if self.has_name(driver, name) {
                match self.has_value(value) {
                    Some(true) => return Ok(true),
                    Some(false) => {}
                    // An attribute of this name in another domain may have the value.
                    None => {
                        failure = Some(ExpressionError::Runtime {
                            detail: format!("its {name} cannot be compared with {}", self.value),
                        });
                    }
                }
            }
        }
        failure.map_or(Ok(false), Err)
    }

    fn has_name(&self, driver: &DriverName, name: &str) -> bool {
        is_named(name, &self.name, driver)
    }

    /// True if the value is the wanted one, or a list that has it; `None` for a value of an unknown type.
    fn has_value(&self, value: &AttributeValue) -> Option<bool> {
        fn has<T: ToString>(values: &[T], wanted: &str) -> bool {
            values.iter().any(|value| value.to_string() == wanted)
        }
        let wanted = self.value.as_str();
        match value {
            AttributeValue::Int(number) => Some(number.to_string() == wanted),
            AttributeValue::Bool(value) => Some(value.to_string() == wanted),
            AttributeValue::String(text) | AttributeValue::Version(text) => {
                Some(text.as_ref() == wanted)
            }
            AttributeValue::Ints(numbers) => Some(has(numbers, wanted)),
            AttributeValue::Bools(values) => Some(has(values, wanted)),
            AttributeValue::Strings(texts) | AttributeValue::Versions(texts) => {
                Some(has(texts, wanted))
            }
            AttributeValue::Unknown => None,
        }
    }
}

/// True if the published `name` is the `wanted` one; without a domain, that of any domain is.
fn is_named(name: &str, wanted: &str, driver: &DriverName) -> bool {
    let (domain, id) = name.split_once('/').unwrap_or((driver.as_str(), name));
    match wanted.split_once('/') {
        Some((wanted, of)) => wanted == domain && of == id,
        None => wanted == id,
    }
}

/// A quantity of Kubernetes, such as `90`, `0.5` or `40Gi`, to be compared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(i128);

impl Amount {
    /// Reads a quantity; nothing if it is none, has an exponent, or is too large to be exact.
    pub fn parse(text: &str) -> Option<Self> {
        let quantity = Quantity::parse(text).ok().flatten()?;
        Some(Self(quantity.nanos))
    }

    /// The attributes and capacities called `name` of a device of `driver`; without a domain, those of any domain.
    /// Nothing for a value that is no quantity.
    pub fn published(driver: &DriverName, device: &Device, name: &str) -> Vec<Option<Self>> {
        let is_wanted = |published: &Arc<str>| is_named(published, name, driver);
        let attributes = device.attributes.iter();
        let attributes = attributes
            .filter(|(published, _)| is_wanted(published))
            .map(|(_, value)| match value {
                AttributeValue::Int(number) => Self::parse(&number.to_string()),
                AttributeValue::String(text) => Self::parse(text),
                AttributeValue::Bool(_)
                | AttributeValue::Version(_)
                | AttributeValue::Ints(_)
                | AttributeValue::Bools(_)
                | AttributeValue::Strings(_)
                | AttributeValue::Versions(_)
                | AttributeValue::Unknown => None,
            });
        let capacities = device.capacity.iter();
        let capacities = capacities
            .filter(|(published, _)| is_wanted(published))
            .map(|(_, written)| Self::parse(written));
        attributes.chain(capacities).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_has_one_value_whatever_its_type() {
        let attributes = [
            ("uuid", AttributeValue::String("GPU-1".into())),
            ("slot", AttributeValue::Int(3)),
            (
                "a.example.com/macs",
                AttributeValue::Strings(vec!["x".into()]),
            ),
            ("odd", AttributeValue::Unknown),
        ];
        let device = Device {
            name: "gpu-0".into(),
            attributes: attributes
                .map(|(name, value)| (name.into(), value))
                .into_iter()
                .collect(),
            ..Device::default()
        };
        for (name, value, verdict) in [
            ("uuid", "GPU-1", Some(true)),
            ("uuid", "GPU", Some(false)),
            ("gpu.example.com/uuid", "GPU-1", Some(true)),
            ("a.example.com/uuid", "GPU-1", Some(false)),
            ("slot", "3", Some(true)),
            ("slot", "x", Some(false)),
            ("macs", "x", Some(true)),
            ("macs", "y", Some(false)),
            ("odd", "1", None),
            ("absent", "1", Some(false)),
        ] {
            let condition = AttributeCondition::is(name, value);
            let found = condition.holds(&"gpu.example.com".into(), &device);
            assert_eq!(found.ok(), verdict, "{name}={value}");
        }
    }
}
