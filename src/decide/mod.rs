//! Decisions of commands that change something, and the checks that stop them.
//!
//! Functions of what was read, what was typed and the time: no I/O, no clock, no question asked.
//! Commands gather before and act after.
//!
//! | what | module |
//! |---|---|
//! | Selection of rules by name, label or device | [`chooser`] |
//! | Dedications: devices for the claims of some namespaces, and for no others | [`dedication`] |
//! | Drains: devices out of service unit by unit, and back | [`drain`] |
//! | Selection of devices from what was typed | [`choice`] |
//! | Pods, devices and rules given to `explain` | [`explain_targets`] |
//! | Candidate units of a plan, and the command that drains the chosen ones | [`plan`] |
//! | `add`: the changes that make the requested rules exist | [`mod@add`] |
//! | Proposed changes of a command, a row for each rule | [`proposal`] |
//! | Transitions between effects: escalation and downgrade | [`effect`] |
//! | Ownership of rules | [`mod@owner`] |
//! | Removals broader than the command suggests: several rules, or rules of others | [`blast_radius`] |
//! | Answer that a change needs, and the flags that give it beforehand | [`approval`] |
//! | Approval that evictions need, and whether it was given | [`mod@consent`] |
//! | Approval given beforehand (`--expect`), and what differs from it | [`expectation`] |
//! | Confirmations: the prompt, who can answer it, and the accepted answers | [`question`] |
//! | Replies of the Eviction API, and when refused evictions are tried again | [`refused_evictions`] |
//! | Conflicting writes: whether a decision still holds for the changed rule | [`mod@conflict`] |
//! | The objects and patches sent to the server for a rule | [`draft`] |
//! | Pods that rules still have to evict, or had to before the rules were changed | [`pending_evictions`] |
//! | The Kubernetes version whose behaviour is assumed, and doubts about it | [`version`] |
//! | Exit status of commands that printed a report | [`mod@exit_status`] |
//! | Changes made and not made, for the message after an interruption or a failure | [`ledger`] |
//! | Outcomes of changes, rule by rule | [`outcomes`] |
//! | Publication of a preview: the rules created for it, and comparison with the controller's answer | [`publish`] |

pub mod add;
pub mod approval;
pub mod blast_radius;
pub mod choice;
pub mod chooser;
pub mod conflict;
pub mod consent;
pub mod dedication;
pub mod draft;
pub mod drain;
pub mod effect;
pub mod exit_status;
pub mod expectation;
pub mod explain_targets;
pub mod identity;
pub mod ledger;
pub mod make_room;
pub mod outcomes;
pub mod owner;
pub mod pending_evictions;
pub mod plan;
pub mod proposal;
pub mod publish;
pub mod question;
pub mod refused_evictions;
pub mod rule_result;
#[cfg(test)]
pub(crate) mod testing;
pub mod version;

pub use add::{AddStep, Existing, Terms, add};
pub use blast_radius::removal;
pub use chooser::{Chooser, RuleArguments, RuleChoice, SelectedRules};
pub use conflict::{ConflictOutcome, conflict};
pub use consent::{Approval, ConsentOutcome, PlannedChange, consent, still_agreed};
pub use draft::Writer;
pub use draft::{RuleDraft, RulePatch};
pub use effect::{Downgrade, downgrade, escalate, rank};
pub use exit_status::{Strictness, exit_status};
pub use explain_targets::ExplainTargets;
pub use ledger::Ledger;
pub use outcomes::Outcomes;
pub use owner::{Owner, owner};
pub use proposal::Proposal;
pub use question::Question;
