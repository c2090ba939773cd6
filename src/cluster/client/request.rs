//! What is asked of a server.

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use http::{Method, Request};
use kube::client::Body;

use super::retry::AttemptFailure;
use super::sending::Sending;
use crate::cluster::permission::Permission;

/// What the API server calls its compact encoding.
pub(in crate::cluster) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The encoding that every resource has.
pub(in crate::cluster) const JSON: &str = "application/json";

/// A list of which only the metadata of the objects are wanted.
///
/// Upstream: `metav1.PartialObjectMetadataList`.
pub(in crate::cluster) const METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// A question that changes nothing.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Read {
    /// Path and query.
    pub(in crate::cluster) path: String,
    /// The encoding to ask for.
    pub(in crate::cluster) accept: &'static str,
    /// What the user must be allowed to do.
    pub(in crate::cluster) permission: Permission,
}

/// What a request wants to be changed.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Change {
    /// Such as `PATCH`.
    pub(in crate::cluster) method: Method,
    /// The encoding of the body.
    pub(in crate::cluster) content_type: &'static str,
    /// What is sent.
    pub(in crate::cluster) body: Vec<u8>,
}

/// Whether an answer is to be compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cluster) enum Compression {
    /// If the server can.
    #[default]
    Wanted,
    /// In no case.
    Unwanted,
}

/// The HTTP request for `read`, with the change that it asks for, if any, of which `sending` notes
/// whether it leaves.
pub(in crate::cluster) fn request(
    read: &Read,
    change: Option<&Change>,
    sending: &Sending,
    compression: Compression,
) -> Result<Request<Body>, AttemptFailure> {
    let request = Request::builder()
        .uri(&read.path)
        .extension(sending.clone())
        .header(ACCEPT, read.accept);
    let request = match compression {
        // What the client adds where nothing is said.
        Compression::Wanted => request,
        Compression::Unwanted => request.header(ACCEPT_ENCODING, "identity"),
    };
    let request = match change {
        None => request.body(Body::empty()),
        Some(change) => request
            .method(&change.method)
            .header(CONTENT_TYPE, change.content_type)
            .body(Body::from(change.body.clone())),
    };
    request.map_err(|error| AttemptFailure::Unreadable(error.to_string()))
}
