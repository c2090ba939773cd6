//! Reviews of the user by the server, which every user may request and which are stored nowhere.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cluster::client::api::ApiClient;
use crate::cluster::client::request::{Change, JSON, Read};
use crate::cluster::client::retry::AttemptFailure;
use crate::cluster::client::write::WriteOutcome;
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;

/// A review that the server has made, and how a field is reported that it lacks.
pub(super) struct Review<'a, T> {
    client: &'a ApiClient,
    target: Read,
    /// The review as it was answered.
    pub(super) answer: T,
}

impl<T> Review<'_, T> {
    /// The error of an answer that cannot be used, for this reason.
    pub(super) fn unreadable(&self, why: &str) -> ClusterError {
        let failure = AttemptFailure::Unreadable(why.to_owned());
        self.client.error(&self.target, failure)
    }
}

/// Requests a review of `resource` of an API `group`, version `v1`.
///
/// # Errors
///
/// When the server does not answer with one.
pub(super) async fn review<'a, T: Serialize + DeserializeOwned>(
    client: &'a ApiClient,
    group: &str,
    resource: &str,
    body: &T,
) -> Result<Review<'a, T>, ClusterError> {
    let target = Read {
        path: format!("/apis/{group}/v1/{resource}"),
        accept: JSON,
        permission: Permission {
            verb: "create",
            group: group.to_owned(),
            // With a slash in front, it is not offered as a role: it is not needed.
            resource: format!("/{resource}"),
        },
    };
    let unreadable = |error: serde_json::Error| {
        client.error(&target, AttemptFailure::Unreadable(error.to_string()))
    };
    let change = Change {
        method: http::Method::POST,
        content_type: JSON,
        body: serde_json::to_vec(body).map_err(unreadable)?,
    };
    match client.write(&target, &change).await {
        WriteOutcome::Done(body) => {
            let answer = serde_json::from_slice(&body).map_err(unreadable)?;
            Ok(Review {
                client,
                target,
                answer,
            })
        }
        WriteOutcome::Unmade(error) | WriteOutcome::Refused(error) | WriteOutcome::Lost(error) => {
            Err(error)
        }
    }
}
