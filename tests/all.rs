//! The first tier: what `cargo test` runs. It proves the whole; `tests/full.rs` repeats it at length.
//!
//! One folder a subject: `cargo test --test all cli`, `cargo test --test all cluster::rules`. See tests/README.md.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

#[path = "support/advice.rs"]
mod advice;
mod architecture;
#[path = "support/case/mod.rs"]
mod case;
mod cli;
mod cluster;
#[cfg(unix)]
mod docs;
mod generated;
#[path = "cluster/harness/mod.rs"]
mod harness;
mod oracle;
#[cfg(target_os = "linux")]
mod packaging;
#[cfg(unix)]
#[path = "support/page.rs"]
mod page;
mod properties;
#[path = "support/screen.rs"]
mod screen;
#[path = "support/validated.rs"]
mod validated;
mod verdicts;

/// True if as many random cases are tried as in the second tier.
const IS_FULL: bool = false;
