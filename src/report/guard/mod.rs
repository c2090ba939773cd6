//! When is it too much?
//!
//! A guard is `<signal><operator><quantity>`, such as `pods.evicted>20` or `devices.selected>=50%`.
//! It trips when the comparison holds, and when it is not known whether it does.
//!
//! | question | module |
//! |---|---|
//! | What can be limited? | `signal` |
//! | How is a guard written? | `expression` |
//! | Why is it none? | `error` |
//! | Which of two numbers is greater, as far as they are known? | `comparison` |
//! | What does a report count, and does the guard trip? | `evaluation` |
//! | What became of it? | `outcome` |
//! | And for several clusters together? | `together` |
//! | How is that told? | `sections` |

mod comparison;
mod error;
mod evaluation;
mod expression;
mod outcome;
mod sections;
mod signal;
mod together;

pub use error::GuardError;
pub use evaluation::Wholes;
pub use expression::Guard;
pub use outcome::GuardResult;
pub(in crate::report) use sections::sections;
pub use signal::Signal;
