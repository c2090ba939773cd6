//! Whether the connection has begun to send a change.
//!
//! The connection takes the body of a request when it is about to write it. Until then the server has
//! at most the head of a request, and acts on none whose body is missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Request;

/// Whether a connection has begun to send the body of one request; clones are about the same one.
#[derive(Clone, Debug, Default)]
pub(in crate::cluster) struct Sending(Arc<AtomicBool>);

impl Sending {
    /// That of `request`, which carries it since it was made.
    pub(in crate::cluster) fn of<B>(request: &Request<B>) -> Self {
        let carried = request.extensions().get::<Self>();
        carried.cloned().unwrap_or_default()
    }

    /// Notes that something leaves.
    pub(in crate::cluster) fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether something may have left.
    pub(in crate::cluster) fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
