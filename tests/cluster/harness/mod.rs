//! A real Kubernetes control plane for tests.
//!
//! ```text
//! test ──▶ ControlPlane ──stdin/stdout──▶ `controlplane up` ──▶ etcd, API server, controllers, scheduler
//!              └───────────HTTPS──────────────────────────────────────────┘
//! ```
//!
//! [`ControlPlane::shared`] is started once per test binary, and [`ControlPlane::of`] once for each variant that
//! serves other API versions or lacks a component ([`Variant`]); [`ControlPlane::start`] starts one that no other
//! test sees. `up` owns all processes
//! and lives as long as its stdin: when the test binary ends, however it ends, the kernel closes
//! the pipe and everything is killed and removed.
//!
//! A [`Node`] joins one of them: a kubelet, a container runtime that only pretends, and a DRA driver.
//!
//! All methods panic with the server's own words when something fails that a test takes for granted.
//! Other test binaries use this folder through `#[path = "../cluster/harness/mod.rs"] mod harness;`.

#![allow(
    dead_code,
    unused_imports,
    reason = "every test binary uses its own part of the harness"
)]

mod access;
mod client;
mod command;
mod fault;
#[path = "../../support/go_program.rs"]
pub mod go_program;
mod history;
mod load;
mod machine;
mod names;
mod node;
pub mod objects;
mod plane;
mod program;
mod proxy;
mod random;
#[cfg(unix)]
mod terminal;
mod variant;
mod wait;
mod wire;

pub use access::User;
pub use client::{Answer, Reference};
pub use command::{PLUGIN, ignores_hangup, path_with, text};
pub use fault::{Another, Fault, Gate, Keeper, Reply, Spoiled, Twin};
pub use go_program::say;
pub use history::{Deed, Entry, History};
pub use names::{driver_name, random_suffix};
pub use node::{Node, Prepared};
pub use plane::ControlPlane;
pub use program::{VERSION, build_node, build_program};
pub use proxy::{At, Proxy, Seen};
pub use random::{Random, fresh_seed, number_in, tries};
#[cfg(unix)]
pub use terminal::{CTRL_C, CTRL_D, CTRL_Z, ENTER, Terminal};
pub use variant::Variant;
pub use wait::{DEADLINE, block_on, wait_for};
