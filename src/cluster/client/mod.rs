//! Requests and answers: one thin client for everything that is asked of a server.
//!
//! Bounded waiting, bounded repetition of reads, and answers that are complete or an error.

mod agreement;
mod answer;
pub(in crate::cluster) mod api;
mod connector;
pub(in crate::cluster) mod consume;
mod curve;
mod distance;
pub(in crate::cluster) mod document;
mod exchange;
mod failure;
mod headers;
mod heard;
mod link;
mod pace;
mod pinned;
pub(in crate::cluster) mod provider;
mod refusal;
pub(in crate::cluster) mod request;
pub(in crate::cluster) mod retry;
mod sending;
pub(in crate::cluster) mod stream;
pub(in crate::cluster) mod target;
mod through;
mod transport;
pub(in crate::cluster) mod write;

pub use api::ApiClient;
