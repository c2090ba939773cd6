//! Completion in real shells: bash, zsh and fish, as their users press TAB.

#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

#[path = "../support/debian.rs"]
mod debian;
mod install;
mod support;
mod tab;
