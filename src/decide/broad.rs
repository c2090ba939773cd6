//! Is it more than anybody would expect of the command as it was typed?

use super::chooser::Chooser;
use super::owner::owner;
use super::question::Question;
use crate::model::DeviceTaintRule;
use crate::naming::phrase::counted;

/// What has to be asked before `found`, which is what `chooser` means, is deleted; `None` when nothing
/// has to be: one rule, which this plugin has made.
#[must_use]
pub fn removal(chooser: &Chooser, found: &[DeviceTaintRule]) -> Option<Question> {
    let all = match chooser {
        Chooser::All => true,
        Chooser::Names(_) | Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::Expired => false,
    };
    let (several, foreign) = (found.len() > 1, !foreign(found).is_empty());
    (all || several || foreign).then(|| Question::Yes {
        prompt: format!("Delete {}?", counted(found.len(), "rule")),
    })
}

/// Those of `rules` that this plugin has not made, each with its owner, one line each: to be shown
/// before anybody agrees to a change of them.
#[must_use]
pub fn foreign(rules: &[DeviceTaintRule]) -> Vec<String> {
    let owners = rules.iter().map(|rule| (rule, owner(rule)));
    owners
        .filter(|(_, owner)| !owner.is_this_plugin())
        .map(|(rule, owner)| format!("rule {} was not made by this plugin: {owner}", rule.name))
        .collect()
}

/// What happens to a change of `rules` afterwards, where their owners set it back; one line each.
#[must_use]
pub fn set_back(rules: &[DeviceTaintRule]) -> Vec<String> {
    let lines = rules
        .iter()
        .map(|rule| owner(rule).sets_back(rule.name.as_str()));
    lines.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{foreign as theirs, named};

    fn names(names: &[&str]) -> Chooser {
        Chooser::Names(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn one_rule_of_this_plugin_is_removed_without_a_question() {
        let ours = [named("a", "NoExecute")];
        assert_eq!(removal(&names(&["a"]), &ours), None);
        assert_eq!(removal(&Chooser::Expired, &ours), None);
        let labelled = Chooser::Labelled("team=ml".parse().unwrap());
        assert_eq!(removal(&labelled, &ours), None);
    }

    #[test]
    fn more_than_one_rule_or_one_of_others_or_all_are_asked_about() {
        let ours = named("a", "None");
        let asked = |chooser: &Chooser, rules: &[DeviceTaintRule]| removal(chooser, rules);
        let prompt = |text: &str| {
            Some(Question::Yes {
                prompt: text.to_owned(),
            })
        };
        assert_eq!(
            asked(&names(&["a", "b"]), &[ours.clone(), named("b", "None")]),
            prompt("Delete 2 rules?")
        );
        assert_eq!(
            asked(&names(&["b"]), &[theirs("b", "kubectl-create")]),
            prompt("Delete 1 rule?")
        );
        assert_eq!(asked(&Chooser::All, &[ours]), prompt("Delete 1 rule?"));
    }

    #[test]
    fn rules_of_others_are_named_with_their_owner() {
        let rules = [named("a", "None"), theirs("b", "kubectl-create")];
        assert_eq!(
            foreign(&rules),
            ["rule b was not made by this plugin: made by kubectl-create"]
        );
        assert!(set_back(&rules).is_empty());
    }

    #[test]
    fn what_is_set_back_is_told_of_each_rule() {
        let mut applied = theirs("c", "argocd-controller");
        applied.metadata.labels.insert(
            "argocd.argoproj.io/instance".to_owned(),
            "rack-4".to_owned(),
        );
        let told = set_back(&[named("a", "None"), applied]);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with("rule c is applied by Argo CD"),
            "{told:?}"
        );
    }
}
