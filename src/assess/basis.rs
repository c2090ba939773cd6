//! Basis of every answer, besides its own subject.

use std::ops::Deref;

use jiff::Timestamp;

use super::availability::Availabilities;
use super::completeness::{CountSubject, ReportCompleteness};
use crate::engine::Semantics;
use crate::model::Reading;

/// Basis of answers about devices, claims and rules. Pods need not have been read, so it has no verdicts on
/// them: [`Basis`] has.
#[derive(Clone, Copy, Debug)]
pub struct DeviceBasis<'a> {
    /// The snapshot and where it is from.
    pub reading: &'a Reading,
    /// The Kubernetes behaviour that was applied.
    pub semantics: &'a Semantics,
    /// The instant for which the question was answered.
    pub now: Timestamp,
}

/// Basis of answers about pods: the pods of the devices in question were read.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a>(DeviceBasis<'a>);

impl DeviceBasis<'_> {
    /// True if all claims are known: without them it is unknown which devices are in use.
    pub fn knows_usage(&self) -> bool {
        ReportCompleteness::new(&self.reading.gaps).is_complete(CountSubject::Allocated)
    }
}

impl DeviceBasis<'_> {
    /// Reports whether all claims and taints are known, so that a device can be known to be free.
    pub fn knows_free_devices(&self) -> bool {
        let availabilities = Availabilities::new(self.reading);
        let completeness = availabilities.completeness();
        [CountSubject::Holders, CountSubject::Taints]
            .into_iter()
            .all(|subject| completeness.is_complete(subject))
    }
}

impl<'a> Basis<'a> {
    /// The basis of answers for the instant `now`; `reading` has the pods of the devices in question.
    pub fn new(reading: &'a Reading, semantics: &'a Semantics, now: Timestamp) -> Self {
        Self(DeviceBasis {
            reading,
            semantics,
            now,
        })
    }

    /// This basis, if Kubernetes behaved as `semantics` say.
    #[must_use]
    pub fn with_semantics(self, semantics: &'a Semantics) -> Self {
        Self(DeviceBasis {
            semantics,
            ..self.0
        })
    }
}

impl<'a> Deref for Basis<'a> {
    type Target = DeviceBasis<'a>;

    fn deref(&self) -> &DeviceBasis<'a> {
        &self.0
    }
}
