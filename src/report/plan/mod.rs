//! Plan: the set of devices or nodes that cost least to drain, as a report.
//!
//! | what | module |
//! |---|---|
//! | Fields of a plan | [`view`] |
//! | Cost of a set, as reports show it | [`cost`] |
//! | Construction of a plan from the search result | [`mod@build`] |
//! | Sections of a plan in tables and pages | `sections` |

pub mod build;
pub mod cost;
mod sections;
pub mod view;

pub use build::PlanFindings;
pub use cost::{Cost, CostTier};
pub use view::{Optimality, PlanReport, PlanUnit, RequestedPlan, RunnerUp, UnitKind};
