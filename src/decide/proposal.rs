//! Proposed changes of a command, a row for each rule.
//!
//! A [`Proposal`] has a row for each rule, as it is and as it is to be. All checks between the proposal and the change
//! use these rows: the pods that it hits, the text of the question, the wait, and the message when the wait takes too
//! long. A command only says what its rows are.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::add::AddStep;
use super::approval::EvictionMethod;
use super::blast_radius::{deletion, foreign, set_back};
use super::draft::RuleDraft;
use super::ledger::RuleGoal;
use super::owner::others;
use super::publish::publication;
use super::question::Question;
use crate::engine::ProposedTaint;
pub use crate::engine::settle::Patience;
use crate::model::{DeviceTaintRule, Effect, RuleMetadata, Taint, Uid};
use crate::naming::device;
use crate::naming::phrase::counted;

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
        let mut wanted = step.draft().rule();
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
            becomes: match step {
                AddStep::Create(_) => RuleTransition::Made,
                AddStep::Change { rule, .. } => RuleTransition::Changed(rule.clone()),
                AddStep::Keep { .. } => RuleTransition::Kept,
            },
        }
    }
}

/// Owners whose rules are named before a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedOwners {
    /// Those of other programs.
    Programs,
    /// Those of other programs, users and runs.
    All,
}

/// Changes that a command proposes.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Every rule that is meant, also those that are as wanted already: what was agreed to is all that the command
    /// asks for, also when an interrupted one has done a part of it.
    pub rules: Vec<ProposedRule>,
    /// Remaining action, as a question without its mark.
    pub action: String,
    /// Owners whose rules are named.
    pub whose: NamedOwners,
    /// True if devices must be the hardware that rules noted before; false where the current hardware is noted.
    pub is_noted_before: bool,
    /// Limits of the wait for evictions, if there is one.
    pub patience: Option<Patience>,
    /// Later effect of the same command on the pods that use the devices, if any.
    pub drains: Option<Drains>,
    /// Method by which it removes pods.
    pub eviction: EvictionMethod,
}

/// Effect of a command on pods after it has changed rules that evict no pods, with the lines that say so before the
/// question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drains {
    /// They are evicted through the API, or their owners are restarted, except for pods that are kept.
    ByEviction(Vec<String>, BTreeSet<Uid>),
    /// They may be evicted by the rules, which get effect NoExecute.
    ByTaint(Vec<String>),
    /// These pods are evicted through the API, and no others.
    Pods(NamedEvictions),
}

/// Pods that are evicted by name, through the Eviction API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedEvictions {
    /// The lines that say so before the question.
    pub lines: Vec<String>,
    /// UIDs of the pods.
    pub pods: BTreeSet<Uid>,
    /// Taints by which the same evictions are assessed: on all devices that the pods hold.
    pub taints: Vec<ProposedTaint>,
}

impl Proposal {
    /// Proposes that these rules do less at once.
    pub(crate) fn downgrade(found: &[DeviceTaintRule], to: &Effect) -> Self {
        let rules = found.iter().map(|rule| ProposedRule::effect(rule, to));
        let action = format!("Give {} effect {to}", counted(found.len(), "rule"));
        Self::of(rules.collect(), action)
    }

    /// Proposes the deletion of these rules.
    pub(crate) fn deletion(found: &[DeviceTaintRule]) -> Self {
        let rules = found.iter().map(ProposedRule::deletion);
        Self::of(rules.collect(), deletion(found.len()))
    }

    /// Proposes rules by which the controller previews taints.
    pub(crate) fn preview(drafts: &[RuleDraft]) -> Self {
        let steps = drafts.iter().cloned().map(AddStep::Create);
        let rules = steps.map(|step| ProposedRule::from(&step));
        Self::of(rules.collect(), publication(drafts.len()))
    }

    fn of(rules: Vec<ProposedRule>, action: String) -> Self {
        Self {
            rules,
            action,
            whose: NamedOwners::Programs,
            is_noted_before: false,
            patience: None,
            drains: None,
            eviction: EvictionMethod::Taint,
        }
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
        self.drains.is_none() && !self.open().any(ProposedRule::does_something)
    }

    /// True if nothing is left to be done, now or later in the same command.
    pub(crate) fn is_done(&self) -> bool {
        self.open().next().is_none() && self.drains.is_none()
    }

    /// Assessed taints.
    pub(crate) fn proposed(&self, now: Timestamp) -> Vec<ProposedTaint> {
        let rules = self.rules.iter();
        let proposed = rules.map(|rule| rule.proposed(now));
        match &self.drains {
            Some(Drains::Pods(evictions)) => evictions.taints.clone(),
            // By whatever means they leave: the pods are those that NoExecute would evict.
            Some(Drains::ByEviction(..) | Drains::ByTaint(_)) => proposed
                .map(|taint| taint.with_effect(&Effect::NoExecute, now))
                .collect(),
            None => proposed.collect(),
        }
    }

    /// Taints that a preview assesses, where these are others.
    pub(crate) fn previewed(&self, now: Timestamp) -> Option<Vec<ProposedTaint>> {
        // A drain assesses what a preview of NoExecute shows.
        if self.drains.is_some() {
            return None;
        }
        let rules = self.rules.iter();
        let previewed: Vec<_> = rules.map(|rule| rule.previewed(now)).collect();
        (previewed != self.proposed(now)).then_some(previewed)
    }

    /// The pods on the devices that a drain does not evict, although NoExecute would.
    pub(crate) fn kept(&self) -> BTreeSet<Uid> {
        match &self.drains {
            Some(Drains::ByEviction(_, kept)) => kept.clone(),
            Some(Drains::ByTaint(_) | Drains::Pods(_)) | None => BTreeSet::new(),
        }
    }

    /// The pods that are evicted and no others, where they are named.
    pub(crate) fn named(&self) -> Option<&BTreeSet<Uid>> {
        match &self.drains {
            Some(Drains::Pods(evictions)) => Some(&evictions.pods),
            Some(Drains::ByEviction(..) | Drains::ByTaint(_)) | None => None,
        }
    }

    /// The rules that are there and are to be changed.
    pub(crate) fn changed(&self) -> Vec<DeviceTaintRule> {
        self.open().filter_map(ProposedRule::now).cloned().collect()
    }

    /// Reasons for a question although no pod is evicted: other authors of the rules, as far as that matters to `user`,
    /// and programs that revert the change.
    pub(crate) fn concerns(&self, user: Option<&str>) -> Vec<String> {
        let changed = self.changed();
        let mut concerns = match self.whose {
            NamedOwners::Programs => foreign(&changed),
            NamedOwners::All => {
                let named = others(&changed, user).into_iter();
                named.chain(self.replaced_notes(user)).collect()
            }
        };
        concerns.extend(set_back(&changed));
        concerns
    }

    /// The reasons of other users that are replaced.
    fn replaced_notes(&self, user: Option<&str>) -> Vec<String> {
        let changed = self
            .open()
            .filter_map(|rule| Some((rule.now()?, &rule.rule)));
        let theirs =
            changed.filter(|(before, _)| !others(std::slice::from_ref(*before), user).is_empty());
        let lines = theirs.filter_map(|(before, after)| {
            let reason = |rule: &DeviceTaintRule| {
                rule.metadata
                    .annotation(RuleMetadata::REASON)
                    .map(str::to_owned)
            };
            let (old, new) = (reason(before)?, reason(after)?);
            let name = &before.name;
            (old != new).then(|| format!("the reason of rule {name} is replaced: {old} → {new}"))
        });
        lines.collect()
    }

    /// Lines before `question` about a deletion: each rule, and those that `user` has not made with their owners,
    /// unless `is_refused` says that the question cannot be asked: its refusal has them.
    pub(crate) fn deletion_lines(
        &self,
        user: Option<&str>,
        question: &Question,
        is_refused: bool,
    ) -> Vec<String> {
        let theirs = match question {
            Question::Others { .. } if is_refused => Vec::new(),
            Question::Others { .. }
            | Question::Yes { .. }
            | Question::PodCount { .. }
            | Question::Unknown { .. }
            | Question::Limited { .. } => others(&self.changed(), user),
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

    /// Statement about the rules where their evictions are not over in time.
    pub(crate) fn what_stays(&self) -> &'static str {
        let mut open = self.open().peekable();
        let is_one = self.rules.len() == 1;
        if open.peek().is_none() {
            if is_one {
                "the rule is unchanged"
            } else {
                "the rules are unchanged"
            }
        } else if open.any(|rule| rule.becomes == RuleTransition::Made) {
            if is_one {
                "the rule was created and stays"
            } else {
                "the rules were created and stay"
            }
        } else {
            "the change was applied and stays"
        }
    }
}

/// Way in which a proposal was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalResult {
    /// No question was asked.
    Unasked,
    /// The user answered, which may have taken long: what was shown has to be looked at again.
    Answered,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::decide::testing::{draft, named, selector};
    use crate::report::testing::now;

    fn created(effect: &str) -> ProposedRule {
        ProposedRule::from(&AddStep::Create(RuleDraft {
            name: "new".to_owned(),
            annotations: [("note".to_owned(), "text".to_owned())].into(),
            ..draft(selector("gpu-0"), effect)
        }))
    }

    fn proposal(rules: Vec<ProposedRule>) -> Proposal {
        Proposal::of(rules, "Go on".to_owned())
    }

    #[test]
    fn rules_that_do_less_or_are_deleted_hit_nobody() {
        let found = [named("drain", "NoExecute"), named("kept", "None")];
        let less = Proposal::downgrade(&found, &Effect::None);
        assert_eq!(less.open_names(), ["drain"]);
        assert_eq!(less.action, "Give 2 rules effect None");
        let deletion = Proposal::deletion(&found);
        assert_eq!(deletion.open_names(), ["drain", "kept"]);
        assert_eq!(deletion.changed(), found);
        assert_eq!(deletion.action, "Delete 2 rules");
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
        for drains in [
            Drains::ByEviction(Vec::new(), BTreeSet::new()),
            Drains::ByTaint(Vec::new()),
        ] {
            let mut kept = raised("NoSchedule", "NoSchedule");
            kept.rule.name = "kept".into();
            let drain = Proposal {
                drains: Some(drains),
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
        }
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

    #[test]
    fn the_pods_that_a_drain_does_not_evict_are_kept() {
        let kept = BTreeSet::from([Uid::from("uid-of-agent")]);
        let drain = |drains| Proposal {
            drains: Some(drains),
            ..proposal(vec![created("NoSchedule")])
        };
        let by_eviction = drain(Drains::ByEviction(Vec::new(), kept.clone()));
        assert_eq!(by_eviction.kept(), kept);
        let by_taint = drain(Drains::ByTaint(Vec::new()));
        assert_eq!(by_taint.kept(), BTreeSet::new());
    }
}
