//! Publication of a preview: the rules created for it, and comparison with the controller's answer.

use std::collections::BTreeMap;
use std::time::Duration;

use super::RuleDraft;
use super::draft::of_batch;
use super::ledger::{may_have_been_created, to_remove};
use crate::assess::ImpactFacts;
use crate::assess::defects::upstream;
use crate::engine::{Defect, ProposedTaint};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, EvictionCondition, RuleMetadata, Taint};
use crate::naming::phrase::counted;
use crate::naming::rule;

/// A rule with effect None for each of the `proposed` taints, all with the label of one batch.
///
/// # Errors
///
/// A taint that no such rule can preview.
pub fn previews(proposed: &[ProposedTaint]) -> Result<Vec<RuleDraft>, Failure> {
    let drafts: Vec<RuleDraft> = proposed.iter().map(preview).collect::<Result<_, _>>()?;
    let selectors: Vec<_> = drafts.iter().map(|draft| draft.selector.clone()).collect();
    let Some(first) = proposed.first() else {
        return Ok(drafts);
    };
    let labels = of_batch(&rule::batch(&selectors, &first.taint));
    let labelled = drafts.into_iter().map(|draft| RuleDraft {
        labels: labels.clone(),
        ..draft
    });
    Ok(labelled.collect())
}

fn preview(proposed: &ProposedTaint) -> Result<RuleDraft, Failure> {
    let taint = &proposed.taint;
    if taint.effect != Effect::NoExecute {
        return Err(Failure::usage(format!(
            "--publish compares evictions, so the proposed taint needs effect NoExecute (or no EFFECT): {} evicts no pods",
            taint.effect
        )));
    }
    let Some(selector) = &proposed.selector else {
        return Err(Failure::usage(
            "--publish needs a rule with spec.deviceSelector",
        ));
    };
    Ok(RuleDraft {
        // The value tells the previews of two taints with one key apart.
        name: rule::preview_name(selector, taint),
        selector: selector.clone(),
        taint: Taint {
            effect: Effect::None,
            time_added: None,
            ..taint.clone()
        },
        labels: std::collections::BTreeMap::new(),
        annotations: std::collections::BTreeMap::new(),
        manifest: None,
    })
}

/// Action that creates so many preview rules, as the beginning of a question.
pub fn publication(rules: usize) -> String {
    format!("Create {} with effect None", counted(rules, "rule"))
}

/// Checks that the rule of the draft's name is an earlier preview, which may be deleted.
///
/// # Errors
///
/// When it is something else.
pub fn check_preview(rule: &DeviceTaintRule, draft: &RuleDraft) -> Result<(), Failure> {
    // The preview may have been escalated: its deletion would lift a taint that is in force.
    let managed = rule.metadata.labels.get(RuleMetadata::MANAGED_BY);
    let is_ours = managed.is_some_and(|manager| manager == RuleMetadata::THIS_PROGRAM);
    if is_ours && draft.is_spec_of(rule) {
        return Ok(());
    }
    Err(Failure::new(
        ExitStatus::Failed,
        format!(
            "rule {} exists, but is not the rule that --publish creates for this preview: its \
            taint is {}",
            rule.name, rule.taint
        ),
    ))
}

/// The rule that the controller was asked by is gone.
pub fn removed_meanwhile(name: &str) -> Failure {
    Failure::new(
        ExitStatus::Failed,
        format!("rule {name} was deleted by another client during the wait"),
    )
}

/// Failure of a wait that a signal interrupted.
pub fn interrupted(status: ExitStatus) -> Failure {
    Failure::new(status, "interrupted while waiting for the controller")
}

/// Rules of a publication that exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreviewRules(BTreeMap<String, Presence>);

/// Existence of a rule that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// It was sent, and that it was made is neither proven nor disproved.
    Possible,
    /// It was made.
    Present,
}

impl PreviewRules {
    /// The rule is about to be sent.
    pub fn send(&mut self, name: &str) {
        self.0.insert(name.to_owned(), Presence::Possible);
    }

    /// It was made.
    pub fn made(&mut self, name: &str) {
        self.0.insert(name.to_owned(), Presence::Present);
    }

    /// It was not made, or is gone.
    pub fn gone(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// A read does not show it, which says nothing of one that may still be made.
    pub fn not_found(&mut self, name: &str) {
        self.0
            // A request whose reply was lost may still be in progress on the server.
            .retain(|rule, presence| rule != name || *presence == Presence::Possible);
    }

    /// True if any was made.
    pub fn any_is_there(&self) -> bool {
        self.0
            .values()
            .any(|presence| *presence == Presence::Present)
    }

    /// The failure with the rules that may have been created, and how to remove them.
    pub fn with_possible(&self, failure: Failure) -> Failure {
        let possible = self
            .0
            .iter()
            .filter(|(_, presence)| **presence == Presence::Possible);
        let names: Vec<&String> = possible.map(|(name, _)| name).collect();
        if names.is_empty() {
            return failure;
        }
        let failure = failure.detail(may_have_been_created(&names));
        failure.hint(to_remove(&names))
    }
}

/// The failure of a command that was to take its rules away, with why it could not.
pub fn with_failed_removal(failure: Failure, removal: &Failure) -> Failure {
    let failure = failure.detail(format!("the rules could not be removed: {removal}"));
    let details = removal.details().iter().cloned();
    let failure = details.fold(failure, Failure::detail);
    removal.hints().iter().cloned().fold(failure, Failure::hint)
}

/// The failure to take the rules away, with how to find those that are left.
pub fn with_what_is_left(failure: Failure, drafts: &[RuleDraft]) -> Failure {
    let batch = batch_of(drafts);
    failure.hint(format!(
        "to list the remaining rules: kubectl get devicetaintrules -l {batch}"
    ))
}

/// Statement that the rules stay, and how to delete them.
pub fn what_stays(drafts: &[RuleDraft]) -> String {
    let batch = batch_of(drafts);
    let (these, them) = match drafts {
        [_] => ("the rule has effect None and stays", "it"),
        _ => ("the rules have effect None and stay", "them"),
    };
    format!("{these}; to remove {them}: kubectl devicetaint remove -l {batch}")
}

/// The label by which the rules are found.
fn batch_of(drafts: &[RuleDraft]) -> String {
    let key = RuleMetadata::BATCH;
    let batch = drafts.first().and_then(|draft| draft.labels.get(key));
    format!("{key}={}", batch.map_or("", String::as_str))
}

/// The controller's condition of a preview rule, beside what this plugin expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerAnswer {
    /// The rule.
    pub rule: String,
    /// The condition of the rule as it is; absent while the controller has not judged it.
    pub condition: Option<EvictionCondition>,
    /// Message that the controller should write; absent where a number of it is not known.
    pub expected: Option<String>,
}

impl ControllerAnswer {
    /// Answer for a rule of this name and generation. A condition is an answer only when the controller has seen that
    /// generation.
    pub fn new(
        rule: &str,
        generation: i64,
        condition: Option<&EvictionCondition>,
        expected: Option<&str>,
    ) -> Self {
        // A condition with an older generation is about an earlier spec of the rule.
        let condition = condition.filter(|condition| condition.observed_generation == generation);
        Self {
            rule: rule.to_owned(),
            condition: condition.cloned(),
            expected: expected.map(str::to_owned),
        }
    }

    /// True if it is the same to the letter; absent where one of the two is missing.
    pub fn agrees(&self) -> Option<bool> {
        let both = self.condition.as_ref().zip(self.expected.as_ref());
        both.map(|(condition, expected)| {
            // Not the message alone: with another status or reason, the controller says something else.
            condition.status == "False"
                && condition.reason == "NoEffect"
                && condition.message == *expected
        })
    }

    /// Answer in one line.
    pub fn line(&self) -> String {
        let rule = &self.rule;
        match (&self.condition, self.agrees()) {
            (Some(condition), Some(true)) => {
                format!(
                    "rule {rule}: the controller reports the same as this preview: {}",
                    condition.message
                )
            }
            (Some(condition), Some(false)) => format!(
                "rule {rule}: the controller reports {:?} ({} {}), but this preview expects {:?}",
                condition.message,
                condition.status,
                condition.reason,
                self.expected.as_deref().unwrap_or_default()
            ),
            (Some(condition), None) => format!(
                "rule {rule} is not compared, because some numbers of this preview are unknown; \
                the controller reports: {}",
                condition.message
            ),
            (None, _) => format!("rule {rule}: no controller responded"),
        }
    }
}

/// Checks that the controller has said the same about every rule; if not, says why that is a failure, with the unknown
/// parts of the `facts`.
///
/// # Errors
///
/// When it says something else, has not reacted within `patience`, or there is nothing to compare.
pub fn check(
    answers: &[ControllerAnswer],
    facts: &ImpactFacts,
    patience: Duration,
) -> Result<(), Failure> {
    let rules = |agrees: Option<bool>, answered: bool| {
        let matching = answers
            .iter()
            .filter(|rule| rule.agrees() == agrees && rule.condition.is_some() == answered);
        matching
            .map(|rule| rule.rule.as_str())
            .collect::<Vec<&str>>()
    };
    let differing = rules(Some(false), true);
    let silent = rules(None, false).join(", ");
    let uncompared = rules(None, true).join(", ");
    // A contradiction comes first: silence may end, and one of the two is wrong for good.
    if !differing.is_empty() {
        let noun = if differing.len() == 1 {
            "rule"
        } else {
            "rules"
        };
        return Err(Failure::new(
            ExitStatus::Incomplete,
            format!(
                "the controller's result differs from this preview for {noun} {}",
                differing.join(", ")
            ),
        )
        .hint(
            "the controller decides which pods are evicted, so this preview may be wrong; please report \
            the difference, and attach the file that this command writes: kubectl devicetaint snapshot --redact -o FILE",
        ));
    }
    if !silent.is_empty() {
        return Err(Failure::new(
            ExitStatus::Incomplete,
            format!(
                "no controller responded within {}s; rules without a response: {silent}",
                patience.as_secs()
            ),
        )
        .hint(
            "check that kube-controller-manager runs device-taint-eviction-controller, with the \
            feature gates DRADeviceTaints and DRADeviceTaintRules enabled",
        ));
    }
    if !uncompared.is_empty() {
        let failure = Failure::new(
            ExitStatus::Incomplete,
            format!(
                "the pod counts of these rules were not compared with those of the controller, because \
                this preview does not know all of them: {uncompared}"
            ),
        );
        let gaps = facts.gaps.iter();
        let unknown = gaps.map(|gap| format!("{}: {}", gap.what, gap.why));
        return Err(unknown.fold(failure, Failure::detail));
    }
    Ok(())
}

/// Expected condition of a rule that treats pods with extended resources the other way, with the number of pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherTreatment {
    /// Message for the other treatment; absent where a number of it is not known.
    pub message: Option<String>,
    /// True if more pods are evicted then.
    pub evicts_more: bool,
}

/// The failure of [`check`], with what it shows of pods with extended resources: where the controller
/// says what it would say of the `others`, one for each answer, that is why.
pub fn with_the_other_way(
    failure: Failure,
    answers: &[ControllerAnswer],
    others: &[OtherTreatment],
) -> Failure {
    let differing = answers.iter().zip(others);
    let mut differing = differing.filter_map(|(answer, other)| {
        let said = answer
            .condition
            .as_ref()
            .filter(|_| answer.agrees() == Some(false))?;
        Some((said.message.as_str(), other))
    });
    let mut explained = differing.by_ref().peekable();
    let Some((_, first)) = explained.peek().copied() else {
        return failure;
    };
    let counts_more = first.evicts_more;
    // It is the explanation only if it explains every rule that differs.
    if !explained.all(|(said, other)| other.message.as_deref() == Some(said)) {
        return failure;
    }
    let upstream = upstream(Defect::ExtendedResourcesStay);
    failure.hint(if counts_more {
        format!(
            "unlike this preview, the controller evicts pods that use devices through extended resources, so \
            {upstream} is fixed in this cluster; to preview with this fix: --kubernetes 1.37.2"
        )
    } else {
        format!(
            "unlike this preview, the controller does not evict pods that use devices through extended resources, so \
            {upstream} is not fixed in this cluster; to preview without this fix: --kubernetes \
            1.37.1"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{selector, taint};

    fn proposed(effect: &str) -> ProposedTaint {
        ProposedTaint {
            rule: None,
            selector: Some(selector("gpu-0")),
            taint: taint(effect),
        }
    }

    #[test]
    fn each_taint_is_asked_about_by_a_rule_that_does_nothing() {
        let asked = previews(&[proposed("NoExecute")]).unwrap();
        assert_eq!(asked[0].taint.effect, Effect::None);
        assert_eq!(asked[0].taint.time_added, None);
        assert!(what_stays(&asked).ends_with(&asked[0].labels[RuleMetadata::BATCH]));
        for effect in ["NoSchedule", "None"] {
            assert!(previews(&[proposed(effect)]).is_err(), "{effect}");
        }
        let nameless = ProposedTaint {
            selector: None,
            ..proposed("NoExecute")
        };
        assert!(previews(&[nameless]).is_err());
    }

    #[test]
    fn only_an_earlier_preview_of_the_same_taint_is_taken_away() {
        let draft = previews(&[proposed("NoExecute")]);
        let draft = draft.unwrap().remove(0);
        let mut found = crate::decide::testing::rule("None");
        found.selector = Some(draft.selector.clone());
        found.taint = draft.taint.clone();
        found.metadata.labels.clone_from(&draft.labels);
        assert!(check_preview(&found, &draft).is_ok());
        let mut escalated = found.clone();
        escalated.taint.effect = Effect::NoExecute;
        assert!(check_preview(&escalated, &draft).is_err());
        found.metadata.labels.clear();
        assert!(check_preview(&found, &draft).is_err());
    }

    fn condition(message: &str, reason: &str, generation: i64) -> EvictionCondition {
        EvictionCondition {
            status: "False".to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: generation,
            last_transition: None,
        }
    }

    fn said(said: Option<(&str, i64)>, expected: Option<&str>) -> Option<String> {
        let said = said.map(|(message, generation)| condition(message, "NoEffect", generation));
        let answer = ControllerAnswer::new("p", 1, said.as_ref(), expected);
        let checked = check(&[answer], &ImpactFacts::default(), Duration::from_secs(15));
        checked.err().map(|failure| failure.to_string())
    }

    #[test]
    fn what_the_controller_says_has_to_be_the_same_to_the_letter() {
        for (condition, expected, told) in [
            (Some(("1 pod", 1)), Some("1 pod"), None),
            (
                Some(("2 pods", 1)),
                Some("1 pod"),
                Some("the controller's result differs from this preview for rule p"),
            ),
            (
                Some(("1 pod", 0)),
                Some("1 pod"),
                Some("no controller responded within 15s; rules without a response: p"),
            ),
            (
                None,
                Some("1 pod"),
                Some("no controller responded within 15s; rules without a response: p"),
            ),
            (
                Some(("1 pod", 1)),
                None,
                Some(
                    "the pod counts of these rules were not compared with those of the controller, because \
                    this preview does not know all of them: p",
                ),
            ),
        ] {
            assert_eq!(said(condition, expected).as_deref(), told, "{condition:?}");
        }
    }

    #[test]
    fn what_was_sent_and_not_disproved_may_have_been_created() {
        let told = |rules: &PreviewRules| {
            let failure = rules.with_possible(Failure::refused("no"));
            [failure.details(), failure.hints()].concat()
        };
        let mut rules = PreviewRules::default();
        assert!(told(&rules).is_empty());
        rules.send("a");
        rules.send("b");
        rules.made("b");
        assert!(rules.any_is_there());
        // A caller that asks too early does not see a rule that is made late.
        rules.not_found("a");
        rules.not_found("b");
        assert!(!rules.any_is_there());
        assert_eq!(
            told(&rules),
            [
                "may have been created: a",
                "to remove it: kubectl devicetaint remove a --ignore-not-found",
            ]
        );
        rules.gone("a");
        assert!(told(&rules).is_empty());
    }
}
