//! Upstream's test inventory for the eviction controller, and what it does not cover.
//!
//! Names follow upstream's `TestController` where there is such a test.

mod claims_and_pods;
mod counting;
mod disruption;
mod explain;
mod hindrance;
mod kubelet_node;
mod life;
mod pulling;
mod returns;
mod rules_and_pools;
mod settle;
mod times;
mod uncovered;
mod versions;
mod world;
