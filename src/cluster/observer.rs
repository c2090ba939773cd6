//! Observer of the requests to a cluster.

use std::fmt;
use std::time::Duration;

/// Receives every event; decides what to show. Called often, so it must be quick.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Something happened.
    fn event(&self, event: &Event<'_>);
}

/// One step of asking a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A request goes out.
    Started {
        /// HTTP method.
        method: &'a str,
        /// Path and query.
        path: &'a str,
    },
    /// More of a body has arrived.
    Progress {
        /// Path and query of the request.
        path: &'a str,
        /// Bytes of the body so far, uncompressed.
        bytes: u64,
    },
    /// A request ended with an answer.
    Finished {
        /// HTTP method.
        method: &'a str,
        /// Path and query.
        path: &'a str,
        /// HTTP status.
        status: u16,
        /// Length of the body, uncompressed.
        bytes: u64,
        /// From sending the request to the end of the body.
        elapsed: Duration,
    },
    /// A request ended without a complete answer.
    Failed {
        /// HTTP method.
        method: &'a str,
        /// Path and query.
        path: &'a str,
        /// Why.
        reason: &'a str,
        /// Since the request was sent.
        elapsed: Duration,
    },
    /// The user has to wait for something, and should know for what.
    Notice(&'a str),
}

impl fmt::Display for Event<'_> {
    /// The event in one line; only what ends a request has more to say than its path.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Started { method, path } => write!(formatter, "{method} {path}"),
            Event::Progress { path, bytes } => write!(formatter, "{path} {bytes} bytes"),
            Event::Finished {
                method,
                path,
                status,
                bytes,
                elapsed,
            } => {
                let milliseconds = elapsed.as_millis();
                write!(
                    formatter,
                    "{method} {path} {status} {bytes} bytes in {milliseconds} ms"
                )
            }
            Event::Failed {
                method,
                path,
                reason,
                elapsed,
            } => {
                let milliseconds = elapsed.as_millis();
                write!(
                    formatter,
                    "{method} {path} failed after {milliseconds} ms: {reason}"
                )
            }
            Event::Notice(text) => formatter.write_str(text),
        }
    }
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _event: &Event<'_>) {}
}
