//! Work that several commands share: connect, read, select, approve, change, and wait.
//!
//! Arguments that several commands share are the structs that do the work.

pub(crate) mod changer;
pub(crate) mod cluster_view;
pub(crate) mod connect;
pub(crate) mod dedication;
pub(crate) mod drain;
pub(crate) mod make_room;
pub(crate) mod mutation_context;
pub(crate) mod observer;
pub(crate) mod pipeline;
pub(crate) mod present;
pub(crate) mod wait;
