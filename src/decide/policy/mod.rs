//! Policies of a team (`--policy`), and whether a change keeps them.
//!
//! A policy forbids and never allows: its guards are checked beside those of the command line, and what
//! else it says only ever refuses. So do several.
//!
//! | what | module |
//! |---|---|
//! | What a policy file says | `document` |
//! | Parsing of policy files | `parse` |
//! | Violations of a policy by a requested change | `check` |

mod check;
mod document;
mod parse;

pub use check::{CheckedRule, Policies, Policy, PolicyViolation, ViolationReason};
pub use document::{DeviceTaintPolicy, Protected, Requirement};
pub use parse::{policy, unreadable};
