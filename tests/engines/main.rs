//! The examples for workflow engines: each follows its engine's own schema, or is run by the engine itself,
//! and the shell in its steps is run against a real control plane.
//!
//! What this needs of other languages it gets by itself: Ansible and the schemas of hosted runners from PyPI,
//! into `target/engines`, and the schemas of Argo and Tekton from their Go modules.

#![cfg(unix)]
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
mod ansible;
mod argo;
#[path = "../cluster/harness/mod.rs"]
mod harness;
mod hosted;
mod scene;
mod schema;
mod tekton;
mod tools;
#[allow(dead_code, reason = "these tests use a part of it")]
#[path = "../cluster/rules/support.rs"]
mod world;
