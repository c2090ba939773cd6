//! The user as the server has authenticated them.

use k8s_openapi::api::authentication::v1::SelfSubjectReview;

use crate::cluster::client::api::ApiClient;
use crate::cluster::client::request::{Change, JSON, Read};
use crate::cluster::client::write::WriteOutcome;
use crate::cluster::permission::Permission;

const PATH: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// The name under which the server knows the user, or `None` when it does not say: a luxury, for
/// which no command fails.
///
/// Upstream: what `kubectl auth whoami` asks. Every user may; the review is stored nowhere.
pub async fn user_name(client: &ApiClient) -> Option<String> {
    let target = Read {
        path: PATH.to_owned(),
        accept: JSON,
        permission: Permission {
            verb: "create",
            group: "authentication.k8s.io".to_owned(),
            // With a slash in front, it is not offered as a role: nobody needs it.
            resource: "/selfsubjectreviews".to_owned(),
        },
    };
    let change = Change {
        method: http::Method::POST,
        content_type: JSON,
        body: serde_json::to_vec(&SelfSubjectReview::default()).ok()?,
    };
    match client.write(&target, &change).await {
        WriteOutcome::Done(body) => {
            let review: SelfSubjectReview = serde_json::from_slice(&body).ok()?;
            let user = review.status?.user_info?;
            user.username.filter(|name| !name.is_empty())
        }
        WriteOutcome::Unmade(_) | WriteOutcome::Refused(_) | WriteOutcome::Lost(_) => None,
    }
}
