//! Whom would a taint hit, and when?
//!
//! [`ImpactReport`] is the engine's answer to a preview as users see it.
//!
//! | question | module |
//! |---|---|
//! | Which fields does it have? | [`view`] |
//! | How is it made from the verdicts? | `build` |
//! | Which disruption budgets would be overdrawn? | [`budgets`] |
//! | Could claims be placed again? | [`replacements`] |
//! | Who else sits on the same hardware? | [`siblings`] |
//! | What does it count? | `summary` |
//! | When are two answers the same? | `digest` |
//! | Does the controller itself say the same? | `published` |
//! | Why does a pod stay, or leave for other reasons? | [`note`] |
//! | How is it told to people? | `sections`, `headline`, `rows`, of many pods `rollup`, with `cells` of both; what only a page has room for: `page` |
//! | Which pod is told first, and with which others? | [`arrangement`], `order` |
//! | When do the evictions fall, and when is the last pod gone? | `timeline` |
//! | Does a report that was kept still say what was written? | `consistent` |
//! | Is it more than what was agreed to? | [`expect`]; what speaks against it: `objection` |
//! | What identifies it in a line with a command? | `mark` |
//! | Whom does it hit worst? | `victims` |

pub mod arrangement;
pub mod budgets;
mod build;
mod cells;
mod digest;
pub mod expect;
mod finding;
mod headline;
mod order;
mod page;
mod published;
mod refusal;
mod release_time;
pub mod replacements;
mod report_digest;
mod rollup;
mod rows;
mod sections;
mod self_check;
pub mod siblings;
mod summary;
mod timeline;
mod worst_affected;

#[cfg(test)]
mod tests;

pub mod note;
pub mod view;

pub use arrangement::{Arrangement, Grouping, Order};
pub use budgets::Budget;
pub use expect::{ExpectedReport, UnreadableReport};
pub use finding::{Finding, HazardCode};
pub use note::NoteCode;
pub use published::{Published, PublishedCondition};
pub use refusal::ApprovalRefusal;
pub use replacements::Replacements;
pub use siblings::Sibling;
pub use view::{
    AllocatedDevice, Cause, Claim, Counts, Device, ImpactMetadata, ImpactReport, NotFreed, Note,
    Owner, Pod, Reach, Selector, Severities, Summary, TaintImpact, Workload,
};
