//! Consequences of verdicts: counts, hazards, guards, and the approval that a change needs.
//!
//! Takes the engine's [`Impact`](crate::engine::Impact) and its inputs, and gives an [`Assessment`], on which
//! decisions are made and from which reports are written. Everything is typed: a count that may be unknown is
//! a [`Count`](crate::model::Count) with its bounds, a hazard is a [`Hazard`]. Prints nothing, decides
//! nothing.
//!
//! The impact of a change, as the user approves it, is [`ImpactFacts`]: current or of a report that was read back.
//!
//! Hazards (`hazard`) and the signals of guards ([`guard`]) are tables: a row is all that a new one needs. Plans
//! ([`mod@plan`]) compute the cost of evictions from the same rows.

mod assessment;
mod availability;
mod basis;
mod closed_nodes;
mod completeness;
mod consent;
pub mod defects;
mod device_safety;
#[cfg(test)]
mod device_safety_tests;
mod device_use;
mod disruption_facts;
mod evidence;
pub mod guard;
mod hazard;
mod impact_facts;
mod open_parts;
mod outcome;
pub mod plan;
mod pod;
mod replacements;
pub mod room;
mod severity;
mod siblings;
mod taint_counts;
mod totals;

pub use assessment::{Assessed, Assessment};
pub use availability::{Availabilities, Availability};
pub use basis::{Basis, DeviceBasis};
pub use closed_nodes::closed_line;
pub use completeness::{CountSubject, ReportCompleteness};
pub use consent::{Consent, WhyWide};
pub use device_safety::{SafetyFacts, device_safety};
pub use device_use::{DeviceUse, DeviceUser, Obstacle, ObstacleCode, devices_in_use};
pub use disruption_facts::DisruptionFacts;
pub use evidence::do_not_disrupt;
pub use guard::{Guard, GuardError, GuardOutcome, Limits, Signal, Wholes};
pub use hazard::{Finding, Hazard};
pub use impact_facts::{DeviceFacts, ImpactFacts, PodFacts};
pub use outcome::Outcome;
pub use plan::{Plan, PlanUnit, PlannedUnit, plan};
pub use pod::PodAssessment;
pub use replacements::{
    AvailableDevices, ClaimReplacement, Replacements, RequestReplacement, completeness,
};
pub use severity::Severity;
pub use siblings::Sibling;
pub use taint_counts::TaintCounts;
pub use totals::{Severities, Tally, Totals};
