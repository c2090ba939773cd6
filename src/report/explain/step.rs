//! A step of an explanation, with the field it comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::table::ChainLine;

/// So many steps of one kind are shown to people at one place; programs get all.
const SHOWN: usize = 8;

/// One thing that is the case, with everything that follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What it is about.
    pub about: About,
    /// What is the case, in words.
    pub text: String,
    /// Where that stands; null for what follows from other steps.
    pub source: Option<FieldSource>,
    /// Whether it holds: a reservation is the pod's, a toleration covers the taint, a pool is current, a
    /// taint evicts; null where that is no question, or not known.
    pub holds: Option<bool>,
    /// What leads on from here.
    pub steps: Vec<Step>,
}

/// What a step is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// A claim, and how the pod refers to it.
    Claim,
    /// A consumer that a claim is reserved for.
    Reservation,
    /// What a claim asks for.
    Request,
    /// A device.
    Device,
    /// The pool of a device, and which of its generations counts.
    Pool,
    /// A taint.
    Taint,
    /// A toleration.
    Toleration,
    /// What a rule asks of devices.
    Selector,
    /// What the controller says of a rule.
    Condition,
    /// A pod, and what becomes of it.
    Pod,
    /// Devices that could serve a request.
    Usable,
    /// What keeps devices from a request.
    Excluded,
    /// Who could get a device next.
    Candidate,
    /// Other parts of the same hardware.
    Sibling,
    /// A change that would alter what becomes of a pod.
    Change,
    /// A link that is missing.
    Missing,
    /// Anything else.
    Note,
}

/// Where something stands: an object, and a field of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldSource {
    /// The object, as KIND NAME or KIND NAMESPACE/NAME; `question` for what was asked about.
    pub object: String,
    /// The field, as kubectl's JSONPath takes it, in the layout of resource.k8s.io/v1; empty for the
    /// whole object.
    pub path: String,
}

impl FieldSource {
    /// The field of an object.
    pub(super) fn new(
        kind: &str,
        name: impl std::fmt::Display,
        path: impl Into<String>,
    ) -> Option<Self> {
        Some(Self {
            object: format!("{kind} {name}"),
            path: path.into(),
        })
    }

    /// What was asked about.
    pub(super) fn question() -> Option<Self> {
        Some(Self {
            object: "question".to_owned(),
            path: String::new(),
        })
    }

    fn line(&self) -> String {
        if self.path.is_empty() {
            self.object.clone()
        } else {
            format!("{}: {}", self.object, self.path)
        }
    }
}

impl Step {
    /// A fact that stands there.
    pub(super) fn new(about: About, text: impl Into<String>, source: Option<FieldSource>) -> Self {
        Self {
            about,
            text: text.into(),
            source,
            holds: None,
            steps: Vec::new(),
        }
    }

    /// Whether it holds.
    pub(super) fn holding(mut self, holds: impl Into<Option<bool>>) -> Self {
        self.holds = holds.into();
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
        let alike = before.filter(|other| other.about == step.about).count();
        if alike >= SHOWN {
            let all = steps.iter().filter(|other| other.about == step.about);
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
            text: step.text.clone(),
            source: step.source.as_ref().map(FieldSource::line),
        });
        lines.extend(self::lines(&step.steps, depth.saturating_add(1)));
    }
    lines
}
