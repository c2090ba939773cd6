//! Tests against the real control plane: etcd, API server, controllers and scheduler.
//!
//! They need Go, or `KUBEBUILDER_ASSETS`; see `README.md` in this folder.

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
mod campaign;
#[path = "../support/case/mod.rs"]
mod case;
mod comparison;
mod contexts;
#[cfg(unix)]
mod debug_pod;
mod far;
#[cfg(unix)]
mod guides;
mod harness;
#[cfg(target_os = "linux")]
mod lifetime;
mod live;
#[cfg(target_os = "linux")]
mod nodes;
#[path = "../oracle/process.rs"]
mod oracle;
#[cfg(unix)]
#[path = "../support/page.rs"]
mod page;
mod parity;
mod publish;
mod reserved;
mod rules;
#[cfg(unix)]
mod said;
mod smoke;
mod variants;

use harness::go_program;
