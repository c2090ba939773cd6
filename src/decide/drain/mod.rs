//! Drains: decisions that take devices out of service unit by unit.
//!
//! All rules of a drain are created with NoSchedule first, so that no replacement is placed on a device that is drained
//! later. Then one unit is drained after the other. Nothing is recorded but the labels of the rules, so that the same
//! command continues from any machine.
//!
//! ```text
//! devices ─▶ units ─▶ rules ─▶ facts, elapsed ─▶ next step ─▶ results
//! ```
//!
//! Functions of facts and time: no I/O, no clock. Data that could not be read never counts as idle, ready or done.

mod facts;
mod run;
#[cfg(test)]
mod run_tests;
mod start;
#[cfg(test)]
pub(crate) mod testing;
mod unit;
#[cfg(test)]
mod virtual_time_tests;

pub use facts::{
    IdleWait, IncludedClass, PodClass, UnitFacts, UnitPod, WorkloadState, is_raised, pods_of,
    rule_change, rules_as_made, unread, workload_states,
};
pub use run::{
    DrainLimits, DrainRun, DrainStep, EvictionReply, RefusedEvictions, SETTLE, UnitEnd, UnitResult,
    drain_status, interrupted, refusal_line,
};
pub use start::{
    CheckedDrain, DrainPlan, RestartProgress, RestartState, drain_replacements, leaving,
    needed_inclusions, restart_states, tainted_since, unplaced,
};
pub use unit::{
    DrainOptions, DrainTerms, DrainUnit, PreparedDrain, Unit, UnitKind, UnitStage, UnitStatus,
    as_evicting, drain_taint, drain_units, no_such_drain, restorable, selectors_as_evicting,
    unit_statuses, units,
};
