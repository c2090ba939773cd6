//! Proposed changes of a command, a row for each rule.
//!
//! A [`Proposal`] has a row for each rule, as it is and as it is to be. All checks between the proposal and the change
//! use these rows: the pods that it hits, the text of the question, the wait, and the message when the wait takes too
//! long. A command only says what its rows are.

use super::add::AddStep;
use super::approval::deletion_of;
use super::change_log::RuleGoal;
use super::owner::{others, set_back};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect, Taint, Uid};
use crate::naming::device;
use crate::naming::keys;
use crate::naming::phrase::counted;
use crate::naming::shell::word;
use jiff::Timestamp;
use std::collections::BTreeSet;

pub use crate::engine::settle::Patience;

/// More rules than these are counted.
const SHOWN: usize = 5;

/// One rule of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedRule {
    /// The rule as it is to be, or as it was where it is deleted.
    pub rule: DeviceTaintRule,
    /// Transition that leads there.
    pub becomes: RuleTransition,
}

/// Planned transition of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleTransition {
    /// It is made.
    Made,
    /// It is changed, and was this before.
    Changed(Box<DeviceTaintRule>),
    /// Nothing has to be done.
    Kept,
    /// It is deleted.
    Deleted,
}

impl RuleTransition {
    /// Planned state of the rule.
    fn goal(&self) -> RuleGoal {
        match self {
            Self::Made => RuleGoal::Created,
            Self::Changed(_) | Self::Kept => RuleGoal::Changed,
            Self::Deleted => RuleGoal::Deleted,
        }
    }
}

impl ProposedRule {
    /// `rule` is to have effect `to`.
    pub(crate) fn effect(rule: &DeviceTaintRule, to: &Effect) -> Self {
        let mut then = rule.clone();
        then.taint.effect = to.clone();
        Self {
            rule: then,
            becomes: if rule.taint.effect == *to {
                RuleTransition::Kept
            } else {
                RuleTransition::Changed(Box::new(rule.clone()))
            },
        }
    }

    /// `rule` is to be deleted.
    pub(crate) fn deletion(rule: &DeviceTaintRule) -> Self {
        Self {
            rule: rule.clone(),
            becomes: RuleTransition::Deleted,
        }
    }

    /// True if anything has to be done.
    pub(crate) fn is_open(&self) -> bool {
        self.becomes != RuleTransition::Kept
    }

    /// The rule as it is there; absent where it is to be made.
    pub(crate) fn now(&self) -> Option<&DeviceTaintRule> {
        match &self.becomes {
            RuleTransition::Made => None,
            RuleTransition::Changed(before) => Some(before),
            RuleTransition::Kept | RuleTransition::Deleted => Some(&self.rule),
        }
    }

    /// The taint that is there then, exactly as it is then.
    pub(crate) fn proposed(&self, now: Timestamp) -> ProposedTaint {
        let taint = &self.rule.taint;
        // The server gives a rule that is made its time, which will be about now.
        let Some(rule) = self.now() else {
            return ProposedTaint {
                rule: None,
                selector: self.rule.selector.clone(),
                taint: Taint {
                    time_added: Some(taint.time_added.unwrap_or(now)),
                    ..taint.clone()
                },
            };
        };
        // Only a change of the effect renews `timeAdded` (`strategy.go`); the value does not.
        let mut proposed = ProposedTaint::of_changed_rule(rule, &taint.effect, now);
        proposed.taint.value.clone_from(&taint.value);
        proposed
    }

    /// The taint as a preview looks at it, which takes effect None for NoExecute.
    pub(crate) fn previewed(&self, now: Timestamp) -> ProposedTaint {
        let mut proposed = self.proposed(now);
        if proposed.taint.effect == Effect::None {
            proposed.taint.effect = Effect::NoExecute;
            // The escalation that a preview stands for renews the time of a rule that is there.
            if self.now().is_some() {
                proposed.taint.time_added = Some(now);
            }
        }
        proposed
    }

    /// True if the result is a taint that does something, and not only notes on a rule or a taint with effect None.
    pub(crate) fn does_something(&self) -> bool {
        let taint = &self.rule.taint;
        let is_other = match &self.becomes {
            RuleTransition::Made => true,
            RuleTransition::Changed(rule) => {
                rule.taint.effect != taint.effect || rule.taint.value != taint.value
            }
            RuleTransition::Kept | RuleTransition::Deleted => false,
        };
        is_other && taint.effect != Effect::None
    }

    /// True if the resulting rule evicts pods.
    pub(crate) fn evicts(&self) -> bool {
        self.becomes != RuleTransition::Deleted && self.rule.taint.effect == Effect::NoExecute
    }

    /// Name of the rule.
    pub(crate) fn name(&self) -> String {
        self.rule.name.to_string()
    }

    /// `Rule NAME   DEVICES   EFFECT → EFFECT`
    fn line(&self) -> String {
        let DeviceTaintRule { name, selector, .. } = &self.rule;
        let selector = selector.as_ref();
        let devices = selector.map_or_else(|| "no selector".to_owned(), device::format);
        let effect = |rule: &DeviceTaintRule| rule.taint.effect.to_string();
        let before = self.now().map_or_else(|| "new".to_owned(), effect);
        let after = match self.becomes {
            RuleTransition::Deleted => "deleted".to_owned(),
            RuleTransition::Made | RuleTransition::Changed(_) | RuleTransition::Kept => {
                self.rule.taint.effect.to_string()
            }
        };
        format!("Rule {name}   {devices}   {before} → {after}")
    }
}

/// The first of what is left to be done, one line each, and how much more there is.
pub(crate) fn lines(rules: &[ProposedRule]) -> Vec<String> {
    let open = rules.iter().filter(|rule| rule.is_open());
    let mut lines: Vec<String> = open.clone().take(SHOWN).map(ProposedRule::line).collect();
    match open.count().saturating_sub(SHOWN) {
        0 => {}
        1 => lines.push("and 1 more rule".to_owned()),
        more => lines.push(format!("and {more} more rules")),
    }
    lines
}

impl From<&AddStep> for ProposedRule {
    fn from(step: &AddStep) -> Self {
        let mut wanted = step.draft.rule();
        // The assessment is of the existing rule with the change: its UID, time and labels are not the draft's.
        if let Some(rule) = step.existing() {
            let taint = Taint {
                effect: wanted.taint.effect,
                value: wanted.taint.value,
                ..rule.taint.clone()
            };
            let annotations = wanted.metadata.annotations;
            wanted = rule.clone();
            wanted.taint = taint;
            wanted.metadata.annotations.extend(annotations);
        }
        Self {
            rule: wanted,
            becomes: match &step.existing {
                None => RuleTransition::Made,
                Some(rule) if step.is_open() => RuleTransition::Changed(rule.clone()),
                Some(_) => RuleTransition::Kept,
            },
        }
    }
}

/// Changes that a command proposes.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Every rule that is meant, also those that are as wanted already: what was agreed to is all that the command
    /// asks for, also when an interrupted one has done a part of it.
    pub rules: Vec<ProposedRule>,
    /// Remaining action, as a question without its mark.
    pub action: String,
    /// Limits of the wait for evictions, if there is one.
    pub patience: Option<Patience>,
    /// Evictions by the command itself, after it has changed rules that evict no pods.
    pub evictions: Option<Evictions>,
}

/// Evictions by a command itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evictions {
    /// Lines about them before the question.
    pub lines: Vec<String>,
    /// True if pods are evicted regardless of budgets in the end.
    pub is_forced: bool,
    /// The pods.
    pub pods: EvictedPods,
}

/// Pods that a command evicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictedPods {
    /// All that NoExecute would evict, except for these.
    AllExcept(BTreeSet<Uid>),
    /// These alone; assessed by these taints, on all devices that the pods hold.
    Only(BTreeSet<Uid>, Vec<ProposedTaint>),
}

impl Proposal {
    /// Proposes changes that no wait and no eviction by the command follows.
    pub(crate) fn new(rules: Vec<ProposedRule>, action: String) -> Self {
        Self {
            rules,
            action,
            patience: None,
            evictions: None,
        }
    }

    /// Proposes the deletion of these rules.
    pub(crate) fn deletion(found: &[DeviceTaintRule]) -> Self {
        let rules = found.iter().map(ProposedRule::deletion);
        Self::new(rules.collect(), deletion_of(found.len()))
    }

    /// Rules that are left to be changed.
    pub(crate) fn open(&self) -> impl Iterator<Item = &ProposedRule> + Clone {
        self.rules.iter().filter(|rule| rule.is_open())
    }

    /// The names of what is left to be done.
    pub(crate) fn open_names(&self) -> Vec<String> {
        self.open().map(ProposedRule::name).collect()
    }

    /// Changes that are left, by the names of the rules.
    pub(crate) fn goals(&self) -> Vec<(String, RuleGoal)> {
        let goals = self.open().map(|rule| (rule.name(), rule.becomes.goal()));
        goals.collect()
    }

    /// True if it cannot hit any pod.
    pub(crate) fn is_idle(&self) -> bool {
        self.evictions.is_none() && !self.open().any(ProposedRule::does_something)
    }

    /// True if nothing is left to be done, now or later in the same command.
    pub(crate) fn is_done(&self) -> bool {
        self.open().next().is_none() && self.evictions.is_none()
    }

    /// Assessed taints.
    pub(crate) fn proposed(&self, now: Timestamp) -> Vec<ProposedTaint> {
        let rules = self.rules.iter();
        let proposed = rules.map(|rule| rule.proposed(now));
        match &self.evictions {
            Some(Evictions { pods, .. }) => match pods {
                EvictedPods::Only(_, taints) => taints.clone(),
                // By whatever means they leave: the pods are those that NoExecute would evict.
                EvictedPods::AllExcept(_) => proposed
                    .map(|taint| taint.with_effect(&Effect::NoExecute, now))
                    .collect(),
            },
            None => proposed.collect(),
        }
    }

    /// Taints that a preview assesses, where these are others.
    pub(crate) fn previewed(&self, now: Timestamp) -> Option<Vec<ProposedTaint>> {
        // A drain assesses what a preview of NoExecute shows.
        if self.evictions.is_some() {
            return None;
        }
        let rules = self.rules.iter();
        let previewed: Vec<_> = rules.map(|rule| rule.previewed(now)).collect();
        (previewed != self.proposed(now)).then_some(previewed)
    }

    /// The rules that are there and are to be changed.
    pub(crate) fn changed(&self) -> Vec<DeviceTaintRule> {
        self.open().filter_map(ProposedRule::now).cloned().collect()
    }

    /// Reasons for a question although no pod is evicted: other authors of the rules, as far as that matters to `user`,
    /// and programs that revert the change.
    pub(crate) fn concerns(&self, user: Option<&str>) -> Vec<String> {
        let changed = self.changed();
        let theirs = others(&changed, user).into_iter();
        theirs.chain(set_back(&changed)).collect()
    }

    /// Lines before the question about a deletion: each rule, and those that `user` has not made with their owners, unless
    /// the refusal has them.
    pub(crate) fn deletion_lines(&self, user: Option<&str>, is_refused: bool) -> Vec<String> {
        let theirs = match is_refused {
            true => Vec::new(),
            false => others(&self.changed(), user),
        };
        let theirs = theirs.iter().map(|line| format!("  {line}"));
        lines(&self.rules).into_iter().chain(theirs).collect()
    }

    /// The rules whose devices have to be the hardware that the rules note, also after the user took the time to
    /// answer.
    pub(crate) fn noting_hardware(&self) -> Vec<DeviceTaintRule> {
        self.open().map(|rule| rule.rule.clone()).collect()
    }

    /// The rules whose evictions are waited for.
    pub(crate) fn evicting(&self) -> Vec<&ProposedRule> {
        self.rules.iter().filter(|rule| rule.evicts()).collect()
    }

    /// Limits of the wait; `None` where nothing evicts.
    pub(crate) fn waits(&self) -> Option<Patience> {
        self.patience
            .filter(|_| self.rules.iter().any(ProposedRule::evicts))
    }
}

/// Rank of an effect, a higher one being worse for pods; `None` for an effect that this plugin does not know, which
/// cannot be compared.
pub fn rank(effect: &Effect) -> Option<u8> {
    match effect {
        Effect::None => Some(0),
        Effect::NoSchedule => Some(1),
        Effect::NoExecute => Some(2),
        Effect::Unknown(_) => None,
    }
}

/// Proposal that gives `rules` the effect `to`: first those that have to be changed.
///
/// # Errors
///
/// When one of them does more already, or belongs to a dedication. Nothing is to be changed then, not even
/// the others.
pub fn escalate(rules: &[DeviceTaintRule], to: &Effect) -> Result<Vec<ProposedRule>, Failure> {
    for rule in rules {
        refuse_dedicated(rule, to)?;
        let DeviceTaintRule { name, taint, .. } = rule;
        if is_less(to, &taint.effect) {
            return Err(Failure::usage(format!(
                "rule {name} has effect {}, which is higher than {to}; nothing was changed",
                taint.effect
            ))
            .hint(format!(
                "to lower the effect: kubectl devicetaint deescalate {name} --to {to}"
            )));
        }
    }
    let rules = rules.iter().map(|rule| ProposedRule::effect(rule, to));
    let (open, done): (Vec<_>, Vec<_>) = rules.partition(ProposedRule::is_open);
    Ok([open, done].concat())
}

/// Refuses NoExecute for a rule of a dedication, whose policies add a toleration of NoSchedule: the pods of
/// the dedication's own namespaces would be evicted.
///
/// # Errors
///
/// As it says.
pub fn refuse_dedicated(rule: &DeviceTaintRule, to: &Effect) -> Result<(), Failure> {
    let label = rule.metadata.labels.get(keys::DEDICATION);
    let dedication = label.map(String::as_str).or(keys::dedication(&rule.taint));
    match dedication.filter(|_| to.evicts()) {
        None => Ok(()),
        Some(name) => Err(Failure::refused(format!(
            "rule {} belongs to dedication {name}, and its effect stays NoSchedule; nothing was changed",
            rule.name
        ))
        .hint(format!(
            "to evict pods from the devices: kubectl devicetaint drain {}",
            word(&device::format(&rule.selector.clone().unwrap_or_default()))
        ))),
    }
}

/// True if the same command would give a rule, changed by another client meanwhile, the effect `to` as it is `found`:
/// not if it is gone, nor if it does more by now.
pub fn escalates_again(found: Option<&DeviceTaintRule>, to: &Effect) -> bool {
    found.is_some_and(|found| escalate(std::slice::from_ref(found), to).is_ok())
}

/// Action of an escalation of rules with those names, as the beginning of a question.
pub fn escalation(open: &[String], to: &Effect) -> String {
    match open {
        [only] => format!("Give rule {only} effect {to}"),
        several => format!("Give {} effect {to}", counted(several.len(), "rule")),
    }
}

/// True if `rule` has to be changed to have the effect `to`.
///
/// An effect that this plugin does not know is always lowered: it may evict.
///
/// # Errors
///
/// When the rule does less than `to` already.
pub fn needs_downgrade(rule: &DeviceTaintRule, to: &Effect) -> Result<bool, Failure> {
    let effect = &rule.taint.effect;
    if is_less(effect, to) {
        return Err(Failure::usage(format!(
            "rule {} has effect {effect}, which is lower than {to}; it was not changed",
            rule.name
        ))
        .hint("to raise the effect, use `escalate`"));
    }
    Ok(effect != to)
}

/// True if `left` certainly does less than `right`.
fn is_less(left: &Effect, right: &Effect) -> bool {
    match (rank(left), rank(right)) {
        (Some(left), Some(right)) => left < right,
        (None, _) | (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::RuleDraft;
    use crate::decide::testing::{draft, named, rule, selector};
    use crate::error::ExitStatus;
    use crate::report::testing::now;
    use std::time::Duration;

    fn created(effect: &str) -> ProposedRule {
        ProposedRule::from(&AddStep::create(RuleDraft {
            name: "new".to_owned(),
            annotations: [("note".to_owned(), "text".to_owned())].into(),
            ..draft(selector("gpu-0"), effect)
        }))
    }

    fn proposal(rules: Vec<ProposedRule>) -> Proposal {
        Proposal::new(rules, "Go on".to_owned())
    }

    #[test]
    fn rules_that_do_less_or_are_deleted_hit_nobody() {
        let found = [named("drain", "NoExecute"), named("kept", "None")];
        let rules = found
            .iter()
            .map(|it| ProposedRule::effect(it, &Effect::None));
        let less = proposal(rules.collect());
        assert_eq!(less.open_names(), ["drain"]);
        let deletion = Proposal::deletion(&found);
        assert_eq!(deletion.open_names(), ["drain", "kept"]);
        assert_eq!(deletion.changed(), found);
        for proposal in [less, deletion] {
            assert!(proposal.is_idle() && !proposal.is_done());
            assert!(proposal.evicting().is_empty());
        }
    }

    fn raised(from: &str, to: &str) -> ProposedRule {
        ProposedRule::effect(&named("drain", from), &to.into())
    }

    #[test]
    fn a_rule_is_open_where_its_effect_is_another_and_does_something_unless_that_is_none() {
        for (from, to, is_open, does_something) in [
            ("None", "NoExecute", true, true),
            ("NoSchedule", "NoExecute", true, true),
            ("NoExecute", "NoExecute", false, false),
            ("NoExecute", "None", true, false),
        ] {
            let rule = raised(from, to);
            assert_eq!(rule.is_open(), is_open, "{from} to {to}");
            assert_eq!(rule.does_something(), does_something, "{from} to {to}");
            assert_eq!(proposal(vec![rule]).is_idle(), !does_something);
        }
        assert!(created("NoSchedule").does_something());
        assert!(!created("None").does_something());
        let mut valued = raised("NoExecute", "NoExecute");
        valued.becomes = RuleTransition::Changed(Box::new(valued.rule.clone()));
        assert!(!valued.does_something(), "only a note");
        valued.rule.taint.value = "other".to_owned();
        assert!(valued.does_something());
        let deleted = ProposedRule::deletion(&named("drain", "NoExecute"));
        assert!(deleted.is_open() && !deleted.does_something() && !deleted.evicts());
    }

    #[test]
    fn what_is_agreed_to_is_all_of_it_and_what_is_asked_is_what_is_left() {
        let open = raised("None", "NoExecute");
        let mut done = raised("NoExecute", "NoExecute");
        done.rule.name = "done".into();
        let both = proposal(vec![open, done, created("NoSchedule")]);
        assert_eq!(both.proposed(now()).len(), 3);
        assert_eq!(both.open_names(), ["drain", "new"]);
        assert_eq!(lines(&both.rules).len(), 2);
        assert_eq!(both.changed().len(), 1);
        assert_eq!(both.waits(), None, "that is not asked for");
        let evicting: Vec<String> = both.evicting().iter().map(|it| it.name()).collect();
        assert_eq!(evicting, ["drain", "done"]);
    }

    #[test]
    fn a_preview_takes_none_for_no_execute_and_a_rule_that_is_there_for_changed_now() {
        let previewed = |rule: ProposedRule| proposal(vec![rule]).previewed(now());
        assert_eq!(previewed(created("NoExecute")), None);
        let made = previewed(created("None")).unwrap().remove(0);
        assert_eq!((made.rule, made.taint.effect), (None, Effect::NoExecute));
        let mut old = named("drain", "None");
        old.taint.time_added = Some(Timestamp::UNIX_EPOCH);
        let kept = previewed(ProposedRule::effect(&old, &Effect::None));
        let kept = kept.unwrap().remove(0);
        assert_eq!(kept.taint.time_added, Some(now()));
        assert_eq!(kept.taint.effect, Effect::NoExecute);
    }

    #[test]
    fn only_evictions_are_waited_for() {
        let waits = |rules| {
            let patience = Some(Patience {
                settle: Duration::ZERO,
                timeout: Duration::from_secs(1),
            });
            let proposal = Proposal {
                patience,
                ..proposal(rules)
            };
            proposal.waits().is_some()
        };
        assert!(!waits(vec![raised("None", "NoSchedule")]));
        assert!(waits(vec![
            raised("None", "NoSchedule"),
            raised("None", "NoExecute")
        ]));
        assert!(waits(vec![raised("NoExecute", "NoExecute")]), "done before");
        assert!(!waits(Vec::new()));
    }

    #[test]
    fn a_drain_is_assessed_as_what_its_pods_would_suffer_and_is_never_done_by_its_rules() {
        let evictions = Evictions {
            lines: Vec::new(),
            is_forced: false,
            pods: EvictedPods::AllExcept(BTreeSet::new()),
        };
        let mut kept = raised("NoSchedule", "NoSchedule");
        kept.rule.name = "kept".into();
        let drain = Proposal {
            evictions: Some(evictions),
            ..proposal(vec![kept, created("NoSchedule")])
        };
        let effects = drain.proposed(now()).into_iter();
        assert!(
            effects
                .map(|it| it.taint.effect)
                .all(|it| it == Effect::NoExecute)
        );
        assert_eq!(drain.previewed(now()), None);
        let continued = Proposal {
            rules: vec![raised("NoSchedule", "NoSchedule")],
            ..drain
        };
        assert!(!continued.is_idle() && !continued.is_done());
        assert!(continued.open().next().is_none());
        assert!(proposal(vec![raised("None", "None")]).is_done());
        assert!(!proposal(vec![raised("None", "NoExecute")]).is_done());
    }

    #[test]
    fn what_sets_a_rule_back_speaks_for_a_question() {
        let mut applied = named("drain", "None");
        let label = (
            "argocd.argoproj.io/instance".to_owned(),
            "rack-4".to_owned(),
        );
        applied.metadata.labels.extend([label]);
        let raised = ProposedRule::effect(&applied, &"NoExecute".into());
        let concerns = proposal(vec![raised]).concerns(None);
        assert_eq!(concerns.last(), set_back(&[applied]).last());
        assert!(concerns.len() > 1, "{concerns:?}");
    }

    const EFFECTS: [&str; 3] = ["None", "NoSchedule", "NoExecute"];

    fn effect(text: &str) -> Effect {
        Effect::from(text)
    }

    #[test]
    fn a_rule_that_is_gone_or_does_more_by_now_is_not_escalated_again() {
        let again = |found: Option<&str>| {
            let found = found.map(rule);
            escalates_again(found.as_ref(), &Effect::NoSchedule)
        };
        assert!(again(Some("None")) && again(Some("NoSchedule")));
        assert!(!again(Some("NoExecute")));
        assert!(!again(None));
    }

    #[test]
    fn a_rule_of_a_dedication_is_never_given_noexecute() {
        let mut by_label = rule("NoSchedule");
        let label = keys::DEDICATION.to_owned();
        by_label.metadata.labels.insert(label, "a".to_owned());
        let mut by_taint = rule("None");
        by_taint.taint.key = keys::DEDICATED.to_owned();
        by_taint.taint.value = "a".to_owned();
        for rule in [by_label, by_taint] {
            let refused = |to| escalate(std::slice::from_ref(&rule), &effect(to)).err();
            let status = refused("NoExecute").map(|failure| failure.status());
            assert_eq!(status, Some(ExitStatus::Refused));
            assert!(refused("NoSchedule").is_none());
        }
    }

    #[test]
    fn escalation_goes_up_only() {
        for (from, place) in EFFECTS.iter().zip(0..) {
            for (to, target) in EFFECTS.iter().zip(0..) {
                let sorted = escalate(&[rule(from)], &effect(to));
                match sorted {
                    Ok(sorted) => {
                        assert!(place <= target, "{from} to {to}");
                        assert_eq!(sorted.len(), 1);
                        assert_eq!(sorted[0].is_open(), place != target);
                    }
                    Err(failure) => {
                        assert!(place > target, "{from} to {to}");
                        assert_eq!(failure.status(), ExitStatus::Usage);
                        assert!(failure.hints()[0].contains("deescalate drain"));
                    }
                }
            }
        }
    }

    #[test]
    fn the_brake_goes_down_only() {
        for (from, place) in EFFECTS.iter().zip(0..) {
            for (to, target) in EFFECTS.iter().zip(0..) {
                match needs_downgrade(&rule(from), &effect(to)) {
                    Ok(false) => assert_eq!(place, target),
                    Ok(true) => assert!(place > target, "{from} to {to}"),
                    Err(_) => assert!(place < target, "{from} to {to}"),
                }
            }
        }
    }

    #[test]
    fn an_effect_that_is_not_known_can_be_lowered_and_raised() {
        let newer = rule("NoExecuteWithBudget");
        for to in EFFECTS {
            assert!(needs_downgrade(&newer, &effect(to)).unwrap(), "{to}");
            let sorted = escalate(std::slice::from_ref(&newer), &effect(to)).unwrap();
            assert!(sorted[0].is_open(), "{to}");
        }
    }
}
