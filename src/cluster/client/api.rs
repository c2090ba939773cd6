//! Requests to one API server.
//!
//! Every read passes through [`ApiClient::read`], which watches for silence, waits for busy servers,
//! asks again when an answer breaks off, and notes what the headers say. Writes go the same way once,
//! and once only: see `write`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::client::Body;
use tokio::time::Instant;

use super::retry::{ATTEMPTS, Failure, Patience, is_busy};
use super::transport::{Access, Transport};
use super::{failure, headers};
use crate::cluster::error::Server;
use crate::cluster::{ClusterError, Connection, Event, Observer, Permission};

/// What the API server calls its compact encoding.
pub(in crate::cluster) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The encoding that every resource has.
pub(in crate::cluster) const JSON: &str = "application/json";

/// After this long without a sign of the server, the user is told whom the plugin waits for.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than this of a refusal is not read.
const LONGEST_REFUSAL: usize = 64 << 10;

/// A connection to an API server; clones share it.
#[derive(Clone)]
pub struct ApiClient {
    shared: Arc<Shared>,
}

struct Shared {
    transport: Transport,
    server: Arc<Server>,
    context: Option<String>,
    request_timeout: Option<Duration>,
    observer: Arc<dyn Observer>,
    heard: Mutex<Heard>,
}

/// What the server said beside its answers.
#[derive(Debug, Default)]
struct Heard {
    time: Option<Timestamp>,
    warnings: Vec<String>,
    denied: BTreeSet<Permission>,
    /// The user knows that it says nothing; several requests may wait at once.
    silent: bool,
}

/// A question that changes nothing.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Read {
    /// Path and query.
    pub(in crate::cluster) path: String,
    /// The encoding to ask for.
    pub(in crate::cluster) accept: &'static str,
    /// What the user must be allowed to do.
    pub(in crate::cluster) permission: Permission,
}

/// What a request wants to be changed.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Change {
    /// Such as `PATCH`.
    pub(in crate::cluster) method: Method,
    /// The encoding of the body.
    pub(in crate::cluster) content_type: &'static str,
    /// What is sent.
    pub(in crate::cluster) body: Vec<u8>,
}

/// Takes a body while it arrives.
pub(in crate::cluster) trait Consume {
    /// What it makes of the body.
    type Output;

    /// Takes the next bytes.
    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure>;

    /// Takes the end of the body, and judges whether that was all of it.
    fn finish(self) -> Result<Self::Output, Failure>;
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
                observer,
                heard: Mutex::default(),
            }),
        })
    }

    /// Which server is asked.
    #[must_use]
    pub fn server(&self) -> &Arc<Server> {
        &self.shared.server
    }

    /// The kubeconfig context, if one was used.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.shared.context.as_deref()
    }

    /// The server's clock at its latest answer.
    #[must_use]
    pub fn server_time(&self) -> Option<Timestamp> {
        self.heard(|heard| heard.time)
    }

    /// What the server warned of, each text once, in the order of arrival.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.heard(|heard| heard.warnings.clone())
    }

    /// What the user was not allowed to do; see [`cluster_role_for`](crate::cluster::cluster_role_for).
    #[must_use]
    pub fn denied(&self) -> Vec<Permission> {
        self.heard(|heard| heard.denied.iter().cloned().collect())
    }

    /// Asks until there is a complete answer, or no hope of one.
    pub(in crate::cluster) async fn read<C: Consume>(
        &self,
        read: &Read,
        start: impl Fn() -> C,
    ) -> Result<C::Output, ClusterError> {
        self.try_read(read, ATTEMPTS, start)
            .await
            .map_err(|failure| self.error(read, failure))
    }

    /// The same with a number of tries; leaves it to the caller to make sense of a failure.
    pub(in crate::cluster) async fn try_read<C: Consume>(
        &self,
        read: &Read,
        tries: u32,
        start: impl Fn() -> C,
    ) -> Result<C::Output, Failure> {
        let mut patience = Patience::new(self.shared.request_timeout, tries);
        loop {
            let failure = match self.attempt(read, None, start()).await {
                Ok(output) => return Ok(output),
                Err(failure) => failure,
            };
            let Some(wait) = patience.next(&failure) else {
                return Err(failure);
            };
            self.announce(read, &failure, wait);
            tokio::time::sleep(wait).await;
        }
    }

    /// What it means to the user that `read` failed for good.
    pub(in crate::cluster) fn error(&self, read: &Read, failure: Failure) -> ClusterError {
        let server = Arc::clone(&self.shared.server);
        let path = read.path.clone();
        let broken = |reason| ClusterError::Incomplete {
            server: Arc::clone(&server),
            path: path.clone(),
            attempts: ATTEMPTS,
            reason,
        };
        match failure {
            Failure::Final(error) => error,
            Failure::Busy { status, .. } => ClusterError::Busy {
                server,
                status: status.as_u16(),
                waited: self.shared.request_timeout.unwrap_or_default(),
            },
            Failure::Broken(reason) => broken(reason),
            Failure::Expired => broken("the list changes faster than it can be read".to_owned()),
            Failure::Unreadable(reason) => ClusterError::Undecodable {
                server,
                path,
                reason,
            },
        }
    }

    pub(in crate::cluster) fn notice(&self, text: &str) {
        self.shared.observer.event(&Event::Notice(text));
    }

    pub(in crate::cluster) fn observe(&self, event: &Event<'_>) {
        self.shared.observer.event(event);
    }

    pub(in crate::cluster) fn request_timeout(&self) -> Option<Duration> {
        self.shared.request_timeout
    }

    pub(in crate::cluster) fn announce(&self, read: &Read, failure: &Failure, wait: Duration) {
        let server = &self.shared.server;
        let text = match failure {
            Failure::Busy { status, .. } => format!(
                "{server} is busy ({}), asking again in {}s",
                status.as_u16(),
                wait.as_secs()
            ),
            Failure::Broken(reason) => {
                format!(
                    "the answer to {} broke off ({reason}), asking again",
                    read.path
                )
            }
            Failure::Final(_) | Failure::Expired | Failure::Unreadable(_) => return,
        };
        self.notice(&text);
    }

    /// Sends a request once, and with it the change that it asks for, if any.
    pub(in crate::cluster) async fn attempt<C: Consume>(
        &self,
        read: &Read,
        change: Option<&Change>,
        consumer: C,
    ) -> Result<C::Output, Failure> {
        let observer = &self.shared.observer;
        let method = change.map_or("GET", |change| change.method.as_str());
        let path = read.path.as_str();
        observer.event(&Event::Started { method, path });
        let started = Instant::now();
        let mut progress = Progress::default();
        let result = self.exchange(read, change, consumer, &mut progress).await;
        let elapsed = started.elapsed();
        match (&result, progress.status) {
            (Ok(_), Some(status))
            | (Err(Failure::Final(_) | Failure::Busy { .. } | Failure::Expired), Some(status)) => {
                let bytes = progress.bytes;
                observer.event(&Event::Finished {
                    method,
                    path,
                    status,
                    bytes,
                    elapsed,
                });
            }
            (Err(failure), _) => {
                let reason = describe(failure);
                observer.event(&Event::Failed {
                    method,
                    path,
                    reason: &reason,
                    elapsed,
                });
            }
            (Ok(_), None) => {}
        }
        result
    }

    async fn exchange<C: Consume>(
        &self,
        read: &Read,
        change: Option<&Change>,
        mut consumer: C,
        progress: &mut Progress,
    ) -> Result<C::Output, Failure> {
        let mut body = self.answered(read, change, progress).await?;
        while let Some(bytes) = self.next_bytes(read, &mut body).await? {
            progress.bytes += bytes.len() as u64;
            consumer.push(&bytes)?;
            let (path, bytes) = (read.path.as_str(), progress.bytes);
            self.shared.observer.event(&Event::Progress { path, bytes });
        }
        consumer.finish()
    }

    /// Sends a read whose answer may go on for ever, once, and gives the body.
    pub(in crate::cluster) async fn open(&self, read: &Read) -> Result<Body, Failure> {
        self.answered(read, None, &mut Progress::default()).await
    }

    /// Sends a request, and gives the body of its answer unless that is a refusal.
    async fn answered(
        &self,
        read: &Read,
        change: Option<&Change>,
        progress: &mut Progress,
    ) -> Result<Body, Failure> {
        let response = self.send(read, change).await?;
        let status = response.status();
        progress.status = Some(status.as_u16());
        let retry_after = headers::retry_after(response.headers());
        if is_busy(status, retry_after) {
            return Err(Failure::Busy {
                status,
                retry_after,
            });
        }
        let mut body = response.into_body();
        if !status.is_success() {
            let text = self.refusal_text(read, &mut body, progress).await;
            let failure = failure::refusal(&self.shared.server, read, status, &text);
            if let Failure::Final(ClusterError::Forbidden { permission, .. }) = &failure
                && !permission.resource.starts_with('/')
            {
                self.heard(|heard| heard.denied.insert(permission.clone()));
            }
            return Err(failure);
        }
        Ok(body)
    }

    /// Sends a request, and once more with new credentials if those it has are no longer accepted:
    /// the server has not looked at it then.
    async fn send(&self, read: &Read, change: Option<&Change>) -> Result<Response<Body>, Failure> {
        let Shared {
            transport, server, ..
        } = &*self.shared;
        let access = transport.access();
        let response = self.send_with(&access, read, change).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && transport
                .renew(&access, server, self.shared.observer.as_ref())
                .await?
        {
            return self.send_with(&transport.access(), read, change).await;
        }
        Ok(response)
    }

    async fn send_with(
        &self,
        access: &Access,
        read: &Read,
        change: Option<&Change>,
    ) -> Result<Response<Body>, Failure> {
        let answer = access.client.send(request(read, change)?);
        let response = self
            .in_time(read, answer)
            .await?
            .map_err(|error| failure::unanswered(&self.shared.server, &error))?;
        if response.status() != StatusCode::UNAUTHORIZED {
            self.shared.transport.accepted(access);
        }
        self.hear(response.headers());
        Ok(response)
    }

    async fn next_bytes(
        &self,
        read: &Read,
        body: &mut Body,
    ) -> Result<Option<bytes::Bytes>, Failure> {
        loop {
            let Some(frame) = self.in_time(read, body.frame()).await? else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| failure::interrupted(&error))?;
            // What is not data are trailers, which API servers do not send.
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }

    /// As much of a refusal's text as arrives; a refusal stays one if its text breaks off.
    async fn refusal_text(&self, read: &Read, body: &mut Body, progress: &mut Progress) -> Vec<u8> {
        let mut text = Vec::new();
        while let Ok(Some(bytes)) = self.next_bytes(read, body).await {
            progress.bytes += bytes.len() as u64;
            text.extend_from_slice(&bytes);
            if text.len() > LONGEST_REFUSAL {
                break;
            }
        }
        text
    }

    /// Waits for a sign of the server, at most for the request timeout, and not in silence.
    async fn in_time<T>(&self, read: &Read, sign: impl Future<Output = T>) -> Result<T, Failure> {
        let mut sign = std::pin::pin!(sign);
        let limit = self.shared.request_timeout;
        let quiet = limit.map_or(PATIENCE, |limit| limit.min(PATIENCE));
        if let Ok(value) = tokio::time::timeout(quiet, &mut sign).await {
            return Ok(value);
        }
        let Some(limit) = limit else {
            self.notice_silence(&format!("waiting for {}", self.shared.server));
            return Ok(sign.await);
        };
        let rest = limit.saturating_sub(quiet);
        if !rest.is_zero() {
            self.notice_silence(&format!(
                "waiting for {}, at most {}s longer",
                self.shared.server,
                rest.as_secs()
            ));
        }
        tokio::time::timeout(rest, sign).await.map_err(|_| {
            Failure::Final(ClusterError::TimedOut {
                server: Arc::clone(&self.shared.server),
                path: read.path.clone(),
                waited: limit,
            })
        })
    }

    fn notice_silence(&self, text: &str) {
        if !self.heard(|heard| std::mem::replace(&mut heard.silent, true)) {
            self.notice(text);
        }
    }

    fn hear(&self, found: &HeaderMap) {
        let time = headers::server_time(found);
        let warnings = headers::warnings(found);
        self.heard(|heard| {
            heard.silent = false;
            heard.time = heard.time.max(time);
            for warning in warnings {
                if !heard.warnings.contains(&warning) {
                    heard.warnings.push(warning);
                }
            }
        });
    }

    fn heard<T>(&self, with: impl FnOnce(&mut Heard) -> T) -> T {
        with(
            &mut self
                .shared
                .heard
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

fn request(read: &Read, change: Option<&Change>) -> Result<Request<Body>, Failure> {
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
    request.map_err(|error| Failure::Unreadable(error.to_string()))
}

/// How far an answer has come.
#[derive(Debug, Default)]
struct Progress {
    status: Option<u16>,
    bytes: u64,
}

fn describe(failure: &Failure) -> String {
    match failure {
        Failure::Final(error) => error.to_string(),
        Failure::Busy { status, .. } => status.to_string(),
        Failure::Broken(reason) | Failure::Unreadable(reason) => reason.clone(),
        Failure::Expired => "expired".to_owned(),
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
