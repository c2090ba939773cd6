//! One request and its answer, watched for silence.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::response::Parts;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::{Instant, timeout};

use super::api::{ApiClient, AttemptFailure};
use super::connector::Access;
use super::failure;
use super::refusal::{Refusal, RequestContext};
use super::target::{Change, Read, request};
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

/// A body that is taken as it arrives, however long that takes.
///
/// Can be dropped at any time, which ends the request.
pub(crate) struct Stream {
    body: Body,
    opened: Instant,
}

impl Stream {
    /// Sends `read` once, and waits for the head of its answer as for that of any other.
    pub(crate) async fn open(client: &ApiClient, read: &Read) -> Result<Self, AttemptFailure> {
        let started = Instant::now();
        let body = client.open(read).await?;
        client.observe(&Event::Finished {
            method: "WATCH",
            path: &read.path,
            status: 200,
            bytes: 0,
            elapsed: started.elapsed(),
        });
        let opened = Instant::now();
        Ok(Self { body, opened })
    }

    /// The next bytes, or `None` once the server has ended the answer. A server that says nothing for
    /// `silence` is taken to be gone.
    pub(crate) async fn next(
        &mut self,
        silence: Duration,
    ) -> Result<Option<Bytes>, AttemptFailure> {
        let next = tokio::time::timeout(silence, next_bytes(&mut self.body)).await;
        let seconds = silence.as_secs();
        next.map_err(|_| AttemptFailure::Broken(format!("no data for {seconds}s")))?
    }

    /// For how long the answer has been open.
    pub(crate) fn age(&self) -> Duration {
        self.opened.elapsed()
    }
}

/// The next bytes of a body, or `None` at its end.
pub(super) async fn next_bytes(body: &mut Body) -> Result<Option<Bytes>, AttemptFailure> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| failure::interrupted(&error))?;
        // Frames without data are trailers, which API servers do not send.
        if let Ok(bytes) = frame.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Takes a body while it arrives.
pub(crate) trait BodyReader {
    /// Result made of the body.
    type Output;

    /// Takes the next bytes.
    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure>;

    /// Takes the end of the body, and judges whether that was all of it.
    fn finish(self) -> Result<Self::Output, AttemptFailure>;
}

/// A body that is held as a whole.
pub(crate) struct Whole<F> {
    body: Vec<u8>,
    finish: F,
}

/// Holds a body, and makes of it what `finish` does.
pub(crate) fn whole<T, F>(finish: F) -> Whole<F>
where
    F: FnOnce(&[u8]) -> Result<T, AttemptFailure>,
{
    let body = Vec::new();
    Whole { body, finish }
}

impl<T, F: FnOnce(&[u8]) -> Result<T, AttemptFailure>> BodyReader for Whole<F> {
    type Output = T;

    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        hold(&mut self.body, bytes)
    }

    fn finish(self) -> Result<T, AttemptFailure> {
        (self.finish)(&self.body)
    }
}

/// More than this is no object and no account of what a server has: etcd takes 1.5 MB for an object. A page
/// of a list that is longer is asked for in smaller ones.
const LONGEST: usize = 32 << 20;

/// Adds `bytes` to a body that is held as a whole: the one place where bytes of a server accumulate.
///
/// # Errors
///
/// When the body becomes too long; `bytes` are not kept then.
fn hold(body: &mut Vec<u8>, bytes: &[u8]) -> Result<(), AttemptFailure> {
    if bytes.len() > LONGEST.saturating_sub(body.len()) {
        let limit = LONGEST >> 20;
        return Err(AttemptFailure::TooLong(format!(
            "it is longer than {limit} MiB"
        )));
    }
    body.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_taken_up_to_its_limit() {
        let mut body = Vec::new();
        hold(&mut body, &[0; LONGEST]).expect("as much as it may");
        let more = hold(&mut body, b"x");
        assert!(matches!(more, Err(AttemptFailure::TooLong(_))), "{more:?}");
        assert_eq!(body.len(), LONGEST);
    }
}
