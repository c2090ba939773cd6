//! Preview of the pods that a DRA device taint evicts, when, and at what risk.
//!
//! ```text
//!  kube-apiserver ┐
//!                 ├─▶ cluster ─▶ wire ─▶ model::Reading ─▶ engine ─▶ assess ─▶ report ─▶ render ─▶ output
//!  files, stdin  ─┤   (bytes)   (decode)     (facts)       (verdicts) (counts, (views)   (text)   (streams)
//!  a kubelet ─────┘                                                    hazards)
//! ```
//!
//! [`decide`] holds the decisions of commands that change something, [`naming`] reads what people type, `commands` brings everything together, and ARCHITECTURE.md says
//! which module may use which.

#![cfg_attr(not(test), deny(clippy::expect_used, clippy::panic))]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        reason = "a sum that overflows in a test fails that test"
    )
)]

pub mod assess;
pub mod cluster;
pub mod commands;
pub mod completion;
pub mod decide;
pub mod error;
pub mod kubelet;
pub mod naming;
pub mod output;
pub mod render;
pub mod report;
pub mod topics;
pub mod wire;

pub use device_taint_engine as engine;
pub use device_taint_engine::model;
