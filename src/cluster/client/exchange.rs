//! One request and its answer, watched for silence.

use std::sync::Arc;
use std::time::Duration;

use http::Response;
use http::response::Parts;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::Instant;

use super::api::ApiClient;
use super::body_reader::BodyReader;
use super::failure;
use super::link_quality::ResponseTiming;
use super::pace::Pace;
use super::refusal::{BodyExtent, Refusal, RequestContext};
use super::request::{Change, Compression, Read, request};
use super::retry::AttemptFailure;
use super::sending::Sending;
use super::transport::Access;
use crate::cluster::error::ClusterError;
use crate::cluster::observer::Event;

/// After this long without a sign of the server, the user is told whom the plugin waits for.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than this of a refusal is not read.
const LONGEST_REFUSAL: usize = 1 << 20;

/// How far an answer has come.
#[derive(Debug, Default)]
pub(in crate::cluster) struct Progress {
    /// HTTP status.
    status: Option<u16>,
    /// Of the body, uncompressed.
    bytes: u64,
    /// What was asked for.
    compression: Compression,
}

/// What came back.
enum Reply {
    /// The body of a success is still to come.
    Success(Parts, Body),
    /// A refusal is small and has been read.
    Refusal(Refusal),
}

impl ApiClient {
    /// Sends a request once, and with it the change that it asks for, if any.
    pub(in crate::cluster) async fn attempt<C: BodyReader>(
        &self,
        read: &Read,
        change: Option<&Change>,
        consumer: C,
    ) -> Result<C::Output, AttemptFailure> {
        let method = change.map_or("GET", |change| change.method.as_str());
        let path = read.path.as_str();
        self.observe(&Event::Started { method, path });
        let started = Instant::now();
        let mut progress = Progress::default();
        let result = self.exchange(read, change, consumer, &mut progress).await;
        let elapsed = started.elapsed();
        match (&result, progress.status) {
            // A refusal, too, is a complete response; only what broke off counts as failed.
            (Ok(_), Some(status))
            | (
                Err(
                    AttemptFailure::Final(_)
                    | AttemptFailure::Busy { .. }
                    | AttemptFailure::Expired,
                ),
                Some(status),
            ) => {
                let bytes = progress.bytes;
                self.observe(&Event::Finished {
                    method,
                    path,
                    status,
                    bytes,
                    elapsed,
                });
            }
            (Err(failure), _) => {
                let reason = describe(failure);
                self.observe(&Event::Failed {
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

    async fn exchange<C: BodyReader>(
        &self,
        read: &Read,
        change: Option<&Change>,
        mut consumer: C,
        progress: &mut Progress,
    ) -> Result<C::Output, AttemptFailure> {
        let asked = Instant::now();
        let (head, mut body) = self.answered(read, change, progress).await?;
        let started = Instant::now();
        let mut pace = Pace::default();
        let mut working = Duration::ZERO;
        while let Some(bytes) = self.next_bytes(read, &mut body, pace, started).await? {
            let arrived = started.elapsed();
            pace.take(bytes.len(), arrived);
            progress.take(bytes.len());
            consumer.push(&bytes)?;
            // Decoding takes time that says nothing about the link.
            working = working.saturating_add(started.elapsed().saturating_sub(arrived));
            let (path, bytes) = (read.path.as_str(), progress.bytes);
            self.observe(&Event::Progress { path, bytes });
        }
        let waited = started.elapsed().saturating_sub(working);
        // `finish` judges whether an API server sent the body, so nothing is learned from the headers before.
        let output = consumer.finish()?;
        self.observations(|observations| observations.prove(&head.headers));
        self.shared.link_monitor.note(ResponseTiming {
            bytes: progress.bytes,
            elapsed: asked.elapsed(),
            body: waited,
            is_compressed: progress.compression == Compression::Wanted,
        });
        Ok(output)
    }

    /// Sends a read whose answer may go on for ever, once, and gives the body.
    pub(in crate::cluster) async fn open(&self, read: &Read) -> Result<Body, AttemptFailure> {
        let (head, body) = self.answered(read, None, &mut Progress::default()).await?;
        self.observations(|observations| observations.tell_time(&head.headers));
        Ok(body)
    }

    /// Sends a request, with new credentials if its own are no longer accepted, and gives the head
    /// and the body of its answer unless that is a refusal.
    async fn answered(
        &self,
        read: &Read,
        change: Option<&Change>,
        progress: &mut Progress,
    ) -> Result<(Parts, Body), AttemptFailure> {
        // Kept, because others may renew the credentials meanwhile: what counts is which ones were sent.
        let access = self.shared.transport.access();
        progress.compression = self.compression();
        let mut reply = self.send(&access, read, change, progress).await?;
        if let Reply::Refusal(refusal) = &reply
            && self.renew(&access, refusal, change).await?
        {
            let renewed = self.shared.transport.access();
            reply = self.send(&renewed, read, change, progress).await?;
        }
        match reply {
            Reply::Success(head, body) => Ok((head, body)),
            Reply::Refusal(refusal) => Err(self.classify(read, change, refusal)),
        }
    }

    /// Sends a request with these credentials, and reads what is small of the answer.
    async fn send(
        &self,
        access: &Access,
        read: &Read,
        change: Option<&Change>,
        progress: &mut Progress,
    ) -> Result<Reply, AttemptFailure> {
        let sending = Sending::default();
        let asked = request(read, change, &sending, progress.compression)?;
        let answer = access.client.send(asked);
        let answer = self.in_time(read, answer).await.and_then(|answer| {
            answer.map_err(|error| failure::unanswered(&self.shared.server, &error))
        });
        let response: Response<Body> = answer.map_err(|failure| match change {
            // Changes only: a read has no body whose departure could be observed.
            Some(_) if !sending.has_begun() => failure.of_nothing_sent(),
            Some(_) | None => failure,
        })?;
        progress.status = Some(response.status().as_u16());
        self.observations(|observations| observations.hear(response.headers()));
        let (head, mut body) = response.into_parts();
        if head.status.is_success() {
            self.shared.transport.accepted(access);
            return Ok(Reply::Success(head, body));
        }
        let refusal = self.refusal(read, &head, &mut body, progress).await;
        if !refusal.is_unauthorized() {
            self.shared.transport.accepted(access);
        }
        if refusal.is_of_api_server() {
            self.observations(|observations| observations.prove(&head.headers));
        }
        Ok(Reply::Refusal(refusal))
    }

    /// Whether answers are asked for compressed at the moment.
    fn compression(&self) -> Compression {
        if self.shared.link_monitor.compresses() {
            Compression::Wanted
        } else {
            Compression::Unwanted
        }
    }

    /// Whether there are new credentials for a request whose old ones are no longer accepted. A change
    /// is sent again only when the server itself says so, for then it has not looked at it.
    async fn renew(
        &self,
        access: &Access,
        refusal: &Refusal,
        change: Option<&Change>,
    ) -> Result<bool, AttemptFailure> {
        if !refusal.is_unauthorized() || (change.is_some() && !refusal.is_of_api_server()) {
            return Ok(false);
        }
        let shared = &self.shared;
        shared
            .transport
            .renew(access, &shared.server, shared.observer.as_ref())
            .await
            .map_err(AttemptFailure::Unsent)
    }

    fn classify(&self, read: &Read, change: Option<&Change>, refusal: Refusal) -> AttemptFailure {
        let asked = RequestContext {
            server: &self.shared.server,
            read,
            change,
            is_api_server: self.is_api_server(),
            purpose: self.purpose(),
        };
        refusal.classify(&asked)
    }

    /// The next bytes of a body that began to arrive at `started`, or `None` at its end.
    async fn next_bytes(
        &self,
        read: &Read,
        body: &mut Body,
        pace: Pace,
        started: Instant,
    ) -> Result<Option<bytes::Bytes>, AttemptFailure> {
        loop {
            let frame = match self.shared.request_timeout {
                // Bytes that trickle in do not extend the window: the rest of it is all that is left.
                Some(limit) if pace.bytes() > 0 => {
                    let left = pace.left(limit, started.elapsed());
                    tokio::time::timeout(left, body.frame())
                        .await
                        .map_err(|_| self.too_slow(read, pace, limit))?
                }
                _ => self.in_time(read, body.frame()).await?,
            };
            let Some(frame) = frame else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| failure::interrupted(&error))?;
            // What is not data are trailers, which API servers do not send.
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }

    fn too_slow(&self, read: &Read, pace: Pace, limit: Duration) -> AttemptFailure {
        AttemptFailure::Final(ClusterError::TooSlow {
            server: Arc::clone(&self.shared.server),
            path: read.path.clone(),
            bytes: pace.bytes(),
            waited: limit,
        })
    }

    /// A refusal, with as much of its text as arrives.
    async fn refusal(
        &self,
        read: &Read,
        head: &Parts,
        body: &mut Body,
        progress: &mut Progress,
    ) -> Refusal {
        let started = Instant::now();
        let mut pace = Pace::default();
        let mut text = Vec::new();
        let extent = loop {
            let bytes = match self.next_bytes(read, body, pace, started).await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break BodyExtent::Whole,
                Err(_) => break BodyExtent::Part,
            };
            pace.take(bytes.len(), started.elapsed());
            progress.take(bytes.len());
            let room = LONGEST_REFUSAL.saturating_sub(text.len());
            text.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
            if bytes.len() > room {
                // Nobody waits for the end of what is no refusal of an API server.
                break BodyExtent::Whole;
            }
        };
        Refusal::new(head, text, extent)
    }

    /// Waits for a sign of the server, at most for the request timeout, and not in silence.
    async fn in_time<T>(
        &self,
        read: &Read,
        sign: impl Future<Output = T>,
    ) -> Result<T, AttemptFailure> {
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
            AttemptFailure::Final(ClusterError::TimedOut {
                server: Arc::clone(&self.shared.server),
                path: read.path.clone(),
                waited: limit,
            })
        })
    }

    fn notice_silence(&self, text: &str) {
        if !self.observations(|observations| std::mem::replace(&mut observations.silent, true)) {
            self.notice(text);
        }
    }
}

impl Progress {
    fn take(&mut self, bytes: usize) {
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }
}

fn describe(failure: &AttemptFailure) -> String {
    match failure {
        AttemptFailure::Final(error) | AttemptFailure::Unsent(error) => error.to_string(),
        AttemptFailure::Busy { status, .. } => status.to_string(),
        AttemptFailure::Broken(reason)
        | AttemptFailure::Dropped(reason)
        | AttemptFailure::Unreadable(reason)
        | AttemptFailure::TooLong(reason)
        | AttemptFailure::Foreign(reason) => reason.clone(),
        AttemptFailure::Expired => "expired".to_owned(),
    }
}
