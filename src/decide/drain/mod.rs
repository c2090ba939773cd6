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
//!
//! | what | module |
//! |---|---|
//! | Units and their rules | `unit` |
//! | Classes of pods, and which of them are evicted | `pod_class` |
//! | The pods of a unit in the order in which they are evicted | `order` |
//! | Reasons to refuse a drain, and the lines above the question | `start` |
//! | Whether the pods find other devices | `replacements` |
//! | Facts about one unit, as observed at one time | `facts` |
//! | Deployments that are restarted | `restart` |
//! | The next step | `run` |
//! | Results of units, and the exit status | `ending` |
//! | Drains of a cluster and their stages | `state` |

mod ending;
mod facts;
mod order;
mod pod_class;
mod replacements;
mod restart;
mod run;
#[cfg(test)]
mod run_tests;
mod start;
mod state;
#[cfg(test)]
pub(crate) mod testing;
mod unit;
#[cfg(test)]
mod virtual_time_tests;

pub use ending::{UnitResult, drain_status, interrupted};
pub use facts::{
    IdleWait, UnitFacts, UnitPod, WorkloadState, is_raised, pods_of, rule_change, rules_as_made,
    unread, workload_states,
};
pub use pod_class::{Inclusions, PodClass};
pub use replacements::drain_replacements;
pub use restart::{RestartProgress, RestartState, restart_states, tainted_since};
pub use run::{DrainLimits, DrainRun, DrainStep, SETTLE, UnitEnd, refusal_line};
pub use start::{DrainPlan, needed_inclusions, unplaced};
pub use state::{
    DrainUnit, UnitStage, UnitStatus, as_evicting, drain_units, no_such_drain, restorable,
    unit_statuses,
};
pub use unit::{DrainTerms, Unit, UnitKind, drain_taint, units};
