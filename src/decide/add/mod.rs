//! What has to be done so that the rules that are asked for are there?
//!
//! | question | module |
//! |---|---|
//! | On which terms? | `terms` |
//! | What has to be done about each rule? | `plan` |
//! | What is that? | `step` |
//! | What cannot be done? | `refusal` |
//! | How is it told? | `words` |

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
pub use words::{action, next_line};
