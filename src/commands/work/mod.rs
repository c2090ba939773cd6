//! Work that several commands share: connect, read, select, approve, change, and wait.
//!
//! Knows no clap: everything comes as plain values.

pub(crate) mod access;
pub(crate) mod candidates;
pub(crate) mod changer;
pub(crate) mod cluster_view;
pub(crate) mod connect;
pub(crate) mod dedication;
pub(crate) mod drain;
pub(crate) mod hypothesis;
pub(crate) mod kubelet;
pub(crate) mod make_room;
pub(crate) mod mutation_context;
pub(crate) mod nodes;
pub(crate) mod observer;
pub(crate) mod output_request;
pub(crate) mod pipeline;
pub(crate) mod present;
pub(crate) mod publish;
mod read_progress;
pub(crate) mod source;
pub(crate) mod wait;
