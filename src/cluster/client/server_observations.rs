//! What a server said beside its answers, over the life of a client.

use http::HeaderMap;
use jiff::Timestamp;

use super::headers;

/// Everything that was heard so far.
#[derive(Debug, Default)]
pub(in crate::cluster) struct ServerObservations {
    /// The latest time that an answer bore.
    pub(in crate::cluster) time: Option<Timestamp>,
    /// Its own version, as it last said it.
    pub(in crate::cluster) git_version: Option<String>,
    /// Each text once.
    pub(in crate::cluster) warnings: Vec<String>,
    /// An answer of it was an API server's.
    pub(in crate::cluster) is_api_server: bool,
    /// The user knows that it says nothing; several requests may wait at once.
    pub(in crate::cluster) silent: bool,
}

impl ServerObservations {
    /// Notes what the head of an answer says.
    pub(in crate::cluster) fn hear(&mut self, found: &HeaderMap) {
        self.silent = false;
        for warning in headers::warnings(found) {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Notes that an answer with this head was an API server's, whose clock counts.
    pub(in crate::cluster) fn prove(&mut self, found: &HeaderMap) {
        self.is_api_server = true;
        self.tell_time(found);
    }

    /// Notes what time it is there.
    pub(in crate::cluster) fn tell_time(&mut self, found: &HeaderMap) {
        self.time = self.time.max(headers::server_time(found));
    }
}
