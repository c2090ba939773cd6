//! What has a team agreed on, and is it kept?
//!
//! A policy forbids and never allows: its guards are checked beside those of the command line, and what
//! else it says only ever refuses. So do several.
//!
//! | question | module |
//! |---|---|
//! | What does a file say? | `parse` |
//! | Which of it is broken? | `check` |

mod check;
mod parse;

pub use check::{CheckedRule, Policies, Policy};
pub use parse::{policy, unreadable};
