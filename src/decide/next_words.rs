//! The command that comes after a change of rules, in a line.

use std::time::Duration;

use jiff::Timestamp;

use crate::engine::settle::Patience;
use crate::model::Effect;

/// How long `escalate --wait` waits unless --timeout and --settle are set.
const DEFAULT_PATIENCE: Patience = Patience {
    timeout: Duration::from_secs(300),
    settle: Duration::from_secs(10),
};

/// When the last eviction would be due, and when that was calculated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastEviction {
    /// When it would be due; nothing where no pod would be evicted, or where that is not known.
    pub due: Option<Timestamp>,
    /// When that was calculated.
    pub now: Timestamp,
}

impl LastEviction {
    /// The flag without which `escalate --wait` would be refused as too short, with a space before it; a minute more than
    /// is needed, for pods to end and for the time until the command is pasted.
    fn timeout(self) -> String {
        let shortfall = self
            .due
            .and_then(|due| DEFAULT_PATIENCE.shortfall(due, self.now));
        shortfall.map_or_else(String::new, |short| {
            let minutes = short.needed.as_secs().div_ceil(60).saturating_add(1);
            format!(" --timeout {minutes}m")
        })
    }
}

/// What comes next for `rules`, which are how a command names those that it has added with `effect`.
#[must_use]
pub fn after_add(rules: &str, effect: &Effect, last: LastEviction) -> String {
    match effect {
        Effect::None | Effect::Unknown(_) => before_eviction(rules, last),
        // Whoever keeps new pods off has chosen to let the others stay.
        Effect::NoSchedule => {
            format!(
                "next, to make the devices schedulable again: kubectl devicetaint remove {rules}"
            )
        }
        Effect::NoExecute => {
            format!("next: kubectl devicetaint wait {rules} --for evicted")
        }
    }
}

/// What comes next for `rules` that are to evict, and do not yet.
#[must_use]
pub fn before_eviction(rules: &str, last: LastEviction) -> String {
    let line = format!("next: kubectl devicetaint escalate {rules} --to NoExecute --wait");
    line + &last.timeout()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_an_addition_depends_on_the_effect() {
        let after_add = |effect| after_add("drain", effect, LastEviction::default());
        assert!(after_add(&Effect::None).contains("escalate drain --to NoExecute"));
        assert!(after_add(&Effect::NoExecute).contains("wait drain --for evicted"));
        let cordoned = after_add(&Effect::NoSchedule);
        assert!(
            cordoned.ends_with("kubectl devicetaint remove drain"),
            "{cordoned}"
        );
        assert!(!cordoned.contains("NoExecute"), "{cordoned}");
    }

    #[test]
    fn a_wait_that_would_be_refused_as_too_short_is_proposed_with_its_time() {
        let now: Timestamp = "2026-11-21T01:00:00Z".parse().unwrap();
        let in_seconds = |seconds: i64| {
            let due = Timestamp::from_second(now.as_second().saturating_add(seconds)).unwrap();
            before_eviction(
                "drain",
                LastEviction {
                    due: Some(due),
                    now,
                },
            )
        };
        for (seconds, end) in [
            (0, "--wait"),
            (290, "--wait"),
            (291, "--wait --timeout 7m"),
            (1_800, "--wait --timeout 32m"),
        ] {
            assert!(
                in_seconds(seconds).ends_with(end),
                "{}",
                in_seconds(seconds)
            );
        }
    }
}
