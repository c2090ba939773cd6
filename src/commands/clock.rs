//! What time it is: by the server that was asked, or here, where nobody else says so.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// What time it is here. A server's time goes before it wherever there is one.
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

    /// What time it is by now.
    pub(crate) fn now(&self) -> Timestamp {
        // The clock of this machine may be set while the command waits; what has passed is monotonic.
        let passed = SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::MAX);
        self.at.saturating_add(passed).unwrap_or(self.at)
    }
}
