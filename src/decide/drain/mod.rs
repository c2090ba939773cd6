//! Drains: decisions that take devices out of service unit by unit, and back.
//!
//! A drain taints all its devices with NoSchedule first, so that no replacement is placed on a device that is drained
//! later. Then it takes one unit after the other: its pods are evicted, the least harmful first, and the next
//! pod of a workload only when the workload is ready again. Progress is recorded in labels and annotations of the
//! rules, so that the same command continues from any machine.
//!
//! ```text
//! rules ─▶ drain state ─▶ next unit ─▶ facts, elapsed ─▶ Evict | RaiseEffect | WaitUntil | Finished ─▶ rules
//! ```
//!
//! Functions of facts and time: no I/O, no clock. Data that could not be read never counts as idle, ready or done.
//!
//! | what | module |
//! |---|---|
//! | Units: the devices that are taken out of service together | `unit` |
//! | State of drains, as recorded on the rules of the cluster | `state` |
//! | Classes of pods, and which of them a drain evicts | `pod_class` |
//! | The pods of a unit in the order in which they are evicted | `order` |
//! | Reasons to refuse a drain before anything is tainted | `start` |
//! | Pods that cannot terminate, and when the others are gone | `termination` |
//! | The next step of one unit | `unit_run` |
//! | Steps and results of one unit | `unit_step` |
//! | Limits of a unit | `unit_limits` |
//! | Deployments that a drain restarts, and the progress of a restart | `restart` |
//! | How each pod of a unit is removed: by a restart, an eviction, or not yet | `restart_run` |
//! | Facts about one unit, as observed at one time | `facts` |
//! | The size of a drain, and units whose rules were removed, as recorded on its rules | `completeness` |
//! | Whether the rules of a drain select all devices of its nodes | `coverage` |
//! | All names under which the hardware of a unit is published | `published_hardware` |
//! | Workloads of a drain, as recorded on its rules, and whether they are ready | `recorded_workloads` |
//! | PodDisruptionBudgets that refuse the first evictions | `refusing_budgets` |
//! | Whether the pods that a drain evicts find other devices | `replacements` |
//! | Changes of a unit's rules by other users, and the time until the scheduler has observed the rules | `watch` |
//! | The record that units were restored | `restoration` |
//! | The stage of a unit as it is now | `current_stage`; as reports write it: `stage` |
//! | Name and taint of a drain | `terms` |
//! | Result of a drain, in words | `ending` |
//! | Progress of a drain, as one line | `view` |

mod completeness;
mod coverage;
mod current_stage;
mod ending;
mod facts;
mod open_units;
mod order;
mod pod_class;
mod published_hardware;
mod recorded_workloads;
mod refusing_budgets;
mod replacements;
mod restart;
mod restart_run;
mod restoration;
mod stage;
mod start;
mod state;
mod termination;
mod terms;
#[cfg(test)]
pub(crate) mod testing;
mod unit;
mod unit_begin;
mod unit_limits;
mod unit_run;
mod unit_step;
mod view;
#[cfg(test)]
mod virtual_time_tests;
mod watch;

pub use completeness::{
    DrainSize, both_records, completion_patch, reversal_patch, reversal_to_record, ring,
};
pub use coverage::{refuse_unpublished, scope, untainted_line};
pub use current_stage::{devices_of, progress_now};
pub use ending::{DrainEnd, interrupted};
pub use facts::{
    RuleState, UnitFacts, UnitPod, UnschedulablePod, WorkloadState, other_claims, pods_of,
    unschedulable_by_workload, workload_states,
};
pub use open_units::OpenUnits;
pub use pod_class::{Inclusions, PodClass};
pub use published_hardware::PublishedHardware;
pub use recorded_workloads::{
    RecordedWorkloads, recorded_names, recorded_states, recorded_workloads, recording_patch,
    workloads_by_maker, workloads_to_record,
};
pub use refusing_budgets::refusing_budgets;
pub use replacements::{cordoned_nodes, drain_replacements};
pub use restart::{RestartPlan, RestartState, restart_states, still_to_place, tainted_since};
pub use restart_run::RestartReply;
pub use restoration::{RestorationRecord, restoration_record, restored_by, restorer};
pub use stage::UnitStage;
pub use start::{DrainPlan, failing_jobs, grace_time, needed_inclusions, plan_lines, refuse_start};
pub use state::{
    DrainState, RestoreTarget, UnitProgress, UnitState, drains, restorable, restored_part,
    rules_of, rules_of_unit, wanted,
};
pub use termination::{Terminations, rest_of_grace};
pub use terms::{DrainTerms, TAINT_KEY};
pub use unit::{Unit, UnitKind, units};
pub use unit_begin::{BeforeUnit, before_unit, begun_run, missing_rule};
pub use unit_limits::UnitLimits;
pub use unit_run::UnitRun;
pub use unit_step::{EvictionReply, UnitEnd, UnitStep};
pub use view::{DrainProgress, DrainView};
pub use watch::{rule_state, settled_in};
