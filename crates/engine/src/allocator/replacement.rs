//! Result types: what happens to every affected claim.

use std::collections::BTreeSet;

use super::available::Available;
use super::completeness::{Range, Unknown};
use super::incomplete_pools::IncompletePool;
use crate::model::ResourceClaim;

/// Devices that could replace those that are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The claims whose pods are evicted, by namespace and name.
    pub claims: Vec<ClaimReallocation<'a>>,
    /// Devices of the same classes that stay allocatable; absent where that is not known at all.
    pub available: Option<Available>,
    /// Pools of the drivers of selected devices that the allocator passes over for now.
    pub incomplete_pools: BTreeSet<IncompletePool>,
}

/// Reallocation of one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimReallocation<'a> {
    /// The claim.
    pub claim: &'a ResourceClaim,
    /// Placement with all other allocations kept, or with those of all evicted pods gone.
    pub placeability: Placeability,
    /// Requests, each with the number of devices that could serve it; alternatives one by one.
    pub requests: Vec<RequestCandidates>,
}

/// Possible placement of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeability {
    /// On some node.
    Placeable,
    /// On none.
    Unplaceable,
    /// Unknown, for these reasons.
    Unknown(BTreeSet<Unknown>),
}

/// Number of devices that could serve a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCandidates {
    /// The request, as REQUEST or REQUEST/ALTERNATIVE.
    pub request: String,
    /// Number of needed devices; absent where it wants all of a node.
    pub needs: Option<i64>,
    /// Devices that fit, that no taint keeps from it, and that no other claim has, on nodes on which a pod of the claim
    /// can be scheduled.
    pub devices: Range,
    /// Number of such devices that there may be on other nodes.
    pub elsewhere: usize,
}
