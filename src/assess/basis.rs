//! What every answer is based on, besides its own subject.

use jiff::Timestamp;

use super::completeness::{CountSubject, ReportCompleteness};
use crate::engine::Semantics;
use crate::model::Reading;

/// What every answer is based on, besides its own subject.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a> {
    /// The snapshot and where it is from.
    pub reading: &'a Reading,
    /// The Kubernetes behaviour that was applied.
    pub semantics: &'a Semantics,
    /// The instant for which the question was answered.
    pub now: Timestamp,
}

impl Basis<'_> {
    /// Whether all claims are known: without them nobody can say which device is in use.
    #[must_use]
    pub fn knows_usage(&self) -> bool {
        ReportCompleteness::new(&self.reading.gaps, self.semantics)
            .is_complete(CountSubject::Allocated)
    }
}
