//! `react`: signals of devices become taints, by a policy.
//!
//! A rule is the only state. Its effect is that of the threshold that was reached; its annotation
//! `devicetaint.dev/since` says since when the signal is there or gone, from which grace periods and recovery count,
//! also for a program that was started again.
//!
//! ```text
//! no rule ─present─▶ None ─soft.for─▶ soft.effect ─hard signal─▶ hard.effect
//!    ▲                 │ gone                │ gone                  │ gone
//!    └─────────────────┴──────recover.for────┴───────────────────────┘
//! ```

mod policy;
mod step;
#[cfg(test)]
mod tests;

pub use policy::{Policy, TaintPolicy};
pub use step::{Action, Held, Step, decide, simulate};
