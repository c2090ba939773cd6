//! Constraints between the devices of a claim: `matchAttribute` and `distinctAttribute`.

use crate::model::{AttributeValue, ConstraintRule, Device, DeviceConstraint};

/// A constraint, with what the devices have that were chosen so far.
#[derive(Clone, Debug)]
pub(super) struct Constraint<'a> {
    constraint: &'a DeviceConstraint,
    found: Vec<&'a AttributeValue>,
}

/// For which request a device is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConstraintRequest<'a> {
    pub(super) request: &'a str,
    pub(super) alternative: Option<&'a str>,
}

impl<'a> Constraint<'a> {
    pub(super) fn new(constraint: &'a DeviceConstraint) -> Self {
        Self {
            constraint,
            found: Vec::new(),
        }
    }

    /// Takes a device of `driver` into account, unless it does not go with the others.
    ///
    /// Upstream: `matchAttributeConstraint.add` and `distinctAttributeConstraint.add`.
    pub(super) fn add(
        &mut self,
        request: ConstraintRequest<'_>,
        driver: &str,
        device: &'a Device,
    ) -> bool {
        if !self.is_about(request) {
            return true;
        }
        let name = match &self.constraint.rule {
            ConstraintRule::Same(name) | ConstraintRule::Distinct(name) => name,
            // `demands` has answered "unknown" for such a claim before a search begins.
            ConstraintRule::Unknown => return false,
        };
        // A device without the attribute satisfies no constraint on it, in upstream too.
        let Some(value) = attribute(name, driver, device) else {
            return false;
        };
        let goes = match &self.constraint.rule {
            ConstraintRule::Same(_) => {
                let first = self.found.first();
                // The first device sets the value, whatever its type; values are compared from the second on.
                first.is_none_or(|first| is_scalar(value) && *first == value)
            }
            ConstraintRule::Distinct(_) => {
                self.found.is_empty() || (is_scalar(value) && !self.found.contains(&value))
            }
            ConstraintRule::Unknown => false,
        };
        if goes {
            self.found.push(value);
        }
        goes
    }

    /// Forgets the device that was added last for the request.
    pub(super) fn remove(&mut self, request: ConstraintRequest<'_>) {
        if self.is_about(request) {
            // Devices are given back in the reverse order of choosing, so that the last value is the one of this
            // device.
            self.found.pop();
        }
    }

    fn is_about(&self, request: ConstraintRequest<'_>) -> bool {
        let requests = &self.constraint.requests;
        // A constraint names a request with all its alternatives, or one alternative as REQUEST/ALTERNATIVE.
        let full = request
            .alternative
            .map(|alternative| format!("{}/{alternative}", request.request));
        requests.is_empty()
            || requests.iter().any(|name| {
                **name == *request.request || full.as_deref().is_some_and(|full| **name == *full)
            })
    }
}

/// Lists can be compared only behind a gate that is off by default up to 1.37.
fn is_scalar(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::Int(_)
        | AttributeValue::Bool(_)
        | AttributeValue::String(_)
        | AttributeValue::Version(_) => true,
        AttributeValue::Ints(_)
        | AttributeValue::Bools(_)
        | AttributeValue::Strings(_)
        | AttributeValue::Versions(_)
        | AttributeValue::Unknown => false,
    }
}

/// The attribute by its full name, or by the short one where the domain is the driver's.
///
/// Upstream: `lookupAttribute`.
fn attribute<'a>(name: &str, driver: &str, device: &'a Device) -> Option<&'a AttributeValue> {
    if let Some(value) = device.attributes.get(name) {
        return Some(value);
    }
    let (domain, short) = name.split_once('/')?;
    device.attributes.get(short).filter(|_| domain == driver)
}
