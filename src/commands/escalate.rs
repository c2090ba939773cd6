//! `escalate` and `deescalate`: let a rule do more, or less.

use std::time::Duration;

use clap::ValueEnum;

use super::arguments::VersionArgs;
use super::change::{ChangeArgs, Changed, patch, stopped};
use super::context::Context;
use super::safety::SafetyArgs;
use super::scene::Scene;
use super::wait::timed_out;
use super::waiting::{self, Ending, Patience};
use crate::cluster::{RulePatch, WriteMode, parse_duration, user_name};
use crate::engine::ConsideredTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata};

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
  kubectl devicetaint escalate drain-node-7 --to NoExecute --yes --expect report.json --wait --on-timeout revert";

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
    let scene = Scene::open(&args.version, context).await?;
    let (open, done) = args.split(&to, &scene)?;

    let considered: Vec<ConsideredTaint> = open
        .iter()
        .map(|rule| ConsideredTaint::of_changed_rule(rule, &to, scene.now))
        .collect();
    if !open.is_empty() {
        let report = scene.report(&considered, &safety.guards).await?;
        if args.change.dry_run.is_real() {
            safety.check(&report, context)?;
        } else {
            for line in report.summary_lines() {
                context.printer.note(&line);
            }
        }
    }
    for rule in &done {
        args.change.tell(rule.name.as_str(), "unchanged", context)?;
    }
    args.carry_out(&open, &scene, context).await?;
    scene.live.tell(&context.printer);
    if args.wait && args.change.dry_run.is_real() && to == Effect::NoExecute {
        args.wait(&open, &scene, context).await?;
    }
    Ok(args.change.status(Changed::if_any(!open.is_empty())))
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
            let rule = scene.rule(name)?;
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
        context
            .ledger
            .plan(open.iter().map(|rule| rule.name.to_string()));
        let user = match self.change.dry_run.mode() {
            Some(_) if !open.is_empty() => user_name(&scene.live.client).await,
            Some(_) | None => None,
        };
        let to = Effect::from(self.to);
        let change = effect_patch(&to, user.as_deref(), scene);
        for rule in open {
            let name = rule.name.as_str();
            context.ledger.begin(name);
            if let Some(mode) = self.change.dry_run.mode()
                && let Err(failure) = patch(&scene.rules, rule, &change, mode).await
            {
                context.ledger.failed();
                let failure = self.with_new_report(failure, scene).await;
                return Err(stopped(failure, context));
            }
            self.change.tell(name, "configured", context)?;
        }
        Ok(())
    }

    /// The failure with whom the change would hit now, as far as that can be found out.
    async fn with_new_report(&self, failure: Failure, scene: &Scene) -> Failure {
        let Ok(scene) = scene.again(&self.version).await else {
            return failure;
        };
        let to = Effect::from(self.to);
        let rules = self.names.iter().filter_map(|name| scene.rule(name).ok());
        let considered: Vec<ConsideredTaint> = rules
            .map(|rule| ConsideredTaint::of_changed_rule(rule, &to, scene.now))
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

    async fn wait(
        &self,
        changed: &[DeviceTaintRule],
        scene: &Scene,
        context: &Context,
    ) -> Result<(), Failure> {
        let patience = Patience {
            timeout: self.timeout,
            settle: self.settle,
        };
        let left = match waiting::evicted(scene, &self.names, patience, context).await? {
            Ending::Met => return Ok(()),
            Ending::TimedOut(left) => left,
        };
        let failure = timed_out(self.timeout, left);
        match self.on_timeout {
            OnTimeout::Keep => Err(failure.hint(
                "the change was applied and stays; evictions go on; `deescalate` stops them",
            )),
            OnTimeout::Revert => Err(revert(changed, scene, context, failure).await),
        }
    }
}

/// The change of the effect alone, by this user.
pub(super) fn effect_patch(to: &Effect, user: Option<&str>, scene: &Scene) -> RulePatch {
    let mut change = RulePatch {
        effect: Some(to.clone()),
        // A server that does not do it would count tolerations from when the rule was made.
        time_added: (!scene.semantics.server_renews_time_added).then_some(scene.now),
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
    failure: Failure,
) -> Failure {
    let mut failure = failure;
    for rule in changed {
        let name = rule.name.as_str();
        let back = effect_patch(&rule.taint.effect, None, scene);
        let result = match scene.rules.get(name).await {
            Ok(Some(found)) => patch(&scene.rules, &found.rule, &back, WriteMode::Store).await,
            Ok(None) => continue,
            Err(error) => Err(super::connection::failed(error)),
        };
        failure = match result {
            Ok(_) => {
                context.ledger.done(name, "reverted");
                failure.hint(format!(
                    "rule {name} has effect {} again; pods that were evicted stay so",
                    rule.taint.effect
                ))
            }
            Err(error) => failure.hint(format!("rule {name} could not be reverted: {error}")),
        };
    }
    failure
}
