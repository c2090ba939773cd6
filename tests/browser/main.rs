//! Pages of `-o html` in a browser: are they whole, quiet, and readable wherever they are looked at?

#![cfg(unix)]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

mod chromium;
#[path = "../support/debian.rs"]
mod debian;
mod looked_at;
mod made;
