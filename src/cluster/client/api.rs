//! Requests to one API server.
//!
//! Every read passes through [`ApiClient::read`], which watches for silence, waits for busy servers,
//! asks again when an answer breaks off, and notes what the headers say. Writes go the same way once,
//! and once only: see `write`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::body_reader::BodyReader;
use super::failure;
use super::headers::ServerObservations;
use super::request::Read;
use super::retry::{ATTEMPTS, AttemptFailure, RetryBudget};
use super::transport::Transport;
use crate::cluster::connection::load::Connection;
use crate::cluster::error::ClusterError;
use crate::cluster::error::Server;
use crate::cluster::observer::{Event, Observer};
use crate::cluster::purpose::Purpose;

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
    pub(in crate::cluster) fn note_version(&self, git_version: &str) {
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
    pub(in crate::cluster) fn is_api_server(&self) -> bool {
        self.observations(|observations| observations.is_api_server)
    }

    /// Purpose of the connection, if it was given.
    pub fn purpose(&self) -> Option<Purpose> {
        self.shared.purpose
    }

    /// Asks until there is a complete answer, or no hope of one.
    pub(in crate::cluster) async fn read<C: BodyReader>(
        &self,
        read: &Read,
        start: impl Fn() -> C,
    ) -> Result<C::Output, ClusterError> {
        self.try_read(read, ATTEMPTS, start)
            .await
            .map_err(|failure| self.error(read, failure))
    }

    /// Reads with a number of tries; leaves it to the caller to make sense of a failure.
    pub(in crate::cluster) async fn try_read<C: BodyReader>(
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
    pub(in crate::cluster) fn error(&self, read: &Read, failure: AttemptFailure) -> ClusterError {
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

    pub(in crate::cluster) fn notice(&self, text: &str) {
        self.observe(&Event::Notice(text));
    }

    pub(in crate::cluster) fn observe(&self, event: &Event<'_>) {
        self.shared.observer.event(event);
    }

    pub(in crate::cluster) fn request_timeout(&self) -> Option<Duration> {
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
