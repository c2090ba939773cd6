//! Can it be installed? Archives, krew's manifest, packages, and the whole path of a new user.

#![cfg(target_os = "linux")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

mod archive;
mod generated;
mod inside;
mod krew;
mod materials;
mod newcomer;
mod package;
mod program;
mod release;
mod reproducible;
mod support;
mod workflow;

#[path = "../support/advice.rs"]
mod advice;
#[path = "../cluster/harness/mod.rs"]
mod harness;
