//! One request and its answer, watched for silence.

use std::sync::Arc;
use std::time::Duration;

use http::response::Parts;
use kube::client::Body;
use tokio::time::{Instant, timeout};

use super::api::ApiClient;
use super::body_reader::BodyReader;
use super::failure;
use super::refusal::{Refusal, RequestContext};
use super::request::{Change, Read, request};
use super::retry::AttemptFailure;
use super::stream::next_bytes;
use super::transport::Access;
use crate::cluster::error::ClusterError;
use crate::cluster::observer::Event;

/// Silence of the server after which the user is told which server the plugin waits for.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than this of a refusal is not read.
const LONGEST_REFUSAL: usize = 1 << 20;

/// Progress of a response: its HTTP status, and bytes of the body, uncompressed.
#[derive(Debug, Default)]
struct Progress {
    status: Option<u16>,
    bytes: u64,
}

impl Progress {
    fn take(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl ApiClient {
    /// Sends a request once, and with it the change that it asks for, if any.
    pub(super) async fn attempt<C: BodyReader>(
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
        let bytes = progress.bytes;
        match (&result, progress.status) {
            (Err(failure), status) if status.is_none() || !failure.is_refusal() => {
                let reason = &failure.to_string();
                self.observe(&Event::Failed {
                    method,
                    path,
                    reason,
                    elapsed,
                });
            }
            (_, status) => {
                let status = status.unwrap_or_default();
                self.observe(&Event::Finished {
                    method,
                    path,
                    status,
                    bytes,
                    elapsed,
                });
            }
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
        let (head, mut body) = self.answered(read, change, progress).await?;
        while let Some(bytes) = self.in_time(read, next_bytes(&mut body)).await?? {
            progress.take(bytes.len());
            consumer.push(&bytes)?;
            let (path, bytes) = (read.path.as_str(), progress.bytes);
            self.observe(&Event::Progress { path, bytes });
        }
        // `finish` judges whether an API server sent the body, so nothing is learned from the headers before.
        let output = consumer.finish()?;
        self.observations(|observations| observations.prove(&head.headers));
        Ok(output)
    }

    /// Sends a read whose answer may go on for ever, once, and gives the body.
    pub(super) async fn open(&self, read: &Read) -> Result<Body, AttemptFailure> {
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
        if let Err(refusal) = &reply
            && refusal.is_unauthorized()
            // A change is sent again only when the server itself says so, for then it has not looked at it.
            && (change.is_none() || refusal.is_of_api_server())
            && self.renewed(&access).await?
        {
            let renewed = self.shared.transport.access();
            reply = self.send(&renewed, read, change, progress).await?;
        }
        reply.map_err(|refusal| {
            refusal.classify(&RequestContext {
                server: &self.shared.server,
                read,
                change,
                is_api_server: self.is_api_server(),
                purpose: self.purpose(),
            })
        })
    }

    async fn renewed(&self, access: &Access) -> Result<bool, AttemptFailure> {
        let shared = &self.shared;
        let renewed = shared
            .transport
            .renew(access, &shared.server, shared.observer.as_ref());
        renewed.await.map_err(AttemptFailure::Unsent)
    }

    /// Sends a request with these credentials, and reads what is small of the answer.
    async fn send(
        &self,
        access: &Access,
        read: &Read,
        change: Option<&Change>,
        progress: &mut Progress,
    ) -> Result<Result<(Parts, Body), Refusal>, AttemptFailure> {
        let answer = access.client.send(request(read, change)?);
        let answer = self.in_time(read, answer).await?;
        let response = answer.map_err(|error| failure::unanswered(&self.shared.server, &error))?;
        progress.status = Some(response.status().as_u16());
        self.observations(|observations| observations.hear(response.headers()));
        let (head, mut body) = response.into_parts();
        if head.status.is_success() {
            self.shared.transport.accepted(access);
            return Ok(Ok((head, body)));
        }
        let mut text = Vec::new();
        let is_whole = loop {
            let next = self.in_time(read, next_bytes(&mut body)).await;
            match next.flatten() {
                // Nothing that long is a refusal of an API server.
                Ok(_) if text.len() > LONGEST_REFUSAL => break true,
                Ok(Some(bytes)) => {
                    progress.take(bytes.len());
                    text.extend_from_slice(&bytes);
                }
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let refusal = Refusal::new(&head, text, is_whole);
        if !refusal.is_unauthorized() {
            self.shared.transport.accepted(access);
        }
        if refusal.is_of_api_server() {
            self.observations(|observations| observations.prove(&head.headers));
        }
        Ok(Err(refusal))
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
        if let Ok(value) = timeout(quiet, &mut sign).await {
            return Ok(value);
        }
        let rest = limit.map(|limit| limit.saturating_sub(quiet));
        let is_said = self.observations(|seen| std::mem::replace(&mut seen.is_silent, true));
        if rest != Some(Duration::ZERO) && !is_said {
            self.notice(&format!("waiting for {}", self.shared.server));
        }
        let Some(rest) = rest else {
            return Ok(sign.await);
        };
        timeout(rest, sign).await.map_err(|_| {
            AttemptFailure::Final(ClusterError::TimedOut {
                server: Arc::clone(&self.shared.server),
                path: read.path.clone(),
                waited: limit.unwrap_or_default(),
            })
        })
    }
}
