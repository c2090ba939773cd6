//! Small JSON documents: discovery, and single objects.

use serde::de::DeserializeOwned;

use super::answer::answer_mismatch;
use super::api::ApiClient;
use super::body_reader::{BodyCollector, BodyReader};
use super::request::{Change, JSON, Read};
use super::retry::AttemptFailure;
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
        self.read(read, || Document::answering(read, None)).await
    }
}

/// A whole body that must be the JSON document that was asked for.
#[derive(Debug)]
pub(in crate::cluster) struct Document<'a> {
    read: &'a Read,
    change: Option<&'a Change>,
    body: BodyCollector,
}

impl<'a> Document<'a> {
    /// What has to answer `read`, and the change that goes with it, if any.
    pub(in crate::cluster) fn answering(read: &'a Read, change: Option<&'a Change>) -> Self {
        Self {
            read,
            change,
            body: BodyCollector::default(),
        }
    }
}

impl BodyReader for Document<'_> {
    type Output = Vec<u8>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        self.body.push(bytes)
    }

    fn finish(self) -> Result<Vec<u8>, AttemptFailure> {
        let body = self.body.into_bytes();
        if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&body) {
            // A page in HTML is complete and foreign; other text that is not JSON has probably been cut off.
            return Err(if body.starts_with(b"<") {
                AttemptFailure::Foreign("an HTML page".to_owned())
            } else {
                AttemptFailure::Broken(error.to_string())
            });
        }
        match answer_mismatch(self.read, self.change, &body) {
            Some(found) => Err(AttemptFailure::Foreign(found)),
            None => Ok(body),
        }
    }
}
