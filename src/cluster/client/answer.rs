//! Checks that a response comes from an API server and is about the object requested.
//!
//! Between here and the server there may be proxies, gateways, login pages and caches, and each of
//! them may answer in its place. Only what an API server says about the very object that was asked
//! for is a fact; the rest is an error that names what was found.

use http::Method;

use super::request::{Change, Read};
use super::target::{Resource, Target};
use crate::wire::{Identity, StatusDetails, identity, server_status};

/// Why `body`, which came with success, does not answer `read` with its `change`; `None` if it does.
pub(in crate::cluster) fn answer_mismatch(
    read: &Read,
    change: Option<&Change>,
    body: &[u8],
) -> Option<String> {
    let target = Target::of(&read.path);
    let method = change.map(|change| &change.method);
    let expected = match (&target, method) {
        (Target::Object(_, name), Some(&Method::DELETE)) => {
            // A deletion is answered with a Status, or with the object while finalizers or its grace period keep it.
            if is_deletion_of(name, body) {
                return None;
            }
            Some(name.clone())
        }
        (Target::Object(_, name), _) => Some(name.clone()),
        // For an object without a name the server generates one, so there is nothing to compare with.
        (Target::Collection(_), Some(_)) => change.and_then(name_in),
        (
            Target::Collection(_)
            | Target::Group(_)
            | Target::GroupVersion(_)
            | Target::Version
            | Target::Other,
            _,
        ) => None,
    };
    let fits = match &target {
        Target::Object(resource, _) | Target::Collection(resource) => {
            identity(body).is_some_and(|found| {
                let kind = match (&target, method) {
                    (Target::Collection(_), None) => found.kind.strip_suffix("List"),
                    _ => Some(found.kind.as_str()),
                };
                let namespace = resource.namespace.as_deref().unwrap_or_default();
                kind.is_some_and(|kind| resource.holds(kind))
                    && found.api_version == resource.api_version
                    && expected
                        .as_ref()
                        .is_none_or(|name| *name == found.name && namespace == found.namespace)
            })
        }
        Target::Group(group) => is_document(body, "APIGroup", "name", group),
        Target::GroupVersion(version) => {
            is_document(body, "APIResourceList", "groupVersion", version)
        }
        // `version.Info` has neither apiVersion nor kind.
        Target::Version => field(body, "gitVersion").is_some(),
        Target::Other => true,
    };
    (!fits).then(|| describe(body))
}

/// Whether a status about a failure is about the object that `path` leads to; a status that names
/// none is, too.
pub(in crate::cluster) fn is_about(path: &str, details: Option<&StatusDetails>) -> bool {
    let Some(details) = details else {
        return true;
    };
    let says_nothing = details.name.is_empty() && details.kind.is_empty();
    match Target::of(path) {
        Target::Object(resource, name) => is_about_object(&resource, &name, details),
        // The resource, the version or the group itself is not there.
        Target::Collection(_)
        | Target::Group(_)
        | Target::GroupVersion(_)
        | Target::Version
        | Target::Other => says_nothing,
    }
}

/// Whether a status is about that object of that resource.
pub(in crate::cluster) fn is_about_object(
    resource: &Resource,
    name: &str,
    details: &StatusDetails,
) -> bool {
    let group = resource
        .api_version
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    details.name == name
        && (details.kind == resource.name || resource.holds(&details.kind))
        && (details.group.is_empty() || details.group == group)
}

/// What a body is that is no answer, in a few words and on one line.
pub(in crate::cluster) fn describe(body: &[u8]) -> String {
    if let Some(status) = server_status(body) {
        let words = if status.message.is_empty() {
            status.reason
        } else {
            status.message
        };
        return format!("a Status with message {:?}", shortened(&words));
    }
    if let Some(Identity { kind, name, .. }) = identity(body) {
        let name = if name.is_empty() {
            "without a name".to_owned()
        } else {
            format!("{:?}", shortened(&name))
        };
        return format!("a {} {name}", shortened(&kind));
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.is_empty() {
        "an empty body".to_owned()
    } else if text.starts_with('<') {
        "an HTML page".to_owned()
    } else if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() {
        "JSON that is not a Kubernetes object".to_owned()
    } else {
        format!("the text {:?}", shortened(text))
    }
}

/// The first line, as far as it is short.
fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(200).collect()
}

/// Whether the server says that it deleted the object called `name`.
fn is_deletion_of(name: &str, body: &[u8]) -> bool {
    server_status(body).is_some_and(|status| {
        status.success
            && status
                .details
                .is_none_or(|details| details.name.is_empty() || details.name == name)
    })
}

/// The name of the object that is sent, if it has one.
fn name_in(change: &Change) -> Option<String> {
    identity(&change.body)
        .map(|sent| sent.name)
        .filter(|name| !name.is_empty())
}

/// Whether `body` is a document of that kind, and about `name`, if it says about what.
fn is_document(body: &[u8], kind: &str, about: &str, name: &str) -> bool {
    identity(body).is_some_and(|found| found.kind == kind)
        && field(body, about).is_none_or(|found| found == name)
}

/// A text in a document.
fn field(body: &[u8], name: &str) -> Option<String> {
    let document: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(document.get(name)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Permission;
    use crate::cluster::client::request::JSON;
    use crate::model::Kind;

    fn read(path: &str) -> Read {
        Read {
            path: path.to_owned(),
            accept: JSON,
            permission: Permission::new("get", Kind::DeviceTaintRule),
        }
    }

    fn change(method: Method, body: &str) -> Change {
        Change {
            name: "a".to_owned(),
            method,
            content_type: JSON,
            body: body.into(),
        }
    }

    const RULES: &str = "/apis/resource.k8s.io/v1/devicetaintrules";
    const RULE: &str = "/apis/resource.k8s.io/v1/devicetaintrules/a";
    const GOOD: &str =
        r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"a"}}"#;

    #[test]
    fn object_must_be_the_one_that_was_asked_for() {
        assert_eq!(answer_mismatch(&read(RULE), None, GOOD.as_bytes()), None);
        for (body, found) in [
            (GOOD.replace("\"a\"", "\"b\""), "a DeviceTaintRule \"b\""),
            (GOOD.replace("TaintRule", "Class"), "a DeviceClass \"a\""),
            (
                GOOD.replace("resource.k8s.io/v1", "other.io/v1"),
                "a DeviceTaintRule \"a\"",
            ),
            ("{}".to_owned(), "JSON that is not a Kubernetes object"),
            ("null".to_owned(), "JSON that is not a Kubernetes object"),
            ("<html>".to_owned(), "an HTML page"),
            (String::new(), "an empty body"),
            (
                r#"{"apiVersion":"v1","kind":"PodList","items":[]}"#.to_owned(),
                "a PodList without a name",
            ),
            (
                r#"{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no"}"#
                    .to_owned(),
                "a Status with message \"no\"",
            ),
        ] {
            let answer = answer_mismatch(&read(RULE), None, body.as_bytes());
            assert_eq!(answer.as_deref(), Some(found), "{body}");
        }
    }

    #[test]
    fn list_must_be_one_of_that_kind() {
        let list = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","items":[]}"#;
        assert_eq!(answer_mismatch(&read(RULES), None, list.as_bytes()), None);
        for body in [
            GOOD,
            r#"{"apiVersion":"v1","kind":"PodList","items":[]}"#,
            r#"{"apiVersion":"v1","kind":"DeviceTaintRuleList","items":[]}"#,
            r#"{"apiVersion":"v1","kind":"Status","status":"Success"}"#,
            "{}",
            "null",
        ] {
            let answer = answer_mismatch(&read(RULES), None, body.as_bytes());
            assert!(answer.is_some(), "{body}");
        }
    }

    #[test]
    fn deletion_is_told_by_a_status_or_by_the_object() {
        let change = change(Method::DELETE, "{}");
        let check =
            |body: &str| answer_mismatch(&read(RULE), Some(&change), body.as_bytes()).is_none();
        assert!(check(GOOD));
        assert!(check(
            r#"{"apiVersion":"v1","kind":"Status","status":"Success","details":{"name":"a"}}"#
        ));
        for body in [
            r#"{"apiVersion":"v1","kind":"Status","status":"Failure"}"#,
            r#"{"apiVersion":"v1","kind":"Status","status":"Success","details":{"name":"b"}}"#,
            r#"{"kind":"Status","status":"Success"}"#,
            "{}",
        ] {
            assert!(!check(body), "{body}");
        }
    }

    #[test]
    fn what_was_made_has_the_name_that_was_sent() {
        let change = change(Method::POST, GOOD);
        assert_eq!(
            answer_mismatch(&read(RULES), Some(&change), GOOD.as_bytes()),
            None
        );
        let other = GOOD.replace("\"a\"", "\"b\"");
        assert!(answer_mismatch(&read(RULES), Some(&change), other.as_bytes()).is_some());
        let list = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","items":[]}"#;
        assert!(answer_mismatch(&read(RULES), Some(&change), list.as_bytes()).is_some());
    }

    #[test]
    fn documents_about_the_server_are_known() {
        for (path, body, fits) in [
            ("/version", r#"{"gitVersion":"v1.37.0"}"#, true),
            ("/version", r#"{"version":"2.1"}"#, false),
            ("/apis/g", r#"{"kind":"APIGroup","name":"g"}"#, true),
            ("/apis/g", r#"{"kind":"APIGroup","name":"h"}"#, false),
            ("/apis/g", "{}", false),
            (
                "/apis/g/v1",
                r#"{"kind":"APIResourceList","groupVersion":"g/v1"}"#,
                true,
            ),
            ("/apis/g/v1", r#"{"kind":"APIGroup","name":"g"}"#, false),
        ] {
            let answer = answer_mismatch(&read(path), None, body.as_bytes());
            assert_eq!(answer.is_none(), fits, "{path} {body}");
        }
    }

    #[test]
    fn absence_is_about_the_object_that_was_asked_for() {
        let details = |name: &str, kind: &str| StatusDetails {
            name: name.to_owned(),
            kind: kind.to_owned(),
            group: "resource.k8s.io".to_owned(),
        };
        for (path, found, about) in [
            (RULE, Some(details("a", "devicetaintrules")), true),
            (RULE, Some(details("a", "DeviceTaintRule")), true),
            (RULE, None, true),
            (RULE, Some(details("b", "devicetaintrules")), false),
            (RULE, Some(details("a", "pods")), false),
            // The server knows no such resource, which says nothing about the object.
            (RULE, Some(StatusDetails::default()), false),
            (RULES, Some(StatusDetails::default()), true),
            (RULES, Some(details("ml", "namespaces")), false),
        ] {
            assert_eq!(is_about(path, found.as_ref()), about, "{path} {found:?}");
        }
    }
}
