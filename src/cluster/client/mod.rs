//! Requests and answers: one thin client for everything that is asked of a server.
//!
//! Bounded waiting, bounded repetition of reads, and answers that are complete or an error.

mod answer;
pub(in crate::cluster) mod api;
mod connector;
pub(in crate::cluster) mod consume;
pub(in crate::cluster) mod document;
mod exchange;
mod failure;
mod headers;
mod heard;
mod identity;
mod pace;
mod pinned;
mod refusal;
pub(in crate::cluster) mod request;
pub(in crate::cluster) mod retry;
pub(in crate::cluster) mod stream;
pub(in crate::cluster) mod target;
mod transport;
pub(in crate::cluster) mod write;

pub use api::ApiClient;
