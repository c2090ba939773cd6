//! Constraints between the devices of a claim: `matchAttribute` and `distinctAttribute`.

use std::cmp::Ordering;

use super::completeness::Unknown;
use crate::expression::Version;
use crate::model::{AttributeValue, ConstraintRule, Device, DeviceConstraint};
use crate::semantics::Semantics;

/// A constraint, with what the devices have that were chosen so far.
#[derive(Clone, Debug)]
pub(super) struct Constraint<'a> {
    constraint: &'a DeviceConstraint,
    found: Vec<&'a AttributeValue>,
    /// True if versions are compared as such, and values that cannot be compared are an error (since 1.38).
    compares_versions: bool,
}

/// For which request a device is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConstraintRequest<'a> {
    pub(super) request: &'a str,
    pub(super) alternative: Option<&'a str>,
}

impl<'a> Constraint<'a> {
    pub(super) fn new(constraint: &'a DeviceConstraint, semantics: &Semantics) -> Self {
        Self {
            constraint,
            found: Vec::new(),
            compares_versions: semantics.allocates_as_1_38,
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
    ) -> Result<bool, Unknown> {
        if !self.is_about(request) {
            return Ok(true);
        }
        let name = match &self.constraint.rule {
            ConstraintRule::Same(name) | ConstraintRule::Distinct(name) => name,
            // `demands` has answered "unknown" for such a claim before a search begins.
            ConstraintRule::Unknown => return Ok(false),
        };
        // A device without the attribute satisfies no constraint on it, in upstream too.
        let Some(value) = attribute(name, driver, device) else {
            return Ok(false);
        };
        if self.compares_versions && !is_comparable(value) {
            return Err(Unknown::failure(format!(
                "attribute {name} of device {} has a value that constraints cannot compare",
                device.name
            )));
        }
        let goes = match &self.constraint.rule {
            ConstraintRule::Same(_) => {
                let first = self.found.first();
                // The first device sets the value, whatever its type; values are compared from the second on.
                first.is_none_or(|first| is_scalar(value) && self.is_equal(first, value))
            }
            ConstraintRule::Distinct(_) => {
                let is_new = || !self.found.iter().any(|other| self.is_equal(other, value));
                self.found.is_empty() || (is_scalar(value) && is_new())
            }
            ConstraintRule::Unknown => false,
        };
        if goes {
            self.found.push(value);
        }
        Ok(goes)
    }

    fn is_equal(&self, one: &AttributeValue, other: &AttributeValue) -> bool {
        match (one, other) {
            (AttributeValue::Version(one), AttributeValue::Version(other))
                if self.compares_versions =>
            {
                // The part after a `+` does not count.
                let (one, other) = (Version::parse(one), Version::parse(other));
                let order = one.zip(other).map(|(one, other)| one.order(&other));
                order.is_some_and(Ordering::is_eq)
            }
            _ => one == other,
        }
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

/// Lists can be compared only behind a gate that is off by default up to 1.38.
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

/// True if constraints of 1.38 compare the value: no list, and no version that is not valid.
fn is_comparable(value: &AttributeValue) -> bool {
    let is_invalid =
        matches!(value, AttributeValue::Version(text) if Version::parse(text).is_none());
    is_scalar(value) && !is_invalid
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
