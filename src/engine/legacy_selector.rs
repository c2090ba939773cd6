//! Class and CEL selectors of rules, which only 1.33 and 1.34 have.

use super::expression::{DeviceExpression, ExpressionError};
use crate::model::{Device, DeviceClass, DeviceSelector, DriverName};

/// What a rule asks of a device beside its name; all parts have to agree.
///
/// Upstream: 1.34's `resourceslice/tracker/tracker.go`, `applyPatches`.
#[derive(Debug)]
pub(crate) enum LegacySelector {
    /// The rule names a class that does not exist, and so applies to nothing.
    NoSuchClass,
    /// Expressions of the class and of the rule.
    Expressions(Vec<Result<DeviceExpression, ExpressionError>>),
}

/// What a filter makes of a device.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SelectorMatch {
    Accepted,
    /// Not selected; also when an expression fails for this device, as upstream.
    Rejected,
    /// This plugin cannot evaluate the expression.
    Unknown(String),
}

impl LegacySelector {
    /// What `selector` asks for, or `None` when it is content with names.
    pub(crate) fn of(selector: &DeviceSelector, classes: &[DeviceClass]) -> Option<Self> {
        if selector.device_class.is_none() && selector.expressions.is_empty() {
            return None;
        }
        let mut expressions: Vec<&String> = selector.expressions.iter().collect();
        if let Some(name) = &selector.device_class {
            let Some(class) = classes.iter().find(|class| class.name == *name) else {
                return Some(Self::NoSuchClass);
            };
            expressions.extend(&class.expressions);
        }
        Some(Self::Expressions(
            expressions
                .into_iter()
                .map(|text| DeviceExpression::stored(text))
                .collect(),
        ))
    }

    pub(crate) fn accepts(&self, driver: &DriverName, device: &Device) -> SelectorMatch {
        let expressions = match self {
            Self::NoSuchClass => return SelectorMatch::Rejected,
            Self::Expressions(expressions) => expressions,
        };
        let mut unknown = None;
        for expression in expressions {
            let verdict = match expression {
                Ok(expression) => expression.matches(driver, device),
                Err(error) => Err(error.clone()),
            };
            match verdict {
                Ok(true) => {}
                // One part that refuses decides, whatever cannot be said of the others.
                Ok(false) => return SelectorMatch::Rejected,
                Err(error) if error.is_of_the_device() => return SelectorMatch::Rejected,
                Err(error) => unknown = unknown.or_else(|| Some(error.to_string())),
            }
        }
        unknown.map_or(SelectorMatch::Accepted, SelectorMatch::Unknown)
    }
}
