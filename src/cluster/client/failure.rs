//! Translation of kube's errors.
//!
//! The border: beyond it there is no `kube::Error`, whose texts repeat each other and may show more
//! than they should.

use std::error::Error as StdError;
use std::io::ErrorKind;
use std::sync::Arc;

use kube::client::AuthError;

use super::retry::AttemptFailure;
use crate::cluster::error::{ClusterError, Server};

/// Error for a client that could not be created.
pub(super) fn unusable(server: &Server, error: &kube::Error) -> ClusterError {
    let reason = innermost(error);
    ClusterError::configuration(format!("cannot connect to {server}: {reason}"))
}

/// Failure of a request without response: one that failed before there was a connection was not
/// sent, everything else may have been.
pub(super) fn unanswered(server: &Arc<Server>, error: &kube::Error) -> AttemptFailure {
    if find::<AuthError>(error).is_some() {
        return AttemptFailure::Unsent(unusable(server, error));
    }
    let reason = innermost(error);
    let kind = find::<std::io::Error>(error).map(std::io::Error::kind);
    let is_connecting = find::<hyper_util::client::legacy::Error>(error)
        .is_some_and(hyper_util::client::legacy::Error::is_connect);
    // In TLS 1.3 a server says only after the request was sent that it does not take the certificate.
    let is_about_certificates =
        reason.to_lowercase().contains("certificate") || reason.contains("UnknownCA");
    let server = Arc::clone(server);
    match (is_connecting, kind) {
        (false, _) if is_about_certificates => ClusterError::Tls { server, reason }.into(),
        (false, _) => AttemptFailure::Broken(reason),
        // rustls reports its errors as I/O errors of this kind.
        (true, kind) if is_about_certificates || kind == Some(ErrorKind::InvalidData) => {
            AttemptFailure::Unsent(ClusterError::Tls { server, reason })
        }
        // A peer that accepts and then hangs up may be restarting, which is worth another attempt.
        (
            true,
            Some(
                ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof,
            ),
        ) => AttemptFailure::Broken(reason),
        (true, _) => AttemptFailure::Unsent(ClusterError::Unreachable { server, reason }),
    }
}

/// Failure while a body arrived.
pub(super) fn interrupted(error: &kube::Error) -> AttemptFailure {
    AttemptFailure::Broken(innermost(error))
}

fn chain(error: &kube::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let first: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |error| {
        let error: &(dyn StdError + 'static) = *error;
        error.source()
    })
}

/// The first error of type `E` in the chain, also inside of I/O errors, which hide theirs.
fn find<E: StdError + 'static>(error: &kube::Error) -> Option<&E> {
    chain(error).find_map(|error| {
        error.downcast_ref::<E>().or_else(|| {
            let inner = error.downcast_ref::<std::io::Error>()?.get_ref()?;
            inner.downcast_ref::<E>()
        })
    })
}

/// The text of the cause of it all.
fn innermost(error: &kube::Error) -> String {
    let last = chain(error).last();
    let hidden = last.and_then(|last| last.downcast_ref::<std::io::Error>()?.get_ref());
    match (hidden, last) {
        (Some(hidden), _) => hidden.to_string(),
        (None, last) => last.map(ToString::to_string).unwrap_or_default(),
    }
}
