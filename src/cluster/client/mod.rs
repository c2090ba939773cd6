//! Requests and answers: one thin client for everything that is asked of a server.
//!
//! Bounded waiting, bounded repetition of reads, and answers that are complete or an error.

pub(in crate::cluster) mod api;
pub(in crate::cluster) mod connector;
pub(in crate::cluster) mod document;
pub(in crate::cluster) mod failure;
pub(in crate::cluster) mod headers;
pub(in crate::cluster) mod retry;
pub(in crate::cluster) mod stream;
pub(in crate::cluster) mod transport;
pub(in crate::cluster) mod write;

pub use api::ApiClient;
