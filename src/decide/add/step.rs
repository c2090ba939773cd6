//! What is done about one rule, and what is there after it?

use jiff::Timestamp;

use crate::decide::draft::{RuleDraft, RulePatch};
use crate::engine::ConsideredTaint;
use crate::model::{DeviceTaintRule, Effect, Taint};

/// What has to be done about one rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It is made.
    Create(RuleDraft),
    /// The one that is there is changed.
    Change {
        /// The rule as it is asked for.
        draft: RuleDraft,
        /// The rule as it is there.
        rule: Box<DeviceTaintRule>,
        /// What is changed.
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

impl Step {
    /// The rule as it is asked for.
    #[must_use]
    pub fn draft(&self) -> &RuleDraft {
        match self {
            Self::Create(draft) | Self::Change { draft, .. } | Self::Keep { draft, .. } => draft,
        }
    }

    /// Whether there is anything to do.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self {
            Self::Create(_) | Self::Change { .. } => true,
            Self::Keep { .. } => false,
        }
    }

    /// Whether the step brings about a taint that does something, and not only notes on a rule or a
    /// taint with effect None.
    #[must_use]
    pub fn does_something(&self) -> bool {
        let changes_taint = match self {
            Self::Create(_) => true,
            Self::Change { patch, .. } => patch.effect.is_some() || patch.value.is_some(),
            Self::Keep { .. } => false,
        };
        changes_taint && self.draft().taint.effect != Effect::None
    }

    /// The rule that is there already.
    #[must_use]
    pub fn existing(&self) -> Option<&DeviceTaintRule> {
        match self {
            Self::Create(_) => None,
            Self::Change { rule, .. } | Self::Keep { rule, .. } => Some(rule),
        }
    }

    /// The taint that is there after the step, exactly as it is then.
    ///
    /// Those of rules that stay as they are are part of a report: what was agreed to is all that the
    /// command asks for, also when an interrupted one has done a part of it.
    #[must_use]
    pub fn considered(&self, now: Timestamp) -> ConsideredTaint {
        let taint = &self.draft().taint;
        let Some(rule) = self.existing() else {
            return ConsideredTaint {
                rule: None,
                selector: Some(self.draft().selector.clone()),
                taint: Taint {
                    time_added: Some(taint.time_added.unwrap_or(now)),
                    ..taint.clone()
                },
            };
        };
        let considered = ConsideredTaint::of_changed_rule(rule, &taint.effect, now);
        ConsideredTaint {
            taint: Taint {
                value: taint.value.clone(),
                ..considered.taint
            },
            ..considered
        }
    }

    /// The taint as a preview looks at it, which takes effect None for NoExecute.
    #[must_use]
    pub fn previewed(&self, now: Timestamp) -> ConsideredTaint {
        let mut considered = self.considered(now);
        if considered.taint.effect == Effect::None {
            considered.taint.effect = Effect::NoExecute;
            if self.existing().is_some() {
                considered.taint.time_added = Some(now);
            }
        }
        considered
    }
}
