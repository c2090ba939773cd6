//! Stall detection for response bodies.
//!
//! A server that sends a byte now and then is as good as silent. Progress worth having is so much of
//! the body, or its end, within each request timeout.

use std::time::Duration;

/// Less than this in a whole request timeout is no progress: a list of a large cluster would take
/// months.
const WORTH_HAVING: u64 = 4 << 10;

/// How much of a body has arrived since when.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cluster) struct Pace {
    /// When the window began, after the head of the answer.
    since: Duration,
    /// What has arrived in it.
    bytes: u64,
}

impl Pace {
    /// Takes `bytes` that arrived at `now`, measured from the head of the answer.
    pub(in crate::cluster) fn take(&mut self, bytes: usize, now: Duration) {
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.bytes >= WORTH_HAVING {
            *self = Self {
                since: now,
                bytes: 0,
            };
        }
    }

    /// How long the next bytes may take at `now`, where `limit` is what a server may be silent.
    pub(in crate::cluster) fn left(&self, limit: Duration, now: Duration) -> Duration {
        limit.saturating_sub(now.saturating_sub(self.since))
    }

    /// What has arrived in the window, too little to be worth having.
    pub(in crate::cluster) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// When a body is given up of which `bytes` arrive every second.
    fn given_up(bytes: usize) -> Option<u64> {
        let mut pace = Pace::default();
        (0..1000).find(|second| {
            let now = Duration::from_secs(*second);
            pace.take(bytes, now);
            pace.left(LIMIT, now).is_zero()
        })
    }

    #[test]
    fn trickle_is_silence() {
        assert_eq!(given_up(0), Some(30));
        assert_eq!(given_up(1), Some(30));
        assert_eq!(given_up(100), Some(30));
    }

    #[test]
    fn slow_answer_that_gets_on_is_waited_for() {
        assert_eq!(given_up(200), None);
        assert_eq!(given_up(1 << 20), None);
    }

    #[test]
    fn sizes_and_times_beyond_all_measure_are_no_panic() {
        let mut pace = Pace::default();
        pace.take(usize::MAX, Duration::MAX);
        assert_eq!(pace.left(Duration::MAX, Duration::ZERO), Duration::MAX);
    }
}
