//! Tests against the real control plane: etcd, API server, controllers and scheduler.
//!
//! They need Go, or `KUBEBUILDER_ASSETS`; see `README.md` in this folder.

mod campaign;
mod comparison;
#[cfg(unix)]
mod dedicated;
mod drained;
#[cfg(unix)]
mod guides;
#[cfg(unix)]
mod interruptions;
mod live;
#[cfg(target_os = "linux")]
mod nodes;
#[cfg(unix)]
mod parity;
mod publish;
#[cfg(unix)]
mod reacts;
mod roomed;
pub mod rules;
#[cfg(unix)]
mod said;
mod smoke;
