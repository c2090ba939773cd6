//! Description of one rule.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::blocker::Blocker;
use super::remaining_pods::{self, Event, NotEvictedPod};
use super::rule_lifecycle::NO_CONDITION;
use super::table::{NONE, Section, optional};
use super::taint::{Condition, Taint, Time};
use crate::assess::{self, Number, ReportCompleteness};
use crate::engine::holders::staying;
use crate::engine::rule_lifecycle::{EvictionStatus, PendingEviction};
use crate::engine::{Counts, Impact};
use crate::model::{Count, DeviceSelector, DeviceTaintRule, Effect, RuleMetadata, UNKNOWN};
use crate::naming::device;
use crate::naming::duration::human_duration;
use crate::naming::keys;
use crate::naming::phrase::counted;

/// One rule: its creator, its condition, and the pods that it affects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleDescription {
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
    /// Who created the rule, and who changed it last: users or programs.
    #[serde(skip)]
    writers: [String; 2],
    /// The condition EvictionInProgress. Null until
    /// the eviction controller has processed the rule.
    pub condition: Option<Condition>,
    /// Why the condition EvictionInProgress does not match the rule's generation or the existing pods; null if it
    /// matches, or if there is none.
    pub stale_condition_reason: Option<String>,
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
    pub remaining_pods: Vec<Blocker>,
    /// The pods that use devices of the rule and that the rule does not evict, ordered by name.
    pub not_evicted_pods: Vec<NotEvictedPod>,
    /// Events about the rule, and events of the eviction controller about pods that use devices of the rule, oldest
    /// first. By default, the server deletes events after an hour.
    pub events: Vec<Event>,
    #[serde(skip)]
    now: Timestamp,
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

/// Facts that a description is made from.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The rule.
    pub rule: &'a DeviceTaintRule,
    /// Impact of the rule, as the only considered taint.
    pub impact: &'a Impact<'a>,
    /// Pods that it has not evicted yet.
    pub remaining: &'a [PendingEviction<'a>],
    /// Number of pods that use the hardware of its devices through others, such as partitions.
    pub beside: usize,
    /// Data that could not be read.
    pub completeness: &'a ReportCompleteness<'a>,
}

impl RuleDescription {
    /// The description of a rule by the reading.
    pub fn new(subject: &Subject<'_>, events: Vec<Event>, now: Timestamp) -> Self {
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
            name: rule.name.to_string(),
            taint: Taint::of_rule(&rule.taint, Some(rule.name.as_str())),
            selector: rule.selector.clone(),
            devices: rule.selector.as_ref().map(device::format),
            creation_time: rule.metadata.created.map(Time),
            generation: rule.generation,
            annotations: annotations(&rule.metadata),
            writers: [created_by(rule), changed_by(rule)],
            condition: rule.condition.as_ref().map(Condition::from),
            stale_condition_reason: stale_reason(rule, pods),
            published_device_count: published.into(),
            allocation_count: allocated.into(),
            evicted_pod_count: pods.into(),
            terminating_pod_count: terminating,
            // Partitions of devices are known from slices.
            partition_pod_count: pods.exact().map(|_| subject.beside).filter(|_| {
                let inventory = assess::CountSubject::Inventory;
                subject.completeness.is_complete(inventory)
            }),
            remaining_pods: subject
                .remaining
                .iter()
                .map(|left| remaining_pods::remaining(left, &rule.taint.effect, now))
                .collect(),
            not_evicted_pods: staying(subject.impact, subject.remaining)
                .iter()
                .map(NotEvictedPod::new)
                .collect(),
            expires: rule.metadata.annotation(keys::EXPIRES).map(str::to_owned),
            events,
            now,
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

/// The user noted by this plugin, or else the program that made the rule: managedFields name no users.
fn created_by(rule: &DeviceTaintRule) -> String {
    let user = rule.metadata.annotation(keys::CREATED_BY);
    let program = rule.maker().map(|maker| maker.name.as_str());
    optional(user.or(program))
}

/// The program that wrote the spec last, or the user noted by this plugin if it was this one.
fn changed_by(rule: &DeviceTaintRule) -> String {
    // With its first generation, the spec is as it was made: later writes were of labels and annotations.
    if rule.generation == 1 {
        return NONE.to_owned();
    }
    let program = rule.last_writer().filter(|writer| {
        // The writer that created the rule has changed nothing. A change is not hidden where a time is missing.
        let made = rule.metadata.created.zip(writer.time);
        writer.name != keys::THIS_PROGRAM && made.is_none_or(|(created, written)| written > created)
    });
    let user = rule.metadata.annotation(keys::CHANGED_BY);
    let writer = program.map(|program| program.name.as_str()).or(user);
    // A client that removes a field owns nothing of it: only the generation counts the change.
    writer.unwrap_or(UNKNOWN).to_owned()
}

fn stale_reason(rule: &DeviceTaintRule, pods: Count) -> Option<String> {
    let condition = rule.condition.as_ref()?;
    match EvictionStatus::judged(rule, pods.is_none()) {
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
    }
}

impl RuleDescription {
    /// The description for people.
    pub(super) fn sections(&self) -> Vec<Section> {
        let staying = self.not_evicted_pods.iter().map(NotEvictedPod::line);
        vec![
            Section::sentences(self.lines()),
            Section::list("Condition EvictionInProgress", self.condition_lines()),
            Section::table(remaining_pods::table(&self.remaining_pods)),
            Section::list("Pods that are not evicted", staying.collect()),
            Section::list("Events", self.events_in_words()),
        ]
    }

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
        let [created_by, changed_by] = &self.writers;
        let ago = |time: Time| human_duration(self.now.duration_since(time.0));
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
            ("Created by", created_by.clone()),
            ("Changed by", changed_by.clone()),
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

    fn condition_lines(&self) -> Vec<String> {
        // The rule does not show which of the two it is: before 1.35 the controller writes no condition at all.
        let Some(condition) = &self.condition else {
            return vec![
                "none: the controller has not processed the rule".to_owned(),
                NO_CONDITION.to_owned(),
            ];
        };
        let mut lines = vec![format!("{}, {}", condition.status, condition.reason)];
        if !condition.message.is_empty() {
            lines.push(condition.message.clone());
        }
        // The reason too: until the controller has seen a change to None, the condition is that of the effect before.
        let is_frozen =
            self.taint.effect == Effect::None.to_string() && condition.reason == "NoEffect";
        lines.push(match &self.stale_condition_reason {
            Some(why) => format!("stale: {why}"),
            None if is_frozen => format!(
                "not counted again while the effect is None; this report counts {}",
                *self.evicted_pod_count
            ),
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
