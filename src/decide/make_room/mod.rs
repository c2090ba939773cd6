//! Decisions of `make-room`: which pods are evicted for a pod that waits for devices, and the steps until it has them.
//!
//! ```text
//! pod ─▶ waiting_pod ─▶ candidates ─▶ plan ─▶ rules ─▶ run, step by step ─▶ end; rules removed
//! ```
//!
//! Source: the design of the Rescheduler (`rescheduling-for-critical-pods.md`).

mod candidates;
mod plan;
mod run;
#[cfg(test)]
mod tests;

pub use candidates::{
    Beneficiary, Eligibility, WaitingPod, candidates, eligibility, refuse_unread, rivals,
    room_target, with_scheduler,
};
pub use plan::{
    PlannedEviction, Room, RoomInput, RoomOptions, RoomPlan, drafts, lacking, left_of, plan,
    refuse_lacking, reserved, room_steps, taint,
};
pub use run::{
    PodProgress, RoomEnd, RoomFacts, RoomRun, RoomStep, RoomView, allocated, progress, with_removal,
};
