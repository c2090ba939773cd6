//! Decisions of `make-room`: which pods are evicted for a pod that waits for devices, and the stages until it has them.
//!
//! ```text
//! pod ─▶ eligibility ─▶ candidates ─▶ plan ─▶ rules ─▶ stages, step by step ─▶ ending; rules removed
//! ```
//!
//! | what | module |
//! |---|---|
//! | The pod for which room is made | `target` |
//! | Whether the pod waits for devices at all | `eligibility` |
//! | Whether its claims tolerate the taint | `tolerance` |
//! | Which pods may be evicted, and which stay | `candidates` |
//! | The set of pods that is evicted, or why none would help | `plan` |
//! | What the user must be allowed to do for all of that | `needed_access` |
//! | Taint, label and expiry of the rules | `terms` |
//! | What is done about each rule, and which devices rules keep for other pods | `kept_devices` |
//! | The stages until the pod is scheduled | `run` |
//! | What is observed at each look | `facts` |
//! | Exit status and messages of the end | `ending` |
//! | Rules that another run for the same pod has left | `cleanup` |
//! | The plan, and why nothing helps, in words | `words` |
//!
//! Source: the design of the Rescheduler (`rescheduling-for-critical-pods.md`).

mod candidates;
mod cleanup;
mod eligibility;
mod ending;
mod facts;
mod kept_devices;
mod needed_access;
mod plan;
mod run;
mod target;
mod terms;
#[cfg(test)]
mod tests;
mod tolerance;
#[cfg(test)]
mod virtual_time_tests;
mod words;

pub use candidates::{Beneficiary, CandidatePod, Immovable, Movability, candidates};
pub use cleanup::{left_of, taken_over_line};
pub use eligibility::{Eligibility, WaitingPod, eligibility, refuse_unread, with_scheduler};
pub use ending::{interrupted, is_removal_tried_again, with_removal};
pub use facts::{Occupants, StageView, stage_facts};
pub use kept_devices::{first_drafts, is_to_be_raised, reserved, room_steps};
pub use needed_access::{NeededAccess, needed_access, tried_evictions};
pub use plan::{NothingHelps, PlannedEviction, PlannedRoom, RoomInput, RoomLimits, RoomPlan, plan};
pub use run::{
    Competitor, PodProgress, RemainingPod, StageEnd, StageFacts, StageLimits, StageRun, StageStep,
};
pub use target::RoomTarget;
pub use terms::{RoomTerms, TAINT_KEY, kept_for, taint};
pub use tolerance::{LackingRequest, Mechanism, lacking, refuse_lacking, toleration_lines};
pub use words::{action, plan_lines, tier_words};
