//! A step of an explanation, with the field it comes from.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::explain::{EvaluatedTaint, ExplainInput, PodVerdict, Publication};
use crate::engine::rule_lifecycle::{self, EvictionObstacle, TerminationFacts};
use crate::engine::termination_blocker::Publishers;
use crate::engine::{NotEvicted, Origin, ProposedTaint};
use crate::model::{Kind, Node, NodeName, Pod, Reading, Taint};
use crate::naming::duration::{exact_duration, human_duration};
use crate::report::impact::rows::{not_evicted, terminating};
use crate::report::rule_lifecycle::{stuck, why};
use crate::report::table::ChainLine;
use crate::report::taint::Time;

/// Number of steps of one type that text shows below one step; JSON has all.
const SHOWN: usize = 8;

/// One fact, with the facts that follow from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Type of the step.
    #[serde(rename = "type")]
    pub step_type: StepType,
    /// The step as text.
    pub message: String,
    /// Object and field that state the fact; null if the fact follows from other steps.
    pub field_ref: Option<FieldReference>,
    /// True if the requirement of the step is met. Examples of requirements: the claim is reserved for the
    /// pod; the toleration matches the taint; the pool generation is the newest; the taint evicts. Null if
    /// the step has no requirement, or if unknown.
    pub satisfied: Option<bool>,
    /// Steps that follow from this step.
    pub steps: Vec<Step>,
}

/// Subject of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum StepType {
    /// A claim, and how the pod refers to it.
    Claim,
    /// A consumer for which a claim is reserved.
    Reservation,
    /// A device.
    Device,
    /// The pool of a device, and its newest generation.
    Pool,
    /// A taint.
    Taint,
    /// A toleration.
    Toleration,
    /// A pod and its outcome.
    Pod,
    /// Other devices on the same hardware.
    Sibling,
    /// An object that is missing.
    Missing,
    /// Anything else.
    Note,
}

/// An object, and a field of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldReference {
    /// The object, as KIND NAME or KIND NAMESPACE/NAME; the words `proposed taint` for a taint that was
    /// given as an argument of the command.
    pub object: String,
    /// The field, as a JSONPath of kubectl, in the layout of resource.k8s.io/v1; empty for the
    /// whole object.
    pub field_path: String,
}

impl FieldReference {
    /// The field of an object.
    pub(super) fn new(
        kind: &str,
        name: impl std::fmt::Display,
        path: impl Into<String>,
    ) -> Option<Self> {
        Some(Self {
            object: format!("{kind} {name}"),
            field_path: path.into(),
        })
    }

    fn line(&self) -> String {
        if self.field_path.is_empty() {
            self.object.clone()
        } else {
            format!("{}: {}", self.object, self.field_path)
        }
    }
}

impl Step {
    /// A fact with the field that states it.
    pub(super) fn new(
        step_type: StepType,
        message: impl Into<String>,
        field_ref: Option<FieldReference>,
    ) -> Self {
        Self {
            step_type,
            message: message.into(),
            field_ref,
            satisfied: None,
            steps: Vec::new(),
        }
    }

    /// Sets whether the requirement of the step is met.
    pub(super) fn satisfied(mut self, satisfied: impl Into<Option<bool>>) -> Self {
        self.satisfied = satisfied.into();
        self
    }

    /// Adds steps that follow from it.
    pub(super) fn with(mut self, steps: impl IntoIterator<Item = Self>) -> Self {
        self.steps.extend(steps);
        self
    }
}

/// The steps as lines, each indented below its cause.
pub(super) fn lines(steps: &[Step], depth: usize) -> Vec<ChainLine> {
    let mut lines = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let before = steps.iter().take(place);
        // Counted by type, so that many steps of one type do not hide the only one of another.
        let alike = before
            .filter(|other| other.step_type == step.step_type)
            .count();
        if alike >= SHOWN {
            let all = steps
                .iter()
                .filter(|other| other.step_type == step.step_type);
            if alike == SHOWN {
                let more = all.count().saturating_sub(SHOWN);
                lines.push(ChainLine {
                    depth,
                    text: format!("and {more} more (all: -o json)"),
                    source: None,
                });
            }
            continue;
        }
        lines.push(ChainLine {
            depth,
            text: step.message.clone(),
            source: step.field_ref.as_ref().map(FieldReference::line),
        });
        lines.extend(self::lines(&step.steps, depth.saturating_add(1)));
    }
    lines
}

/// The setter of a taint in words, and the field of the taint.
pub(super) fn origin(
    evaluated: &EvaluatedTaint<'_>,
    publication: Publication<'_>,
    input: &ExplainInput<'_>,
) -> (String, Option<FieldReference>) {
    let of_rule = |name: &dyn std::fmt::Display, assumed: &str| {
        let field = FieldReference::new("DeviceTaintRule", name, ".spec.taint");
        (format!("rule {name}{assumed}"), field)
    };
    match evaluated.origin {
        Origin::Proposed(number) => {
            let proposed: Option<&ProposedTaint> = input.taints.get(number);
            let assumed = if number < input.assumed {
                ", as proposed"
            } else {
                ""
            };
            match proposed.and_then(|proposed| proposed.rule.as_ref()) {
                Some(rule) => of_rule(rule, assumed),
                None => (
                    "a proposed rule".to_owned(),
                    Some(FieldReference {
                        object: "proposed taint".to_owned(),
                        field_path: String::new(),
                    }),
                ),
            }
        }
        Origin::Rule(name) => of_rule(name, ""),
        Origin::ResourceSlice(slice) => {
            // Without a current slice there is no field that a path could name.
            let path = match (publication, evaluated.place) {
                (Publication::Current(_, device), Some(taint)) => {
                    format!(".spec.devices[{device}].taints[{taint}]")
                }
                (
                    Publication::Current(..) | Publication::Outdated(..) | Publication::Nowhere,
                    _,
                ) => String::new(),
            };
            let field = FieldReference::new("ResourceSlice", slice, path);
            ("the driver".to_owned(), field)
        }
    }
}

/// The time since which a taint is there.
pub(super) fn since(taint: &Taint, now: Timestamp) -> String {
    match taint.time_added {
        Some(at) if at == now => "from now on".to_owned(),
        Some(at) => {
            let ago = human_duration(now.duration_since(at));
            format!("since {at} ({ago} ago)")
        }
        None => "since an unknown time".to_owned(),
    }
}

/// Outcome of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedVerdict {
    /// Code of the outcome.
    pub outcome: PodOutcome,
    /// Code of the reason why the eviction controller does not evict the pod: EffectDoesNotEvict (the effect is
    /// not NoExecute), NotScheduled (the pod has no node), PodGroupReservation (the claim is reserved only for
    /// the PodGroup of the pod), NotOwned (the pod uses a claim template, but the claim was not generated for
    /// this pod), ExtendedResource (the pod uses the device through an extended resource) or
    /// HiddenByStaleReservation (an outdated entry in the claim's reservedFor hides the pod from the eviction
    /// controller). Null unless the outcome is NotEvicted.
    #[schemars(with = "Option<String>")]
    pub reason: Option<NotEvicted>,
    /// When the pod is evicted; a time in the past means at once. Null if the pod is not evicted.
    pub eviction_time: Option<Time>,
}

/// Outcome of a pod. The outcomes in an ImpactReport are the same, but without Untouched, Waiting and Unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum PodOutcome {
    /// The pod is evicted at once.
    EvictedNow,
    /// The pod is evicted when its toleration ends, or at the taint's timeAdded if that is in the future.
    EvictedLater,
    /// The pod tolerates the taints that would evict it.
    Tolerates,
    /// The pod is already terminating.
    Terminating,
    /// A device that the pod uses has a taint, but the eviction controller does not evict the pod: see
    /// `reason`.
    NotEvicted,
    /// No device that the pod uses has a taint.
    Untouched,
    /// The pod waits for devices that its claims do not have yet.
    Waiting,
    /// Unknown, because data is missing, or evictions by this version of Kubernetes are not predicted.
    Unknown,
}

impl ExplainedVerdict {
    /// The unknown verdict.
    pub(super) const UNKNOWN: Self = Self::of(PodOutcome::Unknown);

    /// The verdict on a pod that uses no tainted device.
    pub(super) const UNTOUCHED: Self = Self::of(PodOutcome::Untouched);

    /// The verdict on a pod without devices, on which no taint can be yet.
    pub(super) const WAITING: Self = Self::of(PodOutcome::Waiting);

    const fn of(outcome: PodOutcome) -> Self {
        Self {
            outcome,
            reason: None,
            eviction_time: None,
        }
    }

    pub(super) fn new(verdict: PodVerdict, now: Timestamp) -> Self {
        match verdict {
            PodVerdict::Evicted { at } => Self {
                eviction_time: Some(Time(at)),
                ..Self::of(if at <= now {
                    PodOutcome::EvictedNow
                } else {
                    PodOutcome::EvictedLater
                })
            },
            PodVerdict::Tolerates => Self::of(PodOutcome::Tolerates),
            PodVerdict::Terminating => Self::of(PodOutcome::Terminating),
            PodVerdict::NotEvicted(why) => Self {
                reason: Some(why),
                ..Self::of(PodOutcome::NotEvicted)
            },
            PodVerdict::Untouched => Self::UNTOUCHED,
        }
    }
}

/// When the eviction of a pod that was deleted was due, or would be.
pub(super) fn past_eviction(at: Timestamp, now: Timestamp) -> String {
    let tense = if at <= now { "was" } else { "would be" };
    format!("eviction {tense} due at {at}")
}

/// When an eviction that is due at that moment happens, with `verb` for one that is not overdue.
pub(super) fn eviction(verb: &str, at: Timestamp, now: Timestamp) -> String {
    let distance = at.duration_since(now);
    match at.cmp(&now) {
        // Overdue is not over: the controller deletes the pod at its next turn.
        std::cmp::Ordering::Less => {
            format!("eviction overdue since {at} ({})", human_duration(distance))
        }
        std::cmp::Ordering::Equal => format!("{verb} now"),
        std::cmp::Ordering::Greater => format!("{verb} in {}, at {at}", exact_duration(distance)),
    }
}

/// Outcome of the pod; of a terminating one, what it waits for, as far as `reading` shows it.
pub(super) fn describe_in(
    reading: &Reading,
    verdict: PodVerdict,
    pod: &Pod,
    now: Timestamp,
) -> String {
    if verdict == PodVerdict::Terminating {
        let names: BTreeSet<NodeName> = pod.node.iter().cloned().collect();
        let known = &reading.snapshot.nodes;
        // Nodes of which metadata alone was read have no conditions, and look as if they were not ready.
        let is_read = |name: &NodeName| {
            let mut nodes = known.iter().filter(|node| node.name == *name);
            nodes.next().is_none_or(|node| node.is_whole)
        };
        let nodes = match reading.without(Kind::Node) {
            None if names.iter().all(is_read) => Node::health_of(known, &names),
            None | Some(_) => BTreeMap::new(),
        };
        let facts = TerminationFacts {
            nodes: &nodes,
            claims: &reading.snapshot.claims,
            publishers: &Publishers::of(reading, &names),
        };
        match rule_lifecycle::terminating(pod, &facts, now) {
            Some(EvictionObstacle::Stuck(blocker)) => {
                return format!("terminating, {}", stuck(&blocker, now));
            }
            Some(obstacle @ EvictionObstacle::Node(_)) => return why(&obstacle, now),
            Some(_) | None => {}
        }
    }
    describe(verdict, pod, now)
}

/// Outcome of the pod.
pub(super) fn describe(verdict: PodVerdict, pod: &Pod, now: Timestamp) -> String {
    match verdict {
        PodVerdict::Evicted { at } => eviction("evicted", at, now),
        PodVerdict::Tolerates => "stays: it tolerates the taints that would evict it".to_owned(),
        PodVerdict::Terminating => format!("terminating, {}", terminating(pod, now).message),
        PodVerdict::NotEvicted(why) => format!("stays: {}", not_evicted(why).message),
        PodVerdict::Untouched => "stays: none of its devices is tainted".to_owned(),
    }
}
