//! Access reviews of the user before anything is changed.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};

use super::review::review;
use crate::cluster::client::api::ApiClient;
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;
use crate::model::Namespace;

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
    let reviewed = review(
        client,
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        &body(query),
    )
    .await?;
    let status = reviewed.answer.status.as_ref();
    let status = status.ok_or_else(|| reviewed.unreadable("it has no status"))?;
    Ok(status.allowed)
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
}
