//! A step of an explanation, with the field it comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::table::ChainLine;

/// The way to all lines, at the end of one that counts those that are left out.
pub(super) const ALL: &str = " (all: -o wide)";

/// So many steps of one kind are shown to people at one place; programs get all.
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
    /// Whether the requirement of the step is met. Examples of requirements: the claim is reserved for the pod;
    /// the toleration matches the taint; the pool generation is the newest; the taint evicts. Null if the step
    /// has no requirement, or if unknown.
    pub satisfied: Option<bool>,
    /// Steps that follow from this step.
    pub steps: Vec<Step>,
}

/// What a step is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StepType {
    /// A claim, and how the pod refers to it.
    Claim,
    /// A consumer for which a claim is reserved.
    Reservation,
    /// A request of a claim.
    Request,
    /// A device.
    Device,
    /// The pool of a device, and its newest generation.
    Pool,
    /// A taint.
    Taint,
    /// A toleration.
    Toleration,
    /// The selector of a rule.
    Selector,
    /// The condition EvictionInProgress of a rule.
    Condition,
    /// A pod and its outcome.
    Pod,
    /// Devices that could serve a request.
    Usable,
    /// Why devices are excluded from a request.
    Excluded,
    /// A claim that could get the device next.
    Candidate,
    /// Other devices on the same hardware.
    Sibling,
    /// A change that would alter the outcome of a pod.
    Change,
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

    /// What was asked about.
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
    /// A fact that stands there.
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

    /// Whether it is as needed.
    pub(super) fn satisfied(mut self, satisfied: impl Into<Option<bool>>) -> Self {
        self.satisfied = satisfied.into();
        self
    }

    /// With what leads on from it.
    pub(super) fn with(mut self, steps: impl IntoIterator<Item = Self>) -> Self {
        self.steps.extend(steps);
        self
    }
}

/// The steps as lines, each indented below what it follows from.
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
