//! Results of changes to rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of a change to a rule, in the terms of kubectl; with a dry run, the result that the change would
/// have.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum RuleResult {
    /// The rule was created.
    Created,
    /// The rule was changed.
    Configured,
    /// The rule was already as requested.
    Unchanged,
    /// This command deleted the rule.
    Deleted,
    /// Another client had already deleted the rule.
    AlreadyDeleted,
    /// The rule is being deleted, and exists until its finalizers are removed; `changed` shows
    /// whether this command requested the deletion.
    DeletionRequested,
    /// The rule is deleted, but the response to this command was lost: another client may have
    /// deleted it.
    Gone,
    /// No rule of that name exists.
    NotFound,
    /// The change failed, and the rule is unchanged.
    Failed,
    /// Unknown: the response to the change was lost, and the rule could not be read afterwards.
    Unknown,
}

impl RuleResult {
    /// The result as it is printed after the name of the rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Deleted => "deleted",
            Self::AlreadyDeleted => "already deleted",
            Self::DeletionRequested => "deletion requested",
            Self::Gone => "gone",
            Self::NotFound => "not found",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// True if a rule with this result was changed; absent when that is not known.
    pub fn changed(self) -> Option<bool> {
        match self {
            // Only the default for `DeletionRequested`: where another asked for it before, `with_changed` says so.
            Self::Created | Self::Configured | Self::Deleted | Self::DeletionRequested => {
                Some(true)
            }
            Self::Unchanged | Self::AlreadyDeleted | Self::NotFound | Self::Failed => Some(false),
            // The reply was lost: `false` would say that this command has left the rule alone.
            Self::Gone | Self::Unknown => None,
        }
    }
}
