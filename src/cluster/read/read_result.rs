//! Data that was read for one report, and warnings about it.

use crate::model::Warning;

/// Facts that answer one question beside those of a reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadResult<T> {
    /// The facts.
    pub facts: T,
    /// Warnings about the decoded objects, which can be used all the same.
    pub warnings: Vec<Warning>,
}
