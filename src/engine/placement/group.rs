//! What do claims have in common that ask for the same?

use super::beyond::Beyond;
use super::candidates::{Fitting, Free};
use super::demand::{Demand, Halt};
use super::sight::Unknown;
use crate::model::ClaimSpec;

/// Claims that ask for the same.
pub(super) struct Group<'a> {
    pub(super) spec: &'a ClaimSpec,
    /// What it asks for that a bound for all claims does not look at.
    pub(super) beyond: Vec<Beyond>,
    pub(super) demands: Result<Vec<Demand<'a>>, Unknown>,
    /// What fits each choice, in the order of the demands.
    pub(super) fitting: Vec<(Fitting<'a>, Free)>,
    /// Whether such a claim could be placed on each node, with nothing given back.
    pub(super) outcomes: Vec<Option<Result<bool, Halt>>>,
}
