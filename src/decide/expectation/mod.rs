//! Approval given beforehand (`--expect`), and what differs from it.
//!
//! | what | module |
//! |---|---|
//! | Comparison of an impact with the approved one | `comparison` |
//! | What speaks against a change, in words | `refusal` |

mod comparison;
mod refusal;

pub use comparison::objections;
pub use refusal::ApprovalRefusal;
