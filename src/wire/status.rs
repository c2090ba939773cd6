//! `metav1.Status`: what a server sends instead of objects, or after some of them, when it fails.

use serde::Deserialize;

use super::error::DecodeError;

/// The server's account of a failure.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
pub(super) struct Status {
    /// In words.
    #[prost(string, optional, tag = "3")]
    pub(super) message: Option<String>,
    /// Reason, such as `Expired`.
    #[prost(string, optional, tag = "4")]
    pub(super) reason: Option<String>,
    /// HTTP status code.
    #[prost(int32, optional, tag = "6")]
    pub(super) code: Option<i32>,
}

impl From<Status> for DecodeError {
    fn from(status: Status) -> Self {
        Self::Status {
            // Go writes zero into protobuf where no code was set.
            code: status.code.filter(|code| *code != 0),
            reason: status.reason.unwrap_or_default(),
            message: status.message.unwrap_or_default(),
        }
    }
}
