//! Author of changes to rules: the user and the run of this program.

use super::draft::{RuleDraft, RulePatch};
use crate::model::{DeviceTaintRule, RuleMetadata};

/// Author of changes to rules, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Name of the user on the server.
    pub user: Option<String>,
    /// The UID of this run; none where nothing is stored.
    pub run: Option<String>,
}

impl Writer {
    /// The draft with who makes the rule.
    pub fn sign(&self, mut draft: RuleDraft) -> RuleDraft {
        let notes = [
            (RuleMetadata::CREATED_BY, &self.user),
            (RuleMetadata::CREATED_BY_RUN, &self.run),
        ];
        for (key, note) in notes {
            let note = note.iter().map(|note| (key.to_owned(), note.clone()));
            draft.annotations.extend(note);
        }
        draft
    }

    /// The patch with who makes the change.
    pub fn sign_patch(&self, mut patch: RulePatch) -> RulePatch {
        let notes = [
            (RuleMetadata::CHANGED_BY, &self.user),
            (RuleMetadata::CHANGED_BY_RUN, &self.run),
        ];
        for (key, note) in notes {
            let note = note.iter().map(|note| (key.to_owned(), note.clone()));
            patch.annotations.extend(note);
        }
        patch
    }

    /// True if this run has made the rule.
    pub fn has_made(&self, rule: &DeviceTaintRule) -> bool {
        self.is_noted(rule, RuleMetadata::CREATED_BY_RUN)
    }

    /// True if this run was the last that changed the rule with this program.
    pub fn has_changed(&self, rule: &DeviceTaintRule) -> bool {
        self.is_noted(rule, RuleMetadata::CHANGED_BY_RUN)
    }

    fn is_noted(&self, rule: &DeviceTaintRule, key: &str) -> bool {
        // A rule without a note and a run without a UID are equal, and prove nothing.
        let noted = rule.metadata.annotation(key);
        noted.is_some() && noted == self.run.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::rule;

    fn writer(run: Option<&str>) -> Writer {
        Writer {
            user: Some("anna".to_owned()),
            run: run.map(str::to_owned),
        }
    }

    #[test]
    fn what_carries_the_uid_of_this_run_is_its_own_and_nothing_else_is() {
        let (ours, theirs, none) = (writer(Some("1")), writer(Some("2")), writer(None));
        let mut made = rule("None");
        assert!(!ours.has_made(&made) && !none.has_made(&made));
        made.metadata.annotations =
            [(RuleMetadata::CREATED_BY_RUN.to_owned(), "1".to_owned())].into();
        assert!(ours.has_made(&made) && !ours.has_changed(&made));
        assert!(!theirs.has_made(&made) && !none.has_made(&made));
    }

    #[test]
    fn what_is_sent_says_which_run_sends_it() {
        let signed = writer(Some("1")).sign_patch(RulePatch::default());
        insta::assert_snapshot!(signed.body(), @r#"{"metadata":{"annotations":{"devicetaint.dev/changed-by":"anna","devicetaint.dev/changed-by-run":"1"}}}"#);
        let mut changed = rule("None");
        changed.metadata.annotations = signed.annotations.clone();
        assert!(writer(Some("1")).has_changed(&changed));
        assert!(signed.is_in(&changed) && !signed.is_in(&rule("None")));
    }
}
