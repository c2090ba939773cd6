//! Requests to a server.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use kube::client::Body;

use super::retry::AttemptFailure;
use crate::cluster::permission::Permission;

/// Media type of the API server's compact encoding.
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
    /// Permission that the user needs.
    pub(in crate::cluster) permission: Permission,
}

/// Change that a request makes.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Change {
    /// HTTP method, such as `PATCH`.
    pub(in crate::cluster) method: Method,
    /// The encoding of the body.
    pub(in crate::cluster) content_type: &'static str,
    /// Body that is sent.
    pub(in crate::cluster) body: Vec<u8>,
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
