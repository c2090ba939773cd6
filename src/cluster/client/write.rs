//! Requests that change something: sent once.
//!
//! A write whose answer was lost may have been carried out, so that it is never sent again blindly:
//! the caller has to look. Only an API server's own answer, or that nothing could be sent at all,
//! proves that nothing was changed. Only a server that says "too many requests" has not even looked
//! at it, and is asked again.

use tokio::time::Instant;

use super::document::Document;
use super::request::{Change, Read};
use super::retry::{Failure, Patience};
use crate::cluster::{ApiClient, ClusterError};

/// What became of a write.
#[derive(Debug)]
pub(in crate::cluster) enum Fate {
    /// It was carried out; the JSON that the server answered with.
    Done(Vec<u8>),
    /// It was not.
    Refused(ClusterError),
    /// Nobody knows: there was no answer, or none that can be believed.
    Lost(ClusterError),
}

impl ApiClient {
    /// Sends a change; a server that is too busy to look at it is waited for.
    pub(in crate::cluster) async fn write(&self, target: &Read, change: &Change) -> Fate {
        let mut patience = Patience::new(self.request_timeout(), 1);
        let started = Instant::now();
        loop {
            let answer = Document::answering(target, Some(change));
            let failure = match self.attempt(target, Some(change), answer).await {
                Ok(body) => return Fate::Done(body),
                Err(failure) => failure,
            };
            let lost = may_be_done(&failure);
            if !lost && let Some(wait) = patience.next(&failure, started.elapsed()) {
                self.announce(target, &failure, wait);
                tokio::time::sleep(wait).await;
                continue;
            }
            let error = self.error(target, failure);
            return if lost {
                Fate::Lost(error)
            } else {
                Fate::Refused(error)
            };
        }
    }
}

/// Whether the change may have been made all the same.
fn may_be_done(failure: &Failure) -> bool {
    match failure {
        Failure::Unsent(_) | Failure::Dropped(_) | Failure::Expired => false,
        Failure::Busy { unseen, .. } => !unseen,
        Failure::Broken(_) | Failure::Unreadable(_) | Failure::Foreign(_) => true,
        // An API server's own words about what it did not do; its troubles within may come after it.
        Failure::Final(
            ClusterError::Unauthorized { .. }
            | ClusterError::Forbidden { .. }
            | ClusterError::NotFound { .. }
            | ClusterError::AlreadyExists { .. }
            | ClusterError::Conflict { .. }
            | ClusterError::Invalid { .. },
        ) => false,
        Failure::Final(error) => {
            !matches!(error, ClusterError::Refused { status, .. } if *status < 500)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::StatusCode;

    use super::*;
    use crate::cluster::error::Server;

    #[test]
    fn only_an_answer_of_an_api_server_proves_that_nothing_happened() {
        let server = || {
            Arc::new(Server {
                cluster: None,
                url: "https://s".to_owned(),
            })
        };
        let refused = |status| {
            Failure::Final(ClusterError::Refused {
                server: server(),
                path: "/p".to_owned(),
                status,
                message: "no".to_owned(),
            })
        };
        let busy = |unseen| Failure::Busy {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: None,
            unseen,
        };
        let text = || "x".to_owned();
        let path = || "/p".to_owned();
        for (failure, lost) in [
            (Failure::Dropped(text()), false),
            (
                Failure::Unsent(ClusterError::Unauthorized { server: server() }),
                false,
            ),
            (
                Failure::Final(ClusterError::NotFound { path: path() }),
                false,
            ),
            (Failure::Expired, false),
            (refused(400), false),
            (busy(true), false),
            (busy(false), true),
            (refused(500), true),
            (refused(504), true),
            (Failure::Broken(text()), true),
            (Failure::Foreign(text()), true),
            (Failure::Unreadable(text()), true),
            (
                Failure::Final(ClusterError::Tls {
                    server: server(),
                    reason: text(),
                }),
                true,
            ),
        ] {
            assert_eq!(may_be_done(&failure), lost, "{failure:?}");
        }
    }
}
