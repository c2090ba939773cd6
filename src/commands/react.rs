//! `react`: taints by policies, from signals of devices.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::context::{Clock, Context};
use super::signal::{Signals, interrupted, stoppable_by};
use super::work::changer::{Changer, Lines, Recorder, is_about_one_rule};
use super::work::cluster_view::ClusterView;
use super::work::connect::{Source, failed, read_files};
use super::work::mutation_context::MutationContext;
use crate::assess::{Consent, defects};
use crate::cluster::{self, ClusterError, Watched, user_name};
use crate::decide::change_log::DryRun;
use crate::decide::react::{Action, Held, Policy, Step, TaintPolicy, decide, simulate};
use crate::decide::{Existing, Terms};
use crate::engine::ProposedTaint;
use crate::engine::signal::{DeviceSignals, device_signals};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, Kind, Reading, Snapshot};
use crate::naming::duration::parse_duration;
use crate::naming::{device, keys};

/// Taint devices by what drivers report, as policies say
///
/// A policy (TaintPolicy) names devices and a signal: a taint that the driver publishes, an attribute or capacity with a
/// threshold, or the health in the status of pods. A device with the signal gets a rule with effect None at once; the
/// effects of the policy follow, after their grace period and within its limits; the rule is removed when the signal is
/// gone for long enough. Rules are the only state: the command can be stopped and started at any time.
///
/// Prints a line for each decision. Without --once, it decides again whenever something changes, at least every
/// --interval, until it is stopped. Rules that other users or programs made or changed are left alone.
///
/// With --once, the exit code is 4 if a limit held a device back, and 6 if a signal could not be read.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReactArgs {
    /// File with TaintPolicies; `-` reads stdin; repeatable
    #[arg(short, long, value_name = "FILENAME", required = true)]
    filename: Vec<PathBuf>,

    /// Decide once, as for a CronJob
    #[arg(long)]
    once: bool,

    /// Longest time between two decisions, at most 10s
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_interval)]
    interval: Duration,

    /// Only print decisions; those that follow assume that they were carried out
    #[arg(long)]
    dry_run: bool,

    /// Print the decisions on saved objects, in the order of their times; repeatable
    #[arg(long, value_name = "FILENAME")]
    from: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  # What a policy would do now
  kubectl devicetaint react -f policy.yaml --once --dry-run

  # What it would have done
  kubectl devicetaint react -f policy.yaml --from monday.json.gz --from tuesday.json.gz";

/// Decisions at one time lead to others, such as a new rule to its effect: never to more than these.
const PASSES: usize = 8;
/// Kinds of which all objects are read.
const READ: [Kind; 3] = [
    Kind::ResourceSlice,
    Kind::ResourceClaim,
    Kind::DeviceTaintRule,
];
/// Changes within this time are evaluated together.
const GATHER: Duration = Duration::from_secs(1);

fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text)?;
    match (1..=10).contains(&interval.as_secs()) {
        true => Ok(interval),
        false => Err("use 1s to 10s".to_owned()),
    }
}

pub(super) async fn run(args: ReactArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let files = read_files(&args.filename, cluster::read_policies::<TaintPolicy>);
    let policies = files.await?;
    let policies = policies.iter().map(TaintPolicy::check);
    let is_simulated = args.dry_run || !args.from.is_empty();
    let mut reaction = Reaction {
        policies: policies.collect::<Result<_, _>>()?,
        context,
        simulated: is_simulated.then(Vec::new),
        has_begun: false,
        held: BTreeMap::new(),
        said: BTreeMap::new(),
        result: ExitStatus::Success,
    };
    let mut names = BTreeSet::new();
    let mut policies = reaction.policies.iter();
    if let Some(Policy { name, .. }) = policies.find(|policy| !names.insert(&policy.name)) {
        let text = format!("two policies have the name {name}");
        return Err(Failure::new(ExitStatus::Failed, text));
    }
    if args.from.is_empty() {
        return Box::pin(reaction.watch(&args)).await;
    }
    let mut views = Vec::new();
    for file in &args.from {
        let source = Source {
            from: vec![file.clone()],
            ..Source::default()
        };
        views.push(MutationContext::open(&source, context).await?);
    }
    views.sort_by_key(|mutation| mutation.view.now);
    let mut signals = Signals::listen();
    for mut mutation in views {
        reaction
            .decide_on(&mut mutation, None, &mut signals)
            .await?;
    }
    Ok(reaction.result)
}

/// Policies at work.
struct Reaction<'a> {
    policies: Vec<Policy>,
    context: &'a Context,
    /// The rules of the policies as they would be by now; absent where rules are changed.
    simulated: Option<Vec<DeviceTaintRule>>,
    /// True once the simulated rules were taken from a reading.
    has_begun: bool,
    /// Effects that guards have refused, by policy.
    held: BTreeMap<String, Held>,
    /// The last line about each device that stays as it is: it is printed once.
    said: BTreeMap<(String, String), String>,
    /// The exit status of `--once`: that of a change which is tried again, of a limit, or of a signal.
    result: ExitStatus,
}

impl Reaction<'_> {
    /// Decides on the cluster, until a signal stops the program.
    async fn watch(&mut self, args: &ReactArgs) -> Result<ExitStatus, Failure> {
        // From before the first change: a signal ends the program between changes.
        let mut signals = Signals::listen();
        loop {
            let failure = match Box::pin(self.turn(args, &mut signals)).await {
                Ok(status) => return Ok(status),
                Err(failure) => failure,
            };
            if failure.status() != ExitStatus::TryAgain || args.once {
                return stopped(failure);
            }
            failure.print(&self.context.printer);
            let pause = async {
                tokio::time::sleep(args.interval).await;
                Ok(())
            };
            if let Err(failure) = stoppable_by(pause, &mut signals, self.context).await {
                return stopped(failure);
            }
        }
    }

    /// Decides until a signal, or until the cluster cannot be read or changed.
    async fn turn(
        &mut self,
        args: &ReactArgs,
        signals: &mut Signals,
    ) -> Result<ExitStatus, Failure> {
        let context = self.context;
        let cluster = Source::default();
        let opened = Box::pin(MutationContext::open(&cluster, context));
        let mut mutation = stoppable_by(opened, signals, context).await?;
        mutation.view.tell(&context.printer);
        self.refuse_defect(&mutation)?;
        let (live, rules) = (mutation.live()?.clone(), mutation.rules()?.clone());
        let recorder = Recorder::new(DryRun::None, Lines::Left, context);
        let mut changer = Changer::new(Some(&rules), recorder);
        changer.set_user(user_name(&live.client).await);
        loop {
            let decided = self.decide_on(&mut mutation, Some(&changer), signals);
            Box::pin(decided).await?;
            if args.once {
                return Ok(self.result);
            }
            let reading = Reading {
                snapshot: std::mem::take(&mut mutation.view.reading.snapshot),
                ..mutation.view.reading.clone()
            };
            let watched = Watched::keep(&live.client, &live.served, reading).watching(&READ);
            let waiting = self.wait_for_work(watched, &mutation.view, args.interval);
            stoppable_by(Box::pin(waiting), signals, context).await?;
            // Decisions are made on what the server has now: a watch may be behind.
            mutation = stoppable_by(Box::pin(mutation.again()), signals, context).await?;
        }
    }

    /// Waits until there is something to change, or to ask guards again; prints meanwhile why devices stay as they are.
    async fn wait_for_work(
        &mut self,
        mut watched: Watched,
        view: &ClusterView,
        interval: Duration,
    ) -> Result<(), Failure> {
        let (clock, began) = (Clock::set(view.now), Instant::now());
        let is_held = self.held.values().any(|held| !held.is_empty());
        let needs_pods = self.policies.iter().any(|policy| policy.needs_pods);
        let is_failing = self.result == ExitStatus::TryAgain;
        let mut pause = if is_failing { interval } else { GATHER };
        loop {
            tokio::time::sleep(pause).await;
            pause = GATHER;
            if needs_pods {
                watched.keep_pods(|_| true).await.map_err(failed)?;
            }
            let (snapshot, now) = (&watched.reading().snapshot, clock.now());
            let rules = self.current_rules(snapshot);
            for policy in &self.policies.clone() {
                let devices = device_signals(snapshot, &view.semantics, &policy.question());
                let held = self.held.get(&policy.name).cloned().unwrap_or_default();
                let steps = decide(policy, &devices, &rules, &held, now);
                if steps.iter().any(|step| step.action.is_change()) {
                    return Ok(());
                }
                self.keep(policy, &steps, now)?;
            }
            if let Ok(changed) = tokio::time::timeout(interval, watched.changed()).await {
                changed.map_err(failed)?;
            }
            if is_held && began.elapsed() >= interval {
                return Ok(());
            }
        }
    }

    /// Decides on a reading, and carries the decisions out.
    async fn decide_on(
        &mut self,
        mutation: &mut MutationContext,
        changer: Option<&Changer<'_>>,
        signals: &mut Signals,
    ) -> Result<(), Failure> {
        let needs_pods = self.policies.iter().any(|policy| policy.needs_pods);
        let with_pods = match needs_pods {
            true => Some(mutation.view.clone().with_pods(|_| true).await?.reading),
            false => None,
        };
        let reading = with_pods.as_ref().unwrap_or(&mutation.view.reading);
        refuse_unread(reading, needs_pods)?;
        if !self.has_begun {
            self.has_begun = true;
            let own = reading.snapshot.rules.iter();
            let own: Vec<_> = own.filter(|rule| self.is_own(rule)).cloned().collect();
            self.simulated = self.simulated.take().map(|_| own);
        }
        let semantics = mutation.view.semantics;
        let found: Vec<Vec<DeviceSignals>> = self
            .policies
            .iter()
            .map(|policy| device_signals(&reading.snapshot, &semantics, &policy.question()))
            .collect();
        self.result = ExitStatus::Success;
        for (policy, devices) in self.policies.clone().iter().zip(&found) {
            self.carry_out((policy, devices), mutation, changer, signals)
                .await?;
        }
        Ok(())
    }

    /// Decides on one policy, until nothing is left to change.
    async fn carry_out(
        &mut self,
        (policy, devices): (&Policy, &[DeviceSignals]),
        mutation: &mut MutationContext,
        changer: Option<&Changer<'_>>,
        signals: &mut Signals,
    ) -> Result<(), Failure> {
        let now = mutation.view.now;
        self.held.remove(&policy.name);
        for _ in 0..PASSES {
            let rules = self.current_rules(&mutation.view.reading.snapshot);
            mutation.view.reading.snapshot.rules = rules;
            let rules = &mutation.view.reading.snapshot.rules;
            let held = self.held.entry(policy.name.clone()).or_default();
            let steps = decide(policy, devices, rules, held, now);
            let (changes, standing): (Vec<Step>, Vec<Step>) =
                steps.into_iter().partition(|step| step.action.is_change());
            if changes.is_empty() {
                return self.keep(policy, &standing, now);
            }
            for step in changes {
                if let Some((rule, effect)) = step.action.raise()
                    && let Some(reason) = refusal(policy, rule, effect, mutation).await?
                {
                    let refused = (step.device, effect.clone(), reason);
                    let held = self.held.entry(policy.name.clone());
                    held.or_default().push(refused);
                    continue;
                }
                if let Some(signal) = signals.arrived().await {
                    return Err(interrupted(signal, self.context));
                }
                if let (None, Some(changer)) = (&self.simulated, changer)
                    && let Err(failure) = apply(&step.action, changer, mutation).await
                {
                    match failure.cause::<ClusterError>() {
                        // Another client changed the rule meanwhile: it is decided on anew.
                        None if is_about_one_rule(&failure) => continue,
                        Some(error) if error.is_invalid() => {
                            failure.print(&self.context.printer);
                            self.result = ExitStatus::TryAgain;
                            return Ok(());
                        }
                        Some(_) | None => return Err(failure),
                    }
                }
                // The guards of the next steps count the pods that this one evicts.
                simulate(&mut mutation.view.reading.snapshot.rules, &step.action, now);
                if let Some(rules) = &mut self.simulated {
                    simulate(rules, &step.action, now);
                }
                self.print(policy, &step, now)?;
                // A signal that becomes unknown is printed once.
                let standing = Step {
                    action: Action::Unknown,
                    ..step
                };
                let line = standing.to_string();
                self.said.insert(key(policy, &standing), line);
            }
            if let (None, Some(changer)) = (&self.simulated, changer) {
                mutation.view.reading.snapshot.rules = changer.listed().await.map_err(failed)?;
            }
        }
        self.result = ExitStatus::TryAgain;
        Ok(())
    }

    /// Prints why devices stay as they are, where that is new.
    fn keep(&mut self, policy: &Policy, standing: &[Step], now: Timestamp) -> Result<(), Failure> {
        for step in standing {
            self.result = match (&step.action, self.result) {
                (_, ExitStatus::TryAgain) => ExitStatus::TryAgain,
                (Action::Hold(_), _) => ExitStatus::Refused,
                (Action::Unknown, ExitStatus::Success) => ExitStatus::Incomplete,
                (_, result) => result,
            };
            let line = step.to_string();
            if self.said.insert(key(policy, step), line.clone()) != Some(line) {
                self.print(policy, step, now)?;
            }
        }
        Ok(())
    }

    fn print(&self, policy: &Policy, step: &Step, now: Timestamp) -> Result<(), Failure> {
        let dry_run = match self.simulated.is_some() && step.action.is_change() {
            true => " (dry run)",
            false => "",
        };
        let line = format!("{now} {} {step}{dry_run}\n", policy.name);
        Ok(self.context.printer.emit(&line)?)
    }

    /// The rules as they are, or as they would be.
    fn current_rules(&self, snapshot: &Snapshot) -> Vec<DeviceTaintRule> {
        let Some(simulated) = &self.simulated else {
            return snapshot.rules.clone();
        };
        let others = snapshot.rules.iter().filter(|rule| !self.is_own(rule));
        others.chain(simulated).cloned().collect()
    }

    fn is_own(&self, rule: &DeviceTaintRule) -> bool {
        let label = rule.metadata.labels.get(keys::POLICY);
        (self.policies.iter()).any(|policy| Some(&policy.name) == label)
    }

    /// Refuses policies without guards where every rule may evict more pods than it should.
    fn refuse_defect(&self, mutation: &MutationContext) -> Result<(), Failure> {
        let Some(defect) = defects::of_rules(mutation.view.release()) else {
            return Ok(());
        };
        match self.policies.iter().find(|policy| policy.guards.is_empty()) {
            Some(Policy { name, .. }) => Err(Failure::refused(format!(
                "policy {name} needs limits.abortIf: {}",
                defect.message
            ))),
            None => Ok(()),
        }
    }
}

/// Name of the policy, and the device.
fn key(policy: &Policy, step: &Step) -> (String, String) {
    (policy.name.clone(), device::format(&step.device))
}

/// A signal to stop ends the program as a program in a pod is stopped.
fn stopped(failure: Failure) -> Result<ExitStatus, Failure> {
    match failure.status() == ExitStatus::Terminated {
        true => Ok(ExitStatus::Success),
        false => Err(failure),
    }
}

/// Refuses to decide on data of which a part could not be read.
fn refuse_unread(reading: &Reading, needs_pods: bool) -> Result<(), Failure> {
    let pods = reading.gaps_of(&[Kind::Pod]).filter(|_| needs_pods);
    match reading.gaps_of(&READ).chain(pods).next() {
        None => Ok(()),
        Some(gap) => Err(Failure::new(
            ExitStatus::Failed,
            format!(
                "nothing decided: {} could not be read: {}",
                gap.what, gap.why
            ),
        )),
    }
}

/// Carries out a change of one rule.
async fn apply(
    action: &Action,
    changer: &Changer<'_>,
    mutation: &MutationContext,
) -> Result<(), Failure> {
    let view = &mutation.view;
    let terms = Terms {
        existing: Existing::Kept,
        semantics: &view.semantics,
        now: view.now,
    };
    match action {
        Action::Create(draft) => changer.create(draft, &terms).await.map(drop),
        Action::Patch(rule, _) => {
            let patch = action.patch(&view.semantics, view.now).unwrap_or_default();
            changer.patch(rule, &patch, |_| false).await.map(drop)
        }
        Action::Remove(rule) => changer.delete(rule).await.map(drop),
        Action::Hold(_) | Action::Unknown | Action::Leave => Ok(()),
    }
}

/// The reason for which a rule does not get an effect: a guard of the policy, or a wide eviction without guards. It is
/// assessed with the pods that other rules of the policy evict.
async fn refusal(
    policy: &Policy,
    rule: &DeviceTaintRule,
    effect: &Effect,
    mutation: &MutationContext,
) -> Result<Option<String>, Failure> {
    if !effect.evicts() && policy.guards.is_empty() {
        return Ok(None);
    }
    let now = mutation.view.now;
    let rules = mutation.view.reading.snapshot.rules.iter();
    let is_of_policy = |other: &&DeviceTaintRule| {
        other.metadata.labels.get(keys::POLICY) == Some(&policy.name)
            && other.taint.effect.evicts()
            && other.name != rule.name
    };
    let others = rules.filter(is_of_policy);
    let mut proposed: Vec<ProposedTaint> = others
        .map(|other| ProposedTaint::of_rule(other, now))
        .collect();
    proposed.push(ProposedTaint::of_changed_rule(rule, effect, now));
    let report = mutation.report_on(&proposed, &policy.guards, None).await?;
    let assessment = report.assessment;
    let unknown = assessment.facts.unknown_evictions().into_iter().next();
    let wide = match assessment.consent {
        Consent::Wide { why, .. } if policy.guards.is_empty() => {
            Some(format!("{why}, and limits.abortIf is not set"))
        }
        Consent::Wide { .. } | Consent::Yes | Consent::Nothing => None,
    };
    Ok(assessment.tripped().or(unknown).or(wide))
}
