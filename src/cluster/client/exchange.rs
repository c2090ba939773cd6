//! One request and its answer, watched for silence.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::Response;
use http::response::Parts;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::Instant;

use super::api::ApiClient;
use super::body_reader::BodyReader;
use super::failure;
use super::refusal::{BodyExtent, Refusal, RequestContext};
use super::request::{Change, Compression, Read, request};
use super::retry::AttemptFailure;
use super::sending::Sending;
use super::transport::Access;
use crate::cluster::error::ClusterError;
use crate::cluster::observer::Event;

/// After this long without a sign of the server, the user is told whom the plugin waits for.
const PATIENCE: Duration = Duration::from_secs(5);
/// A server that answers a small question within this time, connection and all, is near: compression, at some 100 MB/s,
/// costs more time than it saves.
const NEAR: Duration = Duration::from_millis(15);
/// Size of a small answer, in bytes.
const SMALL: u64 = 16 << 10;
/// More than this of a refusal is not read.
const LONGEST_REFUSAL: usize = 1 << 20;

/// How far an answer has come.
#[derive(Debug, Default)]
pub(in crate::cluster) struct Progress {
    /// HTTP status.
    status: Option<u16>,
    /// Of the body, uncompressed.
    bytes: u64,
}

/// Bytes since the last progress: a server that sends less than 4 KiB within the request timeout is as good as silent.
struct Window {
    since: Instant,
    bytes: usize,
}

impl Window {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            bytes: 0,
        }
    }

    fn take(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes >= 4 << 10 {
            *self = Self::new();
        }
    }
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
        let mut window = Window::new();
        while let Some(bytes) = self.next_bytes(read, &mut body, &mut window).await? {
            progress.take(bytes.len());
            consumer.push(&bytes)?;
            let (path, bytes) = (read.path.as_str(), progress.bytes);
            self.observe(&Event::Progress { path, bytes });
        }
        // `finish` judges whether an API server sent the body, so nothing is learned from the headers before.
        let output = consumer.finish()?;
        self.observations(|observations| observations.prove(&head.headers));
        if progress.bytes <= SMALL && asked.elapsed() <= NEAR {
            self.shared.is_near.store(true, Ordering::Relaxed);
        }
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
        let asked = request(read, change, &sending, self.compression())?;
        let answer = access.client.send(asked);
        let answer = self
            .in_time(read, Instant::now(), answer)
            .await
            .and_then(|answer| {
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
        if self.shared.is_near.load(Ordering::Relaxed) {
            Compression::Unwanted
        } else {
            Compression::Wanted
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

    /// The next bytes of a body, or `None` at its end.
    async fn next_bytes(
        &self,
        read: &Read,
        body: &mut Body,
        window: &mut Window,
    ) -> Result<Option<bytes::Bytes>, AttemptFailure> {
        loop {
            let frame = self.in_time(read, window.since, body.frame()).await?;
            let Some(frame) = frame else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| failure::interrupted(&error))?;
            // What is not data are trailers, which API servers do not send.
            if let Ok(bytes) = frame.into_data() {
                window.take(bytes.len());
                return Ok(Some(bytes));
            }
        }
    }

    /// A refusal, with as much of its text as arrives.
    async fn refusal(
        &self,
        read: &Read,
        head: &Parts,
        body: &mut Body,
        progress: &mut Progress,
    ) -> Refusal {
        let mut text = Vec::new();
        let mut window = Window::new();
        let extent = loop {
            let bytes = match self.next_bytes(read, body, &mut window).await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break BodyExtent::Whole,
                Err(_) => break BodyExtent::Part,
            };
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

    /// Waits for a sign of the server, at most for the request timeout from `since` on, and not in silence.
    async fn in_time<T>(
        &self,
        read: &Read,
        since: Instant,
        sign: impl Future<Output = T>,
    ) -> Result<T, AttemptFailure> {
        let mut sign = std::pin::pin!(sign);
        let timeout = self.shared.request_timeout;
        let limit = timeout.map(|limit| limit.saturating_sub(since.elapsed()));
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
                waited: timeout.unwrap_or(limit),
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
