//! Claims with equal specs, and what is computed once for all of them.

use super::candidate_devices::{FittingDevices, FreeDevices};
use super::completeness::Unknown;
use super::demand::{Demand, SearchStop};
use crate::model::ClaimSpec;

/// Claims that ask for the same.
pub(super) struct ClaimGroup<'a> {
    pub(super) spec: &'a ClaimSpec,
    pub(super) demands: Result<Vec<Demand<'a>>, Unknown>,
    /// Fitting devices of each choice, in the order of the demands.
    pub(super) fitting: Vec<(FittingDevices<'a>, FreeDevices)>,
    /// Search result for such a claim on each node, with nothing given back.
    pub(super) outcomes: Vec<Option<Result<bool, SearchStop>>>,
    /// The nodes of which it is not known that such a claim cannot be placed there with nothing given back, in their order.
    pub(super) open: Vec<usize>,
}
