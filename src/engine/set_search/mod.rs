//! Search for the set of units whose loss costs least.
//!
//! Takes a [`SearchProblem`]: units (a device, or all devices of a node), the pods that each evicts, what couples
//! pods of several units, and how many units are wanted. Gives the cheapest set that was found, the next best, and a
//! lower bound that no set can beat. Knows no cluster, no time, and cannot fail.
//!
//! ```text
//! units ─▶ classes ─▶ regions ─▶ frontier of each ─▶ combination ─▶ best set, runner-up, lower bound
//! ```
//!
//! | what | module |
//! |---|---|
//! | What a set costs: its tier, and what its loss does | [`cost`] |
//! | Units, pods and couplings of a search | [`problem`] |
//! | Units that stand for each other | `classes` |
//! | Classes that have to be decided together | `regions` |
//! | Chosen units, as chains that share their beginnings | `chain` |
//! | The cheapest ways to take each number of units from a region | `frontier` |
//! | One number of units from each region, exactly | `combination` |
//! | The same by convex hulls: a bound for every size, and a set where it is met | `hull` |
//! | A set put together unit by unit, where a search would take too long | `greedy` |
//! | The search, tier by tier | `search` |
//!
//! A region is exact where its frontier is, which holds for all but regions that couple very many units in very many
//! ways; these are cut to a number of steps, or left to `greedy`, and the lower bound says how much that may have cost.

mod chain;
mod classes;
mod combination;
pub mod cost;
mod frontier;
mod greedy;
mod hull;
pub mod problem;
mod regions;
mod search;
#[cfg(test)]
mod tests;

pub use cost::{Burden, SetCost, Tier};
pub use problem::{Coupling, SearchPod, SearchProblem, SearchUnit};
pub use search::{FoundSet, SearchResult, search};
