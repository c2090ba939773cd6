//! Description of one rule.

use schemars::JsonSchema;
use serde::Serialize;

use super::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use super::remaining_pods::{self, Event, NotEvictedPod, RemainingPod};
use super::rule_lifecycle::NO_CONDITION;
use super::rules::resource_name;
use super::table::{NONE, Section, Shown, View, optional};
use super::taint::{Condition, Taint, Time};
use crate::assess::{self, Basis, Number, ReportCompleteness};
use crate::engine::holders::staying;
use crate::engine::rule_lifecycle::{EvictionStatus, PendingEviction};
use crate::engine::{self, Counts, Impact};
use crate::model::{
    self, Count, DeviceSelector, DeviceTaintRule, Effect, FieldManager, RuleMetadata, UNKNOWN,
};
use crate::naming::device;
use crate::naming::duration::human_duration;
use crate::naming::keys;
use crate::naming::phrase::counted;

/// Report of `describe` for one rule: its creator, its condition, and the pods that it affects.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleDescription {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "RuleDescription"))]
    pub kind: String,
    /// The cluster, and the data that was read.
    pub metadata: Metadata,
    /// The rule's name.
    pub name: String,
    /// The rule's taint.
    pub taint: Taint,
    /// Devices that the rule selects; null for a rule without a selector.
    pub selector: Option<DeviceSelector>,
    /// The selector as text.
    #[serde(skip)]
    devices: Option<String>,
    /// When the rule was created; null if unknown.
    pub creation_time: Option<Time>,
    /// metadata.generation: incremented with each change of the spec, beginning with 1.
    pub generation: i64,
    /// Annotations that the plugin set on the rule.
    pub annotations: RuleAnnotations,
    /// Name of the program that created the rule, from managedFields, such as kubectl-create; null if not
    /// recorded.
    pub creation_manager: Option<String>,
    /// The program that last wrote the spec, from managedFields; null if not recorded.
    pub last_update: Option<LastUpdate>,
    /// The condition EvictionInProgress. Null until
    /// the eviction controller has processed the rule.
    pub condition: Option<Condition>,
    /// Check of the condition EvictionInProgress; null if the rule has no condition.
    pub condition_check: Option<ConditionCheck>,
    /// Devices that the rule selects in the newest generation of each pool.
    pub published_device_count: Number,
    /// Number of allocation results that name a selected device. A device can have several: one for each
    /// share, and one for each request with admin access.
    pub allocation_count: Number,
    /// Pods that the rule evicts and that are not terminating yet; with effect None, pods that it would evict
    /// with NoExecute.
    pub evicted_pod_count: Number,
    /// Pods that use devices of the rule and are already terminating, for any reason.
    pub terminating_pod_count: usize,
    /// Pods that use the hardware of the rule's devices through other devices, such as partitions; null if
    /// unknown.
    pub partition_pod_count: Option<usize>,
    /// When it should be gone, as it is noted.
    #[serde(skip)]
    expires: Option<String>,
    /// Pods that the rule evicts and that still exist, each with what it waits for. Includes terminating pods,
    /// also those that were evicted before the effect of the rule was changed. With effect None, includes the
    /// pods that NoExecute would evict.
    pub remaining_pods: Vec<RemainingPod>,
    /// The pods that use devices of the rule and that the rule does not evict, ordered by name.
    pub not_evicted_pods: Vec<NotEvictedPod>,
    /// Events about the rule, and events of the eviction controller about pods that use devices of the rule, oldest
    /// first. By default, the server deletes events after an hour.
    pub events: Vec<Event>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read.
    pub incomplete: Vec<Incomplete>,
}

/// Annotations that the plugin set on a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleAnnotations {
    /// User that created the rule; null if not recorded.
    pub created_by: Option<String>,
    /// User that last changed the rule's spec; null if not recorded.
    pub changed_by: Option<String>,
    /// Why the rule exists: the text given with --reason; null if not recorded.
    pub reason: Option<String>,
    /// Time after which the rule counts as expired, from the annotation `devicetaint.dev/expires`; null if the rule
    /// does not have this annotation, or if its value is invalid.
    pub expiration_time: Option<Time>,
}

/// The last change of the spec of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastUpdate {
    /// Name of the program in managedFields, such as kubectl-patch.
    pub manager: String,
    /// When the program in `manager` last changed a field; null if unknown.
    pub update_time: Option<Time>,
}

impl From<&FieldManager> for LastUpdate {
    fn from(manager: &FieldManager) -> Self {
        Self {
            manager: manager.name.clone(),
            update_time: manager.time.map(Time),
        }
    }
}

/// Check that the condition EvictionInProgress is current.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionCheck {
    /// True if the condition matches the rule's generation and the existing pods.
    pub current: bool,
    /// Why the condition is not current; null if it is current.
    pub message: Option<String>,
    /// True if the eviction controller no longer updates the counts in the condition: for a rule with effect
    /// None, it counts only once.
    pub frozen: bool,
    /// Pods that the eviction controller counted for a rule with effect None; null for other effects, or if
    /// the condition's message has no count.
    pub counted_pod_count: Option<usize>,
    /// Pods that the eviction controller would count now; null if unknown.
    pub current_pod_count: Option<usize>,
}

/// Facts that a description is made from.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The rule.
    pub rule: &'a DeviceTaintRule,
    /// Impact of the rule, as the only considered taint.
    pub impact: &'a Impact<'a>,
    /// Pods that it has not evicted yet.
    pub remaining: &'a [PendingEviction<'a>],
    /// Number of pods that use the hardware of its devices through others, such as partitions; absent where
    /// that was not read.
    pub beside: Option<usize>,
    /// Warnings of the reading.
    pub warnings: &'a [model::Warning],
    /// Data that could not be read.
    pub completeness: &'a ReportCompleteness<'a>,
}

impl RuleDescription {
    /// The description of a rule by the reading.
    pub fn new(subject: &Subject<'_>, events: Vec<Event>, basis: &Basis<'_>) -> Self {
        let rule = subject.rule;
        let counts: Counts = subject
            .impact
            .rules
            .first()
            .map(|rule| rule.counts)
            .unwrap_or_default();
        let rule_impact = subject.impact.rules.first();
        let terminating = rule_impact.map_or(0, |rule| rule.terminating);
        let published = subject
            .completeness
            .count(assess::CountSubject::Published, counts.published_devices);
        let allocated = subject
            .completeness
            .count(assess::CountSubject::Allocated, counts.allocated_devices);
        let pods = subject
            .completeness
            .count(assess::CountSubject::Pods, counts.pods);
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "RuleDescription".to_owned(),
            metadata: Metadata::new(basis),
            name: rule.name.to_string(),
            taint: Taint::of_rule(&rule.taint, Some(rule.name.as_str())),
            selector: rule.selector.clone(),
            devices: rule.selector.as_ref().map(device::format),
            creation_time: rule.metadata.created.map(Time),
            generation: rule.generation,
            annotations: annotations(&rule.metadata),
            creation_manager: rule.maker().map(|maker| maker.name.clone()),
            last_update: rule.last_writer().map(LastUpdate::from),
            condition: rule.condition.as_ref().map(Condition::from),
            condition_check: condition_check(rule, pods),
            published_device_count: published.into(),
            allocation_count: allocated.into(),
            evicted_pod_count: pods.into(),
            terminating_pod_count: terminating,
            partition_pod_count: pods.exact().and(subject.beside).filter(|_| {
                // Partitions of devices are known from slices.
                let inventory = assess::CountSubject::Inventory;
                subject.completeness.is_complete(inventory)
            }),
            remaining_pods: subject
                .remaining
                .iter()
                .map(|left| RemainingPod::new(left, &rule.taint.effect, basis.now))
                .collect(),
            not_evicted_pods: staying(subject.impact, subject.remaining)
                .iter()
                .map(NotEvictedPod::new)
                .collect(),
            expires: rule.metadata.annotation(keys::EXPIRES).map(str::to_owned),
            events,
            warnings: views(&[subject.warnings, &subject.impact.warnings]),
            incomplete: Incomplete::all(subject.completeness),
        }
    }
}

fn annotations(metadata: &RuleMetadata) -> RuleAnnotations {
    let note = |key: &str| metadata.annotation(key).map(str::to_owned);
    RuleAnnotations {
        created_by: note(keys::CREATED_BY),
        changed_by: note(keys::CHANGED_BY),
        reason: note(keys::REASON),
        expiration_time: keys::expires(metadata).map(Time),
    }
}

fn condition_check(rule: &DeviceTaintRule, pods: Count) -> Option<ConditionCheck> {
    let condition = rule.condition.as_ref()?;
    let evicting = EvictionStatus::judged(rule, pods.is_none());
    let stale = match evicting {
        EvictionStatus::Yes | EvictionStatus::No => None,
        EvictionStatus::Unknown => Some("its status is neither True nor False".to_owned()),
        EvictionStatus::Outdated => Some(format!(
            "it is for generation {}, but the rule is at generation {}",
            condition.observed_generation, rule.generation
        )),
        EvictionStatus::Leftover => Some(
            "it reports pending evictions, but every pod that the rule evicts is gone or terminating"
                .to_owned(),
        ),
    };
    // The reason too: until the controller has seen a change to None, the condition is that of the effect before.
    let frozen = rule.taint.effect == Effect::None && condition.reason == "NoEffect";
    Some(ConditionCheck {
        current: evicting.is_current(),
        message: stale,
        frozen,
        counted_pod_count: frozen
            .then(|| engine::condition::counted_pods(&condition.message))
            .flatten(),
        current_pod_count: pods.exact(),
    })
}

impl View for RuleDescription {
    fn sections(&self) -> Vec<Section> {
        vec![
            Section::sentences(self.lines()),
            Section::list("Condition EvictionInProgress", self.condition_lines()),
            Section::table(remaining_pods::table(&self.remaining_pods)),
            Section::list(
                "Pods that are not evicted",
                self.not_evicted_pods
                    .iter()
                    .map(NotEvictedPod::line)
                    .collect(),
            ),
            Section::list("Events", self.events_in_words()),
            Section::list(
                "Warnings",
                self.warnings.iter().map(Warning::line).collect(),
            )
            .shown(Shown::Document),
            Section::list(
                "Incomplete",
                self.incomplete.iter().map(Incomplete::line).collect(),
            ),
        ]
    }

    fn names(&self) -> Vec<String> {
        vec![resource_name(&self.name)]
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }
}

impl RuleDescription {
    fn events_in_words(&self) -> Vec<String> {
        let earlier = self.events.len().saturating_sub(EVENTS);
        let before = (earlier > 0)
            .then(|| format!("{} (shown by -o json)", counted(earlier, "earlier event")));
        let last = self.events.iter().skip(earlier).map(event);
        before.into_iter().chain(last).collect()
    }

    fn lines(&self) -> Vec<String> {
        let facts = self
            .facts()
            .into_iter()
            .map(|(name, value)| format!("{:<12} {value}", format!("{name}:")));
        facts.collect()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let ago = |time: Time| human_duration(self.metadata.observed().0.duration_since(time.0));
        let since = |time: Option<Time>| {
            time.map_or_else(
                || "<unknown>".to_owned(),
                |time| format!("{time} ({} ago)", ago(time)),
            )
        };
        vec![
            ("Name", self.name.clone()),
            ("Taint", self.taint.to_string()),
            ("Since", since(self.taint.time_added)),
            (
                "Devices",
                self.devices.clone().unwrap_or_else(|| NONE.to_owned()),
            ),
            ("Selected", self.selected_in_words()),
            ("Created", since(self.creation_time)),
            ("Created by", self.created_by()),
            ("Changed by", self.changed_by()),
            ("Reason", optional(self.annotations.reason.as_deref())),
            // As it is noted: a text that is no time has to be seen to be corrected.
            ("Expires", optional(self.expires.as_deref())),
            ("Pods", self.pods_in_words()),
        ]
    }

    fn selected_in_words(&self) -> String {
        let (published, allocated) = (*self.published_device_count, *self.allocation_count);
        // A number that is not known may be any, as in `1+ devices`, and takes the plural.
        let ending = |count: Count| if count.exact() == Some(1) { "" } else { "s" };
        format!(
            "{published} published device{}, {allocated} allocation{}",
            ending(published),
            ending(allocated)
        )
    }

    /// User noted by this plugin, or else that no user was noted, and the program that made the rule.
    fn created_by(&self) -> String {
        match (&self.annotations.created_by, &self.creation_manager) {
            (Some(user), _) => user.clone(),
            // managedFields name programs and no users: a user is known only where this plugin has noted one.
            (None, Some(program)) => format!("<unknown user>, with {program}"),
            (None, None) => NONE.to_owned(),
        }
    }

    /// User noted by this plugin, and the program that the server noted: other programs note no user. The
    /// writer that created the rule has changed nothing.
    fn changed_by(&self) -> String {
        let user = self.annotations.changed_by.as_deref();
        // With its first generation, the spec is as it was made: later writes were of labels and annotations.
        let writer = self.last_update.as_ref().filter(|writer| {
            let made = self.creation_time.zip(writer.update_time);
            // Where a time is missing, the write may be a later one: a change is not hidden on a guess.
            self.generation != 1 && made.is_none_or(|(created, written)| written > created)
        });
        match (user, writer) {
            // A client that removes a field owns nothing of it: only the generation counts the change.
            (None, None) if self.generation > 1 => UNKNOWN.to_owned(),
            (user, None) => optional(user),
            // The user is that of this plugin's last change, which another program may have come after.
            (Some(user), Some(writer)) if writer.manager == keys::THIS_PROGRAM => user.to_owned(),
            (user, Some(writer)) => {
                let time = writer
                    .update_time
                    .map_or_else(String::new, |time| format!(" at {time}"));
                let before = user.map_or_else(String::new, |user| format!("; before that {user}"));
                format!("{}{time}{before}", writer.manager)
            }
        }
    }

    /// Those who are to be evicted, those who are on their way, and those who use parts of the same hardware.
    fn pods_in_words(&self) -> String {
        let pods = *self.evicted_pod_count;
        let more = [
            (Some(self.terminating_pod_count), "terminating"),
            (self.partition_pod_count, "on partitions"),
        ];
        // Beside an unknown number another one is useless.
        let knows_pods = pods.exact().is_some();
        let more = more.into_iter().filter_map(|(count, what)| match count {
            Some(0) => None,
            Some(count) => Some(format!("+{count} {what}")),
            None => knows_pods.then(|| format!("{UNKNOWN} {what}")),
        });
        let more: Vec<String> = more.collect();
        if more.is_empty() {
            return pods.to_string();
        }
        format!("{pods} ({})", more.join(", "))
    }

    fn frozen_line(&self, condition: &Condition, check: &ConditionCheck) -> String {
        let written = condition
            .last_transition_time
            .map_or_else(String::new, |time| format!(" at {time}"));
        let pods = *self.evicted_pod_count;
        match check.counted_pod_count {
            Some(then) => format!(
                "the controller counted {}{written}, and does not count again while the effect is None; this report counts {pods}",
                counted(then, "pod")
            ),
            None => format!(
                "the controller counted pods{written}, and does not count again while the effect is None; this report counts {pods}"
            ),
        }
    }

    fn condition_lines(&self) -> Vec<String> {
        // The rule does not show which of the two it is: before 1.35 the controller writes no condition at all.
        let Some((condition, check)) = self.condition.as_ref().zip(self.condition_check.as_ref())
        else {
            return vec![
                "none: the controller has not processed the rule".to_owned(),
                NO_CONDITION.to_owned(),
            ];
        };
        let mut lines = vec![format!("{}, {}", condition.status, condition.reason)];
        if !condition.message.is_empty() {
            lines.push(condition.message.clone());
        }
        lines.push(match &check.message {
            Some(why) => format!("stale: {why}"),
            None if check.frozen => self.frozen_line(condition, check),
            None => "observed for the current generation of the rule".to_owned(),
        });
        lines
    }
}

/// So many events of a kind are shown, the last ones: a pod that comes back is evicted again and again.
const EVENTS: usize = 20;

fn event(event: &Event) -> String {
    let last = event
        .last_time
        .map_or_else(|| "<unknown>".to_owned(), |time| time.to_string());
    let about = event
        .pod
        .as_ref()
        .map_or(String::new(), |pod| format!(" {pod}"));
    let (kind, reason, message) = (&event.event_type, &event.reason, &event.message);
    format!("{last} {kind} {reason}{about}: {message}")
}
