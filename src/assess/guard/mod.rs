//! Guards: limits of the impact.
//!
//! A guard is `<signal><operator><quantity>`, such as `pods.evicted>20` or `devices.selected>=50%`.
//! It trips when the comparison holds, and when it is not known whether it does.
//!
//! `expression` parses guards (and `error` says why it failed), `signal` is the table of signals,
//! `evaluation` compares with the counts by `comparison`, and `outcome` is the result of a guard. `floor` is
//! the reverse of one: a minimum of devices that stay.

mod evaluation;
mod expression;
mod signal;

pub use evaluation::GuardOutcome;
pub(in crate::assess) use evaluation::Measured;
pub use evaluation::{Limits, Wholes};
pub use expression::Guard;
pub use expression::GuardError;
pub use signal::Signal;
