//! Translation of kube's errors.
//!
//! The border: beyond it there is no `kube::Error`, whose texts repeat each other and may show more
//! than they should.

use std::error::Error as StdError;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER, WARNING};
use jiff::Timestamp;
use kube::client::AuthError;

use super::api::AttemptFailure;
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

/// Everything that was heard so far.
#[derive(Debug, Default)]
pub(super) struct ServerObservations {
    /// The latest time that an answer bore.
    pub(super) time: Option<Timestamp>,
    /// The server's own version, as it last said it.
    pub(super) git_version: Option<String>,
    /// Each text once.
    pub(super) warnings: Vec<String>,
    /// An answer was an API server's.
    pub(super) is_api_server: bool,
    /// The user knows that the server says nothing; several requests may wait at once.
    pub(super) is_silent: bool,
}

impl ServerObservations {
    /// Notes what the head of an answer says.
    pub(super) fn hear(&mut self, found: &HeaderMap) {
        self.is_silent = false;
        for warning in found
            .get_all(WARNING)
            .iter()
            .filter_map(|it| warning(it.as_bytes()))
        {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Notes that an answer with this head was an API server's, whose clock counts.
    pub(super) fn prove(&mut self, found: &HeaderMap) {
        self.is_api_server = true;
        self.tell_time(found);
    }

    /// Notes what time it is there.
    pub(super) fn tell_time(&mut self, found: &HeaderMap) {
        self.time = self.time.max(server_time(found));
    }
}

/// The server's clock when it answered, with the precision of a second.
///
/// `None` without a date, with one in another form than HTTP prefers, and for a year that no clock
/// that runs can show: the caller has to say where else the time is from.
fn server_time(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(DATE)?.to_str().ok()?;
    // The preferred HTTP format differs from RFC 2822 only in the name of the time zone.
    let text = text
        .strip_suffix("GMT")
        .map(|time| format!("{time}+0000"))?;
    let time = jiff::fmt::rfc2822::parse(&text).ok()?;
    (2000..=2200)
        .contains(&time.year())
        .then(|| time.timestamp())
}

/// Delay that the server requests before a retry; API servers give it in seconds.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    seconds.parse().ok().map(Duration::from_secs)
}

/// The text in `299 AGENT "TEXT"`, as API servers send it. Other codes are not for users.
///
/// Upstream: `NewWarningHeader` in `apimachinery/pkg/util/net/http.go`.
fn warning(header: &[u8]) -> Option<String> {
    let (_agent, text) = std::str::from_utf8(header)
        .ok()?
        .strip_prefix("299 ")?
        .split_once(' ')?;
    let text = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.clone(), value.parse().expect("a header value"))])
    }

    #[test]
    fn date_that_cannot_be_one_is_no_time() {
        let time = |date| server_time(&headers(&DATE, date)).map(|time| time.to_string());
        let good = time("Sat, 21 Nov 2026 04:43:27 GMT");
        assert_eq!(good.as_deref(), Some("2026-11-21T04:43:27Z"));
        for date in [
            "yesterday",
            "",
            "Sat, 21 Nov 2026 04:43:27 CET",
            "Sat, 31 Nov 2026 04:43:27 GMT",
            "Fri, 31 Dec 9999 23:59:59 GMT",
            "Thu, 01 Jan 1970 00:00:00 GMT",
        ] {
            assert_eq!(time(date), None, "{date}");
        }
    }

    #[test]
    fn warnings_are_unquoted() {
        for (value, expected) in [
            (r#"299 - "old API""#, Some("old API")),
            (r#"299 - "say \"no\" \\""#, Some(r#"say "no" \"#)),
            (r#"199 - "cache""#, None),
            (r#"299 - "oops"#, None),
            ("hello", None),
        ] {
            assert_eq!(warning(value.as_bytes()).as_deref(), expected, "{value}");
        }
    }
}
