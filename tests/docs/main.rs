//! Documentation: is what it shows what the program prints, and does every link lead somewhere?

#![cfg(unix)]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

#[path = "../support/advice.rs"]
mod advice;
mod book;
mod files;
mod html;
mod links;
#[path = "../support/page.rs"]
mod page;
mod printed;
