//! Upstream's test inventory for the eviction controller, and what it does not cover.
//!
//! Names follow upstream's `TestController` where there is such a test.

#[cfg(test)]
mod claims_and_pods;
#[cfg(test)]
mod counting;
#[cfg(test)]
mod disruption;
#[cfg(test)]
mod explain;
#[cfg(test)]
mod kubelet_node;
#[cfg(test)]
mod rule_lifecycle;
#[cfg(test)]
mod rules_and_pools;
#[cfg(test)]
mod settle;
#[cfg(test)]
mod termination_blocker;
#[cfg(test)]
mod uncovered;
#[cfg(test)]
mod verdicts;
#[cfg(test)]
mod versions;
pub mod world;
