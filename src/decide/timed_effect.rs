//! Effects for a limited time: `escalate --for`.
//!
//! ```text
//! term ─▶ propose ─▶ (raised, with its expiry noted) ─▶ found ─▶ step: wait, give back, or leave ─▶ ending
//! ```
//!
//! The command that raises an effect takes it back. The expiry stands on the rule, so that whoever finds the rule after that
//! command was killed knows that the effect should be gone.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::conflict::look_first;
use super::effect::{Revert, escalate, rank, revert, way_back};
use super::proposal::{ProposedRule, RuleTransition};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata, Warning};
use crate::naming::age::human_duration;

/// How long an effect is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectTerm(Duration);

impl EffectTerm {
    /// The term of an escalation `to` that effect.
    ///
    /// # Errors
    ///
    /// When the effect cannot be taken back, or when the term is over at once.
    pub fn new(to: &Effect, length: Duration) -> Result<Self, Failure> {
        if *to != Effect::NoSchedule {
            return Err(Failure::usage(format!(
                "--for cannot be used with --to {to}: `--for` restores effect None at the end, but an eviction cannot be undone"
            ))
            .hint("use --to NoSchedule with --for, or --to NoExecute without --for"));
        }
        // The API has times to the second.
        if length < Duration::from_secs(1) {
            return Err(Failure::usage("--for must be at least 1s"));
        }
        Ok(Self(length))
    }

    /// How long that is.
    #[must_use]
    pub fn length(self) -> Duration {
        self.0
    }

    /// When an effect is taken back that is raised `now`: in whole seconds, as the API writes times, and never early.
    #[must_use]
    pub fn until(self, now: Timestamp) -> Timestamp {
        let length = SignedDuration::try_from(self.0).unwrap_or(SignedDuration::MAX);
        let at = now.saturating_add(length).unwrap_or(Timestamp::MAX);
        // Rounded up: the effect lasts at least as long as was typed.
        let rest = i64::from(at.subsec_nanosecond() > 0);
        Timestamp::from_second(at.as_second().saturating_add(rest)).unwrap_or(Timestamp::MAX)
    }

    /// As part of a question: what happens in the end.
    #[must_use]
    pub fn describe(self) -> String {
        let length = SignedDuration::try_from(self.0).unwrap_or(SignedDuration::MAX);
        format!("for {}, then restore None", human_duration(length))
    }
}

/// What becomes of `rules` that are to have effect NoSchedule, for a `term` or for good: first those that have to be
/// changed. A rule that has the effect for a limited time gets the new term, or keeps the effect for good.
///
/// # Errors
///
/// As [`escalate`]; and with a term, when the effect of a rule is one that this plugin does not know, for it could not be
/// said afterwards what lowering it restores.
pub fn propose(
    rules: &[DeviceTaintRule],
    to: &Effect,
    term: Option<EffectTerm>,
) -> Result<Vec<ProposedRule>, Failure> {
    let unknown = rules.iter().find(|rule| rank(&rule.taint.effect).is_none());
    if let Some(rule) = unknown.filter(|_| term.is_some()) {
        return Err(Failure::usage(format!(
            "rule {} has effect {}, which this version of the plugin does not know; `--for` could restore \
             only effect None; nothing was changed",
            rule.name, rule.taint.effect
        )));
    }
    let rules = escalate(rules, to)?.into_iter().map(|proposed| {
        // A rule with the effect may still have an expiry from an earlier `--for`. Without change it would be
        // lowered despite this command.
        let is_timed = proposed.rule.metadata.effect_expires().is_some();
        if proposed.is_open() || !is_timed {
            return proposed;
        }
        ProposedRule {
            becomes: RuleTransition::Changed(Box::new(proposed.rule.clone())),
            begins: None,
            rule: proposed.rule,
        }
    });
    let (open, done): (Vec<_>, Vec<_>) = rules.partition(ProposedRule::is_open);
    Ok([open, done].concat())
}

/// That a rule keeps an effect which it had before, and which no earlier run noted an expiry for.
#[must_use]
pub fn kept_for_good(rule: &DeviceTaintRule) -> String {
    let (name, effect) = (&rule.name, &rule.taint.effect);
    format!(
        "rule {name} had effect {effect} before this command, so it keeps the effect when the time of --for is over"
    )
}

/// A rule whose effect this run has raised, or was about to raise.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedRule {
    /// The rule with the effect that it gets back.
    pub before: DeviceTaintRule,
    /// When it gets that back.
    pub until: Timestamp,
    /// The UID of this run, if it has one.
    pub run: Option<String>,
}

impl TimedRule {
    /// The rule that a timed escalation was decided on, whose effect lasts `until` then.
    #[must_use]
    pub fn new(decided_on: &DeviceTaintRule, until: Timestamp, run: Option<String>) -> Self {
        let mut before = decided_on.clone();
        // Nothing that is known does less than NoSchedule; one that an earlier run raised had it, too.
        before.taint.effect = Effect::None;
        Self { before, until, run }
    }

    /// Whether the effect of the rule that is `found` may be given back: only what this run has raised, and nobody has
    /// changed since.
    #[must_use]
    pub fn found(&self, found: Option<&DeviceTaintRule>) -> Revert {
        let before = &self.before;
        let back = revert(found, before, &Effect::NoSchedule);
        match (back, found) {
            (Revert::GiveBack, Some(found)) => match self.changed(found) {
                Some(what) => Revert::TakenOver(what),
                None => Revert::GiveBack,
            },
            (back, _) => back,
        }
    }

    /// What somebody else has made of the rule, beside its effect.
    fn changed(&self, found: &DeviceTaintRule) -> Option<String> {
        let before = &self.before;
        if found.selector != before.selector {
            return Some("it now selects other devices".to_owned());
        }
        let (old, new) = (&before.taint, &found.taint);
        if (&old.key, &old.value) != (&new.key, &new.value) {
            return Some(format!("it now has taint {new}"));
        }
        let last = found.metadata.annotation(RuleMetadata::CHANGED_BY_RUN);
        // A run without a UID cannot tell itself from others.
        if self.run.is_some() && last != self.run.as_deref() {
            let user = found.metadata.annotation(RuleMetadata::CHANGED_BY);
            return Some(match user {
                _ if last.is_none() => format!(
                    "its annotation {} was removed",
                    RuleMetadata::CHANGED_BY_RUN
                ),
                Some(user) => format!("it was changed by another run of this plugin, by {user}"),
                None => "it was changed by another run of this plugin".to_owned(),
            });
        }
        (found.metadata.effect_expires() != Some(self.until))
            .then(|| "its expiry was changed".to_owned())
    }
}

/// The rules whose effect a run has raised for a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimedRules {
    /// Those that have the effect, as far as that is known.
    pub held: Vec<TimedRule>,
    /// Those that somebody else changed meanwhile, and what became of them.
    pub left: Vec<(TimedRule, Revert)>,
    /// Whether the time of a rule was over when it was looked at.
    is_due: bool,
}

impl TimedRules {
    /// Rules that have the effect.
    #[must_use]
    pub fn new(held: Vec<TimedRule>) -> Self {
        Self {
            held,
            ..Self::default()
        }
    }

    /// Notes how a rule is `found` `now`, and leaves it out if somebody else has changed it.
    pub fn observe(&mut self, rule: &TimedRule, found: Option<&DeviceTaintRule>, now: Timestamp) {
        match step(rule.found(found), rule.until, now) {
            TermStep::Wait(_) => {}
            // The clock of this machine stands still while it sleeps; the server's does not.
            TermStep::GiveBack => self.is_due = true,
            TermStep::Leave(back) => {
                self.held.retain(|held| held != rule);
                self.left.push((rule.clone(), back));
            }
        }
    }

    /// Whether nothing is left to wait for: the time is over, or no rule has the effect any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_due || self.held.is_empty()
    }
}

/// What to do about a rule now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermStep {
    /// Nothing for so long.
    Wait(Duration),
    /// It gets the effect back that it had.
    GiveBack,
    /// It is left as it was found.
    Leave(Revert),
}

/// What to do `now` about a rule that was `found` so, and whose effect lasts `until` then.
#[must_use]
pub fn step(found: Revert, until: Timestamp, now: Timestamp) -> TermStep {
    match found {
        Revert::GiveBack if now < until => TermStep::Wait(until.duration_since(now).unsigned_abs()),
        Revert::GiveBack => TermStep::GiveBack,
        left @ (Revert::Gone | Revert::Otherwise(_) | Revert::TakenOver(_)) => {
            TermStep::Leave(left)
        }
    }
}

/// How the escalation of a rule ends that was given back or left: a line to say, or the failure that it is.
///
/// # Errors
///
/// When the rule still has an effect that this command did not take back, since somebody else changed the rule.
pub fn ending(before: &DeviceTaintRule, back: &Revert) -> Result<String, Failure> {
    let (name, effect) = (&before.name, &before.taint.effect);
    let left = |what: String| {
        Failure::new(
            ExitStatus::TimedOut,
            format!("rule {name} was changed meanwhile; its effect was not restored"),
        )
        .detail(what)
        .hint(look_first(name.as_str()))
    };
    match back {
        Revert::GiveBack => Ok(format!("rule {name} has effect {effect} again")),
        Revert::Gone => Ok(format!("rule {name} is gone")),
        Revert::Otherwise(found) if found == effect => Ok(format!(
            "rule {name} already has effect {effect}; nothing to restore"
        )),
        Revert::Otherwise(found) => Err(left(format!("it now has effect {found}"))),
        Revert::TakenOver(what) => Err(left(what.clone())),
    }
}

/// The failure of a rule that was `before` the escalation, and whose effect could not be given back.
#[must_use]
pub fn not_restored(failure: Failure, before: &DeviceTaintRule) -> Failure {
    // The same command again would raise the effect anew, and not complete anything.
    let status = if failure.status() == ExitStatus::TryAgain {
        ExitStatus::TimedOut
    } else {
        failure.status()
    };
    failure
        .context(format!(
            "rule {} may still have effect NoSchedule",
            before.name
        ))
        .ending(status)
        .hint(way_back(before))
}

/// How a timed escalation ends, which `first` ended before its time if something did, and whose effect was `given` back
/// so. A second signal ends also that, and comes before what the first one says.
///
/// # Errors
///
/// What ended it before its time, and an effect that was not given back.
pub fn escalation_end(first: Option<Failure>, given: Result<(), Failure>) -> Result<(), Failure> {
    match (first, given) {
        (None, given) => given,
        (Some(first), Ok(())) => Err(first),
        (Some(_), Err(second)) if second.signal().is_some() => Err(second),
        (Some(first), Err(failure)) => Err(joined(Some(first), failure)),
    }
}

/// The failure of several rules as one: the first, with what became of the others.
#[must_use]
pub fn joined(first: Option<Failure>, next: Failure) -> Failure {
    let Some(first) = first else { return next };
    let details = next.details().iter().cloned();
    let text = next.to_string();
    let known = first.hints().to_vec();
    let hints: Vec<String> = next
        .hints()
        .iter()
        .filter(|hint| !known.contains(hint))
        .cloned()
        .collect();
    let failure = std::iter::once(text)
        .chain(details)
        .fold(first, Failure::detail);
    hints.into_iter().fold(failure, Failure::hint)
}

/// Until when rules have their effect, and how to end that before.
#[must_use]
pub fn announcement(names: &[String], until: Timestamp) -> String {
    let rules = if names.len() == 1 { "rule" } else { "rules" };
    format!(
        "{rules} {}: effect NoSchedule until {until}; Ctrl-C restores None at once",
        names.join(", ")
    )
}

/// A warning for each of `rules` whose effect should have been taken back.
#[must_use]
pub fn warnings(rules: &[DeviceTaintRule], now: Timestamp) -> Vec<Warning> {
    let overdue = rules.iter().filter(|rule| rule.is_effect_overdue(now));
    let warnings = overdue.filter_map(|rule| {
        let (name, at) = (&rule.name, rule.metadata.effect_expires()?);
        Some(Warning {
            code: "effect-expired",
            message: format!(
                "rule {name} still has effect NoSchedule, which expired at {at}: the command that set this \
                 effect did not restore None"
            ),
            fix: Some(format!("to lower the effect: {}", deescalation([name.as_str()]))),
        })
    });
    warnings.collect()
}

/// The command that lowers those of `rules` whose effect should have been taken back, as the line that comes next.
#[must_use]
pub fn next_line(rules: &[DeviceTaintRule], now: Timestamp) -> Option<String> {
    let overdue = rules.iter().filter(|rule| rule.is_effect_overdue(now));
    let names: Vec<&str> = overdue.map(|rule| rule.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("next: {}", deescalation(names)))
}

fn deescalation<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    format!(
        "kubectl devicetaint deescalate {} --to None",
        names.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, rule, selector};
    use crate::report::testing::{after, now};

    const MINUTE: Duration = Duration::from_secs(60);

    fn term() -> EffectTerm {
        EffectTerm::new(&Effect::NoSchedule, MINUTE).unwrap()
    }

    /// A rule whose effect ends then.
    fn until(mut rule: DeviceTaintRule, at: Timestamp) -> DeviceTaintRule {
        let key = RuleMetadata::EFFECT_EXPIRES.to_owned();
        rule.metadata.annotations.insert(key, at.to_string());
        rule
    }

    fn by_run(mut rule: DeviceTaintRule, run: &str) -> DeviceTaintRule {
        let key = RuleMetadata::CHANGED_BY_RUN.to_owned();
        rule.metadata.annotations.insert(key, run.to_owned());
        rule
    }

    #[test]
    fn only_what_can_be_taken_back_has_a_term() {
        for effect in ["NoExecute", "None", "Newer"] {
            let failure = EffectTerm::new(&effect.into(), MINUTE).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Usage, "{effect}");
        }
        let failure = EffectTerm::new(&Effect::NoExecute, MINUTE).unwrap_err();
        insta::assert_snapshot!(failure, @"--for cannot be used with --to NoExecute: `--for` restores effect None at the end, but an eviction cannot be undone");
        let at_once = EffectTerm::new(&Effect::NoSchedule, Duration::from_millis(999));
        assert_eq!(at_once.unwrap_err().status(), ExitStatus::Usage);
        let second = Duration::from_secs(1);
        let term = EffectTerm::new(&Effect::NoSchedule, second).unwrap();
        assert_eq!(term.length(), second);
    }

    #[test]
    fn a_term_ends_at_a_whole_second_and_never_early() {
        assert_eq!(term().until(now()), after(60));
        let late = now() + SignedDuration::from_millis(1);
        assert_eq!(term().until(late), after(61));
        assert_eq!(term().describe(), "for 60s, then restore None");
    }

    #[test]
    fn a_term_is_renewed_or_ended_where_an_earlier_run_noted_one() {
        let rules = [
            named("for-good", "NoSchedule"),
            until(named("timed", "NoSchedule"), after(5)),
            named("open", "None"),
        ];
        for term in [Some(term()), None] {
            let proposed = propose(&rules, &Effect::NoSchedule, term).unwrap();
            let open: Vec<(String, bool)> = proposed
                .iter()
                .map(|rule| (rule.name(), rule.is_open()))
                .collect();
            let expected = [("open", true), ("timed", true), ("for-good", false)];
            let expected = expected.map(|(name, open)| (name.to_owned(), open));
            assert_eq!(open, expected);
            assert!(!proposed[1].does_something(), "nobody is hit anew");
        }
        let told = kept_for_good(&rules[0]);
        assert_eq!(
            told,
            "rule for-good had effect NoSchedule before this command, so it keeps the effect when the time of --for is over"
        );
    }

    #[test]
    fn an_effect_that_is_not_known_has_no_term() {
        let rules = [named("a", "None"), named("newer", "NoExecuteWithBudget")];
        let refused = propose(&rules, &Effect::NoSchedule, Some(term())).unwrap_err();
        assert_eq!(refused.status(), ExitStatus::Usage);
        assert!(refused.to_string().contains("rule newer"), "{refused}");
        assert_eq!(propose(&rules, &Effect::NoSchedule, None).unwrap().len(), 2);
    }

    #[test]
    fn only_a_rule_that_nobody_has_changed_since_gets_its_effect_back() {
        let timed = TimedRule::new(&rule("NoSchedule"), after(60), Some("mine".to_owned()));
        assert_eq!(timed.before.taint.effect, Effect::None);
        let raised = by_run(until(rule("NoSchedule"), after(60)), "mine");
        let found = |change: &dyn Fn(&mut DeviceTaintRule)| {
            let mut rule = raised.clone();
            change(&mut rule);
            timed.found(Some(&rule))
        };
        let note = |key: &'static str, text: &'static str| {
            move |rule: &mut DeviceTaintRule| {
                let annotations = &mut rule.metadata.annotations;
                annotations.insert(key.to_owned(), text.to_owned());
            }
        };
        let taken = |what: &str| Revert::TakenOver(what.to_owned());
        assert_eq!(found(&|_| {}), Revert::GiveBack);
        assert_eq!(found(&note("example.com/note", "x")), Revert::GiveBack);
        assert_eq!(timed.found(None), Revert::Gone);
        assert_eq!(found(&|rule| rule.uid = "other".into()), Revert::Gone);
        for effect in [Effect::None, Effect::NoExecute] {
            let otherwise = found(&|rule| rule.taint.effect = effect.clone());
            assert_eq!(otherwise, Revert::Otherwise(effect));
        }
        let selects = found(&|rule| rule.selector = Some(selector("gpu-9")));
        assert_eq!(selects, taken("it now selects other devices"));
        let value = found(&|rule| rule.taint.value = "other".to_owned());
        let told = "it now has taint example.com/maintenance=other:NoSchedule";
        assert_eq!(value, taken(told));
        let key = found(&|rule| rule.taint.key = "a/b".to_owned());
        assert_eq!(key, taken("it now has taint a/b:NoSchedule"));
        let theirs = note(RuleMetadata::CHANGED_BY_RUN, "theirs");
        assert_eq!(
            found(&theirs),
            taken("it was changed by another run of this plugin")
        );
        let bobs = note(RuleMetadata::CHANGED_BY, "bob");
        let of_bob = found(&|rule| {
            theirs(rule);
            bobs(rule);
        });
        assert_eq!(
            of_bob,
            taken("it was changed by another run of this plugin, by bob")
        );
        let later = note(RuleMetadata::EFFECT_EXPIRES, "2036-01-01T00:00:00Z");
        assert_eq!(found(&later), taken("its expiry was changed"));
        let unnoted = found(&|rule| {
            rule.metadata
                .annotations
                .remove(RuleMetadata::CHANGED_BY_RUN);
        });
        assert_eq!(
            unnoted,
            taken("its annotation devicetaint.dev/changed-by-run was removed")
        );
        let without_run = TimedRule { run: None, ..timed };
        assert_eq!(without_run.found(Some(&raised)), Revert::GiveBack);
    }

    #[test]
    fn an_effect_is_given_back_when_its_time_is_over_and_what_is_left_is_left_at_once() {
        let step_at = |seconds| step(Revert::GiveBack, after(60), after(seconds));
        assert_eq!(step_at(0), TermStep::Wait(MINUTE));
        assert_eq!(step_at(59), TermStep::Wait(Duration::from_secs(1)));
        assert_eq!(step_at(60), TermStep::GiveBack);
        assert_eq!(step_at(61), TermStep::GiveBack);
        for left in [
            Revert::Gone,
            Revert::Otherwise(Effect::None),
            Revert::TakenOver("x".to_owned()),
        ] {
            let step = step(left.clone(), after(60), now());
            assert_eq!(step, TermStep::Leave(left));
        }
    }

    #[test]
    fn what_somebody_else_made_of_a_rule_is_a_failure_unless_the_effect_is_gone() {
        let before = rule("None");
        let ends = |back: Revert| ending(&before, &back);
        assert_eq!(
            ends(Revert::GiveBack).unwrap(),
            "rule drain has effect None again"
        );
        assert_eq!(ends(Revert::Gone).unwrap(), "rule drain is gone");
        let lowered = ends(Revert::Otherwise(Effect::None)).unwrap();
        assert!(lowered.ends_with("nothing to restore"), "{lowered}");
        for (back, what) in [
            (
                Revert::Otherwise(Effect::NoExecute),
                "it now has effect NoExecute",
            ),
            (
                Revert::TakenOver("it now selects other devices".to_owned()),
                "it now selects other devices",
            ),
        ] {
            let failure = ends(back).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::TimedOut);
            assert_eq!(failure.details(), [what]);
            assert!(failure.hints()[0].contains("describe drain"));
        }
    }

    #[test]
    fn failures_of_several_rules_are_told_as_one() {
        let failure = |text: &str| {
            Failure::usage(text.to_owned())
                .detail("d")
                .hint(text.to_owned())
        };
        let one = joined(None, failure("a"));
        assert_eq!((one.to_string().as_str(), one.details().len()), ("a", 1));
        let both = joined(Some(one), failure("b"));
        assert_eq!(both.to_string(), "a");
        assert_eq!(both.details(), ["d", "b", "d"]);
        assert_eq!(both.hints(), ["a", "b"]);
        let again = joined(Some(both), failure("b"));
        assert_eq!(again.hints(), ["a", "b"], "each once");
    }

    #[test]
    fn a_rule_that_somebody_else_changed_is_left_out_and_the_rest_waits_for_its_time() {
        let timed = |name: &str| TimedRule::new(&named(name, "None"), after(60), None);
        let raised = |name: &str| until(named(name, "NoSchedule"), after(60));
        let mut rules = TimedRules::new(vec![timed("a"), timed("b")]);
        rules.observe(&timed("a"), Some(&raised("a")), after(59));
        rules.observe(&timed("b"), None, after(59));
        assert_eq!(rules.held, [timed("a")]);
        assert_eq!(rules.left, [(timed("b"), Revert::Gone)]);
        assert!(
            !rules.is_over(),
            "one has the effect, and its time is not over"
        );

        let mut due = rules.clone();
        due.observe(&timed("a"), Some(&raised("a")), after(60));
        assert_eq!(due.held, [timed("a")], "it still has to be given back");
        assert!(due.is_over());
        // What is seen of another rule does not make it later.
        due.held.push(timed("c"));
        due.observe(&timed("c"), Some(&raised("c")), after(59));
        assert!(due.is_over());

        rules.observe(&timed("a"), Some(&named("a", "NoExecute")), after(59));
        assert_eq!(rules.left.len(), 2);
        assert!(rules.is_over(), "no rule has the effect any more");
    }

    #[test]
    fn whoever_stops_an_escalation_hears_also_what_was_not_given_back() {
        let of = |status: ExitStatus| Failure::new(status, status.code().to_string());
        let stopped = || Some(of(ExitStatus::Interrupted));
        let end = |first, given| escalation_end(first, given).map_err(|end| end.status());
        assert_eq!(end(None, Ok(())), Ok(()));
        let late = || Err(of(ExitStatus::TimedOut));
        assert_eq!(end(None, late()), Err(ExitStatus::TimedOut));
        assert_eq!(end(stopped(), Ok(())), Err(ExitStatus::Interrupted));
        let both = escalation_end(stopped(), late()).unwrap_err();
        assert_eq!(both.status(), ExitStatus::Interrupted);
        assert_eq!(both.details().len(), 1, "{both:?}");
        let second = Err(of(ExitStatus::Terminated));
        assert_eq!(end(stopped(), second), Err(ExitStatus::Terminated));
    }

    #[test]
    fn an_effect_that_could_not_be_given_back_is_told_with_the_way_back() {
        for (from, to) in [
            (ExitStatus::TryAgain, ExitStatus::TimedOut),
            (ExitStatus::Failed, ExitStatus::Failed),
        ] {
            let failure = not_restored(Failure::new(from, "away"), &rule("None"));
            assert_eq!(failure.status(), to);
            let text = failure.to_string();
            assert_eq!(text, "rule drain may still have effect NoSchedule: away");
            assert!(failure.hints()[0].ends_with("deescalate drain --to None"));
        }
    }

    #[test]
    fn until_when_an_effect_lasts_is_said_with_how_to_end_it() {
        let names = ["a".to_owned(), "b".to_owned()];
        let told = |names: &[String]| announcement(names, Timestamp::UNIX_EPOCH);
        assert_eq!(
            told(&names),
            "rules a, b: effect NoSchedule until 1970-01-01T00:00:00Z; Ctrl-C restores None at once"
        );
        assert!(told(&names[..1]).starts_with("rule a: "));
    }

    #[test]
    fn an_effect_that_nobody_took_back_is_told_with_the_command_that_does() {
        let rules = [
            until(named("over", "NoSchedule"), now()),
            until(named("later", "NoSchedule"), after(1)),
            until(named("lowered", "None"), after(-60)),
            until(named("raised", "NoExecute"), after(-60)),
            named("for-good", "NoSchedule"),
            until(named("earlier", "NoSchedule"), after(-60)),
        ];
        let warnings = warnings(&rules, now());
        let codes: Vec<&str> = warnings.iter().map(|it| it.code).collect();
        assert_eq!(codes, ["effect-expired"; 2]);
        assert!(warnings[0].message.contains("rule over "), "{warnings:?}");
        assert!(warnings[0].message.contains("still has effect NoSchedule"));
        assert_eq!(
            warnings[1].fix.as_deref(),
            Some("to lower the effect: kubectl devicetaint deescalate earlier --to None")
        );
        assert_eq!(
            next_line(&rules, now()).as_deref(),
            Some("next: kubectl devicetaint deescalate over earlier --to None")
        );
        assert_eq!(next_line(&rules[1..5], now()), None);
    }
}
