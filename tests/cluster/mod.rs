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
mod live;
#[cfg(target_os = "linux")]
mod nodes;
/// Connections, as kubectl makes them: the second tier runs kubectl again, and has the cache that both share.
mod parity {
    mod case;
    mod credentials;
    mod files;
    mod page;
    mod plugins;
    mod preferences;
    mod proxies;
    mod record;
    mod secrets;
    mod servers;
    mod stage;
    mod terminal;
    mod ways;
    mod witness;
}
mod publish;
mod reserved;
mod roomed;
pub mod rules;
#[cfg(unix)]
mod said;
mod smoke;
