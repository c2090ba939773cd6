//! When is a read asked for again?
//!
//! A busy server is waited for as long as it says, within the request timeout. An answer that broke
//! off is asked for again at once, a few times. Everything else is final, and writes never come here.

use std::time::Duration;

use http::StatusCode;

use crate::cluster::ClusterError;

/// How often a read is sent at most when its answer keeps breaking off.
pub(in crate::cluster) const ATTEMPTS: u32 = 3;
/// Between two attempts, when the server does not say how long to wait.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two attempts after a broken answer, times the number of attempts so far.
const BREATH: Duration = Duration::from_millis(100);

/// Why an attempt did not give an answer.
#[derive(Debug)]
pub(in crate::cluster) enum Failure {
    /// Asking again would not help.
    Final(ClusterError),
    /// The server asks to come back later.
    Busy {
        status: StatusCode,
        retry_after: Option<Duration>,
    },
    /// The answer broke off, or was not what an API server sends.
    Broken(String),
    /// The state that a page of a list belongs to is no longer known (410).
    Expired,
    /// The answer is complete, and cannot be understood.
    Unreadable(String),
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        Self::Final(error)
    }
}

/// Whether a status says "not now".
///
/// Upstream: `checkWait` in `client-go/rest/request.go`.
pub(in crate::cluster) fn is_busy(status: StatusCode, retry_after: Option<Duration>) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::SERVICE_UNAVAILABLE
        || (status.is_server_error() && retry_after.is_some())
}

/// What one read has put up with so far.
#[derive(Debug)]
pub(in crate::cluster) struct Patience {
    limit: Option<Duration>,
    waited: Duration,
    tries: u32,
    broken: u32,
}

impl Patience {
    /// Waits for busy servers at most `limit` altogether, and asks at most `tries` times for an
    /// answer that breaks off.
    pub(in crate::cluster) fn new(limit: Option<Duration>, tries: u32) -> Self {
        Self {
            limit,
            waited: Duration::ZERO,
            tries,
            broken: 0,
        }
    }

    /// How long to wait before the next attempt, or `None` to give up.
    pub(in crate::cluster) fn next(&mut self, failure: &Failure) -> Option<Duration> {
        match failure {
            Failure::Final(_) | Failure::Unreadable(_) | Failure::Expired => None,
            Failure::Busy { retry_after, .. } => {
                let wait = retry_after.unwrap_or(PAUSE);
                self.waited += wait;
                let within = self.limit.is_none_or(|limit| self.waited <= limit);
                within.then_some(wait)
            }
            Failure::Broken(_) => {
                self.broken += 1;
                (self.broken < self.tries).then(|| BREATH * self.broken)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: u64) -> Failure {
        Failure::Busy {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: Some(Duration::from_secs(seconds)),
        }
    }

    #[test]
    fn busy_server_is_waited_for_within_the_timeout() {
        let mut patience = Patience::new(Some(Duration::from_secs(5)), ATTEMPTS);
        let waits: Vec<_> = (0..3).map(|_| patience.next(&busy(2))).collect();
        let two = Some(Duration::from_secs(2));
        assert_eq!(waits, [two, two, None]);
    }

    #[test]
    fn without_timeout_a_busy_server_is_waited_for() {
        assert!(Patience::new(None, ATTEMPTS).next(&busy(3600)).is_some());
    }

    #[test]
    fn broken_answer_is_asked_for_three_times() {
        let mut patience = Patience::new(None, ATTEMPTS);
        let again: Vec<_> = (0..3)
            .map(|_| patience.next(&Failure::Broken("cut".to_owned())).is_some())
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
