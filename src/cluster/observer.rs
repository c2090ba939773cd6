//! Observer of the requests to a cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::client::target::resource_in;

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

/// Bytes that have arrived, by the request that is under way.
#[derive(Debug, Default)]
pub struct Traffic {
    finished: u64,
    under_way: BTreeMap<String, u64>,
}

impl Traffic {
    /// Takes an event into account.
    pub fn count(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { path, .. } => {
                self.under_way.insert((*path).to_owned(), 0);
            }
            Event::Progress { path, bytes } => {
                if let Some(so_far) = self.under_way.get_mut(*path) {
                    *so_far = *bytes;
                }
            }
            Event::Finished { path, .. } | Event::Failed { path, .. } => {
                let read = self.under_way.remove(*path).unwrap_or_default();
                self.finished = self.finished.saturating_add(read);
            }
            Event::Notice(_) => {}
        }
    }

    /// Current reads in one line; nothing while there is none.
    pub fn describe(&self) -> Option<String> {
        let under_way = self.under_way.values().copied();
        let total = under_way.fold(self.finished, u64::saturating_add);
        let paths = self.under_way.keys();
        let mut names: Vec<&str> = paths.map(|path| resource_in(path)).collect();
        names.sort_unstable();
        names.dedup();
        let megabytes = total / 1_000_000;
        let tenths = total / 100_000 % 10;
        (!names.is_empty()).then(|| {
            let names = names.join(", ");
            format!("reading {names} ({megabytes}.{tenths} MB so far)")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_has_arrived_is_counted_and_only_what_is_under_way_is_named() {
        let (pods, claims) = ("/api/v1/pods", "/apis/resource.k8s.io/v1/resourceclaims");
        let mut traffic = Traffic::default();
        assert_eq!(traffic.describe(), None);
        for path in [pods, claims] {
            let method = "GET";
            traffic.count(&Event::Started { method, path });
        }
        let bytes = 1_250_000;
        traffic.count(&Event::Progress { path: pods, bytes });
        let told = "reading pods, resourceclaims (1.2 MB so far)";
        assert_eq!(traffic.describe().as_deref(), Some(told));
        let finished = Event::Finished {
            method: "GET",
            path: pods,
            status: 200,
            bytes,
            elapsed: Duration::from_millis(7),
        };
        traffic.count(&finished);
        let told = "reading resourceclaims (1.2 MB so far)";
        assert_eq!(traffic.describe().as_deref(), Some(told));
        assert_eq!(
            finished.to_string(),
            "GET /api/v1/pods 200 1250000 bytes in 7 ms"
        );
    }
}
