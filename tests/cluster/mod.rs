//! Tests against the real control plane: etcd, API server, controllers and scheduler.
//!
//! They need Go, or `KUBEBUILDER_ASSETS`; see `README.md` in this folder.

mod campaign;
mod comparison;
mod contexts;
#[cfg(unix)]
mod debug_pod;
#[cfg(unix)]
mod guides;
#[cfg(target_os = "linux")]
mod lifetime;
mod live;
#[cfg(target_os = "linux")]
mod nodes;
mod publish;
mod reserved;
pub mod rules;
#[cfg(unix)]
mod said;
mod smoke;
mod variants;
