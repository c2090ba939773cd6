//! What somebody has agreed to beforehand (`--expect`), and what differs from it.
//!
//! | what | module |
//! |---|---|
//! | Comparison of an impact with the approved one | `comparison` |
//! | The short digest that identifies an impact in a command | `report_digest` |
//! | What speaks against a change, in words | `refusal` |

mod comparison;
mod refusal;
mod report_digest;

pub use comparison::{Expectation, UnreadableExpectation, objections};
pub use refusal::ApprovalRefusal;
pub use report_digest::ReportDigest;
