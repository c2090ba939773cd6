//! Small JSON documents: discovery, and single objects.

use serde::de::DeserializeOwned;

use super::api::{Consume, JSON, Read};
use super::retry::Failure;
use crate::cluster::{ApiClient, ClusterError, Permission};

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
    let body = client.read(&read, Collect::default).await?;
    serde_json::from_slice(&body)
        .map_err(|error| client.error(&read, Failure::Unreadable(error.to_string())))
}

/// Holds a whole body that must be a JSON document.
#[derive(Debug, Default)]
pub(in crate::cluster) struct Collect(Vec<u8>);

impl Consume for Collect {
    type Output = Vec<u8>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self) -> Result<Vec<u8>, Failure> {
        match serde_json::from_slice::<serde::de::IgnoredAny>(&self.0) {
            Ok(_) => Ok(self.0),
            Err(error) => Err(Failure::Broken(error.to_string())),
        }
    }
}
