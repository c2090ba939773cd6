//! Requests that change something: sent once.
//!
//! A write whose answer was lost may have been carried out, so that it is never sent again blindly:
//! the caller has to look. That nothing could be sent at all proves that nothing was changed, and so does
//! an API server that does not let the user do it. Any other refusal may come after the change, from a
//! proxy that asks twice or a server that gives up late, so that the caller looks too. Only a server that
//! says "too many requests" is asked again, which the caller is told of.

use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::Instant;

use super::api::{ApiClient, AttemptFailure, RetryBudget};
use super::exchange::whole;
use super::target::{Change, Read, answers};
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;

/// Outcome of a write.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
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
pub(crate) struct WriteResult {
    /// Outcome, by the last response.
    pub(crate) outcome: WriteOutcome,
    /// True if a server was asked before that said that it had not looked at it.
    pub(crate) was_sent_before: bool,
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
    pub(crate) async fn write(&self, target: &Read, change: &Change) -> WriteOutcome {
        self.write_or_wait(target, change).await.outcome
    }

    /// As [`ApiClient::write`], with how often it was sent.
    pub(crate) async fn write_or_wait(&self, target: &Read, change: &Change) -> WriteResult {
        // A single try for responses that break off: the change may have been made by then.
        let mut patience = RetryBudget::new(self.request_timeout(), 1);
        let started = Instant::now();
        let mut was_sent_before = false;
        let outcome = loop {
            let reader = whole(|body| answer(target, Some(change), body));
            let failure = match self.attempt(target, Some(change), reader).await {
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

/// Reads a small JSON document that is no object, such as what the server has.
pub(crate) async fn document<T: DeserializeOwned>(
    client: &ApiClient,
    path: String,
) -> Result<T, ClusterError> {
    let permission = Permission {
        verb: "get",
        group: String::new(),
        resource: path.split('?').next().unwrap_or_default().to_owned(),
    };
    document_for(client, path, permission).await
}

/// Reads a small JSON document that the user needs `permission` for.
pub(crate) async fn document_for<T: DeserializeOwned>(
    client: &ApiClient,
    path: String,
    permission: Permission,
) -> Result<T, ClusterError> {
    let read = Read::json(path, permission);
    let body = client.json(&read).await?;
    serde_json::from_slice(&body)
        .map_err(|error| client.error(&read, AttemptFailure::Unreadable(error.to_string())))
}

impl ApiClient {
    /// The JSON that answers `read`: what the path leads to, and nothing else.
    pub(crate) async fn json(&self, read: &Read) -> Result<Vec<u8>, ClusterError> {
        self.read(read, || whole(|body| answer(read, None, body)))
            .await
    }
}

/// The body, if it is the JSON document that was asked for.
fn answer(read: &Read, change: Option<&Change>, body: &[u8]) -> Result<Vec<u8>, AttemptFailure> {
    serde_json::from_slice::<IgnoredAny>(body)
        .map_err(|error| AttemptFailure::Broken(format!("it is not JSON: {error}")))?;
    if answers(read, change, body) {
        Ok(body.to_owned())
    } else {
        let problem = "it is not the object that was requested".to_owned();
        Err(AttemptFailure::Unreadable(problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::error::Server;
    use http::StatusCode;
    use std::sync::Arc;

    #[test]
    fn only_what_was_not_sent_or_not_allowed_proves_that_nothing_happened() {
        use AttemptFailure::{Broken, Expired, Final, TooLong, Unreadable, Unsent};
        use ClusterError::{NotFound, Tls, Unauthorized};
        use WriteProof::{Nothing, Refused, Unmade};
        let server = || {
            Arc::new(Server {
                cluster: None,
                url: "https://s".to_owned(),
            })
        };
        let text = || "x".to_owned();
        let refused = |status| {
            Final(ClusterError::Refused {
                server: server(),
                path: text(),
                status,
                message: text(),
            })
        };
        let busy = |unseen| AttemptFailure::Busy {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: None,
            unseen,
        };
        let unknown = || Unauthorized { server: server() };
        let (server, reason) = (server(), text());
        let tls = Tls { server, reason };
        for (failure, expected) in [
            (Unsent(unknown()), Unmade),
            (Final(unknown()), Unmade),
            (Final(NotFound { path: text() }), Refused),
            (Expired, Refused),
            (refused(400), Refused),
            (refused(413), Refused),
            (busy(true), Refused),
            (busy(false), Nothing),
            (refused(500), Nothing),
            (refused(504), Nothing),
            (Broken(text()), Nothing),
            (Unreadable(text()), Nothing),
            (TooLong(text()), Nothing),
            (Final(tls), Nothing),
        ] {
            assert_eq!(proof(&failure), expected, "{failure:?}");
        }
    }
}
