//! What is there to say about one rule?

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::knowledge::Knowledge;
use super::life::why;
use super::metadata::{API_VERSION, Incomplete, Warning, views};
use super::rules::resource_name;
use super::table::{Column, NONE, Section, Shown, Table, View, counted, optional};
use super::time::{Time, human_duration};
use crate::engine::life::{Evicting, Remaining};
use crate::engine::{Counts, Impact};
use crate::model;
use crate::model::{DeviceTaintRule, Effect, RuleMetadata};
use crate::naming::device;

/// A rule as it is now: who made it, what the controller says about it, and whom it hits.
///
/// Within one apiVersion, fields are only added: readers have to ignore those they do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleDescription {
    /// Version of this schema.
    #[schemars(extend("const" = "kubectl-devicetaint/v1alpha1"))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "RuleDescription"))]
    pub kind: String,
    /// The server's clock when it was read.
    pub observed_at: Time,
    /// The rule's name.
    pub name: String,
    /// The taint, as KEY[=VALUE]:EFFECT.
    pub taint: String,
    /// Since when the taint is there; null when that is not known.
    pub time_added: Option<Time>,
    /// The devices, as DRIVER/POOL/DEVICE with * for any, and after it class and expressions of rules of
    /// Kubernetes 1.33 and 1.34; null for a rule without a selector.
    pub devices: Option<String>,
    /// When the rule was made; null when that is not known.
    pub created: Option<Time>,
    /// What people noted on it.
    pub notes: RuleNotes,
    /// What the controller says; null before Kubernetes 1.35, and until it has looked.
    pub condition: Option<RuleCondition>,
    /// Devices that the rule selects in the newest generation of each pool.
    pub published_devices: usize,
    /// Selected devices in allocated claims.
    pub allocated_devices: usize,
    /// Pods that it evicts and that are not terminating yet; with effect None, that it would evict.
    pub pods: usize,
    /// The pods that it has not got rid of, terminating ones included, and what each waits for.
    pub remaining: Vec<RemainingPod>,
    /// What components reported about it, and the controller about the pods that it hits, oldest
    /// first. The server forgets events after an hour.
    pub events: Vec<Event>,
    /// Oddities that do not keep the question from being answered.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// What could not be read.
    pub incomplete: Vec<Incomplete>,
}

/// What people noted on a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleNotes {
    /// Who made it.
    pub created_by: Option<String>,
    /// Who last changed what it does.
    pub changed_by: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Where it is talked about.
    pub ticket: Option<String>,
    /// When it should be gone.
    pub expires: Option<String>,
}

/// The condition EvictionInProgress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleCondition {
    /// True, False or Unknown.
    pub status: String,
    /// In one word.
    pub reason: String,
    /// The controller's counts in words.
    pub message: String,
    /// Whether it is about the rule as it is now, and fits the pods that are there.
    pub current: bool,
    /// Why it is not, or null.
    pub stale: Option<String>,
}

/// A pod that a rule has not got rid of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemainingPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its node; null while it has none.
    pub node: Option<String>,
    /// What it waits for, in words.
    pub waits_for: String,
}

/// Something that a component reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The pod that it is about, as NAMESPACE/NAME; null for one about the rule itself.
    #[serde(default)]
    pub pod: Option<String>,
    /// Normal or Warning.
    pub kind: String,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// When it last happened.
    pub last: Option<Time>,
}

/// What a description is made from.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The rule.
    pub rule: &'a DeviceTaintRule,
    /// What it does, as the only considered taint.
    pub impact: &'a Impact<'a>,
    /// Whom it has not got rid of.
    pub remaining: &'a [Remaining<'a>],
    /// What was odd about what was read.
    pub warnings: &'a [model::Warning],
    /// What could not be read.
    pub knowledge: &'a Knowledge<'a>,
}

impl RuleDescription {
    /// The description at `now`.
    #[must_use]
    pub fn new(subject: &Subject<'_>, events: Vec<Event>, now: Timestamp) -> Self {
        let rule = subject.rule;
        let counts: Counts = subject
            .impact
            .rules
            .first()
            .map(|rule| rule.counts)
            .unwrap_or_default();
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "RuleDescription".to_owned(),
            observed_at: Time(now),
            name: rule.name.to_string(),
            taint: rule.taint.to_string(),
            time_added: rule.taint.time_added.map(Time),
            devices: rule.selector.as_ref().map(device::format),
            created: rule.metadata.created.map(Time),
            notes: notes(&rule.metadata),
            condition: condition(rule, counts.pods),
            published_devices: counts.published_devices,
            allocated_devices: counts.allocated_devices,
            pods: counts.pods,
            remaining: subject
                .remaining
                .iter()
                .map(|left| remaining(left, &rule.taint.effect, now))
                .collect(),
            events,
            warnings: views(&[subject.warnings, &subject.impact.warnings]),
            incomplete: Incomplete::all(subject.knowledge),
        }
    }
}

fn notes(metadata: &RuleMetadata) -> RuleNotes {
    let note = |key: &str| metadata.annotation(key).map(str::to_owned);
    RuleNotes {
        created_by: note(RuleMetadata::CREATED_BY),
        changed_by: note(RuleMetadata::CHANGED_BY),
        reason: note(RuleMetadata::REASON),
        ticket: note(RuleMetadata::TICKET),
        expires: note(RuleMetadata::EXPIRES),
    }
}

fn condition(rule: &DeviceTaintRule, pods: usize) -> Option<RuleCondition> {
    let condition = rule.condition.as_ref()?;
    let evicting = Evicting::of(rule, pods);
    let stale = match evicting {
        Evicting::Yes | Evicting::No | Evicting::Unknown => None,
        Evicting::Outdated => Some(format!(
            "it is about generation {}, and the rule is at {}",
            condition.observed_generation, rule.generation
        )),
        Evicting::Leftover => Some("no pod is left that the rule evicts".to_owned()),
    };
    Some(RuleCondition {
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        current: evicting.is_current(),
        stale,
    })
}

fn remaining(left: &Remaining<'_>, effect: &Effect, now: Timestamp) -> RemainingPod {
    let why = why(&left.obstacle, now);
    // What has been deleted goes whatever the rule does now.
    let waits_for = if *effect == Effect::NoExecute || left.obstacle.is_terminating() {
        why
    } else {
        format!("nothing, with effect {effect}; with NoExecute: {why}")
    };
    RemainingPod {
        namespace: left.pod.name.namespace.to_string(),
        name: left.pod.name.name.to_string(),
        node: left.pod.node.as_ref().map(ToString::to_string),
        waits_for,
    }
}

impl View for RuleDescription {
    fn sections(&self) -> Vec<Section> {
        vec![
            Section::sentences(self.facts()),
            Section::list("Condition EvictionInProgress", self.condition_lines()),
            Section::table(pods(&self.remaining)),
            Section::list("Events", self.events.iter().map(event).collect()),
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
}

impl RuleDescription {
    fn facts(&self) -> Vec<String> {
        let ago = |time: Time| human_duration(self.observed_at.0.duration_since(time.0));
        let since = |time: Option<Time>| {
            time.map_or_else(
                || "<unknown>".to_owned(),
                |time| format!("{time} ({} ago)", ago(time)),
            )
        };
        let fields = [
            ("Name", self.name.clone()),
            ("Taint", self.taint.clone()),
            ("Since", since(self.time_added)),
            (
                "Devices",
                self.devices.clone().unwrap_or_else(|| NONE.to_owned()),
            ),
            (
                "Selected",
                format!(
                    "{} published, {} allocated",
                    counted(self.published_devices, "device"),
                    self.allocated_devices
                ),
            ),
            ("Created", since(self.created)),
            ("Created by", optional(self.notes.created_by.as_deref())),
            ("Changed by", optional(self.notes.changed_by.as_deref())),
            ("Reason", optional(self.notes.reason.as_deref())),
            ("Ticket", optional(self.notes.ticket.as_deref())),
            ("Expires", optional(self.notes.expires.as_deref())),
            ("Pods", self.pods_in_words()),
        ];
        fields
            .into_iter()
            .map(|(name, value)| format!("{:<12} {value}", format!("{name}:")))
            .collect()
    }

    /// As many as are listed.
    fn pods_in_words(&self) -> String {
        match self.remaining.len().saturating_sub(self.pods) {
            0 => self.pods.to_string(),
            terminating => format!(
                "{}, {terminating} of them terminating",
                self.remaining.len()
            ),
        }
    }

    fn condition_lines(&self) -> Vec<String> {
        let Some(condition) = &self.condition else {
            return vec![
                "there is none: the controller has not looked, or is older than 1.35".to_owned(),
            ];
        };
        let mut lines = vec![format!("{}, {}", condition.status, condition.reason)];
        if !condition.message.is_empty() {
            lines.push(condition.message.clone());
        }
        lines.push(match &condition.stale {
            Some(why) => format!("stale: {why}"),
            None => "current".to_owned(),
        });
        lines
    }
}

fn pods(remaining: &[RemainingPod]) -> Table {
    Table {
        columns: vec![
            Column::text("NAMESPACE"),
            Column::text("POD"),
            Column::text("NODE"),
            Column::prose("WAITS-FOR"),
        ],
        rows: remaining
            .iter()
            .map(|pod| {
                vec![
                    pod.namespace.clone(),
                    pod.name.clone(),
                    optional(pod.node.as_deref()),
                    pod.waits_for.clone(),
                ]
            })
            .collect(),
    }
}

fn event(event: &Event) -> String {
    let last = event
        .last
        .map_or_else(|| "<unknown>".to_owned(), |time| time.to_string());
    let about = event
        .pod
        .as_ref()
        .map_or(String::new(), |pod| format!(" {pod}"));
    let (kind, reason, message) = (&event.kind, &event.reason, &event.message);
    format!("{last} {kind} {reason}{about}: {message}")
}
