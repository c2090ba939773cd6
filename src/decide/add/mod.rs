//! `add`: the changes that make the requested rules exist.
//!
//! | what | module |
//! |---|---|
//! | Options that requested rules share: effect, value, expiry, and what happens to existing rules | `terms` |
//! | Plan of what is done about each requested rule | `plan` |
//! | A planned change of one rule | `step` |
//! | Refusals of changes to a rule | `refusal` |
//! | Texts about planned changes of rules | `words` |

mod plan;
mod refusal;
mod step;
mod terms;
#[cfg(test)]
mod tests;
mod words;

pub use plan::{add, step};
pub use step::AddStep;
pub use terms::{Existing, Terms};
pub use words::action;
