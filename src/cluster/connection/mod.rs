//! Which server, who asks, and how to get there.
//!
//! Takes kubectl's flags, the kubeconfig and the environment as values, and gives a [`Connection`].
//!
//! ```text
//! flags ─┐
//! kubeconfig files ─┴▶ chosen cluster and user ─▶ certificates, tokens, plugins, proxy ─▶ Connection
//! ```

mod address;
pub(in crate::cluster) mod in_cluster;
pub(in crate::cluster) mod kubeconfig;
pub(in crate::cluster) mod load;
mod lookup;
pub(in crate::cluster) mod material;
pub(in crate::cluster) mod options;
pub(in crate::cluster) mod plugin;
mod policy;
mod preferences;
pub(in crate::cluster) mod proxy;
pub(in crate::cluster) mod renewal;
mod validity;
pub use load::Connection;
pub use options::{ConnectionOptions, DEFAULT_REQUEST_TIMEOUT, Environment};
pub(in crate::cluster) use renewal::Renewal;
