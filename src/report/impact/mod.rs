//! Impact report: the pods a taint evicts, and when.
//!
//! [`ImpactReport`] is the engine's answer to a preview as users see it.
//!
//! | what | module |
//! |---|---|
//! | Fields of an impact report | [`view`] |
//! | Construction of an impact report from verdicts | `build` |
//! | PodDisruptionBudgets that the evictions would violate | [`budgets`] |
//! | Whether claims that lose their devices could be placed again, as reports write it | [`replacements`] |
//! | Devices in use on the hardware of selected ones, as reports write them | [`siblings`] |
//! | Counts of an answer, as reports write them | `summary` |
//! | The controller's own answer, and whether it agrees | `published` |
//! | Notes on pods that stay, or leave for other reasons | [`note`] |
//! | Sections of an impact report, for people | `sections`, `rows`, `verdict` |
//! | Timeline of evictions, and the chart of a page | `timeline` |
//! | Times at which devices become free | `release_time` |
//! | Saved reports as the facts that decisions are made on | [`saved`] |

pub mod budgets;
mod build;
mod finding;
mod published;
mod release_time;
pub mod replacements;
mod rows;
pub mod saved;
mod sections;
pub mod siblings;
mod summary;
mod timeline;
mod verdict;

#[cfg(test)]
mod tests;

pub mod note;
pub mod view;

pub use budgets::Budget;
pub use finding::{Finding, HazardCode};
pub use note::NoteCode;
pub use published::Published;
pub use replacements::Replacements;
pub use siblings::Sibling;
pub use view::{
    AllocatedDevice, Cause, Counts, Device, ImpactReport, NotReleased, Note, Pod, Selector,
    SelectorScope, Severities, Summary, TaintImpact, UsedClaim, Workload,
};
