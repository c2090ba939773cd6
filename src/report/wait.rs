//! Result of a wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocker::Blocker;
use super::metadata::{API_VERSION, Cluster, Metadata, Warning};
use super::rules::resource_name;
use super::table::{Section, Shown, View};
use super::unevicted_pods::{NotEvictedPod, not_evicted_line};
use crate::engine::settle::Goal;

/// Kind of the report.
const KIND: &str = "WaitReport";

/// Report of `wait`, also part of other reports: whether the condition of the wait was met, and if not, what
/// still blocks the wait.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    #[serde(default)]
    pub not_evicted_pods: Vec<NotEvictedPod>,
    /// Warnings that do not prevent the report.
    #[serde(default)]
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
}

impl WaitReport {
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
        let warnings = self.warnings.iter().map(Warning::line).collect();
        vec![
            Section::sentences(lines.collect()),
            // Text has them on standard error.
            Section::list("Warnings", warnings).shown(Shown::Document),
        ]
    }

    fn names(&self) -> Vec<String> {
        let met = self.rules.iter().filter(|_| self.met);
        met.map(|name| resource_name(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::settle::AdminAccess;

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
}
