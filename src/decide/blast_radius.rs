//! Removals broader than the command suggests: several rules, or rules of others.

use super::chooser::Chooser;
use super::owner::others;
use super::owner::owner;
use super::question::Question;
use crate::model::DeviceTaintRule;
use crate::naming::phrase::counted;

/// Confirmation that the deletion of `found`, which `chooser` selects, by `user` needs; `None` for one rule of this
/// user, or where `agreed` covers it.
pub fn removal(
    chooser: &Chooser,
    found: &[DeviceTaintRule],
    user: Option<&str>,
    agreed: RemovalApproval,
) -> Option<Question> {
    let all = match chooser {
        Chooser::All => true,
        Chooser::Names(_) | Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::Expired => false,
    };
    let action = deletion(found.len());
    // Before `--yes` counts: it agrees to several rules, and not to those of others.
    let owners = others(found, user);
    let needs_yes = (all || found.len() > 1) && !agreed.yes;
    if !owners.is_empty() && !agreed.others {
        return Some(Question::Others {
            action,
            owners,
            needs_yes,
        });
    }
    needs_yes.then_some(Question::Yes { action })
}

/// The deletion of so many rules, as a question without its mark.
pub fn deletion(rules: usize) -> String {
    format!("Delete {}", counted(rules, "rule"))
}

/// Approval given beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovalApproval {
    /// `--yes`: to more than one rule.
    pub yes: bool,
    /// `--others`: approves rules that another user or program made or changed.
    pub others: bool,
}

/// Those of `rules` that this plugin has not made, each with its owner, one line each: shown before a change of them is
/// confirmed.
pub fn foreign(rules: &[DeviceTaintRule]) -> Vec<String> {
    let owners = rules.iter().map(|rule| (rule, owner(rule)));
    owners
        .filter(|(_, owner)| !owner.is_this_plugin())
        .map(|(rule, owner)| format!("rule {} was not created by this plugin: {owner}", rule.name))
        .collect()
}

/// Reactions of owners that revert a change of `rules`; one line each.
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

    const ANNA: Option<&str> = Some("anna");

    fn asked(
        chooser: &Chooser,
        rules: &[DeviceTaintRule],
        agreed: RemovalApproval,
    ) -> Option<Question> {
        removal(chooser, rules, ANNA, agreed)
    }

    #[test]
    fn one_rule_of_mine_is_removed_without_a_question() {
        let ours = [named("a", "NoExecute")];
        let none = RemovalApproval::default();
        assert_eq!(asked(&names(&["a"]), &ours, none), None);
        assert_eq!(asked(&Chooser::Expired, &ours, none), None);
        let labelled = Chooser::Labelled("team=ml".parse().unwrap());
        assert_eq!(asked(&labelled, &ours, none), None);
    }

    #[test]
    fn more_than_one_rule_or_all_are_asked_about_and_yes_answers() {
        let ours = named("a", "None");
        let yes = RemovalApproval {
            yes: true,
            others: false,
        };
        let action = |action: &str| {
            Some(Question::Yes {
                action: action.to_owned(),
            })
        };
        let two = [ours, named("b", "None")];
        for (chooser, rules, expected) in [
            (names(&["a", "b"]), &two[..], action("Delete 2 rules")),
            (Chooser::All, &two[..1], action("Delete 1 rule")),
        ] {
            assert_eq!(asked(&chooser, rules, RemovalApproval::default()), expected);
            assert_eq!(asked(&chooser, rules, yes), None);
        }
    }

    #[test]
    fn a_rule_of_somebody_else_is_asked_about_and_only_others_answers() {
        let theirs = [theirs("b", "kubectl-create")];
        for (yes, others, is_asked) in [
            (false, false, true),
            (true, false, true),
            (false, true, false),
            (true, true, false),
        ] {
            let found = asked(&names(&["b"]), &theirs, RemovalApproval { yes, others });
            assert_eq!(found.is_some(), is_asked, "{yes} {others}");
            if let Some(question) = found {
                let Question::Others {
                    owners, needs_yes, ..
                } = question
                else {
                    panic!("{question:?}");
                };
                assert_eq!((owners.len(), needs_yes), (1, false));
            }
        }
        // Several of them are still several.
        let several = [theirs[0].clone(), named("a", "None")];
        for yes in [false, true] {
            let agreed = RemovalApproval { yes, others: false };
            let Some(Question::Others { needs_yes, .. }) =
                asked(&names(&["a", "b"]), &several, agreed)
            else {
                panic!("a question about others");
            };
            assert_eq!(needs_yes, !yes);
        }
        let others = RemovalApproval {
            yes: false,
            others: true,
        };
        assert!(matches!(
            asked(&names(&["a", "b"]), &several, others),
            Some(Question::Yes { .. })
        ));
    }

    #[test]
    fn rules_of_others_are_named_with_their_owner() {
        let rules = [named("a", "None"), theirs("b", "kubectl-create")];
        assert_eq!(
            foreign(&rules),
            ["rule b was not created by this plugin: created by kubectl-create"]
        );
        assert!(set_back(&rules).is_empty());
    }
}
