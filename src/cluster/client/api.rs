//! Requests to one API server.
//!
//! Every read passes through [`ApiClient::read`], which watches for silence, waits for busy servers,
//! asks again when an answer breaks off, and notes what the headers say. Writes go the same way once,
//! and once only: see `write`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use tokio::time::Instant;

use super::connector::Transport;
use super::exchange::BodyReader;
use super::failure::{self, ServerObservations};
use super::target::Read;
use crate::cluster::connection::load::Connection;
use crate::cluster::error::{ClusterError, Server};
use crate::cluster::observer::{Event, Observer};
use crate::cluster::permission::Purpose;

/// A connection to an API server; clones share it.
#[derive(Clone)]
pub struct ApiClient {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) transport: Transport,
    pub(super) server: Arc<Server>,
    context: Option<String>,
    pub(super) request_timeout: Option<Duration>,
    purpose: Option<Purpose>,
    pub(super) observer: Arc<dyn Observer>,
    observations: Mutex<ServerObservations>,
}

impl ApiClient {
    /// Prepares requests to the server of `connection`; sends none yet.
    ///
    /// Must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// When certificates, keys or credentials cannot be used.
    pub fn new(connection: Connection, observer: Arc<dyn Observer>) -> Result<Self, ClusterError> {
        let server = connection.server;
        let transport = Transport::new(connection.config, connection.renewal)
            .map_err(|error| failure::unusable(&server, &error))?;
        Ok(Self {
            shared: Arc::new(Shared {
                transport,
                server,
                context: connection.context,
                request_timeout: connection.request_timeout,
                purpose: connection.purpose,
                observer,
                observations: Mutex::default(),
            }),
        })
    }

    /// Server of the requests.
    pub fn server(&self) -> &Arc<Server> {
        &self.shared.server
    }

    /// The kubeconfig context, if one was used.
    pub fn context(&self) -> Option<&str> {
        self.shared.context.as_deref()
    }

    /// The server's own version, once it was asked for and told.
    pub fn server_version(&self) -> Option<String> {
        self.observations(|observations| observations.git_version.clone())
    }

    /// Notes the server's own version.
    pub(crate) fn note_version(&self, git_version: &str) {
        self.observations(|observations| {
            observations.git_version = Some(git_version.to_owned());
        });
    }

    /// The server's clock: the latest time that any of its answers bore, to the second. What something
    /// on the way answers in its place does not count.
    ///
    /// `None` before the first answer, and as long as no answer has a `Date` that can be one (a proxy
    /// may remove it): then the caller has to take the time from elsewhere and to say so.
    pub fn server_time(&self) -> Option<Timestamp> {
        self.observations(|observations| observations.time)
    }

    /// Warnings of the server, each text once, in the order of arrival.
    pub fn warnings(&self) -> Vec<String> {
        self.observations(|observations| observations.warnings.clone())
    }

    /// True if one of its responses was an API server's.
    pub(crate) fn is_api_server(&self) -> bool {
        self.observations(|observations| observations.is_api_server)
    }

    /// Purpose of the connection, if it was given.
    pub fn purpose(&self) -> Option<Purpose> {
        self.shared.purpose
    }

    /// Asks until there is a complete answer, or no hope of one.
    pub(crate) async fn read<C: BodyReader>(
        &self,
        read: &Read,
        start: impl Fn() -> C,
    ) -> Result<C::Output, ClusterError> {
        self.try_read(read, ATTEMPTS, start)
            .await
            .map_err(|failure| self.error(read, failure))
    }

    /// Reads with a number of tries; leaves it to the caller to make sense of a failure.
    pub(crate) async fn try_read<C: BodyReader>(
        &self,
        read: &Read,
        tries: u32,
        start: impl Fn() -> C,
    ) -> Result<C::Output, AttemptFailure> {
        let mut patience = RetryBudget::new(self.shared.request_timeout, tries);
        let started = Instant::now();
        loop {
            // A fresh reader per attempt: nothing of a response that broke off may end up in the next one.
            let failure = match self.attempt(read, None, start()).await {
                Ok(output) => return Ok(output),
                Err(failure) => failure,
            };
            let Some(wait) = patience.next(&failure, started.elapsed()) else {
                return Err(failure);
            };
            self.announce(read, &failure, wait);
            tokio::time::sleep(wait).await;
        }
    }

    /// Error for the user after `read` failed for good.
    pub(crate) fn error(&self, read: &Read, failure: AttemptFailure) -> ClusterError {
        let server = Arc::clone(&self.shared.server);
        let path = read.path.clone();
        match failure {
            AttemptFailure::Final(error) | AttemptFailure::Unsent(error) => error,
            AttemptFailure::Busy { status, .. } => ClusterError::Busy {
                server,
                status: status.as_u16(),
            },
            AttemptFailure::Broken(reason) => ClusterError::Incomplete {
                server,
                path,
                reason,
            },
            AttemptFailure::Expired => ClusterError::Incomplete {
                server,
                path,
                reason: "the list changes faster than it can be read".to_owned(),
            },
            AttemptFailure::Unreadable(reason) | AttemptFailure::TooLong(reason) => {
                ClusterError::Undecodable {
                    server,
                    path,
                    reason,
                }
            }
        }
    }

    pub(crate) fn notice(&self, text: &str) {
        self.observe(&Event::Notice(text));
    }

    pub(crate) fn observe(&self, event: &Event<'_>) {
        self.shared.observer.event(event);
    }

    pub(crate) fn request_timeout(&self) -> Option<Duration> {
        self.shared.request_timeout
    }

    /// Says why a request is sent again after `wait`.
    pub(super) fn announce(&self, read: &Read, failure: &AttemptFailure, wait: Duration) {
        let path = &read.path;
        let seconds = wait.as_secs_f64();
        self.notice(&format!(
            "no response to {path} ({failure}), retrying in {seconds:.1}s"
        ));
    }

    pub(super) fn observations<T>(&self, with: impl FnOnce(&mut ServerObservations) -> T) -> T {
        with(
            &mut self
                .shared
                .observations
                .lock()
                // The observations are independent of each other: a panic leaves none of them half updated.
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

impl fmt::Debug for ApiClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ApiClient")
            .field("server", &self.shared.server)
            .finish_non_exhaustive()
    }
}

/// Maximum number of attempts of a read whose response keeps breaking off.
pub(crate) const ATTEMPTS: u32 = 3;
/// Maximum number of requests to a busy server, without a time limit of the user.
const LONGEST_QUEUE: u32 = 100;
/// Between two attempts, when the server does not say how long to wait.
const PAUSE: Duration = Duration::from_secs(1);
/// Minimum delay between two attempts, times the number of attempts so far: whatever the server says, it
/// is not asked in a hot loop.
const BREATH: Duration = Duration::from_millis(100);

/// Reason why an attempt did not give a response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttemptFailure {
    /// Nothing was sent, and trying again would not help.
    #[error("{0}")]
    Unsent(ClusterError),
    /// Asking again would not help.
    #[error("{0}")]
    Final(ClusterError),
    /// The server asks to come back later.
    #[error("{status}")]
    Busy {
        status: StatusCode,
        retry_after: Option<Duration>,
        /// It has certainly not looked at the request.
        unseen: bool,
    },
    /// The answer broke off, or was not what an API server sends.
    #[error("{0}")]
    Broken(String),
    /// The state that a page of a list belongs to is no longer known (410).
    #[error("expired")]
    Expired,
    /// The answer is complete, and is no answer to this question or cannot be understood.
    #[error("{0}")]
    Unreadable(String),
    /// There is more of the answer than is held.
    #[error("{0}")]
    TooLong(String),
}

impl AttemptFailure {
    /// True if it is a complete response of a server that refuses.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Final(_) | Self::Busy { .. } | Self::Expired)
    }
}

impl From<ClusterError> for AttemptFailure {
    fn from(error: ClusterError) -> Self {
        Self::Final(error)
    }
}

/// True if a status says "not now".
///
/// Upstream: `checkWait` in `client-go/rest/request.go`.
pub(crate) fn is_busy(status: StatusCode, retry_after: Option<Duration>) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::SERVICE_UNAVAILABLE
        || (status.is_server_error() && retry_after.is_some())
}

/// Retries that one request has used so far.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    limit: Option<Duration>,
    tries: u32,
    busy: u32,
    broken: u32,
}

impl RetryBudget {
    /// Waits for busy servers until `limit` after the first request, and asks at most `tries` times
    /// for an answer that breaks off.
    pub(crate) fn new(limit: Option<Duration>, tries: u32) -> Self {
        Self {
            limit,
            tries,
            busy: 0,
            broken: 0,
        }
    }

    /// Delay before the next attempt, or `None` to give up; `elapsed` is the time since
    /// the first attempt began.
    pub(crate) fn next(&mut self, failure: &AttemptFailure, elapsed: Duration) -> Option<Duration> {
        match failure {
            AttemptFailure::Unsent(_)
            | AttemptFailure::Final(_)
            | AttemptFailure::Unreadable(_)
            | AttemptFailure::TooLong(_)
            // The same token would be expired again: only a new list helps.
            | AttemptFailure::Expired => None,
            AttemptFailure::Busy { retry_after, .. } => {
                self.busy = self.busy.saturating_add(1);
                let wait = retry_after
                    .unwrap_or(PAUSE)
                    .max(BREATH.saturating_mul(self.busy));
                let within = match self.limit {
                    Some(limit) => elapsed.saturating_add(wait) <= limit,
                    None => self.busy < LONGEST_QUEUE,
                };
                within.then_some(wait)
            }
            AttemptFailure::Broken(_) => {
                self.broken = self.broken.saturating_add(1);
                (self.broken < self.tries).then(|| BREATH.saturating_mul(self.broken))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: u64) -> AttemptFailure {
        AttemptFailure::Busy {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: Some(Duration::from_secs(seconds)),
            unseen: true,
        }
    }

    /// The waits for a server that says `seconds` each time, until giving up.
    fn waits(limit: Option<u64>, seconds: u64) -> Vec<Duration> {
        let mut patience = RetryBudget::new(limit.map(Duration::from_secs), ATTEMPTS);
        let mut elapsed = Duration::ZERO;
        let mut waits = Vec::new();
        while let Some(wait) = patience.next(&busy(seconds), elapsed) {
            elapsed = elapsed.saturating_add(wait);
            waits.push(wait);
        }
        waits
    }

    #[test]
    fn busy_server_is_waited_for_within_the_timeout_and_not_in_a_hot_loop() {
        assert_eq!(waits(Some(5), 2), [Duration::from_secs(2); 2]);
        let unnamed = waits(Some(30), 0);
        assert!(unnamed.len() <= 25 && unnamed.iter().all(|wait| *wait >= BREATH));
        assert_eq!(waits(None, 3600).len(), 99);
        assert!(waits(Some(30), u64::MAX).is_empty());
        let mut patience = RetryBudget::new(Some(Duration::from_secs(5)), ATTEMPTS);
        assert_eq!(patience.next(&busy(2), Duration::from_secs(4)), None);
    }

    #[test]
    fn broken_answer_is_asked_for_three_times() {
        let mut patience = RetryBudget::new(None, ATTEMPTS);
        let again: Vec<_> = (0..3)
            .map(|_| {
                let broken = AttemptFailure::Broken("cut".to_owned());
                patience.next(&broken, Duration::ZERO).is_some()
            })
            .collect();
        assert_eq!(again, [true, true, false]);
    }

    #[test]
    fn server_errors_are_waited_for_only_when_the_server_says_so() {
        let second = Some(Duration::from_secs(1));
        for (status, retry_after, expected) in [
            (429, None, true),
            (503, None, true),
            (500, second, true),
            (500, None, false),
            (404, second, false),
        ] {
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(is_busy(status, retry_after), expected, "{status}");
        }
    }
}
