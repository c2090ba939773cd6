//! `escalate` and `deescalate`: let a rule do more, or less.

use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::flags::safety::SafetyArgs;
use super::flags::source::VersionArgs;
use super::work::changer::{Changed, UNCHANGED, not_made, patch, stopped};
use super::work::connect::failed;
use super::work::ledger::Wish;
use super::work::scene::Scene;
use super::work::wait::{Ending, Wait, timed_out};
use crate::cluster::{RulePatch, WriteMode, parse_duration, user_name};
use crate::decide::standing;
use crate::engine::ConsideredTaint;
use crate::engine::settle::{Goal, Patience};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata};
use crate::report::ImpactReport;

/// Let rules do more: block new pods, or evict those that are there
///
/// Looks again whom that hits, applies the guards, and asks. The change applies to the rule as it was
/// looked at: when somebody else was first, nothing is forced, and you are told what is different.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct EscalateArgs {
    /// Rules, by name
    #[arg(value_name = "RULE", required = true)]
    names: Vec<String>,

    /// Effect from now on
    #[arg(long, value_enum, value_name = "EFFECT")]
    to: Higher,

    /// Wait until everybody is gone whom it evicts
    #[arg(long, help_heading = "Wait")]
    wait: bool,

    /// How long to wait, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, help_heading = "Wait")]
    timeout: Duration,

    /// How long nobody may be left before that counts
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration, help_heading = "Wait")]
    settle: Duration,

    /// What becomes of the rules when the time is over
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        default_value = "keep",
        help_heading = "Wait"
    )]
    on_timeout: OnTimeout,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    safety: SafetyArgs,

    #[command(flatten)]
    version: VersionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # See whom it hits, answer a question, and wait until they are gone
  kubectl devicetaint escalate drain-node-7 --to NoExecute --wait --timeout 10m

  # In a script: at most what was agreed to, and back again if it takes too long
  kubectl devicetaint preview --rule drain-node-7 -o json > report.json
  kubectl devicetaint escalate drain-node-7 --to NoExecute \\
    --yes --expect report.json --wait --on-timeout revert";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Higher {
    /// Keep new pods off the devices
    #[value(name = "NoSchedule")]
    NoSchedule,
    /// Also evict the pods that use them
    #[value(name = "NoExecute")]
    NoExecute,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnTimeout {
    /// They stay as they are then
    Keep,
    /// They get the effect back that they had
    Revert,
}

impl From<Higher> for Effect {
    fn from(higher: Higher) -> Self {
        match higher {
            Higher::NoSchedule => Self::NoSchedule,
            Higher::NoExecute => Self::NoExecute,
        }
    }
}

/// How much an effect does.
pub(super) fn rank(effect: &Effect) -> u8 {
    match effect {
        Effect::None | Effect::Unknown(_) => 0,
        Effect::NoSchedule => 1,
        Effect::NoExecute => 2,
    }
}

pub(super) async fn run(args: EscalateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let safety = args.safety.prepare()?;
    let to = Effect::from(args.to);
    let scene = Scene::open(args.version.version(), context).await?;
    let (open, done) = args.split(&to, &scene)?;
    args.warn_of_no_way_back(&done, context);

    let considered: Vec<ConsideredTaint> = open
        .iter()
        .map(|rule| ConsideredTaint::of_changed_rule(rule, &to, scene.look.now))
        .collect();
    if !open.is_empty() {
        let report = scene.report(&considered, &safety.guards).await?;
        args.refuse_too_short(&report, scene.look.now)?;
        if args.change.change().dry_run.is_real() {
            safety.check(&report, context)?;
        } else {
            for line in report.summary_lines() {
                context.printer.note(&line);
            }
        }
    }
    for rule in &done {
        args.change
            .change()
            .tell(rule.name.as_str(), UNCHANGED, context)?;
    }
    args.carry_out(&open, &scene, context).await?;
    scene.look.tell(&context.printer);
    if args.waits() {
        args.wait(&open, &done, &scene, context).await?;
    }
    Ok(args
        .change
        .change()
        .status(Changed::if_any(!open.is_empty())))
}

impl EscalateArgs {
    /// The rules that have to be changed, and those that are as wanted.
    fn split(
        &self,
        to: &Effect,
        scene: &Scene,
    ) -> Result<(Vec<DeviceTaintRule>, Vec<DeviceTaintRule>), Failure> {
        let mut names = self.names.clone();
        names.sort_unstable();
        names.dedup();
        let (mut open, mut done) = (Vec::new(), Vec::new());
        for name in &names {
            let rule = scene.look.rule(name)?;
            if rule.taint.effect == *to {
                done.push(rule.clone());
            } else if rank(&rule.taint.effect) > rank(to) {
                return Err(Failure::usage(format!(
                    "rule {name} has effect {}, which is more than {to}; nothing was changed",
                    rule.taint.effect
                ))
                .hint(format!(
                    "to take it back: kubectl devicetaint deescalate {name} --to {to}"
                )));
            } else {
                open.push(rule.clone());
            }
        }
        Ok((open, done))
    }

    async fn carry_out(
        &self,
        open: &[DeviceTaintRule],
        scene: &Scene,
        context: &Context,
    ) -> Result<(), Failure> {
        let names = open.iter().map(|rule| rule.name.to_string());
        self.change.change().plan(names, context);
        let user = match self.change.change().dry_run.mode() {
            Some(_) if !open.is_empty() => user_name(&scene.live.client).await,
            Some(_) | None => None,
        };
        let to = Effect::from(self.to);
        let change = effect_patch(&to, user.as_deref(), scene);
        for rule in open {
            let name = rule.name.as_str();
            self.change.change().begin(name, context);
            if let Some(mode) = self.change.change().dry_run.mode()
                && let Err(failure) = patch(&scene.rules, rule, &change, mode).await
            {
                not_made(&failure, context);
                let failure = self.with_new_report(failure, scene).await;
                return Err(stopped(failure, context));
            }
            self.change.change().tell(name, "configured", context)?;
        }
        Ok(())
    }

    /// The failure with whom the change would hit now, as far as that can be found out.
    async fn with_new_report(&self, failure: Failure, scene: &Scene) -> Failure {
        let Ok(scene) = scene.again().await else {
            return failure;
        };
        let to = Effect::from(self.to);
        let rules = self
            .names
            .iter()
            .filter_map(|name| scene.look.rule(name).ok());
        let considered: Vec<ConsideredTaint> = rules
            .map(|rule| ConsideredTaint::of_changed_rule(rule, &to, scene.look.now))
            .collect();
        match scene.report(&considered, &[]).await {
            Ok(report) => report
                .summary_lines()
                .into_iter()
                .fold(failure, |failure, line| {
                    failure.hint(format!("with {to} now: {line}"))
                }),
            Err(_) => failure,
        }
    }

    /// Whether there is anything to wait for.
    fn waits(&self) -> bool {
        self.wait
            && self.change.change().dry_run.is_real()
            && Effect::from(self.to) == Effect::NoExecute
    }

    async fn wait(
        &self,
        changed: &[DeviceTaintRule],
        before: &[DeviceTaintRule],
        scene: &Scene,
        context: &Context,
    ) -> Result<(), Failure> {
        let rules = self.as_changed(changed, before);
        let advice = |seen: &[DeviceTaintRule]| standing::ways_on(&self.names, &rules, seen);
        context.ledger.advise(advice(&rules));
        let wait = Wait {
            goal: Goal::Evicted,
            rules: &rules,
            patience: self.patience(),
            advice: &advice,
        };
        // What was read before the change shows the rules as they were.
        let waited = match scene.look.again().await {
            Ok(look) => wait.for_pods(look, context).await,
            Err(failure) => Err(failure),
        };
        let waited = waited.map_err(|failure| stopped(failure, context))?;
        let left = match waited.ending {
            Ending::Met => return Ok(()),
            Ending::TimedOut(left) => left,
        };
        let failure = timed_out(self.timeout, &left);
        match self.on_timeout {
            OnTimeout::Keep => Err(failure.hint(
                "the change was applied and stays; evictions go on; `deescalate` stops them",
            )),
            OnTimeout::Revert => {
                let failure = revert(changed, scene, context, failure).await;
                Err(before.iter().fold(failure, |failure, rule| {
                    failure.hint(no_way_back(rule, "so that it was not reverted"))
                }))
            }
        }
    }

    fn patience(&self) -> Patience {
        Patience {
            timeout: self.timeout,
            settle: self.settle,
        }
    }

    /// A wait that is over before the last pod is due could only end badly: that is said before the
    /// first is evicted.
    fn refuse_too_short(&self, report: &ImpactReport, now: Timestamp) -> Result<(), Failure> {
        let last = report.summary.last_eviction.filter(|_| self.waits());
        let shortfall = last.and_then(|last| self.patience().shortfall(last.0, now));
        match shortfall {
            Some(short) => Err(standing::too_short(&short, self.patience())),
            None => Ok(()),
        }
    }

    /// All rules that are waited for, as this command has made them.
    fn as_changed(
        &self,
        changed: &[DeviceTaintRule],
        before: &[DeviceTaintRule],
    ) -> Vec<DeviceTaintRule> {
        let mut rules: Vec<DeviceTaintRule> = changed.iter().chain(before).cloned().collect();
        for rule in &mut rules {
            rule.taint.effect = Effect::from(self.to);
        }
        rules
    }

    /// Says which rules a timeout would not revert, since this run does not know what they were.
    fn warn_of_no_way_back(&self, done: &[DeviceTaintRule], context: &Context) {
        let reverts = match self.on_timeout {
            OnTimeout::Keep => false,
            OnTimeout::Revert => self.waits(),
        };
        for rule in done.iter().filter(|_| reverts) {
            let text = no_way_back(rule, "so that --on-timeout revert will leave it so");
            context.printer.warn(&text);
        }
    }
}

/// A run that finds the effect there, such as one after an interruption, cannot give back another.
fn no_way_back(rule: &DeviceTaintRule, consequence: &str) -> String {
    let (name, effect) = (&rule.name, &rule.taint.effect);
    format!(
        "rule {name} had effect {effect} already, {consequence}; to stop it: kubectl devicetaint deescalate {name} --to None"
    )
}

/// The change of the effect alone, by this user.
pub(super) fn effect_patch(to: &Effect, user: Option<&str>, scene: &Scene) -> RulePatch {
    let mut change = RulePatch {
        effect: Some(to.clone()),
        // A server that does not do it would count tolerations from when the rule was made.
        time_added: (!scene.look.semantics.server_renews_time_added).then_some(scene.look.now),
        ..RulePatch::default()
    };
    if let Some(user) = user {
        let key = RuleMetadata::CHANGED_BY.to_owned();
        change.annotations.insert(key, user.to_owned());
    }
    change
}

/// Gives the rules the effect back that they had; what was evicted stays evicted.
async fn revert(
    changed: &[DeviceTaintRule],
    scene: &Scene,
    context: &Context,
    mut failure: Failure,
) -> Failure {
    let names = changed.iter().map(|rule| rule.name.to_string());
    context.ledger.plan(names, Wish::Reverted);
    context.ledger.advise(changed.iter().map(way_back));
    for rule in changed {
        let name = rule.name.as_str();
        context.ledger.begin(name);
        failure = match give_back(rule, scene).await {
            Ok(back) => {
                context.ledger.done(name, back.verb());
                failure.hint(back.told(rule))
            }
            Err(error) => {
                not_made(&error, context);
                failure
                    .hint(format!("rule {name} could not be reverted: {error}"))
                    .hint(way_back(rule))
            }
        };
    }
    failure
}

/// What became of a rule that was to get the effect back that it had.
enum Back {
    Given,
    Gone,
    /// Somebody else has changed it meanwhile, and may have meant it.
    Otherwise(Effect),
}

async fn give_back(rule: &DeviceTaintRule, scene: &Scene) -> Result<Back, Failure> {
    let found = scene.rules.get(rule.name.as_str()).await.map_err(failed)?;
    let Some(found) = found else {
        return Ok(Back::Gone);
    };
    if found.rule.taint.effect != Effect::NoExecute {
        return Ok(Back::Otherwise(found.rule.taint.effect));
    }
    let back = effect_patch(&rule.taint.effect, None, scene);
    patch(&scene.rules, &found.rule, &back, WriteMode::Store).await?;
    Ok(Back::Given)
}

impl Back {
    fn verb(&self) -> &'static str {
        match self {
            Self::Given => "reverted",
            Self::Gone => "gone",
            Self::Otherwise(_) => "left as somebody else made it",
        }
    }

    fn told(&self, rule: &DeviceTaintRule) -> String {
        let (name, before) = (&rule.name, &rule.taint.effect);
        match self {
            Self::Given => {
                format!("rule {name} has effect {before} again; pods that were evicted stay so")
            }
            Self::Gone => format!("rule {name} is gone"),
            Self::Otherwise(effect) => {
                format!("rule {name} has effect {effect} by now, and was left so")
            }
        }
    }
}

/// How to give a rule the effect back that it had.
fn way_back(rule: &DeviceTaintRule) -> String {
    format!(
        "to give the effect back: kubectl devicetaint deescalate {} --to {}",
        rule.name, rule.taint.effect
    )
}
