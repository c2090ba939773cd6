//! The user as the server has authenticated them.

use k8s_openapi::api::authentication::v1::SelfSubjectReview;

use super::review::review;
use crate::cluster::client::api::ApiClient;

/// The name under which the server knows the user, or `None` when it does not say: a luxury, for
/// which no command fails.
///
/// Upstream: what `kubectl auth whoami` asks. Every user may; the review is stored nowhere.
pub async fn user_name(client: &ApiClient) -> Option<String> {
    let body = SelfSubjectReview::default();
    let reviewed = review(client, "authentication.k8s.io", "selfsubjectreviews", &body).await;
    let user = reviewed.ok()?.answer.status?.user_info?;
    user.username.filter(|name| !name.is_empty())
}
