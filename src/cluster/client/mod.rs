//! Requests and answers: one thin client over kube's layers.
//!
//! Bounded waiting, bounded repetition of reads, and answers that are complete or an error.

pub(in crate::cluster) mod api;
pub(in crate::cluster) mod body_reader;
mod connector;
pub(in crate::cluster) mod document;
mod exchange;
mod failure;
mod headers;
mod pinned;
mod refusal;
pub(in crate::cluster) mod request;
pub(in crate::cluster) mod retry;
pub(in crate::cluster) mod stream;
pub(in crate::cluster) mod target;
mod transport;
pub(in crate::cluster) mod write;

pub use api::ApiClient;
