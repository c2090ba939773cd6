//! What does a command that changes something do, and what keeps it from doing it?
//!
//! Functions of what was read, what was typed and the time: no I/O, no clock, no question asked.
//! Commands gather before and act after.
//!
//! | question | module |
//! |---|---|
//! | Which clusters are asked? | [`mod@contexts`] |
//! | Which rules are there? | [`known`] |
//! | Which rules are meant? | [`chooser`] |
//! | Which rules are meant by the hardware that they taint? | [`rules_on`] |
//! | Whom are devices dedicated to, and what keeps others out? | [`dedication`] |
//! | Which devices are meant? | [`choice`] |
//! | What is explained? | [`subjects`] |
//! | Which of them are listed? | [`list_filter`] |
//! | Which rules are asked for? | [`drafts`] |
//! | What has to be done so that the rules of `add` are there? | [`mod@add`] |
//! | What does a command propose to change? | [`proposal`] |
//! | May this effect become that one? | [`effect`] |
//! | Whose rule is it? | [`mod@owner`] |
//! | Who else made or changed a rule? | [`others`] |
//! | Is it more than anybody would expect? | [`broad`] |
//! | What does somebody take on who makes rules on this release? | [`risk`] |
//! | Who has to agree? | [`mod@consent`] |
//! | What has to be answered, and is it the right answer? | [`question`] |
//! | Somebody else was first: does the decision still stand? | [`mod@conflict`] |
//! | What is sent? | [`draft`] |
//! | Who sends it, as rules note it? | [`writer`] |
//! | Who is left of those that rules evict? | [`leaving`] |
//! | Where does a wait stand? | [`standing`] |
//! | Have workloads recovered from evictions? | [`mod@recovery`] |
//! | As which version is a cluster understood? | [`version`] |
//! | How does a command end that has given an answer? | [`mod@ending`] |
//! | What was changed, for whoever interrupts a command? | [`ledger`] |
//! | What became of the rules that were changed? | [`outcomes`] |
//! | What has a team agreed on, and is it kept? | [`mod@policy`] |
//! | What is asked of the controller itself? | [`publish`] |
//! | What comes next for whoever has looked at it? | [`mod@next`] |

pub mod add;
pub mod blast_radius;
pub mod choice;
pub mod chooser;
pub mod conflict;
pub mod consent;
pub mod contexts;
pub mod dedication;
pub mod device_nodes;
pub mod draft;
pub mod drafts;
pub mod effect;
pub mod existing_rules;
pub mod exit_status;
pub mod explain_targets;
pub mod identity;
pub mod ledger;
pub mod list_filter;
pub mod next;
pub mod others;
pub mod outcomes;
pub mod owner;
pub mod pending_evictions;
pub mod policy;
pub mod proposal;
pub mod publish;
pub mod question;
pub mod recovery;
pub mod risk;
pub mod rules_on;
#[cfg(test)]
mod testing;
pub mod unreleased_devices;
pub mod version;
pub mod wait_advice;
pub mod writer;

pub use add::{AddStep, Existing, Terms, add};
pub use blast_radius::removal;
pub use chooser::{Chooser, RuleArguments, SelectedRules};
pub use conflict::{ConflictOutcome, conflict};
pub use consent::{Approval, ConsentOutcome, PlannedChange, consent, still_agreed};
pub use contexts::contexts;
pub use draft::{RuleDraft, RulePatch};
pub use effect::{Downgrade, downgrade, escalate, rank};
pub use exit_status::{Strictness, exit_status};
pub use explain_targets::ExplainTargets;
pub use ledger::Ledger;
pub use next::{NextStep, RepeatedArguments, UnmatchedNames, ViewedAnswer, next};
pub use others::Requester;
pub use outcomes::Outcomes;
pub use owner::{Owner, owner};
pub use proposal::Proposal;
pub use question::Question;
pub use rules_on::{RuleWords, RulesOnDevices};
pub use version::Version;
pub use writer::Writer;
