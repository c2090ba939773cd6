//! Tests against the real control plane: etcd, API server, controllers and scheduler.
//!
//! They need Go, or `KUBEBUILDER_ASSETS`; see `README.md` in this folder.

#[path = "../support/case/mod.rs"]
mod case;
mod comparison;
mod harness;
#[cfg(target_os = "linux")]
mod lifetime;
mod publish;
mod smoke;
mod variants;
