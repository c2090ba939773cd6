//! Conditions on one attribute or capacity of a device.

use std::cmp::Ordering;
use std::fmt;

use super::error::ExpressionError;
use super::quantity::Quantity;
use super::version::Version;
use crate::model::{AttributeValue, Device, DriverName};

/// A comparison of one attribute or capacity, as people write it: `model=H100`, `memory>=40Gi`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeCondition {
    name: String,
    comparison: Comparison,
    value: String,
}

/// How the value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    AtLeast,
    AtMost,
    More,
    Less,
}

/// Longer ones first.
const COMPARISONS: &[(&str, Comparison)] = &[
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::More),
    ("<", Comparison::Less),
    ("=", Comparison::Equal),
];

impl AttributeCondition {
    /// Reads NAME=VALUE, or with `>=`, `<=`, `>` or `<`; nothing if it is none of them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let at = text.find(['<', '>', '='])?;
        let (name, rest) = text.split_at(at);
        let mut comparisons = COMPARISONS.iter();
        let (sign, comparison) = comparisons.find(|(sign, _)| rest.starts_with(sign))?;
        let value = rest.get(sign.len()..)?;
        let whole = !name.is_empty() && !value.is_empty();
        // Signs of other languages, such as == and !=, are none of these.
        let whole = whole && !name.ends_with('!') && !value.starts_with(['=', '<', '>']);
        whole.then(|| Self {
            name: name.to_owned(),
            comparison: *comparison,
            value: value.to_owned(),
        })
    }

    /// That an attribute has exactly this value.
    #[must_use]
    pub fn is(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            comparison: Comparison::Equal,
            value: value.to_owned(),
        }
    }

    /// The attribute's name, with its domain or without.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value that it has to be; nothing where it has to be more or less.
    #[must_use]
    pub fn exactly(&self) -> Option<&str> {
        (self.comparison == Comparison::Equal).then_some(self.value.as_str())
    }

    /// Whether `device` meets it; without a domain, the attribute of any domain counts. A device that
    /// has no such attribute does not.
    ///
    /// # Errors
    ///
    /// When the values cannot be compared, such as a text by size.
    pub fn holds(&self, driver: &DriverName, device: &Device) -> Result<bool, ExpressionError> {
        let mut failure = None;
        for (name, value) in &device.attributes {
            if self.is_meant(driver, name) {
                match self.compares(value) {
                    Some(true) => return Ok(true),
                    Some(false) => {}
                    // An attribute of this name in another domain may be the one that is meant.
                    None => failure = Some(self.incomparable()),
                }
            }
        }
        for (name, written) in &device.capacity {
            if self.is_meant(driver, name) {
                match self.of_quantities(written) {
                    Some(true) => return Ok(true),
                    Some(false) => {}
                    None => failure = Some(self.no_quantity(written)),
                }
            }
        }
        failure.map_or(Ok(false), Err)
    }

    fn is_meant(&self, driver: &DriverName, name: &str) -> bool {
        let (domain, id) = name.split_once('/').unwrap_or((driver.as_str(), name));
        match self.name.split_once('/') {
            Some((wanted, of)) => wanted == domain && of == id,
            None => self.name == id,
        }
    }

    fn incomparable(&self) -> ExpressionError {
        ExpressionError::Runtime {
            detail: format!("its {} cannot be compared with {}", self.name, self.value),
        }
    }

    fn no_quantity(&self, written: &str) -> ExpressionError {
        let (name, value) = (&self.name, &self.value);
        let is_quantity = |text: &str| Quantity::parse(text).is_ok_and(|found| found.is_some());
        // What it is with the unit of bytes left out, as quantities are written.
        let meant = value.strip_suffix(['B', 'b']);
        let detail = match meant.filter(|meant| is_quantity(meant)) {
            _ if is_quantity(value) => {
                format!("its {name} is {written}, which cannot be compared with {value}")
            }
            Some(meant) => {
                format!("its {name} is {written}, and {value} is not a quantity: use {meant}")
            }
            None => format!("its {name} is {written}, and {value} is not a quantity such as 40Gi"),
        };
        ExpressionError::Runtime { detail }
    }

    fn fits(&self, order: Ordering) -> bool {
        match self.comparison {
            Comparison::Equal => order.is_eq(),
            Comparison::AtLeast => order.is_ge(),
            Comparison::AtMost => order.is_le(),
            Comparison::More => order.is_gt(),
            Comparison::Less => order.is_lt(),
        }
    }

    /// Whether the value is as wanted; nothing if that cannot be said.
    fn compares(&self, value: &AttributeValue) -> Option<bool> {
        match value {
            AttributeValue::Int(number) => {
                let wanted: i64 = self.value.parse().ok()?;
                Some(self.fits(number.cmp(&wanted)))
            }
            AttributeValue::Version(written) => self.of_versions(written),
            AttributeValue::String(text) => self.of_texts(text),
            AttributeValue::Bool(value) => {
                let wanted: bool = self.value.parse().ok()?;
                (self.comparison == Comparison::Equal).then_some(*value == wanted)
            }
            AttributeValue::Ints(numbers) => self.any(numbers, |number| number.to_string()),
            AttributeValue::Bools(values) => self.any(values, |value| value.to_string()),
            AttributeValue::Strings(texts) => self.any(texts, |text| text.to_string()),
            AttributeValue::Versions(versions) => self.any(versions, |text| text.to_string()),
            AttributeValue::Unknown => None,
        }
    }

    /// Whether a list has the value.
    fn any<T>(&self, values: &[T], text: impl Fn(&T) -> String) -> Option<bool> {
        let has = values.iter().any(|value| text(value) == self.value);
        (self.comparison == Comparison::Equal).then_some(has)
    }

    fn of_texts(&self, text: &str) -> Option<bool> {
        if self.comparison == Comparison::Equal {
            return Some(text == self.value);
        }
        // A version that its driver publishes as a text.
        self.of_versions(text)
    }

    fn of_versions(&self, written: &str) -> Option<bool> {
        let wanted = Version::parse_loosely(&self.value)?;
        let version = Version::parse_loosely(written)?;
        Some(self.fits(version.order(&wanted)))
    }

    fn of_quantities(&self, written: &str) -> Option<bool> {
        let wanted = Quantity::parse(&self.value).ok().flatten()?;
        let quantity = Quantity::parse(written).ok().flatten()?;
        Some(self.fits(quantity.nanos.cmp(&wanted.nanos)))
    }
}

impl fmt::Display for AttributeCondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = COMPARISONS
            .iter()
            .find(|(_, comparison)| *comparison == self.comparison);
        let sign = sign.map_or("", |(sign, _)| sign);
        write!(formatter, "{}{sign}{}", self.name, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> Device {
        let attributes = [
            ("model", AttributeValue::String("H100".into())),
            ("index", AttributeValue::Int(3)),
            ("healthy", AttributeValue::Bool(true)),
            ("firmware", AttributeValue::Version("580.9.0".into())),
            (
                "a.example.com/zones",
                AttributeValue::Strings(vec!["x".into()]),
            ),
            ("odd", AttributeValue::Unknown),
        ];
        Device {
            name: "gpu-0".into(),
            node: None,
            taints: Vec::new(),
            attributes: attributes
                .map(|(name, value)| (name.into(), value))
                .into_iter()
                .collect(),
            capacity: [("memory".into(), "80Gi".into())].into_iter().collect(),
            terms: None,
            allow_multiple_allocations: false,
        }
    }

    #[test]
    fn values_are_compared_by_their_type() {
        for (text, verdict) in [
            ("model=H100", Some(true)),
            ("model=H10", Some(false)),
            ("gpu.example.com/model=H100", Some(true)),
            ("a.example.com/model=H100", Some(false)),
            ("model>=H100", None),
            ("index=3", Some(true)),
            ("index>=4", Some(false)),
            ("index=x", None),
            ("healthy=true", Some(true)),
            ("healthy>true", None),
            ("firmware<580.12", Some(true)),
            ("firmware>=580.12.0", Some(false)),
            ("firmware=580.9", Some(true)),
            ("zones=x", Some(true)),
            ("zones=y", Some(false)),
            ("memory>=40Gi", Some(true)),
            ("memory<81920Mi", Some(false)),
            ("memory=81920Mi", Some(true)),
            ("memory>many", None),
            ("odd=1", None),
            ("absent=1", Some(false)),
        ] {
            let condition = AttributeCondition::parse(text).unwrap();
            assert_eq!(condition.to_string(), text);
            let found = condition.holds(&"gpu.example.com".into(), &device());
            assert_eq!(found.ok(), verdict, "{text}");
        }
        for (text, said) in [
            (
                "memory>40GB",
                "its memory is 80Gi, and 40GB is not a quantity: use 40G",
            ),
            (
                "memory>40GiB",
                "its memory is 80Gi, and 40GiB is not a quantity: use 40Gi",
            ),
            (
                "memory>many",
                "its memory is 80Gi, and many is not a quantity such as 40Gi",
            ),
        ] {
            let condition = AttributeCondition::parse(text).unwrap();
            let failure = condition.holds(&"gpu.example.com".into(), &device());
            assert_eq!(failure.unwrap_err().to_string(), said);
        }
        for text in [
            "model", "=x", "model=", "a>", "", "a==b", "a!=b", "a=>1", "a>>1",
        ] {
            assert_eq!(AttributeCondition::parse(text), None, "{text}");
        }
    }
}
