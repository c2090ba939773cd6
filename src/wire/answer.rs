//! The kind and version a response claims, before any of it is trusted.
//!
//! A body that came with the right status code may still be another object than the one that was
//! asked for, or come from something that is no API server. Reads only as much as says that.

use prost::Message;
use serde::Deserialize;

use super::protobuf::{MAGIC, Named, Unknown};

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

/// The server's report about a request (`metav1.Status`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerStatus {
    /// True if it says `Success`; any other value is a failure.
    pub success: bool,
    /// HTTP status code; absent when it says none, or none that can be one.
    pub code: Option<u16>,
    /// Reason, such as `NotFound`; empty when it says none.
    pub reason: String,
    /// In words; empty when it says none.
    pub message: String,
    /// Name of the object that it is about; empty when it says none.
    pub name: String,
}

/// Identity of `body`, in either encoding; `None` when it is no Kubernetes object.
pub fn identity(body: &[u8]) -> Option<Identity> {
    let found = if let Some(envelope) = body.strip_prefix(MAGIC) {
        let unknown = Unknown::decode(envelope).ok()?;
        let found = unknown.type_meta?;
        let metadata = Named::decode(unknown.raw.as_slice())
            .ok()?
            .metadata
            .unwrap_or_default();
        Identity {
            api_version: found.api_version,
            kind: found.kind,
            namespace: metadata.namespace,
            name: metadata.name,
            resource_version: metadata.resource_version,
        }
    } else {
        // `from_slice` refuses what follows the value: a failing server may append a Status to an object.
        let head: Head = serde_json::from_slice(body).ok()?;
        let metadata = head.metadata.unwrap_or_default();
        Identity {
            api_version: head.api_version.unwrap_or_default(),
            kind: head.kind?,
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
        }
    };
    Some(found).filter(|found| !found.kind.is_empty())
}

/// The status that `body` is, in either encoding; `None` for anything else, a document that only
/// looks like one included.
pub fn server_status(body: &[u8]) -> Option<ServerStatus> {
    if let Some(envelope) = body.strip_prefix(MAGIC) {
        let unknown = Unknown::decode(envelope).ok()?;
        unknown.type_meta.filter(|found| found.is_status())?;
        let fields = Fields::decode(unknown.raw.as_slice()).ok()?;
        return Some(fields.into());
    }
    let head: Head = serde_json::from_slice(body).ok()?;
    // A `Status` of another group is an ordinary object, not the server's report of a failure.
    if head.kind.as_deref() != Some("Status") || head.api_version.as_deref() != Some("v1") {
        return None;
    }
    let fields: Fields = serde_json::from_slice(body).ok()?;
    Some(fields.into())
}

/// The first fields of any object in JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<HeadMeta>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadMeta {
    namespace: Option<String>,
    name: Option<String>,
    resource_version: Option<String>,
}

/// `metav1.Status`, with the fields that distinguish failures.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
struct Fields {
    #[prost(string, optional, tag = "2")]
    status: Option<String>,
    #[prost(string, optional, tag = "3")]
    message: Option<String>,
    #[prost(string, optional, tag = "4")]
    reason: Option<String>,
    #[prost(message, optional, tag = "5")]
    details: Option<Details>,
    #[prost(int32, optional, tag = "6")]
    code: Option<i32>,
}

/// `metav1.StatusDetails`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
struct Details {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
}

impl From<Fields> for ServerStatus {
    fn from(fields: Fields) -> Self {
        Self {
            success: fields.status.as_deref() == Some("Success"),
            code: fields
                .code
                // Go writes zero into protobuf where no code was set.
                .filter(|code| *code != 0)
                .and_then(|code| u16::try_from(code).ok()),
            reason: fields.reason.unwrap_or_default(),
            message: fields.message.unwrap_or_default(),
            name: fields
                .details
                .and_then(|details| details.name)
                .unwrap_or_default(),
        }
    }
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
        let fields: Fields = serde_json::from_slice(json).expect("a status");
        let protobuf = envelope("v1", "Status", &fields.encode_to_vec());
        for body in [&json[..], &protobuf] {
            let found = server_status(body).expect("a status");
            assert_eq!(found.code, Some(404));
            assert_eq!((&*found.reason, &*found.name), ("NotFound", "x"));
            assert!(!found.success);
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
                name: "n".to_owned(),
                namespace: "ml".to_owned(),
                ..NamedMeta::default()
            }),
        };
        let protobuf = envelope("v1", "Pod", &named.encode_to_vec());
        assert_eq!(identity(&protobuf), Some(found));
    }
}
