//! Requests that change something: sent once.
//!
//! A write whose answer was lost may have been carried out, so that it is never sent again blindly:
//! the caller has to look. That nothing could be sent at all proves that nothing was changed, and so does
//! an API server that does not let the user do it. Any other refusal may come after the change, from a
//! proxy that asks twice or a server that gives up late, so that the caller looks too. Only a server that
//! says "too many requests" is asked again, which the caller is told of.

use tokio::time::Instant;

use super::api::ApiClient;
use super::document::Document;
use super::request::{Change, Read};
use super::retry::{AttemptFailure, RetryBudget};
use crate::cluster::error::ClusterError;

/// Outcome of a write.
#[derive(Debug)]
pub(in crate::cluster) enum WriteOutcome {
    /// It was carried out; the JSON that the server answered with.
    Done(Vec<u8>),
    /// It was not: nothing was sent, or the user may not do it.
    Unmade(ClusterError),
    /// It was not, in the server's own words.
    Refused(ClusterError),
    /// Unknown: there was no answer, or none that can be believed.
    Lost(ClusterError),
}

/// Outcome of a write, and of earlier attempts.
#[derive(Debug)]
pub(in crate::cluster) struct WriteResult {
    /// Outcome, by the last response.
    pub(in crate::cluster) outcome: WriteOutcome,
    /// True if a server was asked before that said that it had not looked at it.
    pub(in crate::cluster) was_sent_before: bool,
}

/// Proof of a response about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteProof {
    /// It was not made.
    Unmade,
    /// It was not, by the words of the server.
    Refused,
    /// Nothing.
    Nothing,
}

impl ApiClient {
    /// Sends a change; a server that is too busy to look at it is waited for.
    pub(in crate::cluster) async fn write(&self, target: &Read, change: &Change) -> WriteOutcome {
        self.write_or_wait(target, change).await.outcome
    }

    /// As [`ApiClient::write`], with how often it was sent.
    pub(in crate::cluster) async fn write_or_wait(
        &self,
        target: &Read,
        change: &Change,
    ) -> WriteResult {
        // A single try for responses that break off: the change may have been made by then.
        let mut patience = RetryBudget::new(self.request_timeout(), 1);
        let started = Instant::now();
        let mut was_sent_before = false;
        let outcome = loop {
            let answer = Document {
                read: target,
                change: Some(change),
                body: Vec::new(),
            };
            let failure = match self.attempt(target, Some(change), answer).await {
                Ok(body) => break WriteOutcome::Done(body),
                Err(failure) => failure,
            };
            let proof = proof(&failure);
            if proof != WriteProof::Nothing
                && let Some(wait) = patience.next(&failure, started.elapsed())
            {
                // `Unmade` proves that no server looked at the change, so it does not count as sent.
                was_sent_before |= proof == WriteProof::Refused;
                self.announce(target, &failure, wait);
                tokio::time::sleep(wait).await;
                continue;
            }
            let error = self.error(target, failure);
            break match proof {
                WriteProof::Unmade if !was_sent_before => WriteOutcome::Unmade(error),
                WriteProof::Unmade | WriteProof::Refused => WriteOutcome::Refused(error),
                WriteProof::Nothing => WriteOutcome::Lost(error),
            };
        };
        WriteResult {
            outcome,
            was_sent_before,
        }
    }
}

/// Proof of a failed attempt.
fn proof(failure: &AttemptFailure) -> WriteProof {
    match failure {
        AttemptFailure::Unsent(_) => WriteProof::Unmade,
        AttemptFailure::Expired | AttemptFailure::Busy { unseen: true, .. } => WriteProof::Refused,
        AttemptFailure::Busy { unseen: false, .. }
        | AttemptFailure::Broken(_)
        | AttemptFailure::Unreadable(_)
        | AttemptFailure::TooLong(_) => WriteProof::Nothing,
        // Authentication and authorization come before any change.
        AttemptFailure::Final(
            ClusterError::Unauthorized { .. } | ClusterError::Forbidden { .. },
        ) => WriteProof::Unmade,
        // An API server's own words about what it did not do; its troubles within may come after it.
        AttemptFailure::Final(
            ClusterError::NotFound { .. }
            | ClusterError::AlreadyExists { .. }
            | ClusterError::Conflict { .. }
            | ClusterError::Invalid { .. },
        ) => WriteProof::Refused,
        AttemptFailure::Final(ClusterError::Refused { status, .. }) if *status < 500 => {
            WriteProof::Refused
        }
        AttemptFailure::Final(_) => WriteProof::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::StatusCode;

    use super::*;
    use crate::cluster::error::Server;

    #[test]
    fn only_what_was_not_sent_or_not_allowed_proves_that_nothing_happened() {
        let server = || {
            Arc::new(Server {
                cluster: None,
                url: "https://s".to_owned(),
            })
        };
        let refused = |status| {
            AttemptFailure::Final(ClusterError::Refused {
                server: server(),
                path: "/p".to_owned(),
                status,
                message: "no".to_owned(),
            })
        };
        let busy = |unseen| AttemptFailure::Busy {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: None,
            unseen,
        };
        let text = || "x".to_owned();
        let path = || "/p".to_owned();
        for (failure, expected) in [
            (
                AttemptFailure::Unsent(ClusterError::Unauthorized { server: server() }),
                WriteProof::Unmade,
            ),
            (
                AttemptFailure::Final(ClusterError::Unauthorized { server: server() }),
                WriteProof::Unmade,
            ),
            (
                AttemptFailure::Final(ClusterError::NotFound { path: path() }),
                WriteProof::Refused,
            ),
            (AttemptFailure::Expired, WriteProof::Refused),
            (refused(400), WriteProof::Refused),
            (refused(413), WriteProof::Refused),
            (busy(true), WriteProof::Refused),
            (busy(false), WriteProof::Nothing),
            (refused(500), WriteProof::Nothing),
            (refused(504), WriteProof::Nothing),
            (AttemptFailure::Broken(text()), WriteProof::Nothing),
            (AttemptFailure::Unreadable(text()), WriteProof::Nothing),
            (AttemptFailure::TooLong(text()), WriteProof::Nothing),
            (
                AttemptFailure::Final(ClusterError::Tls {
                    server: server(),
                    reason: text(),
                }),
                WriteProof::Nothing,
            ),
        ] {
            assert_eq!(proof(&failure), expected, "{failure:?}");
        }
    }
}
