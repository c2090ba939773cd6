//! Progress of a wait.

use jiff::Timestamp;

use super::blocker::Blocker;
use super::rule_lifecycle::{progress_line, remaining_line, slowest};
use super::unevicted_pods::NotEvictedPod;
use crate::engine::forced_deletions::UnreleasedPod;
use crate::engine::holders::UnevictedPod;
use crate::engine::rule_lifecycle::{EvictionObstacle, PendingEviction};
use crate::engine::settle::{Goal, Observation, OpenCondition, WaitFacts, WaitStep};
use crate::model::DeviceTaintRule;
use crate::naming::phrase::few;

/// Number of open conditions that an observation describes while the wait goes on.
const LEFT_WHILE_WAITING: usize = 64;

/// Result of one observation, for the user who waits.
pub struct WaitProgress {
    /// Next step.
    pub step: WaitStep,
    /// The rules that are waited for, as they are.
    pub rules: Vec<DeviceTaintRule>,
    /// Progress in a few words that change only with it.
    pub state: String,
    /// Progress, with the slowest pod.
    pub line: String,
    /// Number of pods to evict that were seen.
    pub pods: usize,
    /// Number of pods still left, as last observed.
    pub pods_left: usize,
    /// Remaining blockers: all of them when the wait ends with that, else the first few.
    pub left: Vec<Blocker>,
    /// The pods that were deleted by force, by name.
    pub not_released: Vec<UnreleasedPod>,
    /// The pods that use the devices and are not evicted, by name.
    pub staying: Vec<NotEvictedPod>,
    /// When the last pod that tolerates the taint for a while is due.
    pub last_due: Option<Timestamp>,
    /// When it was.
    pub now: Timestamp,
}

impl WaitProgress {
    /// Evaluates an observation.
    pub fn new(seen: Observation<'_>, facts: WaitFacts<'_>, now: Timestamp) -> Self {
        let state = state(&seen, &facts);
        let line = match (slowest(facts.left), seen.open.first()) {
            (Some(slowest), _) => format!("{state}; slowest: {}", remaining_line(slowest, now)),
            (None, Some(open)) => format!("{state}; {}", Blocker::new(open, now).message),
            (None, None) => state.clone(),
        };
        // Looks are many, and each may have thousands of open conditions: all are for an end that prints them.
        let shown = match seen.step {
            WaitStep::TimedOut | WaitStep::NotSeenReleased => usize::MAX,
            WaitStep::WaitUntil(_) | WaitStep::ReadAgain => LEFT_WHILE_WAITING,
            WaitStep::Met | WaitStep::Never(_) => 0,
        };
        let left = seen.open.iter().take(shown);
        let left = left.map(|open| Blocker::new(open, now)).collect();
        Self {
            step: seen.step,
            rules: facts.rules.to_vec(),
            state,
            line,
            pods: seen.all,
            pods_left: facts.left.len(),
            left,
            not_released: not_released(&seen.open),
            staying: Vec::new(),
            last_due: last_due(facts.left),
            now,
        }
    }

    /// With who uses the devices and stays.
    #[must_use]
    pub fn with_staying(self, staying: &[UnevictedPod<'_>]) -> Self {
        let staying = staying.iter().map(NotEvictedPod::new).collect();
        Self { staying, ..self }
    }

    /// As [`WaitProgress::new`], where nothing but rules is waited for.
    pub fn of_rules(seen: Observation<'_>, facts: WaitFacts<'_>, now: Timestamp) -> Self {
        let open = seen.open.iter();
        let lines: Vec<String> = open.map(|open| Blocker::new(open, now).message).collect();
        Self {
            line: few(&lines),
            ..Self::new(seen, facts, now)
        }
    }
}

impl WaitProgress {
    /// True if the observation shows progress: not where a rule is gone, or was changed, so that its pods are
    /// not observed any more, nor where they cannot be read.
    pub fn shows_progress(&self) -> bool {
        match self.step {
            WaitStep::Never(_) => false,
            WaitStep::Met
            | WaitStep::TimedOut
            | WaitStep::NotSeenReleased
            | WaitStep::WaitUntil(_)
            | WaitStep::ReadAgain => true,
        }
    }
}

fn not_released(open: &[OpenCondition<'_>]) -> Vec<UnreleasedPod> {
    let found = open.iter().filter_map(|open| match open {
        OpenCondition::NotReleased(pod) => Some(pod.clone()),
        OpenCondition::Pod(_)
        | OpenCondition::Unsettled { .. }
        | OpenCondition::Unobserved(_)
        | OpenCondition::Present(_)
        | OpenCondition::Held(_)
        | OpenCondition::Settling { .. } => None,
    });
    found.collect()
}

/// Progress in a few words that change only with it.
fn state(seen: &Observation<'_>, facts: &WaitFacts<'_>) -> String {
    match seen.goal {
        Goal::Idle(_) => match facts.holders.len() {
            0 => "the devices are not allocated".to_owned(),
            1 => "the devices are allocated to 1 claim".to_owned(),
            several => format!("the devices are allocated to {several} claims"),
        },
        Goal::Evicted | Goal::Observed | Goal::Deleted => progress_line(facts.left, seen),
    }
}

fn last_due(left: &[PendingEviction<'_>]) -> Option<Timestamp> {
    let due = left.iter().filter_map(|left| match left.obstacle {
        EvictionObstacle::Tolerates { until } => Some(until),
        EvictionObstacle::Controller { .. }
        | EvictionObstacle::GracePeriod { .. }
        | EvictionObstacle::Stuck(_)
        | EvictionObstacle::Finalizers(_)
        | EvictionObstacle::Node(_)
        | EvictionObstacle::Kubelet { .. } => None,
    });
    due.max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::settle::{Freshness, UnreachableGoal};
    use crate::report::testing;

    fn facts<'a>(left: &'a [PendingEviction<'a>]) -> WaitFacts<'a> {
        WaitFacts {
            rules: &[],
            left,
            pods: &[],
            claims: &[],
            holders: &[],
            staying: &[],
            departed: &[],
            unread: &[],
            freshness: Freshness::Read,
        }
    }

    #[test]
    fn what_is_not_known_is_not_told_as_zeros() {
        let seen = |step, open| Observation {
            step,
            open,
            all: 0,
            spared: 0,
            ended: 0,
            goal: Goal::Evicted,
        };
        let gone = WaitStep::Never(UnreachableGoal::Gone("drain".into()));
        let progress = WaitProgress::new(seen(gone, Vec::new()), facts(&[]), testing::now());
        assert!(!progress.shows_progress(), "whose pods were not looked at");
    }
}
