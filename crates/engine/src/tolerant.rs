//! Claims and templates, not allocated yet, that tolerate the taints of a device.
//!
//! Takes claims that hold nothing, templates of claims that are still to come, and the taints that keep new pods off
//! a device, and names those that put up with all of them. What they ask for has to fit the device; where that cannot
//! be said, it does.
//!
//! Upstream: `taintTolerated` of the allocator in `k8s.io/dynamic-resource-allocation/structured`.

use std::fmt;

use super::expression::DeviceExpression;
use super::tolerate::tolerates;
use crate::model::{
    ClaimSpec, Device, DriverName, NamespacedName, RequestKind, RequestTerms, ResourceClaim,
    Snapshot, Taint, Toleration,
};

/// Claim or template that tolerates the taints of a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TolerantClaim {
    /// A claim that holds nothing now.
    Claim(NamespacedName),
    /// A template, from which every pod that names it gets a claim.
    Template(NamespacedName),
}

impl fmt::Display for TolerantClaim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim(name) => write!(formatter, "claim {name}"),
            Self::Template(name) => write!(formatter, "claim template {name}"),
        }
    }
}

/// Claims and templates that tolerate all of `taints`, and could get a device of `driver`, as far as published.
pub fn tolerant(
    snapshot: &Snapshot,
    taints: &[&Taint],
    driver: &DriverName,
    device: Option<&Device>,
) -> Vec<TolerantClaim> {
    let place = TaintedDevice {
        snapshot,
        taints,
        driver,
        device,
    };
    let claims = idle(snapshot)
        .filter(|(_, spec)| place.takes(spec))
        .map(|(claim, _)| TolerantClaim::Claim(claim.name.clone()));
    let templates = snapshot
        .templates
        .iter()
        .filter(|template| place.takes(&template.spec))
        .map(|template| TolerantClaim::Template(template.name.clone()));
    let mut found: Vec<TolerantClaim> = claims.chain(templates).collect();
    found.sort();
    found
}

/// The claims that hold nothing, with what they ask for.
fn idle(snapshot: &Snapshot) -> impl Iterator<Item = (&ResourceClaim, &ClaimSpec)> {
    let claims = snapshot.claims.iter();
    let idle = claims.filter(|claim| claim.allocation.is_none());
    idle.filter_map(|claim| Some((claim, claim.spec.as_deref()?)))
}

/// A device with its taints.
struct TaintedDevice<'a> {
    snapshot: &'a Snapshot,
    taints: &'a [&'a Taint],
    driver: &'a DriverName,
    device: Option<&'a Device>,
}

impl TaintedDevice<'_> {
    /// True if a claim that asks for this could get the device.
    fn takes(&self, spec: &ClaimSpec) -> bool {
        spec.requests.iter().any(|request| match &request.kind {
            RequestKind::Exactly(terms) => self.fits(terms),
            RequestKind::FirstAvailable(terms) => terms.iter().any(|(_, terms)| self.fits(terms)),
            RequestKind::Unknown => true,
        })
    }

    fn fits(&self, terms: &RequestTerms) -> bool {
        self.is_tolerated(&terms.tolerations) && self.may_be_chosen(terms)
    }

    fn is_tolerated(&self, tolerations: &[Toleration]) -> bool {
        let covers = |taint: &Taint| tolerations.iter().any(|one| tolerates(one, taint));
        self.taints.iter().all(|taint| covers(taint))
    }

    /// Unless one of the class's or the request's expressions says no.
    fn may_be_chosen(&self, terms: &RequestTerms) -> bool {
        let class = self
            .snapshot
            .classes
            .iter()
            .find(|class| class.name == terms.class);
        let of_class = class.into_iter().flat_map(|class| &class.expressions);
        let own = terms.expressions.iter().map(|text| &**text);
        let mut all = of_class.map(String::as_str).chain(own);
        !all.any(|text| self.is_refused_by(text))
    }

    fn is_refused_by(&self, expression: &str) -> bool {
        let Ok(expression) = DeviceExpression::stored(expression) else {
            return false;
        };
        let verdict = match self.device {
            Some(device) => expression.matches(self.driver, device),
            None => expression.matches_unpublished(self.driver),
        };
        verdict == Ok(false)
    }
}
