//! Terms of a claim that the joint bound ignores.

use super::candidate_devices::FittingDevices;
use super::cluster_state::ClusterState;
use crate::model::{ClaimSpec, DeviceAmount, RequestKind, RequestTerms};

/// What a bound over all claims does not look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnmodelledTerm {
    /// Devices have to be alike, or different.
    Constraints,
    /// Devices share counters.
    Counters,
    /// Devices are shared by portions of their capacity.
    Capacity,
    /// It wants all devices of a node.
    AllDevices,
    /// It wants several devices, which have to be on one node.
    SeveralDevices,
}

impl UnmodelledTerm {
    /// The stable word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Constraints => "constraints",
            Self::Counters => "counters",
            Self::Capacity => "capacity",
            Self::AllDevices => "all-devices",
            Self::SeveralDevices => "several-devices",
        }
    }

    /// What is not checked, in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Constraints => "constraints between devices",
            Self::Counters => "counters that partitions share",
            Self::Capacity => "capacity of shared devices",
            Self::AllDevices => "requests for all devices of a node",
            Self::SeveralDevices => "whether one node has all devices that a claim needs",
        }
    }
}

/// What `spec` asks for beyond so many devices of a kind, where the devices in `fitting` are those that
/// serve it.
pub(super) fn unmodelled_terms<'f, 'a: 'f>(
    spec: &ClaimSpec,
    fitting: impl Iterator<Item = &'f FittingDevices<'a>>,
    state: &ClusterState<'a>,
) -> Vec<UnmodelledTerm> {
    let (mut counters, mut capacity) = (false, false);
    let pools = fitting.flat_map(|fitting| &fitting.pools);
    for (place, _) in pools.flat_map(|(_, devices)| devices) {
        let device = state.at(*place).device;
        let terms = device.terms.as_ref();
        counters |= terms.is_some_and(|terms| !terms.consumes.is_empty());
        capacity |= device.allow_multiple_allocations;
    }
    let amounts: Vec<&DeviceAmount> = terms(spec).map(|terms| &terms.amount).collect();
    let is_several =
        |amount: &&DeviceAmount| matches!(amount, DeviceAmount::Exactly(count) if *count > 1);
    let applies = [
        (UnmodelledTerm::Constraints, !spec.constraints.is_empty()),
        (UnmodelledTerm::Counters, counters),
        (UnmodelledTerm::Capacity, capacity),
        (
            UnmodelledTerm::AllDevices,
            amounts.contains(&&DeviceAmount::All),
        ),
        (
            UnmodelledTerm::SeveralDevices,
            spec.requests.len() > 1 || amounts.iter().any(is_several),
        ),
    ];
    applies
        .into_iter()
        .filter_map(|(unmodelled, applies)| applies.then_some(unmodelled))
        .collect()
}

/// What the requests want, alternatives one by one.
fn terms(spec: &ClaimSpec) -> impl Iterator<Item = &RequestTerms> {
    spec.requests
        .iter()
        .flat_map(|request| match &request.kind {
            RequestKind::Exactly(terms) => vec![terms],
            RequestKind::FirstAvailable(all) => all.iter().map(|(_, terms)| terms).collect(),
            RequestKind::Unknown => Vec::new(),
        })
}
