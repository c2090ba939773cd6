//! Result types: what happens to every affected claim.

use std::collections::BTreeSet;

use super::available::Available;
use super::completeness::{Range, Unknown};
use super::incomplete_pools::IncompletePool;
use crate::model::ResourceClaim;

/// What could replace the devices that are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The claims whose pods are evicted, by namespace and name.
    pub claims: Vec<ClaimReallocation<'a>>,
    /// What stays allocatable of the same classes; absent where that is not known at all.
    pub available: Option<Available>,
    /// Pools of the drivers of selected devices that the allocator passes over for now.
    pub incomplete_pools: BTreeSet<IncompletePool>,
}

/// What becomes of one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimReallocation<'a> {
    /// The claim.
    pub claim: &'a ResourceClaim,
    /// Whether it could be placed again, with all other allocations kept, or with those of all evicted pods gone.
    pub placeability: Placeability,
    /// What it asks for, each with how many devices could serve it; alternatives one by one.
    pub requests: Vec<RequestCandidates>,
}

/// Whether a claim could be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeability {
    /// On some node.
    Placeable,
    /// On none.
    Unplaceable,
    /// Unknown, for these reasons.
    Unknown(BTreeSet<Unknown>),
}

/// How many devices could serve a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCandidates {
    /// The request, as REQUEST or REQUEST/ALTERNATIVE.
    pub request: String,
    /// How many devices it needs; absent where it wants all of a node.
    pub needs: Option<i64>,
    /// Devices that fit, that no taint keeps from it, and that nobody else has, on nodes on which a pod of the claim can
    /// be scheduled.
    pub devices: Range,
    /// How many such devices there may be on other nodes.
    pub elsewhere: usize,
}
