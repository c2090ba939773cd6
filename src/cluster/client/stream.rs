//! Answers that go on until the server ends them: watches.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::Instant;

use super::api::ApiClient;
use super::failure;
use super::request::Read;
use super::retry::AttemptFailure;
use crate::cluster::observer::Event;

/// A body that is taken as it arrives, however long that takes.
///
/// Can be dropped at any time, which ends the request.
pub(in crate::cluster) struct Stream {
    body: Body,
    opened: Instant,
}

impl Stream {
    /// Sends `read` once, and waits for the head of its answer as for that of any other.
    pub(in crate::cluster) async fn open(
        client: &ApiClient,
        read: &Read,
    ) -> Result<Self, AttemptFailure> {
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
    pub(in crate::cluster) async fn next(
        &mut self,
        silence: Duration,
    ) -> Result<Option<Bytes>, AttemptFailure> {
        let next = tokio::time::timeout(silence, next_bytes(&mut self.body)).await;
        let seconds = silence.as_secs();
        next.map_err(|_| AttemptFailure::Broken(format!("no data for {seconds}s")))?
    }

    /// For how long the answer has been open.
    pub(in crate::cluster) fn age(&self) -> Duration {
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
