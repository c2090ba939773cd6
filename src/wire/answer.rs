//! Identity and status of the object in a response, before any of it is trusted.
//!
//! A body that came with the right status code may still be another object than the one that was
//! asked for, or come from something that is no API server. Reads no other fields.

use std::fmt;

use prost::Message;
use serde::Deserialize;

use super::protobuf::{MAGIC, Named, NamedMeta, Unknown};

/// Identity of the object in a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Group and version.
    pub api_version: String,
    /// Kind, such as `Pod` or `PodList`.
    pub kind: String,
    /// Empty for objects of the cluster, and for lists.
    pub namespace: String,
    /// Empty for lists, and for objects without a name.
    pub name: String,
    /// The state of the object or the list; opaque.
    pub resource_version: String,
}

/// `metav1.Status`: the server's report about a request, with the fields that distinguish failures.
#[derive(Clone, PartialEq, Eq, Message, Deserialize)]
pub struct ServerStatus {
    #[prost(string, optional, tag = "2")]
    status: Option<String>,
    #[prost(string, optional, tag = "3")]
    message: Option<String>,
    #[prost(string, optional, tag = "4")]
    reason: Option<String>,
    #[prost(message, optional, tag = "5")]
    details: Option<StatusDetails>,
    #[prost(int32, optional, tag = "6")]
    code: Option<i32>,
}

/// `metav1.StatusDetails`.
#[derive(Clone, PartialEq, Eq, Message, Deserialize)]
struct StatusDetails {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
}

impl ServerStatus {
    /// True if it says `Success`; any other value is a failure.
    pub fn is_success(&self) -> bool {
        self.status() == "Success"
    }

    /// HTTP status code; absent when it says none, or none that can be one.
    pub fn http_code(&self) -> Option<u16> {
        // Go writes zero into protobuf where no code was set.
        u16::try_from(self.code()).ok().filter(|code| *code != 0)
    }

    /// Name of the object that it is about; empty when it says none.
    pub fn name(&self) -> &str {
        self.details.as_ref().map_or("", StatusDetails::name)
    }
}

impl fmt::Display for ServerStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.http_code() {
            write!(formatter, "{code} ")?;
        }
        write!(formatter, "{}: {}", self.reason(), self.message())
    }
}

/// The first fields of any object in JSON.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<NamedMeta>,
}

/// Identity of `body`, in either encoding; `None` when it is no Kubernetes object.
pub fn identity(body: &[u8]) -> Option<Identity> {
    let head = if let Some(envelope) = body.strip_prefix(MAGIC) {
        let unknown = Unknown::decode(envelope).ok()?;
        let found = unknown.type_meta?;
        Head {
            api_version: Some(found.api_version),
            kind: Some(found.kind),
            metadata: Named::decode(unknown.raw.as_slice()).ok()?.metadata,
        }
    } else {
        // `from_slice` refuses what follows the value: a failing server may append a Status to an object.
        serde_json::from_slice(body).ok()?
    };
    let metadata = head.metadata.unwrap_or_default();
    Some(Identity {
        api_version: head.api_version.unwrap_or_default(),
        kind: head.kind.filter(|kind| !kind.is_empty())?,
        namespace: metadata.namespace.unwrap_or_default(),
        name: metadata.name.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
    })
}

/// The status that `body` is, in either encoding; `None` for anything else, a document that only
/// looks like one included.
pub fn server_status(body: &[u8]) -> Option<ServerStatus> {
    if let Some(envelope) = body.strip_prefix(MAGIC) {
        let unknown = Unknown::decode(envelope).ok()?;
        unknown.type_meta.filter(|found| found.is_status())?;
        return ServerStatus::decode(unknown.raw.as_slice()).ok();
    }
    let head: Head = serde_json::from_slice(body).ok()?;
    // A `Status` of another group is an ordinary object, not the server's report of a failure.
    if head.kind.as_deref() != Some("Status") || head.api_version.as_deref() != Some("v1") {
        return None;
    }
    serde_json::from_slice(body).ok()
}

#[cfg(test)]
mod tests {
    use super::super::protobuf::NamedMeta;
    use super::super::testing::envelope;
    use super::*;

    #[test]
    fn status_is_read_from_both_encodings() {
        let json = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
            "message":"nodes \"x\" not found","reason":"NotFound",
            "details":{"name":"x","kind":"nodes"},"code":404}"#;
        let fields: ServerStatus = serde_json::from_slice(json).expect("a status");
        let protobuf = envelope("v1", "Status", &fields.encode_to_vec());
        for body in [&json[..], &protobuf] {
            let found = server_status(body).expect("a status");
            assert_eq!(found.http_code(), Some(404));
            assert_eq!((found.reason(), found.name()), ("NotFound", "x"));
            assert!(!found.is_success());
        }
    }

    #[test]
    fn what_only_looks_like_a_status_is_none() {
        for body in [
            &br#"{"kind":"Status","code":404}"#[..],
            br#"{"apiVersion":"v1","code":404}"#,
            br#"{"kind":"Status","apiVersion":"v2"}"#,
            b"404 page not found\n",
            b"<html></html>",
            b"null",
            b"[]",
            b"",
        ] {
            let text = String::from_utf8_lossy(body);
            assert_eq!(server_status(body), None, "{text}");
        }
    }

    #[test]
    fn identity_is_read_without_the_rest() {
        let json = br#"{"spec":{"a":[1]},"metadata":{"name":"n","namespace":"ml"},"apiVersion":"v1","kind":"Pod"}"#;
        let found = identity(json).expect("an object");
        assert_eq!((&*found.kind, &*found.name), ("Pod", "n"));
        for body in [&b"{}"[..], b"null", b"k8s\0", b"<html>"] {
            assert_eq!(identity(body), None);
        }
        let named = Named {
            metadata: Some(NamedMeta {
                name: Some("n".to_owned()),
                namespace: Some("ml".to_owned()),
                ..NamedMeta::default()
            }),
        };
        let protobuf = envelope("v1", "Pod", &named.encode_to_vec());
        assert_eq!(identity(&protobuf), Some(found));
    }
}
