//! Meaning of responses that are not a success.
//!
//! An API server explains a refusal in a `Status`. Without one, the answer may come from anywhere, and
//! nothing follows from it: a page of a gateway with status 404 is no proof that an object does not exist.
//!
//! API servers leave the `Status` out in two places: for a path that they do not know, which is how
//! they say that they lack a group or a version, and when they are too busy to look.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::response::Parts;

use super::api::{AttemptFailure, is_busy};
use super::failure;
use super::target::{Change, Read, Target};
use crate::cluster::client::target::unescaped;
use crate::cluster::error::{ClusterError, Server};
use crate::cluster::permission::{Permission, Purpose};
use crate::wire::{ServerStatus, server_status};

/// Body with which an API server answers an unknown path.
///
/// Upstream: `http.NotFound`, through `NotFoundHandler` in `apiserver/pkg/util/notfoundhandler`.
const UNKNOWN_PATH: &[u8] = b"404 page not found\n";
/// Body with which an API server refuses a request when it is too busy.
///
/// Upstream: `tooManyRequests` in `apiserver/pkg/server/filters/maxinflight.go`.
const TOO_BUSY: &[u8] = b"Too many requests, please try again later.\n";

/// Request that was refused: its server, target and purpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestContext<'a> {
    pub(super) server: &'a Arc<Server>,
    pub(super) read: &'a Read,
    /// The change that was asked for, if any.
    pub(super) change: Option<&'a Change>,
    /// True if another response of the server was an API server's.
    pub(super) is_api_server: bool,
    pub(super) purpose: Option<Purpose>,
}

/// An answer that is not a success.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    retry_after: Option<Duration>,
    body: Vec<u8>,
    /// True if the body did not break off.
    is_whole: bool,
    account: Option<ServerStatus>,
}

impl Refusal {
    /// From what has arrived of it.
    pub(super) fn new(head: &Parts, body: Vec<u8>, is_whole: bool) -> Self {
        Self {
            status: head.status,
            retry_after: failure::retry_after(&head.headers),
            // A Status that contradicts the response's own status code does not explain it.
            account: server_status(&body).filter(|account| {
                !account.is_success()
                    && account
                        .http_code()
                        .is_none_or(|code| code == head.status.as_u16())
            }),
            body,
            is_whole,
        }
    }

    /// True if it came from an API server, as far as its form shows.
    pub(super) fn is_of_api_server(&self) -> bool {
        self.account.is_some()
    }

    /// True if the server does not know the user.
    pub(super) fn is_unauthorized(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED
    }

    /// Consequence for the request: a retry, or the error.
    pub(super) fn classify(self, asked: &RequestContext<'_>) -> AttemptFailure {
        // For an eviction, 429 with a Status is what a budget says; asking again at once would not change it.
        let is_of_budget = self.status == StatusCode::TOO_MANY_REQUESTS
            && self.account.is_some()
            && is_eviction(&asked.read.path);
        if !is_of_budget && is_busy(self.status, self.retry_after) {
            return AttemptFailure::Busy {
                // API servers reply 429 before they look at a request; a 503 may come after the change was made.
                unseen: self.status == StatusCode::TOO_MANY_REQUESTS
                    && (self.account.is_some() || self.body == TOO_BUSY),
                status: self.status,
                retry_after: self.retry_after,
            };
        }
        match self.account {
            Some(account) => explained(asked, self.status, &account),
            None => self.unexplained(asked),
        }
    }

    fn unexplained(self, asked: &RequestContext<'_>) -> AttemptFailure {
        let RequestContext { server, read, .. } = *asked;
        let path = read.path.clone();
        let reason = format!("{} without a Kubernetes Status", self.status);
        match self.status {
            _ if !self.is_whole => AttemptFailure::Broken(reason),
            // Only where the path itself is in question: this text proves nothing about a single object.
            StatusCode::NOT_FOUND
                if asked.is_api_server
                    && self.body == UNKNOWN_PATH
                    && !matches!(Target::of(&path), Target::Object(..)) =>
            {
                ClusterError::NotFound { path }.into()
            }
            // Sent by proxies that could not reach the server, which may work the next time.
            StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => {
                AttemptFailure::Broken(reason)
            }
            status if status.is_server_error() => ClusterError::Refused {
                server: Arc::clone(server),
                path,
                status: status.as_u16(),
                message: "it does not say why".to_owned(),
            }
            .into(),
            _ => AttemptFailure::Unreadable(reason),
        }
    }
}

/// True if the path is that of a pod's eviction.
fn is_eviction(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    path.ends_with("/eviction") && path.contains("/pods/")
}

/// Failure with the server's own explanation.
fn explained(
    asked: &RequestContext<'_>,
    status: StatusCode,
    account: &ServerStatus,
) -> AttemptFailure {
    let RequestContext { server, read, .. } = *asked;
    let path = read.path.clone();
    let message = account.message().to_owned();
    // Of what is to be made, its namespace is missing, and not the object.
    let is_creation = asked.change.is_some() && matches!(Target::of(&path), Target::Collection(_));
    if status == StatusCode::NOT_FOUND && is_of_another(asked, account.name()) {
        // The response to another request: a rule that this deletion removed would be called deleted before.
        return AttemptFailure::Unreadable("it is about another object".to_owned());
    }
    AttemptFailure::Final(match (status, account.reason()) {
        (StatusCode::UNAUTHORIZED, "Unauthorized") => ClusterError::Unauthorized {
            server: Arc::clone(server),
        },
        (StatusCode::FORBIDDEN, "Forbidden")
            if asked.change.is_some() && is_of_admission(&message) =>
        {
            ClusterError::Invalid { path, message }
        }
        (StatusCode::FORBIDDEN, "Forbidden") => ClusterError::Forbidden {
            permission: refused_permission(&read.permission, &message),
            user: user_in(&message),
            purpose: asked.purpose,
        },
        (StatusCode::NOT_FOUND, "NotFound") if !is_creation => ClusterError::NotFound { path },
        (StatusCode::CONFLICT, "AlreadyExists") => ClusterError::AlreadyExists { path },
        (StatusCode::CONFLICT, "Conflict") => ClusterError::Conflict { path, message },
        (StatusCode::UNPROCESSABLE_ENTITY, "Invalid") => ClusterError::Invalid { path, message },
        (StatusCode::GONE, "Expired" | "Gone") => return AttemptFailure::Expired,
        (_, reason) => ClusterError::Refused {
            server: Arc::clone(server),
            status: status.as_u16(),
            message: if message.is_empty() {
                reason.to_owned()
            } else {
                message
            },
            path,
        },
    })
}

/// True if `name`, of the object that was not found, cannot belong to a response to this request.
fn is_of_another(asked: &RequestContext<'_>, name: &str) -> bool {
    let path = asked.read.path.split('?').next().unwrap_or_default();
    let is_other = match Target::of(path) {
        Target::Object(_) => unescaped(path.rsplit('/').next().unwrap_or_default()) != name,
        // Creating an object may fail because its namespace is missing; no list is missing because of an object.
        Target::Collection(_) => asked.change.is_none(),
        // Discovery does not depend on an object either.
        Target::Discovery(_) | Target::Version => true,
        // A subresource may be missing something else.
        Target::Other => false,
    };
    is_other && !name.is_empty()
}

/// True if admission refuses an authorized user: `… is forbidden: violates PodSecurity …`. No role helps then.
///
/// Upstream: `NewForbidden` of admission plugins in `apiserver/pkg/admission/errors.go`; authorizers name the user.
fn is_of_admission(message: &str) -> bool {
    let why = message.split_once(" is forbidden: ").map(|(_, why)| why);
    why.is_some_and(|why| !why.starts_with("User \""))
}

/// The permission that a user lacks: the server refuses the application of an object that is not there as a creation.
fn refused_permission(asked: &Permission, message: &str) -> Permission {
    let mut permission = asked.clone();
    if message.contains("\" cannot create resource") {
        permission.verb = "create";
    }
    permission
}

/// The user in `… is forbidden: User "alice" cannot list …`.
fn user_in(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("User \"")?;
    let (user, _) = rest.split_once('"')?;
    Some(user.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::target::JSON;
    use crate::model::Kind;

    const RULES: &str = "/apis/resource.k8s.io/v1/devicetaintrules";
    const RULE: &str = "/apis/resource.k8s.io/v1/devicetaintrules/a";
    const GROUP: &str = "/apis/resource.k8s.io";

    fn classified(path: &str, status: u16, body: &str) -> String {
        meaning(path, refused(status, body, true), true)
    }

    /// Failure for a response that broke off after this part.
    fn judge_part(status: u16, body: &str) -> String {
        meaning(RULE, refused(status, body, false), true)
    }

    fn refused(status: u16, body: &str, is_whole: bool) -> Refusal {
        let response = http::Response::builder().status(status);
        let (head, ()) = response.body(()).expect("a response").into_parts();
        Refusal::new(&head, body.as_bytes().to_vec(), is_whole)
    }

    fn meaning(path: &str, refusal: Refusal, is_api_server: bool) -> String {
        meaning_of(path, refusal, is_api_server, true)
    }

    fn meaning_of(path: &str, refusal: Refusal, is_api_server: bool, changes: bool) -> String {
        let server = Arc::new(Server {
            cluster: None,
            url: "https://s".to_owned(),
        });
        let read = Read {
            path: path.to_owned(),
            accept: JSON,
            permission: Permission::new("get", Kind::DeviceTaintRule),
        };
        let change = Change {
            method: http::Method::POST,
            content_type: JSON,
            body: Vec::new(),
        };
        let asked = RequestContext {
            server: &server,
            read: &read,
            change: changes.then_some(&change),
            is_api_server,
            purpose: None,
        };
        let failure = format!("{:?}", refusal.classify(&asked));
        let name = failure.strip_prefix("Final(").unwrap_or(&failure);
        let end = name.find(|c: char| !c.is_alphanumeric());
        name[..end.unwrap_or(name.len())].to_owned()
    }

    fn status(code: u16, reason: &str, details: &str) -> String {
        format!(
            r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"{reason}"{details},"code":{code}}}"#
        )
    }

    #[test]
    fn nothing_is_concluded_from_half_a_refusal() {
        let whole = status(404, "NotFound", r#","details":{"name":"a"}"#);
        let half = &whole[..whole.len() / 2];
        assert_eq!(classified(RULE, 404, half), "Unreadable");
        for code in [400, 404, 409, 500] {
            assert_eq!(judge_part(code, half), "Broken");
        }
        // The part that arrived identifies the sender.
        let kind = status(
            404,
            "NotFound",
            r#","details":{"name":"a","kind":"devicetaintrules"}"#,
        );
        assert_eq!(judge_part(404, &kind), "NotFound");
    }

    #[test]
    fn an_object_is_missing_only_where_the_answer_names_it() {
        let about = |name: &str| {
            let details = format!(r#","details":{{"name":"{name}","kind":"devicetaintrules"}}"#);
            status(404, "NotFound", &details)
        };
        assert_eq!(classified(RULE, 404, &about("a")), "NotFound");
        assert_eq!(classified(RULE, 404, &about("")), "NotFound");
        assert_eq!(
            classified(RULE, 404, &status(404, "NotFound", "")),
            "NotFound"
        );
        assert_eq!(classified(RULE, 404, &about("other")), "Unreadable");
        let eviction = "/api/v1/namespaces/a/pods/b/eviction";
        assert_eq!(classified(eviction, 404, &about("other")), "NotFound");
    }

    #[test]
    fn neither_a_list_nor_what_is_served_is_missing_because_of_an_object() {
        let read = |path: &str, details: &str| {
            let refusal = refused(404, &status(404, "NotFound", details), true);
            meaning_of(path, refusal, true, false)
        };
        let other = r#","details":{"name":"other","kind":"configmaps"}"#;
        for path in [RULES, GROUP, "/apis/resource.k8s.io/v1", "/version"] {
            assert_eq!(read(path, other), "Unreadable", "{path}");
            assert_eq!(read(path, ""), "NotFound", "{path}");
        }
    }

    #[test]
    fn a_budget_that_refuses_an_eviction_is_no_busy_server() {
        let eviction = "/api/v1/namespaces/a/pods/b/eviction";
        let said = status(429, "TooManyRequests", "");
        for (path, body, expected) in [
            (eviction, said.as_str(), "Refused"),
            (
                "/api/v1/namespaces/a/pods/b/eviction?dryRun=All",
                &said,
                "Refused",
            ),
            (RULE, &said, "Busy"),
            ("/apis/a/v1/eviction", &said, "Busy"),
            // The server itself is busy, and has not asked a budget.
            (
                eviction,
                "Too many requests, please try again later.\n",
                "Busy",
            ),
        ] {
            assert_eq!(classified(path, 429, body), expected, "{path}");
        }
    }

    #[test]
    fn what_admission_refuses_is_no_missing_permission() {
        for (message, expected) in [
            (
                "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": hostPath volumes",
                true,
            ),
            ("pods \"a\" is forbidden: exceeded quota: few", true),
            (
                "pods is forbidden: User \"alice\" cannot create resource \"pods\" in API group \"\"",
                false,
            ),
            ("Forbidden", false),
        ] {
            assert_eq!(is_of_admission(message), expected, "{message}");
        }
    }

    #[test]
    fn refusal_means_what_the_server_says_it_means() {
        for (code, reason, meaning) in [
            (401, "Unauthorized", "Unauthorized"),
            (403, "Forbidden", "Forbidden"),
            (404, "NotFound", "NotFound"),
            (409, "AlreadyExists", "AlreadyExists"),
            (409, "Conflict", "Conflict"),
            (422, "Invalid", "Invalid"),
            (410, "Expired", "Expired"),
            (410, "Gone", "Expired"),
            (400, "BadRequest", "Refused"),
            (404, "Gone", "Refused"),
            (409, "", "Refused"),
        ] {
            let body = status(code, reason, "");
            assert_eq!(classified(RULE, code, &body), meaning, "{code} {reason}");
        }
    }

    #[test]
    fn only_an_api_server_can_refuse() {
        for code in [301, 400, 401, 403, 404, 409, 410, 422] {
            for body in [
                "<html>no</html>".to_owned(),
                String::new(),
                "{}".to_owned(),
                format!(r#"{{"code":{code},"reason":"NotFound"}}"#),
                status(500, "NotFound", ""),
                status(code, "NotFound", "").replace("Failure", "Success"),
            ] {
                assert_eq!(classified(RULE, code, &body), "Unreadable", "{code} {body}");
            }
        }
    }

    #[test]
    fn a_missing_namespace_is_not_the_object_that_was_to_be_made() {
        let missing = status(
            404,
            "NotFound",
            r#","details":{"name":"ml","kind":"namespaces"}"#,
        );
        assert_eq!(classified(RULES, 404, &missing), "Refused");
    }

    #[test]
    fn unknown_path_is_told_in_text_by_what_is_known_to_be_an_api_server() {
        let words = "404 page not found\n";
        for (name, path, body, is_api_server, expected) in [
            ("a group", GROUP, words, true, "NotFound"),
            ("a list", RULES, words, true, "NotFound"),
            (
                "of a server that is not known",
                GROUP,
                words,
                false,
                "Unreadable",
            ),
            ("about an object", RULE, words, true, "Unreadable"),
            ("in other words", GROUP, "not found", true, "Unreadable"),
        ] {
            let refusal = refused(404, body, true);
            assert_eq!(meaning(path, refusal, is_api_server), expected, "{name}");
        }
    }

    #[test]
    fn user_is_taken_from_the_servers_words() {
        let message = r#"resourceslices.resource.k8s.io is forbidden: User "alice" cannot list resource "resourceslices""#;
        assert_eq!(user_in(message).as_deref(), Some("alice"));
        assert_eq!(user_in("forbidden"), None);
    }
}
