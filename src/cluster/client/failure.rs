//! Translation of kube's errors.
//!
//! The border: beyond it there is no `kube::Error`, whose texts repeat each other and may show more
//! than they should.

use std::error::Error as StdError;
use std::io::ErrorKind;
use std::sync::Arc;

use kube::client::AuthError;

use super::retry::AttemptFailure;
use crate::cluster::error::ClusterError;
use crate::cluster::error::Server;

/// What it means that a client could not be made.
pub(in crate::cluster) fn unusable(server: &Arc<Server>, error: &kube::Error) -> ClusterError {
    let server = Arc::clone(server);
    if let Some(auth) = find::<AuthError>(error) {
        return credentials(server, auth);
    }
    if let kube::Error::RustlsTls(error) = error {
        let reason = error.to_string();
        return ClusterError::Tls { server, reason };
    }
    if let kube::Error::ProxyProtocolUnsupported { proxy_url } = error {
        let scheme = proxy_url.scheme_str().unwrap_or_default();
        let reason = format!("proxies with the scheme {scheme:?} are not supported");
        return ClusterError::Unreachable { server, reason };
    }
    let reason = if let kube::Error::HttpError(_) = error {
        "a user, group or token contains characters that are invalid in an HTTP header".to_owned()
    } else {
        innermost(error)
    };
    ClusterError::Credentials { server, reason }
}

/// What it means that a request got no answer: what failed before there was a connection was not
/// sent, everything else may have been.
pub(in crate::cluster) fn unanswered(server: &Arc<Server>, error: &kube::Error) -> AttemptFailure {
    let server = Arc::clone(server);
    if let Some(auth) = find::<AuthError>(error) {
        return AttemptFailure::Unsent(credentials(server, auth));
    }
    let reason = innermost(error);
    let kind = find::<std::io::Error>(error).map(std::io::Error::kind);
    let connecting = find::<hyper_util::client::legacy::Error>(error)
        .is_some_and(hyper_util::client::legacy::Error::is_connect);
    if !connecting {
        return if is_about_certificates(&reason) {
            ClusterError::Tls { server, reason }.into()
        } else {
            AttemptFailure::Broken(reason)
        };
    }
    match kind {
        // rustls reports its errors as I/O errors of this kind.
        Some(ErrorKind::InvalidData) => {
            AttemptFailure::Unsent(ClusterError::Tls { server, reason })
        }
        _ if is_about_certificates(&reason) => {
            AttemptFailure::Unsent(ClusterError::Tls { server, reason })
        }
        Some(
            // A peer that accepts and then hangs up may be restarting, which is worth another attempt.
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof,
        ) => AttemptFailure::Dropped(reason),
        _ => AttemptFailure::Unsent(ClusterError::Unreachable { server, reason }),
    }
}

/// Whether one side does not take the other's certificate; in TLS 1.3 a server says so only after
/// the request was sent.
fn is_about_certificates(reason: &str) -> bool {
    reason.to_lowercase().contains("certificate") || reason.contains("UnknownCA")
}

/// What broke while a body arrived.
pub(in crate::cluster) fn interrupted(error: &kube::Error) -> AttemptFailure {
    AttemptFailure::Broken(innermost(error))
}

/// The credentials do not work; the texts of commands and their output stay out of it.
fn credentials(server: Arc<Server>, error: &AuthError) -> ClusterError {
    let reason = if let AuthError::AuthExecRun { out, .. } = error {
        format!("its auth-provider command failed ({})", out.status)
    } else if let AuthError::InvalidBearerToken(_) = error {
        "the token contains characters that are invalid in an HTTP header".to_owned()
    } else {
        error.to_string()
    };
    ClusterError::Credentials { server, reason }
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
    let Some(last) = chain(error).last() else {
        return String::new();
    };
    let inner = last
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref);
    match inner {
        Some(inner) => inner.to_string(),
        None => last.to_string(),
    }
}
