//! Decisions of commands that change something, and the checks that stop them.
//!
//! Functions of what was read, what was typed and the time: no I/O, no clock, no question asked.
//! Commands gather before and act after.

pub mod add;
pub mod approval;
pub mod change_log;
pub mod choice;
pub mod chooser;
pub mod conflict;
pub mod dedication;
pub mod draft;
pub mod drain;
pub mod exit_status;
pub mod explain_targets;
pub mod identity;
pub mod make_room;
pub mod owner;
pub mod pending_evictions;
pub mod plan;
pub mod proposal;
pub mod publish;
pub mod react;
#[cfg(test)]
pub(crate) mod testing;
pub mod version;

pub use add::{AddStep, Existing, Terms, add};
pub use chooser::{Chooser, RuleArguments, RuleChoice, SelectedRules};
pub use draft::Writer;
pub use draft::{RuleDraft, RulePatch};
pub use exit_status::{Strictness, exit_status};
pub use explain_targets::ExplainTargets;
pub use owner::{Owner, owner};
pub use proposal::Proposal;
pub use proposal::{escalate, rank};
