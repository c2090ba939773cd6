//! Upstream's test inventory for the eviction controller, and what it does not cover.
//!
//! Names follow upstream's `TestController` where there is such a test.

mod claims_and_pods;
mod counting;
mod disruption;
mod explain;
mod kubelet_node;
mod rule_lifecycle;
mod rules_and_pools;
mod settle;
mod termination_blocker;
mod uncovered;
mod verdicts;
mod versions;
pub(crate) mod world;
