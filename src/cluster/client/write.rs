//! Requests that change something: sent once.
//!
//! A write whose answer was lost may have been carried out, so that it is never sent again blindly:
//! the caller has to look. Only a server that says "too many requests" has not even looked at it.

use http::StatusCode;

use super::api::{Change, Consume, Read};
use super::retry::{Failure, Patience};
use crate::cluster::{ApiClient, ClusterError};

/// What became of a write.
#[derive(Debug)]
pub(in crate::cluster) enum Fate<T> {
    /// It was carried out.
    Done(T),
    /// It was not.
    Refused(ClusterError),
    /// Nobody knows: there was no answer, or none that can be understood.
    Lost(ClusterError),
}

impl ApiClient {
    /// Sends a change; a server that is too busy to look at it is waited for.
    pub(in crate::cluster) async fn write<C: Consume>(
        &self,
        target: &Read,
        change: &Change,
        start: impl Fn() -> C,
    ) -> Fate<C::Output> {
        let mut patience = Patience::new(self.request_timeout(), 1);
        loop {
            let failure = match self.attempt(target, Some(change), start()).await {
                Ok(output) => return Fate::Done(output),
                Err(failure) => failure,
            };
            let unseen = is_unseen(&failure);
            if unseen && let Some(wait) = patience.next(&failure) {
                self.announce(target, &failure, wait);
                tokio::time::sleep(wait).await;
                continue;
            }
            let lost = !unseen && may_be_done(&failure);
            let error = self.error(target, failure);
            return if lost {
                Fate::Lost(error)
            } else {
                Fate::Refused(error)
            };
        }
    }
}

/// Whether the server has not looked at the request.
fn is_unseen(failure: &Failure) -> bool {
    match failure {
        Failure::Busy { status, .. } => *status == StatusCode::TOO_MANY_REQUESTS,
        Failure::Final(_) | Failure::Broken(_) | Failure::Expired | Failure::Unreadable(_) => false,
    }
}

/// Whether the change may have been made all the same.
fn may_be_done(failure: &Failure) -> bool {
    match failure {
        Failure::Busy { .. } | Failure::Broken(_) | Failure::Unreadable(_) => true,
        Failure::Expired => false,
        Failure::Final(error) => {
            let is_server_error =
                matches!(error, ClusterError::Refused { status, .. } if *status >= 500);
            is_server_error || matches!(error, ClusterError::TimedOut { .. })
        }
    }
}
