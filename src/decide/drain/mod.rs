//! Drains: devices out of service unit by unit, and back.
//!
//! A drain taints all its devices with NoSchedule first, so that no replacement is placed on a device that is drained
//! later. Then it takes one unit after the other: its pods are evicted, the least harmful first, and the next
//! pod of a workload only when the workload is whole again. What was done is in the labels and annotations of the
//! rules, so that the same command continues from any machine.
//!
//! ```text
//! rules ─▶ drain state ─▶ next unit ─▶ facts, elapsed ─▶ Evict | RaiseEffect | WaitUntil | Finished ─▶ rules
//! ```
//!
//! Functions of facts and time: no I/O, no clock. What could not be read is never taken for idle, whole or done.
//!
//! | what | module |
//! |---|---|
//! | Units: the devices that are taken out of service together | `unit` |
//! | The state of drains, as the rules of the cluster note it | `state` |
//! | Classes of pods, and which of them a drain evicts | `pod_class` |
//! | The pods of a unit in the order in which they are evicted | `order` |
//! | Which owners a drain is going to restart | `restart_plan` |
//! | What a drain is refused for before anything is tainted | `start` |
//! | By what pods leave | `means` |
//! | The next step of one unit | `unit_run` |
//! | Which Deployments bring new pods up first, and how far a restart is | `restart` |
//! | How each pod of a unit leaves: by a restart, an eviction, or not now | `restart_run` |
//! | What one unit knows at one moment | `facts` |
//! | What others did to the rules of a unit, and whether the scheduler knows them | `watch` |
//! | What keeps the devices of a drain that was undone from being allocated | `released` |
//! | A drain as reports show it | `reported` |
//! | Name and taint of a drain | `terms` |
//! | The end of a drain, in words | `ending` |

mod ending;
mod facts;
mod means;
mod order;
mod pod_class;
mod released;
mod reported;
mod restart;
mod restart_plan;
mod restart_run;
mod start;
mod state;
mod terms;
#[cfg(test)]
mod testing;
mod unit;
mod unit_run;
#[cfg(test)]
mod virtual_time_tests;
mod watch;

pub use ending::{DrainEnd, interrupted, next_line};
pub use facts::{
    RuleState, UnitFacts, UnitPod, WorkloadState, pods_of, workload_states, workloads_of_waiting,
};
pub use means::Means;
pub use pod_class::{Inclusions, PodClass};
pub use released::kept_back;
pub use reported::{devices_of, reported};
pub use restart::{RestartState, restart_states, tainted_since};
pub use restart_plan::{RestartFacts, RestartPlan};
pub use restart_run::RestartReply;
pub use start::{DrainPlan, plan_lines, refuse_start};
pub use state::{DrainState, RestoreTarget, UnitProgress, UnitState, drains, restorable, wanted};
pub use terms::{DrainTerms, TAINT_KEY};
pub use unit::{Unit, UnitKind, units};
pub use unit_run::{EvictionReply, UnitEnd, UnitLimits, UnitRun, UnitStep};
pub use watch::{rule_state, settled_in};
