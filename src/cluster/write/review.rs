//! Reviews of the user by the server, which every user may request and which are stored nowhere.

use http::Method;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::objects::{Objects, Untyped};
use crate::cluster::client::api::{ApiClient, AttemptFailure};
use crate::cluster::client::target::{Change, JSON, Read, path_of};
use crate::cluster::client::write::WriteOutcome;
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;
use crate::model::Namespace;

/// What `field` takes from a review of `resource` of an API `group`, version `v1`.
///
/// # Errors
///
/// When the server does not answer with a review that has it.
async fn review<T: Serialize + DeserializeOwned, Field>(
    client: &ApiClient,
    group: &str,
    resource: &str,
    body: &T,
    field: impl Fn(T) -> Option<Field>,
) -> Result<Field, ClusterError> {
    let permission = Permission {
        verb: "create",
        group: group.to_owned(),
        // With a slash in front, it is not offered as a role: it is not needed.
        resource: format!("/{resource}"),
    };
    let target = Read::json(format!("/apis/{group}/v1/{resource}"), permission);
    let unreadable = |why: String| client.error(&target, AttemptFailure::Unreadable(why));
    let body = serde_json::to_value(body).map_err(|error| unreadable(error.to_string()))?;
    match client
        .write(&target, &Change::new(Method::POST, JSON, &body))
        .await
    {
        WriteOutcome::Done(body) => {
            let answer = serde_json::from_slice(&body);
            let answer = answer.map_err(|error| unreadable(error.to_string()))?;
            field(answer).ok_or_else(|| unreadable("a field is missing".to_owned()))
        }
        WriteOutcome::Unmade(error) | WriteOutcome::Refused(error) | WriteOutcome::Lost(error) => {
            Err(error)
        }
    }
}

/// Something that a command is going to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessQuery {
    /// Permission.
    pub permission: Permission,
    /// Where; nothing for what is in no namespace.
    pub namespace: Option<Namespace>,
}

/// True if the user is allowed to do that, as the server's authorizers say.
///
/// Upstream: request of `kubectl auth can-i`. Every user may send it; the review is stored nowhere.
///
/// # Errors
///
/// When the server does not say.
pub async fn is_allowed(client: &ApiClient, query: &AccessQuery) -> Result<bool, ClusterError> {
    let (group, resource) = ("authorization.k8s.io", "selfsubjectaccessreviews");
    let allowed = |review: SelfSubjectAccessReview| Some(review.status?.allowed);
    review(client, group, resource, &body(query), allowed).await
}

fn body(query: &AccessQuery) -> SelfSubjectAccessReview {
    let Permission {
        verb,
        group,
        resource,
    } = &query.permission;
    // A subresource is part of the resource for RBAC, and a field of its own here.
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (resource.as_str(), None),
    };
    let attributes = ResourceAttributes {
        verb: Some((*verb).to_owned()),
        group: Some(group.clone()),
        resource: Some(resource.to_owned()),
        subresource,
        namespace: query.namespace.as_ref().map(ToString::to_string),
        ..ResourceAttributes::default()
    };
    SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    }
}

/// The name under which the server knows the user, or `None` when it does not say: a luxury, for
/// which no command fails.
///
/// Upstream: what `kubectl auth whoami` asks. Every user may; the review is stored nowhere.
pub async fn user_name(client: &ApiClient) -> Option<String> {
    let (group, resource) = ("authentication.k8s.io", "selfsubjectreviews");
    let name = |review: SelfSubjectReview| review.status?.user_info?.username;
    let body = SelfSubjectReview::default();
    let user = review(client, group, resource, &body, name).await.ok();
    user.filter(|name| !name.is_empty())
}

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
        let path = format!("{}?dryRun=All", path_of(self.version, Some(namespace)));
        let target = Read::json(path, Permission::new("create", self.version.kind));
        let change = Change::new(Method::POST, JSON, object);
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

/// A UID that no other run has, as Kubernetes writes UIDs; `None` where the machine has no random numbers,
/// without which nothing can be told apart by it.
pub fn run_uid() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let parts = [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ];
    Some(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    #[test]
    fn a_subresource_and_a_namespace_are_asked_about_as_such() {
        let asked = |permission, namespace: Option<&str>| {
            let query = AccessQuery {
                permission,
                namespace: namespace.map(Namespace::from),
            };
            serde_json::to_value(body(&query)).unwrap()["spec"]["resourceAttributes"].clone()
        };
        let rules = asked(Permission::new("delete", Kind::DeviceTaintRule), None);
        assert_eq!(
            rules,
            serde_json::json!({"verb": "delete", "group": "resource.k8s.io", "resource": "devicetaintrules"})
        );
        let evictions = Permission {
            verb: "create",
            group: String::new(),
            resource: "pods/eviction".to_owned(),
        };
        assert_eq!(
            asked(evictions, Some("team-a")),
            serde_json::json!({
                "verb": "create", "group": "", "resource": "pods", "subresource": "eviction",
                "namespace": "team-a",
            })
        );
    }

    #[test]
    fn every_run_has_another_uid() {
        let (one, two) = (run_uid().unwrap(), run_uid().unwrap());
        assert_ne!(one, two);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
    }
}
