//! Checks that a response comes from an API server: that it is of the kind requested.
//!
//! Between here and the server there may be proxies, gateways and login pages, and each of them may
//! answer in its place. What is of another kind is an error that names what was found.

use http::Method;

use super::request::{Change, Read};
use super::target::{Resource, Target};
use crate::wire::{identity, server_status};

/// What `body`, which came with success, is in place of an answer to `read` with its `change`; `None` if
/// it is one.
pub(in crate::cluster) fn answer_mismatch(
    read: &Read,
    change: Option<&Change>,
    body: &[u8],
) -> Option<String> {
    let method = change.map(|change| &change.method);
    let fits = match Target::of(&read.path) {
        // A deletion is answered with a Status, or with the object while finalizers or its grace period keep it.
        Target::Object(resource) if method == Some(&Method::DELETE) => {
            server_status(body).is_some_and(|status| status.success)
                || is_of(&resource, body, |kind| Some(kind))
        }
        Target::Collection(resource) if method.is_none() => {
            is_of(&resource, body, |kind| kind.strip_suffix("List"))
        }
        Target::Object(resource) | Target::Collection(resource) => {
            is_of(&resource, body, |kind| Some(kind))
        }
        Target::Group => is_a("APIGroup", body),
        Target::GroupVersion => is_a("APIResourceList", body),
        Target::Version => is_version(body),
        Target::Other => true,
    };
    (!fits).then(|| describe(body))
}

/// Whether a body is of the kind that the resource holds, where that is the part of its kind that `singular` gives.
fn is_of(resource: &Resource, body: &[u8], singular: fn(&str) -> Option<&str>) -> bool {
    identity(body).is_some_and(|found| {
        found.api_version == resource.api_version
            && singular(&found.kind).is_some_and(|kind| resource.holds(kind))
    })
}

fn is_a(kind: &str, body: &[u8]) -> bool {
    identity(body).is_some_and(|found| found.kind == kind)
}

/// `version.Info` has neither apiVersion nor kind.
fn is_version(body: &[u8]) -> bool {
    let document: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    document.is_some_and(|found| found["gitVersion"].is_string())
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
    if let Some(found) = identity(body) {
        return format!("a {}", shortened(&found.kind));
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

    fn change(method: Method) -> Change {
        Change {
            method,
            content_type: JSON,
            body: Vec::new(),
        }
    }

    const RULES: &str = "/apis/resource.k8s.io/v1/devicetaintrules";
    const RULE: &str = "/apis/resource.k8s.io/v1/devicetaintrules/a";
    const GOOD: &str =
        r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"a"}}"#;
    const LIST: &str =
        r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","items":[]}"#;

    #[test]
    fn object_must_be_of_the_kind_that_was_asked_for() {
        assert_eq!(answer_mismatch(&read(RULE), None, GOOD.as_bytes()), None);
        for (body, found) in [
            (&*GOOD.replace("TaintRule", "Class"), "a DeviceClass"),
            (
                &*GOOD.replace("resource.k8s.io/v1", "other.io/v1"),
                "a DeviceTaintRule",
            ),
            ("{}", "JSON that is not a Kubernetes object"),
            ("null", "JSON that is not a Kubernetes object"),
            ("<html>", "an HTML page"),
            ("", "an empty body"),
            (LIST, "a DeviceTaintRuleList"),
            (
                r#"{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no"}"#,
                "a Status with message \"no\"",
            ),
        ] {
            let answer = answer_mismatch(&read(RULE), None, body.as_bytes());
            assert_eq!(answer.as_deref(), Some(found), "{body}");
        }
    }

    #[test]
    fn list_must_be_one_of_that_kind() {
        assert_eq!(answer_mismatch(&read(RULES), None, LIST.as_bytes()), None);
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
        let change = change(Method::DELETE);
        for (body, fits) in [
            (GOOD, true),
            (
                r#"{"apiVersion":"v1","kind":"Status","status":"Success"}"#,
                true,
            ),
            (
                r#"{"apiVersion":"v1","kind":"Status","status":"Failure"}"#,
                false,
            ),
            (r#"{"kind":"Status","status":"Success"}"#, false),
            ("{}", false),
        ] {
            let answer = answer_mismatch(&read(RULE), Some(&change), body.as_bytes());
            assert_eq!(answer.is_none(), fits, "{body}");
        }
    }

    #[test]
    fn creation_is_told_by_the_object() {
        let change = change(Method::POST);
        for (body, fits) in [(GOOD, true), (LIST, false)] {
            let answer = answer_mismatch(&read(RULES), Some(&change), body.as_bytes());
            assert_eq!(answer.is_none(), fits, "{body}");
        }
    }

    #[test]
    fn documents_about_the_server_are_known() {
        for (path, body, fits) in [
            ("/version", r#"{"gitVersion":"v1.37.0"}"#, true),
            ("/version", r#"{"version":"2.1"}"#, false),
            ("/version", "[]", false),
            ("/apis/g", r#"{"kind":"APIGroup","name":"g"}"#, true),
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
}
