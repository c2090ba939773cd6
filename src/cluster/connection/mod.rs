//! Connection to a cluster: server, user, credentials and proxy.
//!
//! Takes kubectl's flags, the kubeconfig and the environment as values, and gives a [`Connection`].
//!
//! ```text
//! flags, kubeconfig files or a pod's service account ─▶ Chosen ─▶ credentials, proxy ─▶ Connection
//! ```
//!
//! Files are parsed and merged by kube. Its own way from there to a `Config` is not taken: it runs credential plugins for
//! each part that needs them and shows their output, compares `NO_PROXY` with the proxy instead of the server, refuses a
//! `NO_PROXY` that ends in a comma, and needs a kubeconfig for `--server`.

mod kubeconfig;
pub(crate) mod load;
mod plugin;
pub(crate) use kubeconfig::Renewal;
pub use load::Connection;
pub use load::{ConnectionOptions, Environment};
