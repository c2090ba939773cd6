//! Who is asking?

use serde::Deserialize;
use serde_json::json;

use crate::cluster::client::request::{Change, JSON, Read};
use crate::cluster::client::write::Fate;
use crate::cluster::{ApiClient, Permission};

const PATH: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

#[derive(Deserialize)]
struct Review {
    status: ReviewStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewStatus {
    user_info: UserInfo,
}

#[derive(Deserialize)]
struct UserInfo {
    username: String,
}

/// The name under which the server knows the user, or `None` when it does not say: a luxury, for
/// which no command fails.
///
/// Upstream: what `kubectl auth whoami` asks. Every user may; the review is stored nowhere.
pub async fn user_name(client: &ApiClient) -> Option<String> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
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
        body: serde_json::to_vec(&review).ok()?,
    };
    match client.write(&target, &change).await {
        Fate::Done(body) => {
            let review: Review = serde_json::from_slice(&body).ok()?;
            Some(review.status.user_info.username).filter(|name| !name.is_empty())
        }
        Fate::Refused(_) | Fate::Lost(_) => None,
    }
}
