//! Reading a live cluster, against a server that misbehaves on demand.

mod connecting;
mod discovering;
mod disruption;
mod encode;
mod faults;
mod kubeconfigs;
mod lists;
mod plugins;
mod pods;
mod renewing;
mod saving;
pub(crate) mod server;
mod trust;
mod watching;
mod ways;
mod writing;
