//! What one look has shown.

use jiff::Timestamp;

use crate::engine::life::{Obstacle, Remaining};
use crate::engine::settle::{Facts, Observation, Step};
use crate::model::DeviceTaintRule;
use crate::report::life::{few, progress_line, remaining_line, slowest};
use crate::report::wait::Left;

/// What one look has shown, for whoever waits.
pub(crate) struct Glance {
    pub(crate) step: Step,
    /// The rules that are waited for, as they are.
    pub(crate) rules: Vec<DeviceTaintRule>,
    /// How far it is, in a few words that change only then.
    pub(crate) state: String,
    /// How far it is, with what takes longest.
    pub(crate) line: String,
    /// How many pods were to go, as far as was seen.
    pub(crate) pods: usize,
    /// What remains; only when the time is over.
    pub(crate) left: Vec<Left>,
    /// When the last pod that tolerates the taint for a while is due.
    pub(crate) last_due: Option<Timestamp>,
    pub(crate) now: Timestamp,
}

impl Glance {
    /// What an observation comes to.
    pub(crate) fn new(seen: Observation<'_>, facts: Facts<'_>, now: Timestamp) -> Self {
        let state = progress_line(facts.left, seen.all);
        let line = match (slowest(facts.left), seen.open.first()) {
            (Some(slowest), _) => format!("{state}; slowest: {}", remaining_line(slowest, now)),
            (None, Some(open)) => format!("{state}; {}", Left::new(open, now).message),
            (None, None) => state.clone(),
        };
        let left = match seen.step {
            Step::TimedOut => seen.open.iter().map(|open| Left::new(open, now)).collect(),
            Step::Met | Step::WaitUntil(_) | Step::ReadAgain | Step::Never(_) => Vec::new(),
        };
        Self {
            step: seen.step,
            rules: facts.rules.to_vec(),
            state,
            line,
            pods: seen.all,
            left,
            last_due: last_due(facts.left),
            now,
        }
    }

    /// As [`Glance::new`], where nothing but rules is waited for.
    pub(crate) fn of_rules(seen: Observation<'_>, facts: Facts<'_>, now: Timestamp) -> Self {
        let open = seen.open.iter();
        let lines: Vec<String> = open.map(|open| Left::new(open, now).message).collect();
        Self {
            line: few(&lines),
            ..Self::new(seen, facts, now)
        }
    }
}

fn last_due(left: &[Remaining<'_>]) -> Option<Timestamp> {
    let due = left.iter().filter_map(|left| match left.obstacle {
        Obstacle::Tolerates { until } => Some(until),
        Obstacle::Controller { .. }
        | Obstacle::GracePeriod { .. }
        | Obstacle::Finalizers(_)
        | Obstacle::Node(_)
        | Obstacle::Kubelet { .. } => None,
    });
    due.max()
}
