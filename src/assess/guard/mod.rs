//! Guards: limits of the impact.
//!
//! A guard is `<signal><operator><quantity>`, such as `pods.evicted>20` or `devices.selected>=50%`.
//! It trips when the comparison holds, and when it is not known whether it does.

mod evaluation;
mod expression;

pub(in crate::assess) use evaluation::Measured;
pub use evaluation::{GuardOutcome, Limits, Wholes};
pub use expression::Guard;
pub use expression::GuardError;
pub use expression::Signal;
