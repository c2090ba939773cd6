//! Impact report: the pods a taint evicts, and when.
//!
//! [`ImpactReport`] is the engine's answer to a preview as users see it.

mod build;
mod release_time;
pub mod rows;
pub mod saved;
mod sections;
mod timeline;

#[cfg(test)]
mod tests;

pub mod view;

pub use rows::NoteCode;
pub use view::Budget;
pub use view::{
    AllocatedDevice, Cause, Device, ImpactReport, NotReleased, Note, Pod, TaintImpact, UsedClaim,
};
