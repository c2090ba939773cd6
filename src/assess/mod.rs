//! Consequences of verdicts: counts, hazards, guards, and the approval that a change needs.
//!
//! Takes the engine's [`Impact`](crate::engine::Impact) and its inputs, and gives an [`Assessment`], on which
//! decisions are made and from which reports are written. Results are the documents: they serialize as they are. A count that may be unknown is
//! a [`Number`], a hazard is a [`Hazard`]. Prints nothing, decides nothing.
//!
//! The impact of a change, as the user approves it, is [`ImpactFacts`]: current or of a report that was read back.
//!
//! Hazards (`hazard`) and the signals of guards ([`guard`]) are tables: a row is all that a new one needs. Plans
//! ([`mod@plan`]) compute the cost of evictions from the same rows.

mod assessment;
mod availability;
mod completeness;
mod consent;
pub mod defects;
mod device_safety;
#[cfg(test)]
mod device_safety_tests;
mod evidence;
pub mod guard;
mod hazard;
pub mod plan;
mod replacements;
pub mod room;
pub mod taint;
mod totals;

pub use assessment::{
    Assessed, Assessment, ImpactFacts, Outcome, PodAssessment, PodFacts, Severity,
};
pub use availability::{Availabilities, Availability, closed_line};
pub use completeness::{Basis, CountSubject, DeviceBasis, ReportCompleteness};
pub use completeness::{Number, Time};
pub use consent::{Consent, WhyWide};
pub use device_safety::{
    DeviceUse, DeviceUser, Obstacle, ObstacleCode, SafetyFacts, device_safety, devices_in_use,
};
pub use evidence::do_not_disrupt;
pub use guard::{Guard, GuardError, GuardOutcome, Limits, Signal, Wholes};
pub use hazard::{Finding, Hazard};
pub use plan::{Plan, PlanUnit, PlannedUnit, plan};
pub use replacements::{
    AvailableDevices, ClaimReplacement, Replacements, RequestReplacement, Sibling, completeness,
};
pub use totals::{DisruptionFacts, Severities, TaintCounts, Tally, Totals};
