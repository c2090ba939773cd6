//! Plan: the set of devices or nodes whose loss costs least, as users see it and as a file.
//!
//! | what | module |
//! |---|---|
//! | Fields of a plan | [`view`] |
//! | What a set costs, as reports write it | [`cost`] |
//! | Construction of a plan from what the search found | [`mod@build`] |
//! | Digest over what decides, by which an edited plan is found | `digest` |
//! | A plan that is read back | `file` |
//! | Sections of a plan, for people | `sections` |

pub mod build;
pub mod cost;
mod digest;
mod file;
mod sections;
pub mod view;

pub use build::PlanFindings;
pub use cost::{Cost, CostTier};
pub use file::{PlanFile, UnreadablePlan};
pub use view::{Optimality, PlanReport, PlanUnit, RequestedPlan, RunnerUp, SpreadOver, UnitKind};
