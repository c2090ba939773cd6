//! Policies of a team (`--policy`), and whether a change keeps them.
//!
//! A policy forbids and never allows: its guards are checked beside those of the command line, and what
//! else it says only ever refuses. So do several.
//!
//! | what | module |
//! |---|---|
//! | Parsing of policy files | `parse` |
//! | Violations of a policy by a requested change | `check` |

mod check;
mod parse;

pub use check::{CheckedRule, Policies, Policy};
pub use parse::{policy, unreadable};
