//! Tests against the real control plane: etcd, API server, controllers and scheduler.
//!
//! They need Go, or `KUBEBUILDER_ASSETS`; see `README.md` in this folder.

mod harness;
#[cfg(target_os = "linux")]
mod lifetime;
mod rules;
mod smoke;
mod variants;
