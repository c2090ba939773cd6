//! A step of an explanation, with the field it comes from.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::explain::{EvaluatedTaint, ExplainInput, Publication};
use crate::engine::{Origin, ProposedTaint};
use crate::model::Taint;
use crate::naming::duration::human_duration;
use crate::report::table::ChainLine;

/// Number of steps of one type that text shows below one step; JSON has all.
const SHOWN: usize = 8;

/// One fact, with the facts that follow from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

    /// The taint that was proposed on the command line.
    pub(super) fn question() -> Option<Self> {
        Some(Self {
            object: "proposed taint".to_owned(),
            field_path: String::new(),
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
                None => ("a proposed rule".to_owned(), FieldReference::question()),
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
