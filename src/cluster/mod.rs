//! Reading and writing of a cluster, and reading of saved files.
//!
//! ```text
//! flags, kubeconfig ─▶ Connection ─▶ ApiClient ─▶ discover ─▶ Served ─▶ read_devices ─▶ read_pods ─┐
//! names of files ─▶ FileSource ─▶ read ────────────────────────────────────────────────────────────┴▶ Reading
//! Served ─▶ read_everything ─▶ Saved ─▶ Destination
//! ```
//!
//! Both give a [`Reading`](crate::model::Reading): the facts, their time and version as far as they
//! show, warnings, and gaps. Decoding is `wire`'s. Prints nothing and reads no clock; an
//! [`Observer`] receives all events.
//!
//! A cluster is read little and fast: protobuf, decoded item by item while it arrives, and only the
//! pods that matter. Never gives a shorter list than the server's: an answer that is not complete is
//! asked for again, and is an error in the end.

mod client;
mod connection;
mod discovery;
mod error;
mod files;
#[cfg(test)]
pub(crate) mod live_tests;
mod observer;
mod permission;
mod read;
mod save;
mod watch;
mod write;

pub use crate::wire::Detail;
pub use client::ApiClient;
pub use connection::{Connection, ConnectionOptions, Environment};
pub use discovery::{ServedKinds, discover, served_kinds, with_admission};
pub use error::{ClusterError, Server};
pub use files::{
    FileSource, InputError, Limits, Manifests, SavedNotes, read, read_manifests, read_policies,
    read_with_rules,
};
pub use observer::Traffic;
pub use observer::{Event, Observer, Silent};
pub use permission::Permission;
pub use permission::Purpose;
pub use permission::Role;
pub use read::{
    EarlyInputs, NodeDetail, PodQuery, PodQueryResult, ReadMore, ReadResult, Saved, SavedList,
    eviction_events, find_pods, node_health, node_of_pod, read_attributes, read_devices,
    read_devices_and, read_everything, read_for_preview, read_names, read_nodes, read_optional,
    read_places, read_pods, read_pods_and_disruption_inputs, read_workloads, rule_events,
    slices_of_nodes,
};
pub use save::{Destination, Existing, SaveError, to_json};
pub use watch::Watched;
pub use write::{
    AccessQuery, ChangeDoubt, ChangeResult, ConflictAction, Known, Listed, ObjectChange,
    ObjectVersion, Objects, Removal, Rules, Stored, StoredRule, TrialResult, Untyped, WriteAnswer,
    WriteMode, delete_pod, evict, is_allowed, preferred_version, read_devices_with_objects,
    restart, run_uid, user_name,
};
