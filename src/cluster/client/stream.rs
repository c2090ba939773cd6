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
    client: ApiClient,
    path: String,
    body: Body,
    bytes: u64,
    opened: Instant,
}

impl Stream {
    /// Sends `read` once, and waits for the head of its answer as for that of any other.
    pub(in crate::cluster) async fn open(
        client: &ApiClient,
        read: &Read,
    ) -> Result<Self, AttemptFailure> {
        let body = client.open(read).await?;
        Ok(Self {
            client: client.clone(),
            path: read.path.clone(),
            body,
            bytes: 0,
            opened: Instant::now(),
        })
    }

    /// The next bytes, or `None` once the server has ended the answer. A server that says nothing for
    /// `silence` is taken to be gone.
    pub(in crate::cluster) async fn next(
        &mut self,
        silence: Duration,
    ) -> Result<Option<Bytes>, AttemptFailure> {
        loop {
            let frame = tokio::time::timeout(silence, self.body.frame()).await;
            let Ok(frame) = frame else {
                let seconds = silence.as_secs();
                return Err(AttemptFailure::Broken(format!("no data for {seconds}s")));
            };
            let Some(frame) = frame else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| failure::interrupted(&error))?;
            // What is not data are trailers, which API servers do not send.
            if let Ok(bytes) = frame.into_data() {
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                self.bytes = self.bytes.saturating_add(length);
                return Ok(Some(bytes));
            }
        }
    }

    /// For how long the answer has been open.
    pub(in crate::cluster) fn age(&self) -> Duration {
        self.opened.elapsed()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.client.observe(&Event::Finished {
            method: "WATCH",
            path: &self.path,
            status: 200,
            bytes: self.bytes,
            elapsed: self.opened.elapsed(),
        });
    }
}
