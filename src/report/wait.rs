//! Result of a wait.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::blocker::Blocker;
use super::metadata::{API_VERSION, Cluster, Metadata, Warning};
use super::remaining_pods::{NotEvictedPod, not_evicted_line};
use super::rule_lifecycle::{progress_line, remaining_line, slowest};
use super::rules::resource_name;
use super::table::{Section, View};
use crate::engine::holders::UnevictedPod;
use crate::engine::holders::UnreleasedPod;
use crate::engine::rule_lifecycle::{EvictionObstacle, PendingEviction};
use crate::engine::settle::{Goal, Observation, OpenCondition, WaitFacts, WaitStep};
use crate::model::DeviceTaintRule;
use crate::naming::phrase::few;

/// Kind of the report.
const KIND: &str = "WaitReport";

/// Report of `wait`, also part of other reports: whether the condition of the wait was met, and if not, what
/// still blocks the wait.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "WaitReport"))]
    pub kind: String,
    /// The cluster of the rules.
    pub metadata: Metadata,
    /// Condition of the wait, as in --for: evicted, idle, observed or deleted.
    #[serde(rename = "for")]
    pub goal: String,
    /// True if the condition of the wait was met.
    pub met: bool,
    /// Duration of the wait, in whole seconds.
    pub waited_seconds: u64,
    /// Names of the rules of the wait.
    pub rules: Vec<String>,
    /// Pods that the rules evict, now or later, and that the wait has observed so far, including pods that no
    /// longer exist.
    pub seen_pod_count: usize,
    /// Blockers left at the end, pods first; empty if the condition was met.
    pub blockers: Vec<Blocker>,
    /// The pods that use the devices of the rules and are not evicted, ordered by name. With `--for evicted`, the wait
    /// does not wait for them.
    pub not_evicted_pods: Vec<NotEvictedPod>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
}

impl WaitReport {
    /// A wait for the rules of these names that lasted so many seconds; blockers `left` are absent when it was met.
    pub fn new(goal: Goal, rules: Vec<String>, left: Option<Vec<Blocker>>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            metadata: Metadata::default(),
            goal: goal_name(goal).to_owned(),
            met: left.is_none(),
            // The caller knows when the wait began, and sets this and the pods that were seen.
            waited_seconds: 0,
            rules,
            seen_pod_count: 0,
            blockers: left.unwrap_or_default(),
            not_evicted_pods: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The report with the cluster that the rules are in.
    #[must_use]
    pub fn in_cluster(self, cluster: Option<&Cluster>) -> Self {
        Self {
            metadata: Metadata::of_cluster(cluster),
            ..self
        }
    }
}

/// Goal of the wait, as it is typed.
pub fn goal_name(goal: Goal) -> &'static str {
    match goal {
        Goal::Evicted => "evicted",
        Goal::Observed => "observed",
        Goal::Deleted => "deleted",
        Goal::Idle(_) => "idle",
    }
}

impl View for WaitReport {
    fn sections(&self) -> Vec<Section> {
        let met = self.rules.iter().filter(|_| self.met);
        let lines = met.map(|name| format!("{} {}", resource_name(name), self.goal));
        let left = self
            .blockers
            .iter()
            .map(|left| format!("left: {}", left.message));
        let lines = lines
            .chain(left)
            .chain(not_evicted_line(&self.not_evicted_pods));
        vec![Section::sentences(lines.collect())]
    }

    fn names(&self) -> Vec<String> {
        let met = self.rules.iter().filter(|_| self.met);
        met.map(|name| resource_name(name)).collect()
    }
}

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
    use crate::engine::settle::{AdminAccess, Freshness, UnreachableGoal};
    use crate::report::testing;

    #[test]
    fn a_wait_in_data_has_its_cluster_and_what_was_not_verified() {
        let cluster = Cluster {
            context: Some("test".to_owned()),
            server: "https://127.0.0.1:6443".to_owned(),
            version: None,
        };
        let report = WaitReport::new(
            Goal::Idle(AdminAccess::Counted),
            vec!["drain".to_owned()],
            None,
        )
        .in_cluster(Some(&cluster));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["met"], true);
        assert_eq!(json["metadata"]["context"], "test");
        assert_eq!(json["metadata"]["server"], "https://127.0.0.1:6443");
    }

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
