//! Which devices does an expression select?

use std::collections::HashMap;

use cel_interpreter::Value;
use cel_interpreter::parser::Parser;

use super::functions::FUNCTIONS;
use super::rewriter::{Catalogue, Rewritten};
use super::{ExpressionError, pattern, rewriter, text, values};
use crate::model::{AttributeValue, Device, DriverName};

/// An expression that says of any device whether it is selected.
///
/// Compiled once, then evaluated for as many devices as there are.
///
/// Upstream: `CompilationResult`.
#[derive(Clone, Debug)]
pub struct DeviceExpression {
    rewritten: Rewritten,
}

impl DeviceExpression {
    /// Compiles an expression that an API server has accepted.
    ///
    /// # Errors
    ///
    /// Never [`ExpressionError::Runtime`].
    ///
    /// Upstream: `CompileCELExpression` with stored expressions.
    pub fn compile(text: &str) -> Result<Self, ExpressionError> {
        text::check(text)?;
        let parsed = Parser::default()
            .enable_optional_syntax(true)
            .parse(text)
            .map_err(|errors| {
                let first = errors.errors.into_iter().next();
                ExpressionError::compile(first.map_or_else(String::new, |error| error.msg))
            })?;
        let rewritten = rewriter::rewrite(&parsed)?;
        if rewritten.matches_patterns && !text.split_whitespace().all(pattern::is_printable) {
            return Err(ExpressionError::unsupported(
                "patterns beside texts that are not ASCII",
            ));
        }
        Ok(Self { rewritten })
    }

    /// Returns whether the expression selects `device`.
    ///
    /// `driver` is the domain of names that have none.
    ///
    /// # Errors
    ///
    /// [`ExpressionError::Runtime`] where upstream fails, too: a control plane of 1.33 or 1.34 then
    /// takes the device as not selected by a rule. [`ExpressionError::Unsupported`] where it is not
    /// known here what upstream would say.
    ///
    /// Upstream: `DeviceMatches`.
    pub fn matches(&self, driver: &DriverName, device: &Device) -> Result<bool, ExpressionError> {
        if self.rewritten.matches_patterns && !pattern::is_printable(driver.as_str()) {
            return Err(ExpressionError::unsupported(format!(
                "the driver name {driver}"
            )));
        }
        let mut variables = FUNCTIONS.new_inner_scope();
        variables.add_variable_from_value("driver", driver.as_str());
        variables.add_variable_from_value(
            "allowMultipleAllocations",
            device.allow_multiple_allocations,
        );
        for (catalogue, domain) in &self.rewritten.domains {
            let values = self.values_of(*catalogue, domain, driver, device)?;
            variables.add_variable_from_value(catalogue.presence(domain), !values.is_empty());
            variables.add_variable_from_value(catalogue.variable(domain), values);
        }
        let verdict = variables.resolve(&self.rewritten.root)?;
        if let Value::Bool(selected) = verdict {
            return Ok(selected);
        }
        Err(ExpressionError::runtime(format!(
            "CEL result of type {} could not be converted to bool",
            verdict.type_of()
        )))
    }

    /// Returns what `device` has in `domain`, by identifier.
    ///
    /// The same name with and without the driver's domain is refused: upstream takes one of the two
    /// values at random.
    fn values_of(
        &self,
        catalogue: Catalogue,
        domain: &str,
        driver: &DriverName,
        device: &Device,
    ) -> Result<HashMap<String, Value>, ExpressionError> {
        let names: Vec<_> = match catalogue {
            Catalogue::Attributes => device.attributes.keys().collect(),
            Catalogue::Capacity => device.capacity.keys().collect(),
        };
        let mut found = HashMap::new();
        for name in names {
            let (of, id) = name.split_once('/').unwrap_or((driver.as_str(), name));
            if of == domain {
                let value = match catalogue {
                    Catalogue::Attributes => device
                        .attributes
                        .get(name)
                        .and_then(|value| self.of_attribute(value)),
                    Catalogue::Capacity => device
                        .capacity
                        .get(name)
                        .and_then(|written| values::quantity(written))
                        .as_ref()
                        .and_then(values::value),
                };
                let unique = value.filter(|_| !found.contains_key(id));
                let value = unique
                    .ok_or_else(|| ExpressionError::unsupported(format!("the value of {name}")))?;
                found.insert(id.to_owned(), value);
            }
        }
        Ok(found)
    }

    /// Returns the value of an attribute; lists there are only in versions without expressions in rules.
    fn of_attribute(&self, attribute: &AttributeValue) -> Option<Value> {
        match attribute {
            AttributeValue::Int(number) => Some(Value::Int(*number)),
            AttributeValue::Bool(value) => Some(Value::Bool(*value)),
            AttributeValue::String(text) => {
                let plain = !self.rewritten.matches_patterns || pattern::is_printable(text);
                plain.then(|| text.as_ref().into())
            }
            AttributeValue::Version(text) => values::version(text).as_ref().and_then(values::value),
            AttributeValue::Ints(_)
            | AttributeValue::Bools(_)
            | AttributeValue::Strings(_)
            | AttributeValue::Versions(_)
            | AttributeValue::Unknown => None,
        }
    }
}
