//! The objects that a path addresses, and whether a response is about them.
//!
//! Between here and the server there may be proxies and gateways, and each of them may answer in its place.
//!
//! Upstream: `RequestInfoFactory.NewRequestInfo` in `apiserver/pkg/endpoints/request`.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use kube::client::Body;
use serde_json::Value;

use super::api::AttemptFailure;
use crate::cluster::permission::Permission;
use crate::model::NamespacedName;
use crate::wire::{Version, identity, server_status};

/// Target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
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
pub(crate) struct Resource(String, pub(crate) String);

impl Target {
    /// Target of `path`, with or without a query.
    pub(crate) fn of(path: &str) -> Self {
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
                    && server_status(body).is_some_and(|status| status.is_success()))
        }
        Target::Discovery(kind) => found.kind == kind,
        // `version.Info` has neither apiVersion nor kind.
        Target::Version => serde_json::from_slice::<serde_json::Value>(body)
            .is_ok_and(|found| found["gitVersion"].is_string()),
        Target::Other => true,
    }
}

/// Media type of the API server's compact encoding.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The encoding that every resource has.
pub(crate) const JSON: &str = "application/json";

/// A list of which only the metadata of the objects are wanted.
///
/// Upstream: `metav1.PartialObjectMetadataList`.
pub(crate) const METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// A question that changes nothing.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    /// Path and query.
    pub(crate) path: String,
    /// The encoding to ask for.
    pub(crate) accept: &'static str,
    /// Permission that the user needs.
    pub(crate) permission: Permission,
}

impl Read {
    /// Asks for JSON.
    pub(crate) fn json(path: String, permission: Permission) -> Self {
        Self {
            path,
            accept: JSON,
            permission,
        }
    }
}

/// Change that a request makes.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// HTTP method, such as `PATCH`.
    pub(crate) method: Method,
    /// The encoding of the body.
    pub(crate) content_type: &'static str,
    /// Body that is sent.
    pub(crate) body: Vec<u8>,
}

impl Change {
    /// Sends `body` as JSON, of this `content_type`.
    pub(crate) fn new(method: Method, content_type: &'static str, body: &Value) -> Self {
        Self {
            method,
            content_type,
            body: body.to_string().into_bytes(),
        }
    }
}

/// The path of a pod.
pub(crate) fn pod_path(pod: &NamespacedName) -> String {
    let (namespace, name) = (pod.namespace.as_str(), pod.name.as_str());
    format!(
        "/api/v1/namespaces/{}/pods/{}",
        escaped(namespace),
        escaped(name)
    )
}

/// The HTTP request for `read`, with the change that it asks for, if any.
pub(super) fn request(
    read: &Read,
    change: Option<&Change>,
) -> Result<Request<Body>, AttemptFailure> {
    let request = Request::builder()
        .uri(&read.path)
        .header(ACCEPT, read.accept);
    let request = match change {
        None => request.body(Body::empty()),
        Some(change) => request
            .method(&change.method)
            .header(CONTENT_TYPE, change.content_type)
            .body(Body::from(change.body.clone())),
    };
    request.map_err(|error| AttemptFailure::Unreadable(error.to_string()))
}

/// The path of a kind's objects.
pub(crate) fn path_of(version: &Version, namespace: Option<&str>) -> String {
    let root = if version.api_version.contains('/') {
        "/apis"
    } else {
        "/api"
    };
    let within = namespace.map_or(String::new(), |name| {
        format!("/namespaces/{}", escaped(name))
    });
    format!(
        "{root}/{}{within}/{}",
        version.api_version,
        version.kind.resource()
    )
}

/// Text as it may stand in a path or a query.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            // The unreserved characters of RFC 3986, 2.3.
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// A part of a path without its percent signs; what is no escape stays as it is.
pub(crate) fn unescaped(part: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%')
            .then(|| after.split_at_checked(2))
            .flatten()
            .and_then(|(digits, after)| {
                let digits = std::str::from_utf8(digits).ok()?;
                Some((u8::from_str_radix(digits, 16).ok()?, after))
            });
        let (byte, after) = escaped.unwrap_or((first, after));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The resource in a path, such as `pods` in `/api/v1/namespaces/ml/pods/train-0`.
pub(crate) fn resource_in(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    let mut parts = path.trim_start_matches('/').split('/');
    let group = if parts.next() == Some("apis") { 2 } else { 1 };
    let mut parts = parts.skip(group);
    match (parts.next(), parts.next(), parts.next()) {
        // A path that ends at the namespace addresses the resource `namespaces` itself.
        (Some("namespaces"), Some(_), Some(name)) | (Some(name), _, _) => name,
        (None, _, _) => "the API",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Permission;
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

    #[test]
    fn the_resource_of_a_path_is_found() {
        for (path, name) in [
            ("/api/v1/pods?limit=1000", "pods"),
            ("/api/v1/namespaces/ml/pods/train-0", "pods"),
            ("/apis/resource.k8s.io/v1/resourceclaims", "resourceclaims"),
            ("/apis/resource.k8s.io/v1", "the API"),
            ("/version", "the API"),
        ] {
            assert_eq!(resource_in(path), name, "{path}");
        }
    }

    #[test]
    fn percent_signs_that_escape_nothing_stay() {
        for (part, expected) in [
            ("a%2fb", "a/b"),
            ("100%", "100%"),
            ("%zz", "%zz"),
            ("%4", "%4"),
        ] {
            assert_eq!(unescaped(part), expected);
        }
    }
}
