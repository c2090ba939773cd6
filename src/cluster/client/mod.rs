//! Requests and answers: one thin client over kube's layers.
//!
//! Bounded waiting, bounded repetition of reads, and answers that are complete or an error.

pub(crate) mod api;
mod connector;
pub(crate) mod exchange;
mod failure;
mod refusal;
pub(crate) mod target;
pub(crate) mod write;

pub use api::ApiClient;
