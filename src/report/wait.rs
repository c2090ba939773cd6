//! Result of a wait, and what is left.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::device_removal::RemovalReason;
use super::metadata::API_VERSION;
use super::rule_lifecycle::{NO_CONDITION, why};
use super::rules::resource_name;
use super::table::{Section, View};
use super::time::Time;
use super::unevicted_pods::{StayingPod, staying_line};
use crate::engine::device_removal::RemovalObjection;
use crate::engine::forced_deletions::{PodEnd, UnreleasedPod};
use crate::engine::holders::HoldingClaim;
use crate::engine::recurring_evictions::RecurringEviction;
use crate::engine::rule_lifecycle::{EvictionObstacle, EvictionStatus, PendingEviction};
use crate::engine::settle::{Goal, OpenCondition};
use crate::engine::termination_blocker::TerminationBlocker;
use crate::model::{DeviceId, DeviceTaintRule, NodeHealth};
use crate::naming::phrase::{counted, few};

/// Which report this is.
const KIND: &str = "WaitReport";

/// What is waited for until workloads have as many ready pods as they want.
pub const RECOVERED: &str = "recovered";

/// How a wait ended: what was waited for is the case, or this is left.
///
/// Within one apiVersion, fields and codes are only added: readers have to ignore those they do not
/// know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitReport {
    /// Version of this schema.
    #[schemars(extend("const" = "kubectl-devicetaint/v1alpha1"))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "WaitReport"))]
    pub kind: String,
    /// What was waited for: evicted, idle, observed, deleted or recovered.
    #[serde(rename = "for")]
    pub goal: String,
    /// Whether that is the case; otherwise the time was over.
    pub met: bool,
    /// For how many whole seconds was waited.
    pub waited_seconds: u64,
    /// The rules that were waited for, by name.
    pub rules: Vec<String>,
    /// Number of pods to evict that were seen.
    pub pods: usize,
    /// What is left, pods first; empty when it was met.
    pub left: Vec<Left>,
    /// The pods that use the devices and are not evicted, by name: they stay after all evicted pods
    /// are gone.
    #[serde(default)]
    pub staying: Vec<StayingPod>,
}

/// Something that keeps a wait from being met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    /// What it is, as a code.
    pub reason: LeftReason,
    /// Namespace of the pod or the workload; null when it is neither.
    pub namespace: Option<String>,
    /// Name of the pod, the workload or the rule; null when it is none of them.
    pub name: Option<String>,
    /// The pod's node; null when it has none.
    pub node: Option<String>,
    /// Since when an eviction is due or overdue, or when a toleration or a grace period ends; null when
    /// no time is known.
    pub time: Option<Time>,
    /// All of that in words.
    pub message: String,
}

/// Why something is left; the codes of pods are those of a rule's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeftReason {
    /// The pod's eviction is due, and the controller has not come to it.
    Controller,
    /// The pod tolerates the taint until the given time.
    Tolerates,
    /// The workload's pods are created again on devices from which they are evicted; namespace and name are its own.
    ComesBack,
    /// The pod is terminating within its grace period.
    GracePeriod,
    /// The pod's containers have ended, and its driver has not given back its devices.
    DriverDown,
    /// The pod's containers have ended, and its sandbox cannot be stopped.
    Sandbox,
    /// The pod is terminating, and a finalizer holds it.
    Finalizers,
    /// The pod is terminating, and its node does not answer.
    NodeNotReady,
    /// The pod is terminating, and there is no such node.
    NodeGone,
    /// The pod should have ended, and its kubelet has not said so.
    Kubelet,
    /// The controller's condition does not say that the rule is done.
    Condition,
    /// The controller has not looked at the rule as it is.
    NotObserved,
    /// The rule is still there.
    Present,
    /// Who is evicted could not be evaluated.
    NotEvaluated,
    /// The kubelet of the node says that the device is in use, or has not been given back.
    InUse,
    /// The kubelet of the node does not answer, so that what it holds is not known.
    KubeletSilent,
    /// A claim holds the device.
    Held,
    /// The pod was deleted by force: the API shows its devices as free, and its node was not seen to release
    /// them.
    ForceDeleted,
    /// The pod was stuck and is gone, and how it ended was not observed: the API shows its devices as free, and
    /// its node was not seen to release them.
    EndNotObserved,
    /// A workload whose pods were evicted has fewer ready pods than desired, or an unknown number.
    Recovering,
    /// No pods are left, but not yet for --settle.
    Settling,
}

impl LeftReason {
    /// The reason for a pod that went like that.
    #[must_use]
    pub fn of_end(end: PodEnd) -> Self {
        match end {
            PodEnd::ForceDeleted => Self::ForceDeleted,
            PodEnd::NotObserved => Self::EndNotObserved,
        }
    }
}

/// What became of a pod that is gone, behind its name.
#[must_use]
pub fn how_it_went(end: PodEnd) -> &'static str {
    match end {
        PodEnd::ForceDeleted => "was force-deleted while running",
        PodEnd::NotObserved => "was stuck when last seen, and its end was not observed",
    }
}

impl Left {
    /// What is left, as it is at `now`.
    #[must_use]
    pub fn new(open: &OpenCondition<'_>, now: Timestamp) -> Self {
        match open {
            OpenCondition::Returning(returning) => Self::returning(returning),
            OpenCondition::Pod(left) => Self::pod(left, now),
            OpenCondition::Unsettled { rule, evicting } => {
                Self::rule(LeftReason::Condition, rule, unsettled(rule, *evicting))
            }
            OpenCondition::Unobserved(rule) => {
                Self::rule(LeftReason::NotObserved, rule, unobserved(rule))
            }
            OpenCondition::Present(rule) => Self::rule(LeftReason::Present, rule, present(rule)),
            OpenCondition::Held(holder) => Self::holder(holder),
            OpenCondition::NotReleased(pod) => Self::not_released(pod),
            OpenCondition::Unevaluated(gap) => Self {
                reason: LeftReason::NotEvaluated,
                namespace: None,
                name: None,
                node: None,
                time: None,
                message: format!("{}: {}", gap.what, gap.why),
            },
            OpenCondition::Settling { settle } => Self {
                reason: LeftReason::Settling,
                namespace: None,
                name: None,
                node: None,
                time: None,
                message: format!(
                    "no pods are left, but this has not lasted {}s yet (--settle)",
                    settle.as_secs_f64()
                ),
            },
        }
    }

    /// A kubelet that does not answer.
    #[must_use]
    pub fn silent(why: &str) -> Self {
        Self {
            reason: LeftReason::KubeletSilent,
            namespace: None,
            name: None,
            node: None,
            time: None,
            message: why.to_owned(),
        }
    }

    /// A workload or a pod that has not recovered, and why in words.
    #[must_use]
    pub fn recovering(namespace: &str, name: &str, message: String) -> Self {
        Self {
            reason: LeftReason::Recovering,
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            node: None,
            time: None,
            message,
        }
    }

    /// A device that a kubelet has not given back, and what shows that.
    #[must_use]
    pub fn held(device: &DeviceId, objection: &RemovalObjection) -> Self {
        let reason = RemovalReason::new(objection);
        let pod = reason.pod.as_deref().and_then(|pod| pod.split_once('/'));
        Self {
            reason: LeftReason::InUse,
            namespace: pod.map(|(namespace, _)| namespace.to_owned()),
            name: pod.map(|(_, name)| name.to_owned()),
            node: None,
            time: None,
            message: format!("{device}: {}", reason.message),
        }
    }

    /// A claim that holds devices.
    fn holder(holder: &HoldingClaim<'_>) -> Self {
        let devices: Vec<String> = holder.devices.iter().map(ToString::to_string).collect();
        let verb = if devices.len() == 1 { "is" } else { "are" };
        let pods = holder.pods.iter().map(|pod| pod.name.to_string());
        let pods: Vec<String> = pods.collect();
        let users = match &pods[..] {
            [] => String::new(),
            [only] => format!(" for pod {only}"),
            several => format!(" for pods {}", few(several)),
        };
        let pod = holder.pods.first();
        Self {
            reason: LeftReason::Held,
            namespace: Some(holder.claim.name.namespace.to_string()),
            name: Some(holder.claim.name.name.to_string()),
            node: pod.and_then(|pod| pod.node.as_ref().map(ToString::to_string)),
            time: None,
            message: format!(
                "{} {verb} allocated to claim {}{users}",
                few(&devices),
                holder.claim.name
            ),
        }
    }

    /// A pod whose node was not seen to release its devices.
    fn not_released(pod: &UnreleasedPod) -> Self {
        let devices: Vec<String> = pod.devices.iter().map(ToString::to_string).collect();
        let what = match &devices[..] {
            [] => "its devices".to_owned(),
            several => few(several),
        };
        let node = pod.node.as_ref().map(ToString::to_string);
        let place = node.as_deref().unwrap_or("its node");
        Self {
            reason: LeftReason::of_end(pod.end),
            namespace: Some(pod.pod.namespace.to_string()),
            name: Some(pod.pod.name.to_string()),
            time: None,
            message: format!(
                "{} {}: the API shows {what} as free, but {place} has not confirmed the release",
                pod.pod,
                how_it_went(pod.end)
            ),
            node,
        }
    }

    /// A workload whose pods come back each time.
    fn returning(returning: &RecurringEviction) -> Self {
        let RecurringEviction {
            kind,
            name,
            evicted,
        } = returning;
        Self {
            reason: LeftReason::ComesBack,
            namespace: Some(name.namespace.to_string()),
            name: Some(name.name.to_string()),
            node: None,
            time: None,
            message: format!(
                "{kind}/{} of {} is recreated and evicted each time ({evicted} evicted); its claim \
                 needs a toleration with effect NoExecute and without tolerationSeconds",
                name.name, name.namespace
            ),
        }
    }

    fn pod(left: &PendingEviction<'_>, now: Timestamp) -> Self {
        let (reason, time) = match &left.obstacle {
            EvictionObstacle::Controller { since } => (LeftReason::Controller, Some(*since)),
            EvictionObstacle::Tolerates { until } => (LeftReason::Tolerates, Some(*until)),
            EvictionObstacle::GracePeriod { until, .. } => (LeftReason::GracePeriod, Some(*until)),
            EvictionObstacle::Stuck(TerminationBlocker::Driver { since, .. }) => {
                (LeftReason::DriverDown, Some(*since))
            }
            EvictionObstacle::Stuck(TerminationBlocker::Sandbox { since }) => {
                (LeftReason::Sandbox, Some(*since))
            }
            EvictionObstacle::Finalizers(_) => (LeftReason::Finalizers, None),
            EvictionObstacle::Node(NodeHealth::Gone) => (LeftReason::NodeGone, None),
            EvictionObstacle::Node(NodeHealth::NotReady | NodeHealth::Ready) => {
                (LeftReason::NodeNotReady, None)
            }
            EvictionObstacle::Kubelet { since } => (LeftReason::Kubelet, Some(*since)),
        };
        let node = left.pod.node.as_ref().map(ToString::to_string);
        let place = node
            .as_ref()
            .map_or_else(String::new, |node| format!(" on {node}"));
        Self {
            reason,
            namespace: Some(left.pod.name.namespace.to_string()),
            name: Some(left.pod.name.name.to_string()),
            message: format!("{}{place}: {}", left.pod.name, why(&left.obstacle, now)),
            node,
            time: time.map(Time),
        }
    }

    fn rule(reason: LeftReason, rule: &DeviceTaintRule, message: String) -> Self {
        Self {
            reason,
            namespace: None,
            name: Some(rule.name.to_string()),
            node: None,
            time: None,
            message,
        }
    }
}

fn unsettled(rule: &DeviceTaintRule, evicting: EvictionStatus) -> String {
    let name = &rule.name;
    let why = match evicting {
        EvictionStatus::No => "controller condition: no pending evictions",
        EvictionStatus::Yes => "controller condition: evictions are pending",
        EvictionStatus::Unknown => "controller condition: not set yet",
        EvictionStatus::Outdated => {
            "controller condition: not updated for the current generation yet"
        }
        EvictionStatus::Leftover => {
            "controller condition: evictions are pending, although no pod is left; it may be stale"
        }
    };
    format!("rule {name}: {why}")
}

fn unobserved(rule: &DeviceTaintRule) -> String {
    let name = &rule.name;
    match &rule.condition {
        None => format!("rule {name} has no condition yet; {NO_CONDITION}"),
        Some(condition) => format!(
            "rule {name} is at generation {}, its condition at {}",
            rule.generation, condition.observed_generation
        ),
    }
}

fn present(rule: &DeviceTaintRule) -> String {
    let name = &rule.name;
    match &rule.metadata.finalizers[..] {
        [] => format!("rule {name} still exists"),
        finalizers => format!(
            "rule {name} still exists: it waits for finalizer {}",
            finalizers.join(", ")
        ),
    }
}

impl WaitReport {
    /// A wait for the rules of these names that lasted so many seconds; what is `left` is absent when
    /// it was met.
    #[must_use]
    pub fn new(goal: Goal, rules: Vec<String>, left: Option<Vec<Left>>) -> Self {
        Self::of(goal_name(goal), rules, left)
    }

    /// As [`WaitReport::new`], of a wait until workloads have recovered.
    #[must_use]
    pub fn recovered(rules: Vec<String>, left: Option<Vec<Left>>) -> Self {
        Self::of(RECOVERED, rules, left)
    }

    fn of(goal: &str, rules: Vec<String>, left: Option<Vec<Left>>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            goal: goal.to_owned(),
            met: left.is_none(),
            waited_seconds: 0,
            rules,
            pods: 0,
            left: left.unwrap_or_default(),
            staying: Vec::new(),
        }
    }
}

/// What is waited for, as it is typed.
#[must_use]
pub fn goal_name(goal: Goal) -> &'static str {
    match goal {
        Goal::Evicted => "evicted",
        Goal::Observed => "observed",
        Goal::Deleted => "deleted",
        Goal::Idle => "idle",
    }
}

impl View for WaitReport {
    fn sections(&self) -> Vec<Section> {
        let met = self.rules.iter().filter(|_| self.met);
        let lines = met.map(|name| format!("{} {}", resource_name(name), self.goal));
        let left = self
            .left
            .iter()
            .map(|left| format!("left: {}", left.message));
        // Rules that do not exist are not said to have done anything.
        let pods = (self.met && self.rules.is_empty() && self.goal == RECOVERED).then(|| {
            format!(
                "{} evicted, all workloads recovered",
                counted(self.pods, "pod")
            )
        });
        let lines = lines.chain(pods).chain(left);
        let lines = lines.chain(staying_line(&self.staying));
        vec![Section::sentences(lines.collect())]
    }

    fn names(&self) -> Vec<String> {
        let met = self.rules.iter().filter(|_| self.met);
        met.map(|name| resource_name(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{Affects, Gap, RuleMetadata};
    use crate::report::testing;

    fn rule(name: &str) -> DeviceTaintRule {
        DeviceTaintRule {
            name: name.into(),
            uid: "uid".into(),
            resource_version: "1".to_owned(),
            generation: 2,
            selector: None,
            taint: testing::proposed(None).taint,
            condition: None,
            metadata: RuleMetadata::default(),
            managers: Vec::new(),
        }
    }

    fn shown(open: &OpenCondition<'_>) -> (LeftReason, String) {
        let left = Left::new(open, testing::now());
        (left.reason, left.message)
    }

    #[test]
    fn what_is_left_has_a_code_and_words() {
        let mut pod = testing::pod("team-a", "train-0");
        pod.node = Some("node-7".into());
        let left = |obstacle| PendingEviction {
            pod: &pod,
            obstacle,
        };
        let tolerates = left(EvictionObstacle::Tolerates {
            until: testing::after(300),
        });
        let pod = Left::new(&OpenCondition::Pod(&tolerates), testing::now());
        assert_eq!(pod.reason, LeftReason::Tolerates);
        assert_eq!(pod.namespace.as_deref(), Some("team-a"));
        assert_eq!(pod.name.as_deref(), Some("train-0"));
        assert_eq!(pod.node.as_deref(), Some("node-7"));
        assert_eq!(pod.time, Some(Time(testing::after(300))));
        assert_eq!(
            pod.message,
            "team-a/train-0 on node-7: tolerates the taint for 5m, until 2026-11-21T01:05:34Z"
        );
        let gap = Gap {
            what: "expressions".to_owned(),
            why: "not understood".to_owned(),
            affects: Affects::Evictions,
        };
        let unevaluated = OpenCondition::Unevaluated(&gap);
        let settle = Duration::from_secs(10);
        assert_eq!(
            shown(&unevaluated),
            (
                LeftReason::NotEvaluated,
                "expressions: not understood".to_owned()
            )
        );
        assert_eq!(
            shown(&OpenCondition::Settling { settle }),
            (
                LeftReason::Settling,
                "no pods are left, but this has not lasted 10s yet (--settle)".to_owned()
            )
        );
    }

    #[test]
    fn rules_say_what_they_wait_for() {
        let mut rule = rule("drain");
        rule.metadata.finalizers = vec!["a/b".to_owned()];
        for (open, reason, message) in [
            (
                OpenCondition::Present(&rule),
                LeftReason::Present,
                "rule drain still exists: it waits for finalizer a/b",
            ),
            (
                OpenCondition::Unobserved(&rule),
                LeftReason::NotObserved,
                "rule drain has no condition yet; if this persists, check that \
                 kube-controller-manager runs device-taint-eviction-controller, with the feature \
                 gate DRADeviceTaintRules enabled",
            ),
            (
                OpenCondition::Unsettled {
                    rule: &rule,
                    evicting: EvictionStatus::Outdated,
                },
                LeftReason::Condition,
                "rule drain: controller condition: not updated for the current generation yet",
            ),
        ] {
            assert_eq!(shown(&open), (reason, message.to_owned()));
        }
    }

    #[test]
    fn a_wait_that_was_met_names_its_rules_and_one_that_was_not_what_is_left() {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let met = WaitReport::new(Goal::Evicted, names.clone(), None);
        assert_eq!(
            met.names(),
            [
                "devicetaintrule.resource.k8s.io/a",
                "devicetaintrule.resource.k8s.io/b"
            ]
        );
        let rule = rule("drain");
        let left = vec![Left::new(&OpenCondition::Unobserved(&rule), testing::now())];
        let open = WaitReport::new(Goal::Observed, names, Some(left));
        assert!(!open.met);
        assert!(open.names().is_empty());
        let sections = open.sections();
        assert_eq!(
            sections,
            [Section::sentences(vec![format!(
                "left: rule drain has no condition yet; {NO_CONDITION}"
            )])]
        );
    }
}
