//! Texts about planned changes of rules.

use super::step::AddStep;
use crate::decide::owner::owner;
use crate::model::RuleMetadata;
use crate::naming::phrase::counted;

impl AddStep {
    /// Requests that are not carried out for an existing rule, and why; one line each.
    pub fn notes(&self) -> Vec<String> {
        let (draft, Some(rule)) = (self.draft(), self.existing()) else {
            return Vec::new();
        };
        let mut notes = Vec::new();
        let (name, owner) = (&rule.name, owner(rule));
        if !owner.is_this_plugin() {
            let unchanged = if self.is_open() {
                ""
            } else {
                ", and is left unchanged"
            };
            notes.push(format!("rule {name} already exists, {owner}{unchanged}"));
        }
        let changes_expiry = match self {
            Self::Change { patch, .. } => patch.annotations.contains_key(RuleMetadata::EXPIRES),
            Self::Create(_) | Self::Keep { .. } => false,
        };
        if let Some(expires) = rule.metadata.expires()
            && draft.annotations.contains_key(RuleMetadata::EXPIRES)
            && !changes_expiry
        {
            notes.push(format!(
                "rule {name} keeps its expiry time {expires}; --overwrite changes it"
            ));
        }
        notes
    }
}

/// Action, as the beginning of a question.
pub fn action(open: &[&AddStep]) -> String {
    let Some(first) = open.first().map(|step| step.draft()) else {
        return "Go on".to_owned();
    };
    let (name, taint) = (&first.name, &first.taint);
    match (open, open.first().and_then(|step| step.existing())) {
        ([_], Some(_)) => format!("Change rule {name} to {taint}"),
        ([_], None) => format!("Add rule {name} with {taint}"),
        _ if open.iter().all(|step| step.existing().is_none()) => {
            format!("Add {} with {taint}", counted(open.len(), "rule"))
        }
        _ => format!("Add or change {} with {taint}", counted(open.len(), "rule")),
    }
}
