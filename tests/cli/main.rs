//! The command line: what a user types, and what stands on the terminal afterwards.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

#[path = "../support/advice.rs"]
mod advice;
mod advice_in_the_source;
mod bad_input;
mod devices;
mod explain;
mod formats;
mod harness;
mod help;
mod policy;
mod preview;
mod rules;
mod sources;
#[cfg(unix)]
mod terminal;
mod version;
