//! Retries of reads.
//!
//! A busy server is waited for as long as it says, and at least a little longer each time; all of it
//! within the request timeout. An answer that broke off is asked for again at once, a few times.
//! Everything else is final. Of writes, only what the server has not looked at comes here.

use std::time::Duration;

use http::StatusCode;

use crate::cluster::error::ClusterError;

/// Maximum number of attempts of a read whose response keeps breaking off.
pub(in crate::cluster) const ATTEMPTS: u32 = 3;
/// Maximum number of requests to a busy server, without a time limit of the user.
const LONGEST_QUEUE: u32 = 100;
/// Between two attempts, when the server does not say how long to wait.
const PAUSE: Duration = Duration::from_secs(1);
/// Minimum delay between two attempts, times the number of attempts so far: whatever the server says, it
/// is not asked in a hot loop.
const BREATH: Duration = Duration::from_millis(100);

/// Reason why an attempt did not give a response.
#[derive(Debug, thiserror::Error)]
pub(in crate::cluster) enum AttemptFailure {
    /// Nothing was sent, and trying again would not help.
    #[error("{0}")]
    Unsent(ClusterError),
    /// Asking again would not help.
    #[error("{0}")]
    Final(ClusterError),
    /// The server asks to come back later.
    #[error("{status}")]
    Busy {
        status: StatusCode,
        retry_after: Option<Duration>,
        /// It has certainly not looked at the request.
        unseen: bool,
    },
    /// The answer broke off, or was not what an API server sends.
    #[error("{0}")]
    Broken(String),
    /// The state that a page of a list belongs to is no longer known (410).
    #[error("expired")]
    Expired,
    /// The answer is complete, and is no answer to this question or cannot be understood.
    #[error("{0}")]
    Unreadable(String),
    /// There is more of the answer than is held.
    #[error("{0}")]
    TooLong(String),
}

impl AttemptFailure {
    /// True if it is a complete response of a server that refuses.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Final(_) | Self::Busy { .. } | Self::Expired)
    }
}

impl From<ClusterError> for AttemptFailure {
    fn from(error: ClusterError) -> Self {
        Self::Final(error)
    }
}

/// True if a status says "not now".
///
/// Upstream: `checkWait` in `client-go/rest/request.go`.
pub(in crate::cluster) fn is_busy(status: StatusCode, retry_after: Option<Duration>) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::SERVICE_UNAVAILABLE
        || (status.is_server_error() && retry_after.is_some())
}

/// Retries that one request has used so far.
#[derive(Debug)]
pub(in crate::cluster) struct RetryBudget {
    limit: Option<Duration>,
    tries: u32,
    busy: u32,
    broken: u32,
}

impl RetryBudget {
    /// Waits for busy servers until `limit` after the first request, and asks at most `tries` times
    /// for an answer that breaks off.
    pub(in crate::cluster) fn new(limit: Option<Duration>, tries: u32) -> Self {
        Self {
            limit,
            tries,
            busy: 0,
            broken: 0,
        }
    }

    /// Delay before the next attempt, or `None` to give up; `elapsed` is the time since
    /// the first attempt began.
    pub(in crate::cluster) fn next(
        &mut self,
        failure: &AttemptFailure,
        elapsed: Duration,
    ) -> Option<Duration> {
        match failure {
            AttemptFailure::Unsent(_)
            | AttemptFailure::Final(_)
            | AttemptFailure::Unreadable(_)
            | AttemptFailure::TooLong(_)
            // The same token would be expired again: only a new list helps.
            | AttemptFailure::Expired => None,
            AttemptFailure::Busy { retry_after, .. } => {
                self.busy = self.busy.saturating_add(1);
                let wait = retry_after
                    .unwrap_or(PAUSE)
                    .max(BREATH.saturating_mul(self.busy));
                let within = match self.limit {
                    Some(limit) => elapsed.saturating_add(wait) <= limit,
                    None => self.busy < LONGEST_QUEUE,
                };
                within.then_some(wait)
            }
            AttemptFailure::Broken(_) => {
                self.broken = self.broken.saturating_add(1);
                (self.broken < self.tries).then(|| BREATH.saturating_mul(self.broken))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: u64) -> AttemptFailure {
        AttemptFailure::Busy {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: Some(Duration::from_secs(seconds)),
            unseen: true,
        }
    }

    /// The waits for a server that says `seconds` each time, until giving up.
    fn waits(limit: Option<u64>, seconds: u64) -> Vec<Duration> {
        let mut patience = RetryBudget::new(limit.map(Duration::from_secs), ATTEMPTS);
        let mut elapsed = Duration::ZERO;
        let mut waits = Vec::new();
        while let Some(wait) = patience.next(&busy(seconds), elapsed) {
            elapsed = elapsed.saturating_add(wait);
            waits.push(wait);
        }
        waits
    }

    #[test]
    fn busy_server_is_waited_for_within_the_timeout_and_not_in_a_hot_loop() {
        assert_eq!(waits(Some(5), 2), [Duration::from_secs(2); 2]);
        let unnamed = waits(Some(30), 0);
        assert!(unnamed.len() <= 25 && unnamed.iter().all(|wait| *wait >= BREATH));
        assert_eq!(waits(None, 3600).len(), 99);
        assert!(waits(Some(30), u64::MAX).is_empty());
        let mut patience = RetryBudget::new(Some(Duration::from_secs(5)), ATTEMPTS);
        assert_eq!(patience.next(&busy(2), Duration::from_secs(4)), None);
    }

    #[test]
    fn broken_answer_is_asked_for_three_times() {
        let mut patience = RetryBudget::new(None, ATTEMPTS);
        let again: Vec<_> = (0..3)
            .map(|_| {
                let broken = AttemptFailure::Broken("cut".to_owned());
                patience.next(&broken, Duration::ZERO).is_some()
            })
            .collect();
        assert_eq!(again, [true, true, false]);
    }

    #[test]
    fn server_errors_are_waited_for_only_when_the_server_says_so() {
        let second = Some(Duration::from_secs(1));
        for (status, retry_after, expected) in [
            (429, None, true),
            (503, None, true),
            (500, second, true),
            (500, None, false),
            (404, second, false),
        ] {
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(is_busy(status, retry_after), expected, "{status}");
        }
    }
}
