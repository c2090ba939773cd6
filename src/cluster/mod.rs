//! Where facts come from: a live cluster, or saved files.
//!
//! ```text
//! flags, kubeconfig ─▶ Connection ─▶ ApiClient ─▶ discover ─▶ Served ─▶ read_devices ─▶ read_pods ─┐
//! names of files ─▶ FileSource ─▶ read ────────────────────────────────────────────────────────────┴▶ Reading
//! ```
//!
//! Both give a [`Reading`](crate::model::Reading): the facts, their time and version as far as they
//! show, oddities, and what is missing. Decoding is `wire`'s. Prints nothing and reads no clock; an
//! [`Observer`] is told what happens.
//!
//! A cluster is read little and fast: protobuf, decoded item by item while it arrives, and only the
//! pods that matter. Never gives a shorter list than the server's: an answer that is not complete is
//! asked for again, and is an error in the end.

mod bytes;
mod client;
mod cluster_error;
mod connection;
mod discovery;
mod document;
mod enablement;
mod error;
mod events;
mod everything;
mod failure;
mod files;
mod gather;
mod headers;
mod identity;
mod in_cluster;
mod kubeconfig;
mod lists;
mod manifest;
mod material;
mod nodes;
mod observed;
mod observer;
mod options;
mod permission;
mod plugin;
mod pods;
mod proxy;
mod reading;
mod retry;
mod rule_object;
mod rules;
mod sources;
#[cfg(test)]
mod tests;
mod timeout;
mod version;
mod write;

pub use client::ApiClient;
pub use cluster_error::{ClusterError, Server};
pub use connection::Connection;
pub use discovery::{Served, discover};
pub use error::InputError;
pub use events::{ObjectEvent, rule_events};
pub use everything::{Saved, SavedList, read_everything};
pub use files::{Limits, read};
pub use identity::user_name;
pub use manifest::read_rules;
pub use nodes::node_health;
pub use observer::{Event, Observer, Silent};
pub use options::{ConnectionOptions, Environment};
pub use permission::{Permission, cluster_role_for, group_of};
pub use pods::read_pods;
pub use reading::{read_devices, read_for_preview};
pub use rule_object::{MANAGER, RuleDraft, RulePatch};
pub use rules::{Rules, StoredRule, WriteMode};
pub use sources::FileSource;
pub use timeout::{DEFAULT_REQUEST_TIMEOUT, parse_duration, parse_request_timeout};
