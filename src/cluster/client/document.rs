//! Small JSON documents: discovery, and single objects.

use serde::de::{DeserializeOwned, IgnoredAny};

use super::api::ApiClient;
use super::body_reader::{BodyReader, hold};
use super::request::{Change, JSON, Read};
use super::retry::AttemptFailure;
use super::target::answers;
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;

/// Reads a small JSON document that is no object, such as what the server has.
pub(in crate::cluster) async fn document<T: DeserializeOwned>(
    client: &ApiClient,
    path: String,
) -> Result<T, ClusterError> {
    let permission = Permission {
        verb: "get",
        group: String::new(),
        resource: path.split('?').next().unwrap_or_default().to_owned(),
    };
    document_for(client, path, permission).await
}

/// Reads a small JSON document that the user needs `permission` for.
pub(in crate::cluster) async fn document_for<T: DeserializeOwned>(
    client: &ApiClient,
    path: String,
    permission: Permission,
) -> Result<T, ClusterError> {
    let read = Read {
        path,
        accept: JSON,
        permission,
    };
    let body = client.json(&read).await?;
    serde_json::from_slice(&body)
        .map_err(|error| client.error(&read, AttemptFailure::Unreadable(error.to_string())))
}

impl ApiClient {
    /// The JSON that answers `read`: what the path leads to, and nothing else.
    pub(in crate::cluster) async fn json(&self, read: &Read) -> Result<Vec<u8>, ClusterError> {
        let document = || Document {
            read,
            change: None,
            body: Vec::new(),
        };
        self.read(read, document).await
    }
}

/// A whole body that must be the JSON document that was asked for.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) read: &'a Read,
    pub(super) change: Option<&'a Change>,
    pub(super) body: Vec<u8>,
}

impl BodyReader for Document<'_> {
    type Output = Vec<u8>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        hold(&mut self.body, bytes)
    }

    fn finish(self) -> Result<Vec<u8>, AttemptFailure> {
        let body = self.body;
        serde_json::from_slice::<IgnoredAny>(&body)
            .map_err(|error| AttemptFailure::Broken(format!("it is not JSON: {error}")))?;
        if answers(self.read, self.change, &body) {
            Ok(body)
        } else {
            Err(AttemptFailure::Unreadable(
                "it is not the object that was requested".to_owned(),
            ))
        }
    }
}
