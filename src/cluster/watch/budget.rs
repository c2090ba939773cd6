//! Time budget for re-establishing a watch.
//!
//! Failures in a row have a budget of tries and of time; whatever the server tells resets both. A
//! function of what happened and when, without a clock of its own.

use std::time::Duration;

/// Failures in a row at most.
const TRIES: u32 = 100;
/// How long failures in a row may last when requests have no time limit.
const UNLIMITED: Duration = Duration::from_secs(600);
/// Before the second try, and doubled before each one after that.
const BREATH: Duration = Duration::from_millis(100);
/// Between two tries at most, unless the server asks for more.
const LONGEST: Duration = Duration::from_secs(5);

/// What a watch has put up with since the server last told something.
#[derive(Debug)]
pub(super) struct Budget {
    limit: Duration,
    failures: u32,
    /// When the first of the failures happened.
    since: Option<Duration>,
}

impl Budget {
    /// Failures in a row may last for `limit`, the time that a server may be silent.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self {
            limit: limit.unwrap_or(UNLIMITED),
            failures: 0,
            since: None,
        }
    }

    /// The server has told something.
    pub(super) fn restored(&mut self) {
        self.failures = 0;
        self.since = None;
    }

    /// How long to wait after a failure at `now`, before which the server may have asked to wait for
    /// `asked`; `None` to give up.
    pub(super) fn after_failure(
        &mut self,
        now: Duration,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        let since = *self.since.get_or_insert(now);
        self.failures = self.failures.saturating_add(1);
        let doubled = 1_u32.checked_shl(self.failures.saturating_sub(1));
        let breath = doubled
            .and_then(|times| BREATH.checked_mul(times))
            .map_or(LONGEST, |breath| breath.min(LONGEST));
        // A server that asks to come back at once may mean it, and is not asked in a hot loop.
        let pause = asked.unwrap_or_default().max(breath);
        let until = now.saturating_sub(since).saturating_add(pause);
        (self.failures <= TRIES && until <= self.limit).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn pauses_grow_and_end_with_the_time_limit() {
        let mut budget = Budget::new(Some(seconds(30)));
        let mut now = seconds(1_000);
        let mut pauses = Vec::new();
        while let Some(pause) = budget.after_failure(now, None) {
            pauses.push(pause.as_millis());
            now += pause;
        }
        assert_eq!(pauses[..7], [100, 200, 400, 800, 1600, 3200, 5000]);
        assert!(now - seconds(1_000) <= seconds(30), "{pauses:?}");
        assert!(pauses.len() < 15, "{pauses:?}");
    }

    #[test]
    fn a_server_that_asks_to_come_back_at_once_is_not_asked_in_a_hot_loop() {
        let mut budget = Budget::new(None);
        let mut tries = 0;
        while budget
            .after_failure(Duration::ZERO, Some(Duration::ZERO))
            .is_some()
        {
            tries += 1;
        }
        assert_eq!(tries, 100);
    }

    #[test]
    fn whoever_asks_for_more_than_the_limit_is_not_waited_for() {
        for asked in [seconds(31), Duration::MAX] {
            let mut budget = Budget::new(Some(seconds(30)));
            assert_eq!(budget.after_failure(SECOND, Some(asked)), None);
        }
        let mut budget = Budget::new(Some(seconds(30)));
        assert_eq!(
            budget.after_failure(SECOND, Some(seconds(7))),
            Some(seconds(7))
        );
    }

    #[test]
    fn what_the_server_tells_restores_the_budget() {
        let mut budget = Budget::new(Some(SECOND));
        assert!(budget.after_failure(seconds(1), None).is_some());
        assert_eq!(budget.after_failure(seconds(9), None), None);
        budget.restored();
        let first = budget.after_failure(seconds(10), None);
        assert_eq!(first, Some(Duration::from_millis(100)));
    }
}
