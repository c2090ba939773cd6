//! What the loss of devices costs, as a problem that can be searched.
//!
//! Takes the units of a plan (devices, or whole nodes) and the engine's verdicts for all of them, and gives the
//! [`SearchProblem`](crate::engine::set_search::SearchProblem) of which
//! [`search`](crate::engine::set_search::search) finds the cheapest set. Costs are made from the rows of hazards, so
//! that a plan and the assessment of its set cannot disagree about what is worse.
//!
//! | what | module |
//! |---|---|
//! | Units of a plan, and the problem of choosing among them | `problem` |
//! | What the loss of each pod costs by itself | `pod_burden` |
//! | What several pods have in common: budgets, workloads, groups, Jobs, hardware | `couplings` |
//!
//! The hazard `no-replacement` is left out of the cost, and is in the assessment of the set that is found: whether claims
//! can be placed again depends on every device that is left, and not on the set alone. Pods that are not ready, and that no
//! budget counts, are taken to leave before the others, as in a drain; a preview lets all leave at once, by name.

mod couplings;
mod pod_burden;
mod problem;
#[cfg(test)]
mod tests;

pub use problem::{PlanUnit, pod_problem, search_problem};
