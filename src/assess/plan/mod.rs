//! Plans: the units (devices, or whole nodes) that cost least to drain.
//!
//! Takes the candidate units, and gives a [`Plan`]: the chosen units, each with the evictions of its
//! drain. Pods are judged as if all devices of the chosen units had a taint with effect NoExecute.
//!
//! ```text
//! units ─▶ verdicts on all their pods ─▶ cost of each set ─▶ choice ─▶ verdicts on the pods of the chosen units
//! ```

pub mod cost;
#[cfg(test)]
mod tests;
mod units;

pub use cost::{EvictionCost, EvictionCosts};
pub use units::{Plan, PlanUnit, PlannedUnit, plan, proposed_taints};
