//! Data that was read for one report, and warnings about it.

use crate::model::Warning;

/// Facts that answer one question beside those of a reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadResult<T> {
    /// The facts.
    pub facts: T,
    /// Oddities of the objects that they were made from, which do not keep them from being used.
    pub warnings: Vec<Warning>,
}
