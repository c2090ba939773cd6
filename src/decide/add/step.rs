//! A planned change of one rule.

use crate::decide::draft::{RuleDraft, RulePatch};
use crate::model::DeviceTaintRule;

/// Step of an addition for one rule.
#[derive(Clone, Debug, PartialEq)]
pub enum AddStep {
    /// It is made.
    Create(RuleDraft),
    /// The one that is there is changed.
    Change {
        /// The rule as it is asked for.
        draft: RuleDraft,
        /// The rule as it is there.
        rule: Box<DeviceTaintRule>,
        /// Changed fields.
        patch: RulePatch,
    },
    /// The one that is there is as it is asked for.
    Keep {
        /// The rule as it is asked for.
        draft: RuleDraft,
        /// The rule as it is there.
        rule: Box<DeviceTaintRule>,
    },
}

impl AddStep {
    /// The rule as it is asked for.
    pub fn draft(&self) -> &RuleDraft {
        match self {
            Self::Create(draft) | Self::Change { draft, .. } | Self::Keep { draft, .. } => draft,
        }
    }

    /// True if there is anything to do.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Create(_) | Self::Change { .. } => true,
            Self::Keep { .. } => false,
        }
    }

    /// The rule that is there already.
    pub fn existing(&self) -> Option<&DeviceTaintRule> {
        match self {
            Self::Create(_) => None,
            Self::Change { rule, .. } | Self::Keep { rule, .. } => Some(rule),
        }
    }
}
