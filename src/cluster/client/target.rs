//! The objects that a path addresses, and whether a response is about them.
//!
//! Between here and the server there may be proxies and gateways, and each of them may answer in its place.
//!
//! Upstream: `RequestInfoFactory.NewRequestInfo` in `apiserver/pkg/endpoints/request`.

use http::Method;

use super::request::{Change, Read};
use crate::wire::{identity, server_status};

/// Target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster) enum Target {
    /// One object of a resource.
    Object(Resource),
    /// All objects of a resource, or those of a namespace.
    Collection(Resource),
    /// A document about the server, of this kind: `/apis/GROUP`, `/apis/GROUP/VERSION`.
    Discovery(&'static str),
    /// `/version`.
    Version,
    /// Anything else, such as a subresource.
    Other,
}

/// A resource: group and version, and plural.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster) struct Resource(String, pub(in crate::cluster) String);

impl Target {
    /// Target of `path`, with or without a query.
    pub(in crate::cluster) fn of(path: &str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let (api_version, rest) = match parts.as_slice() {
            ["version"] => return Self::Version,
            ["apis", _] => return Self::Discovery("APIGroup"),
            ["apis", _, _] | ["api", _] => return Self::Discovery("APIResourceList"),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            _ => return Self::Other,
        };
        let rest = match rest {
            // `/api/v1/namespaces/ml` is the object `ml` of the resource `namespaces`.
            ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
            rest => rest,
        };
        match rest {
            [name] => Self::Collection(Resource(api_version, (*name).to_owned())),
            [name, _] => Self::Object(Resource(api_version, (*name).to_owned())),
            _ => Self::Other,
        }
    }
}

impl Resource {
    /// True if this resource holds objects of `kind`.
    ///
    /// Upstream: `UnsafeGuessKindToResource` in `apimachinery/pkg/api/meta`, which is right for every
    /// kind of Kubernetes but `Endpoints`.
    fn holds(&self, api_version: &str, kind: &str) -> bool {
        let singular = kind.to_ascii_lowercase();
        let plural = if singular.ends_with('s') {
            format!("{singular}es")
        } else if let Some(stem) = singular.strip_suffix('y') {
            format!("{stem}ies")
        } else {
            format!("{singular}s")
        };
        !kind.is_empty() && self.0 == api_version && self.1 == plural
    }
}

/// True if `body`, which came with success, answers `read` with its `change`.
pub(super) fn answers(read: &Read, change: Option<&Change>, body: &[u8]) -> bool {
    let method = change.map(|change| &change.method);
    let found = identity(body).unwrap_or_default();
    match Target::of(&read.path) {
        Target::Collection(resource) if method.is_none() => {
            let kind = found.kind.strip_suffix("List").unwrap_or_default();
            resource.holds(&found.api_version, kind)
        }
        Target::Object(resource) | Target::Collection(resource) => {
            // A deletion is answered with a Status, or with the object while finalizers or its grace period keep it.
            resource.holds(&found.api_version, &found.kind)
                || (method == Some(&Method::DELETE)
                    && server_status(body).is_some_and(|status| status.success))
        }
        Target::Discovery(kind) => found.kind == kind,
        // `version.Info` has neither apiVersion nor kind.
        Target::Version => serde_json::from_slice::<serde_json::Value>(body)
            .is_ok_and(|found| found["gitVersion"].is_string()),
        Target::Other => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Permission;
    use crate::cluster::client::request::JSON;
    use crate::model::Kind;

    #[test]
    fn answer_is_of_the_kind_that_was_asked_for() {
        const RULES: &str = "/apis/resource.k8s.io/v1/devicetaintrules?limit=1";
        const RULE: &str = "/apis/resource.k8s.io/v1/devicetaintrules/a%2Fb";
        let rule = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule"}"#;
        let list = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","items":[]}"#;
        let status =
            |status| format!(r#"{{"apiVersion":"v1","kind":"Status","status":"{status}"}}"#);
        let (done, no) = (status("Success"), status("Failure"));
        let (get, post, delete) = (None, Some(Method::POST), Some(Method::DELETE));
        for (path, method, body, expected) in [
            (RULE, &get, rule, true),
            (RULE, &get, list, false),
            (RULE, &get, &rule.replace("TaintRule", "Class"), false),
            (
                RULE,
                &get,
                &rule.replace("resource.k8s.io/v1", "other.io/v1"),
                false,
            ),
            (RULE, &get, &done, false),
            (RULE, &get, "{}", false),
            (RULE, &get, "<html>", false),
            (RULES, &get, list, true),
            (RULES, &get, rule, false),
            (
                RULES,
                &get,
                r#"{"apiVersion":"v1","kind":"PodList","items":[]}"#,
                false,
            ),
            (RULES, &get, "null", false),
            (RULES, &post, rule, true),
            (RULES, &post, list, false),
            (RULE, &delete, rule, true),
            (RULE, &delete, &done, true),
            (RULE, &delete, &no, false),
            (RULE, &delete, "{}", false),
            ("/version", &get, r#"{"gitVersion":"v1.37.0"}"#, true),
            ("/version", &get, r#"{"version":"2.1"}"#, false),
            ("/apis/g", &get, r#"{"kind":"APIGroup","name":"g"}"#, true),
            ("/apis/g", &get, "{}", false),
            ("/apis/g/v1", &get, r#"{"kind":"APIResourceList"}"#, true),
            ("/apis/g/v1", &get, r#"{"kind":"APIGroup"}"#, false),
        ] {
            let read = Read {
                path: path.to_owned(),
                accept: JSON,
                permission: Permission::new("get", Kind::DeviceTaintRule),
            };
            let change = method.clone().map(|method| Change {
                method,
                content_type: JSON,
                body: Vec::new(),
            });
            let found = answers(&read, change.as_ref(), body.as_bytes());
            assert_eq!(found, expected, "{method:?} {path}: {body}");
        }
    }

    #[test]
    fn path_is_read_as_the_server_reads_it() {
        for (path, kind, api_version, is_object) in [
            ("/api/v1/namespaces/ml/pods", "Pod", "v1", false),
            ("/api/v1/namespaces/ml/pods/p", "Pod", "v1", true),
            ("/api/v1/namespaces/ml", "Namespace", "v1", true),
            ("/apis/g/v1/deviceclasses", "DeviceClass", "g/v1", false),
            (
                "/apis/g/v1/networkpolicies/a",
                "NetworkPolicy",
                "g/v1",
                true,
            ),
        ] {
            let held = match Target::of(path) {
                Target::Object(resource) => is_object && resource.holds(api_version, kind),
                Target::Collection(resource) => !is_object && resource.holds(api_version, kind),
                Target::Discovery(_) | Target::Version | Target::Other => false,
            };
            assert!(held, "{path}");
        }
        for path in ["/api/v1/namespaces/ml/pods/p/eviction", "/healthz", ""] {
            assert_eq!(Target::of(path), Target::Other, "{path}");
        }
    }
}
