//! A live cluster: how to reach it, what it serves, and what is in it.
//!
//! ```text
//! flags, kubeconfig ─▶ Connection ─▶ ApiClient ─▶ discover ─▶ Served ─▶ read_devices ─▶ read_pods ─▶ Reading
//! ```
//!
//! Reads little and fast: protobuf, decoded item by item while it arrives, and only the pods that
//! matter. Never gives a shorter list than the server's: an answer that is not complete is asked for
//! again, and is an error in the end. Prints nothing; an [`Observer`] is told what happens.

mod connection;
mod error;
mod headers;
mod in_cluster;
mod kubeconfig;
mod material;
mod observer;
mod options;
mod permission;
mod plugin;
mod proxy;
mod timeout;

pub use connection::Connection;
pub use error::{ClusterError, Server};
pub use observer::{Event, Observer, Silent};
pub use options::{ConnectionOptions, Environment};
pub use permission::{Permission, cluster_role_for, group_of};
pub use timeout::{DEFAULT_REQUEST_TIMEOUT, parse_request_timeout};
