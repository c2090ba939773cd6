//! Budget of attempts and time for a change that conflicts with others.

use std::time::Duration;

use tokio::time::Instant;

/// More tries than any controller writes in that time.
const TRIES: u32 = 100;
/// Time limit: a user at a terminal wants to know that it does not work.
const TIME: Duration = Duration::from_secs(60);
/// The pause grows by this much with every try.
const STEP: Duration = Duration::from_millis(5);

/// Remaining tries and time.
#[derive(Debug)]
pub(super) struct Budget {
    tried: u32,
    end: Instant,
}

impl Budget {
    /// After the first try, at `now`.
    pub(super) fn from(now: Instant) -> Self {
        Self {
            tried: 1,
            end: now.checked_add(TIME).unwrap_or(now),
        }
    }

    /// Pause before the next try at `now`; `None` when there is to be none.
    pub(super) fn next(&mut self, now: Instant) -> Option<Duration> {
        if self.tried >= TRIES || now >= self.end {
            return None;
        }
        let pause = STEP.saturating_mul(self.tried.saturating_sub(1));
        self.tried = self.tried.saturating_add(1);
        Some(pause)
    }

    /// Number of tries so far.
    pub(super) fn tried(&self) -> u32 {
        self.tried
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_end_and_the_first_again_is_at_once() {
        let now = Instant::now();
        let mut budget = Budget::from(now);
        assert_eq!(budget.next(now), Some(Duration::ZERO));
        let pauses: Vec<Duration> = std::iter::from_fn(|| budget.next(now)).collect();
        assert_eq!(pauses.len() as u32, TRIES - 2);
        assert!(pauses.iter().sum::<Duration>() < TIME);
        assert_eq!(budget.tried(), TRIES);
    }

    #[test]
    fn time_ends_them_too() {
        let now = Instant::now();
        let mut budget = Budget::from(now);
        assert_eq!(budget.next(now + TIME), None);
        assert_eq!(budget.tried(), 1);
    }
}
