//! `remove`: take rules away.

use std::collections::BTreeSet;
use std::time::Duration;

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::flags::devices::wrong_name;
use super::flags::source::VersionArgs;
use super::work::changer::{Changed, delete, not_made, stopped};
use super::work::connect::{Live, connect, failed, server_time};
use super::work::consent::{without_terminal, yes_or_refuse};
use super::work::look::no_such_rule;
use super::work::scene::Scene;
use super::work::wait::{Ending, Wait, timed_out};
use crate::cluster::{Rules, parse_duration};
use crate::engine::ConsideredTaint;
use crate::engine::life::{blocks, release};
use crate::engine::settle::{Goal, Patience};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceSelector, DeviceTaintRule};
use crate::naming::labels::LabelSelector;
use crate::naming::taint::TaintPattern;
use crate::naming::{device, taint};
use crate::report::life::release_lines;
use crate::report::table::counted;

/// Delete rules, and say what becomes schedulable again
///
/// Rules are named, or meant by their devices and KEY-, as `kubectl taint` takes taints away; or they
/// are those with these labels, those that have expired by the server's clock, or all.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct RemoveArgs {
    /// Rules by name, or devices as DRIVER/POOL/DEVICE and a taint as KEY-, KEY=VALUE- or KEY:EFFECT-
    #[arg(value_name = "RULE|DEVICE KEY-")]
    targets: Vec<String>,

    /// Rules with these labels, such as kubectl-devicetaint/batch=9c41d7e02b
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<LabelSelector>,

    /// Rules that should be gone by now
    #[arg(long)]
    expired: bool,

    /// All rules, also those that others made; asks
    #[arg(long)]
    all: bool,

    /// Do not ask; needed with --all where there is no terminal to ask on
    #[arg(short, long, help_heading = "Safety")]
    yes: bool,

    /// It is fine if a rule is not there
    #[arg(long, help_heading = "Change")]
    ignore_not_found: bool,

    /// Wait until the rules are gone
    #[arg(long, help_heading = "Wait")]
    wait: bool,

    /// How long to wait, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, help_heading = "Wait")]
    timeout: Duration,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    version: VersionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # By name
  kubectl devicetaint remove drain-node-7

  # As it was added
  kubectl devicetaint remove gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance-

  # What should have been gone by now
  kubectl devicetaint remove --expired";

/// Which rules are meant.
#[derive(Debug)]
enum Meant {
    Names(Vec<String>),
    Taints(Vec<DeviceSelector>, TaintPattern),
    Labelled(LabelSelector),
    Expired,
    All,
}

pub(super) async fn run(args: RemoveArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let meant = args.meant()?;
    let live = connect(context).await?;
    let rules = Rules::new(&live.client, &live.served).map_err(failed)?;
    let (found, missing) = args.find(&meant, &live, &rules, context).await?;
    if found.is_empty() {
        if let Some(failure) = all_missing(&missing) {
            return Err(failure);
        }
        context.printer.note("No resources found");
        return Ok(args.change.change().status(Changed::Nothing));
    }
    args.ask(&meant, &found, context)?;
    // Read before they are gone; a user who may not look at devices may remove rules all the same.
    let scene = Scene::of(live.clone(), args.version.version()).await;
    args.carry_out(&found, &rules, context).await?;
    tell_released(&found, scene, context);
    if args.wait && args.change.change().dry_run.is_real() {
        args.wait(&found, &live, context).await?;
    }
    match all_missing(&missing) {
        Some(failure) => Err(failure.hint("the others were found, and are deleted")),
        None => Ok(args.change.change().status(Changed::Something)),
    }
}

impl RemoveArgs {
    fn meant(&self) -> Result<Meant, Failure> {
        let mut ways = Vec::new();
        if !self.targets.is_empty() {
            ways.push("RULE or DEVICE");
        }
        if self.selector.is_some() {
            ways.push("--selector");
        }
        if self.expired {
            ways.push("--expired");
        }
        if self.all {
            ways.push("--all");
        }
        match ways[..] {
            [] => Err(Failure::usage("no rules: which are removed?")
                .hint("name them, or say --expired, --selector or --all")),
            [_] => Ok(match &self.selector {
                Some(selector) => Meant::Labelled(selector.clone()),
                None if self.expired => Meant::Expired,
                None if self.all => Meant::All,
                None => self.named()?,
            }),
            [first, second, ..] => Err(Failure::usage(format!(
                "{first} cannot be used together with {second}"
            ))),
        }
    }

    /// With a taint that ends in a dash, the others are devices, else they are rules.
    fn named(&self) -> Result<Meant, Failure> {
        let mut patterns = Vec::new();
        let mut others = Vec::new();
        for target in &self.targets {
            match TaintPattern::parse(target) {
                Some(pattern) => patterns.push(pattern.map_err(wrong_name)?),
                None => others.push(target),
            }
        }
        let Some(pattern) = patterns.pop() else {
            let wrong = others.iter().find(|name| name.contains(['/', '=', ':']));
            return match wrong {
                Some(wrong) => Err(
                    Failure::usage(format!("{wrong:?} is not the name of a rule"))
                        .hint("to take a taint away from devices: DRIVER/POOL/DEVICE KEY-"),
                ),
                None => Ok(Meant::Names(self.targets.clone())),
            };
        };
        if !patterns.is_empty() {
            return Err(Failure::usage("more than one taint"));
        }
        if others.is_empty() {
            return Err(
                Failure::usage("no devices: from which is the taint taken away?")
                    .hint("name devices as DRIVER/POOL/DEVICE"),
            );
        }
        let selectors = others
            .iter()
            .map(|text| device::parse(text).map_err(wrong_name));
        Ok(Meant::Taints(selectors.collect::<Result<_, _>>()?, pattern))
    }

    /// The rules that are meant, and why those that are named and not there are not among them: as
    /// with `kubectl delete`, they keep nothing else from being deleted, so that an interrupted
    /// command can be run again.
    async fn find(
        &self,
        meant: &Meant,
        live: &Live,
        rules: &Rules,
        context: &Context,
    ) -> Result<(Vec<DeviceTaintRule>, Vec<Failure>), Failure> {
        let all: Vec<DeviceTaintRule> = rules
            .list()
            .await
            .map_err(failed)?
            .into_iter()
            .map(|stored| stored.rule)
            .collect();
        let now = server_time(live)?;
        let keep = |wanted: &dyn Fn(&DeviceTaintRule) -> bool| -> Vec<DeviceTaintRule> {
            all.iter().filter(|rule| wanted(rule)).cloned().collect()
        };
        let (found, missing) = match meant {
            Meant::Expired => (keep(&|rule| rule.metadata.is_expired(now)), Vec::new()),
            Meant::Labelled(selector) => (
                keep(&|rule| selector.matches(&rule.metadata.labels)),
                Vec::new(),
            ),
            Meant::Names(names) => {
                let is = |rule: &DeviceTaintRule, name: &String| rule.name.as_str() == name;
                let missing = names
                    .iter()
                    .filter(|name| !all.iter().any(|rule| is(rule, name)))
                    .map(|name| no_such_rule(name, &all));
                let found = keep(&|rule| names.iter().any(|name| is(rule, name)));
                (found, missing.collect())
            }
            Meant::Taints(selectors, pattern) => {
                let missing = selectors
                    .iter()
                    .filter(|selector| !all.iter().any(|rule| has(rule, selector, pattern)))
                    .map(|selector| no_such_taint(selector, pattern, &all));
                let found = keep(&|rule| {
                    let mut selectors = selectors.iter();
                    selectors.any(|selector| has(rule, selector, pattern))
                });
                (found, missing.collect())
            }
            Meant::All => (all, Vec::new()),
        };
        Ok((found, self.objections(missing, context)))
    }

    /// The same, unless that is fine.
    fn objections(&self, missing: Vec<Failure>, context: &Context) -> Vec<Failure> {
        if !self.ignore_not_found {
            return missing;
        }
        for failure in missing {
            context.printer.note(&failure.to_string());
        }
        Vec::new()
    }

    fn ask(
        &self,
        meant: &Meant,
        found: &[DeviceTaintRule],
        context: &Context,
    ) -> Result<(), Failure> {
        let broad = match meant {
            Meant::All => true,
            Meant::Names(_) | Meant::Taints(..) | Meant::Labelled(_) | Meant::Expired => false,
        };
        if !broad || self.yes || !self.change.change().dry_run.is_real() {
            return Ok(());
        }
        if !context.interactive {
            return Err(without_terminal("--yes"));
        }
        for rule in found {
            context
                .printer
                .note(&format!("{}  {}", rule.name, rule.taint));
        }
        yes_or_refuse(&format!("Delete {}?", counted(found.len(), "rule")))
    }

    async fn carry_out(
        &self,
        found: &[DeviceTaintRule],
        rules: &Rules,
        context: &Context,
    ) -> Result<(), Failure> {
        let names = found.iter().map(|rule| rule.name.to_string());
        self.change.change().plan(names, context);
        for rule in found {
            let name = rule.name.as_str();
            self.change.change().begin(name, context);
            if let Some(mode) = self.change.change().dry_run.mode()
                && let Err(failure) = delete(rules, rule, mode).await
            {
                not_made(&failure, context);
                return Err(stopped(failure, context));
            }
            self.change.change().tell(name, "deleted", context)?;
        }
        Ok(())
    }

    async fn wait(
        &self,
        found: &[DeviceTaintRule],
        live: &Live,
        context: &Context,
    ) -> Result<(), Failure> {
        let names: Vec<String> = found.iter().map(|rule| rule.name.to_string()).collect();
        let on = format!(
            "the rules go when nothing holds them any more; to wait on: kubectl devicetaint wait {} --for deleted",
            names.join(" ")
        );
        context.ledger.advise([on.clone()]);
        let wait = Wait {
            goal: Goal::Deleted,
            rules: found,
            patience: Patience {
                settle: Duration::ZERO,
                timeout: self.timeout,
            },
            advice: &|_| vec![on.clone()],
        };
        let waited = wait.for_rules(live, context).await;
        let waited = waited.map_err(|failure| stopped(failure, context))?;
        match waited.ending {
            Ending::Met => Ok(()),
            Ending::TimedOut(left) => Err(timed_out(self.timeout, &left).hint(on)),
        }
    }
}

/// One failure for all that is not there, if anything is not.
fn all_missing(missing: &[Failure]) -> Option<Failure> {
    let texts: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let hints: BTreeSet<String> = missing
        .iter()
        .flat_map(|failure| failure.hints().iter().cloned())
        .collect();
    let failure = Failure::new(ExitStatus::Failed, texts.join("; "));
    let failure = hints.into_iter().fold(failure, Failure::hint);
    (!missing.is_empty()).then(|| failure.hint("if that is fine, add --ignore-not-found"))
}

/// Whether the rule taints exactly these devices with such a taint.
fn has(rule: &DeviceTaintRule, selector: &DeviceSelector, pattern: &TaintPattern) -> bool {
    rule.selector.as_ref() == Some(selector) && pattern.matches(&rule.taint)
}

fn no_such_taint(
    selector: &DeviceSelector,
    pattern: &TaintPattern,
    rules: &[DeviceTaintRule],
) -> Failure {
    let devices = device::format(selector);
    let failure = Failure::new(
        ExitStatus::Failed,
        format!("no rule taints {devices} with {}", taint::format(pattern)),
    );
    let on_devices = rules
        .iter()
        .filter(|rule| rule.selector.as_ref() == Some(selector));
    let others: Vec<String> = on_devices
        .map(|rule| format!("{} ({})", rule.taint, rule.name))
        .collect();
    if others.is_empty() {
        failure.hint("list what there is with `kubectl devicetaint list`")
    } else {
        failure.hint(format!("these devices have: {}", others.join(", ")))
    }
}

/// Says what the rules set free, and what still keeps their devices from being allocated.
fn tell_released(removed: &[DeviceTaintRule], scene: Result<Scene, Failure>, context: &Context) {
    let scene = match scene {
        Ok(scene) => scene,
        Err(failure) => {
            let text = format!("what becomes schedulable again is not known: {failure}");
            return context.printer.warn(&text);
        }
    };
    scene.look.tell(&context.printer);
    let blocking = removed.iter().filter(|rule| blocks(&rule.taint.effect));
    let considered: Vec<ConsideredTaint> = blocking
        .map(|rule| ConsideredTaint::of_rule(rule, scene.look.now))
        .collect();
    let impact = scene.look.impact(&considered);
    for line in release_lines(&release(&impact)) {
        context.printer.note(&line);
    }
}
