//! Current time: the server's, or this machine's if no server told one.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Current time of this machine. A server's time goes before it wherever there is one.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the clock"
)]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// A server's time, from the moment on at which it was asked.
pub(crate) struct Clock {
    at: Timestamp,
    since: Instant,
}

impl Clock {
    /// A clock that shows `at` now.
    pub(crate) fn set(at: Timestamp) -> Self {
        Self {
            at,
            since: Instant::now(),
        }
    }

    /// The current time.
    pub(crate) fn now(&self) -> Timestamp {
        // The clock of this machine may be set while the command waits; what has passed is monotonic.
        let passed = SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::MAX);
        self.at.saturating_add(passed).unwrap_or(self.at)
    }
}
