//! Conditions on one attribute of a device.

use super::error::ExpressionError;
use crate::model::{AttributeValue, Device, DriverName};

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
        let (domain, id) = name.split_once('/').unwrap_or((driver.as_str(), name));
        match self.name.split_once('/') {
            Some((wanted, of)) => wanted == domain && of == id,
            None => self.name == id,
        }
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
            node: None,
            taints: Vec::new(),
            attributes: attributes
                .map(|(name, value)| (name.into(), value))
                .into_iter()
                .collect(),
            capacity: Default::default(),
            terms: None,
            allow_multiple_allocations: false,
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
