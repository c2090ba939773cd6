//! Creations that the server only tries.

use http::Method;
use serde_json::Value;

use super::objects::Objects;
use super::stored::Untyped;
use crate::cluster::client::request::{Change, JSON, Read};
use crate::cluster::client::write::WriteOutcome;
use crate::cluster::error::ClusterError;
use crate::cluster::path::path_of;
use crate::cluster::permission::Permission;

/// Result of admission for an object.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialResult {
    /// The object as it would be stored.
    Accepted(Value),
    /// Rejected, in the server's words.
    Rejected(String),
}

impl Objects<Untyped> {
    /// Tries to create an object in a namespace: the server does everything but storing it.
    ///
    /// # Errors
    ///
    /// When the server does not say, such as when a permission is missing.
    pub async fn try_creation(
        &self,
        namespace: &str,
        object: &Value,
    ) -> Result<TrialResult, ClusterError> {
        let target = Read {
            path: format!("{}?dryRun=All", path_of(self.version, Some(namespace))),
            accept: JSON,
            permission: Permission::new("create", self.version.kind),
        };
        let change = Change {
            method: Method::POST,
            content_type: JSON,
            body: object.to_string().into_bytes(),
        };
        match self.client.write(&target, &change).await {
            WriteOutcome::Done(body) => serde_json::from_slice(&body)
                .map(TrialResult::Accepted)
                .map_err(|error| self.unreadable(&target, error.to_string())),
            WriteOutcome::Refused(ClusterError::Invalid { message, .. }) => {
                Ok(TrialResult::Rejected(message))
            }
            WriteOutcome::Refused(error)
            | WriteOutcome::Unmade(error)
            | WriteOutcome::Lost(error) => Err(error),
        }
    }
}
