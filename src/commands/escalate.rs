//! `escalate`: let rules do more.

use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;

use super::context::Context;
use super::flags::change::{ChangeArgs, ReportArgs};
use super::flags::rules::RuleArgs;
use super::flags::safety::SafetyArgs;
use super::flags::waiting::WaitingArgs;
use super::profile::CommandProfile;
use super::signal::{Signals, interrupted, stoppable_by};
use super::work::change_summary::accounted;
use super::work::changer::{Changer, Lines};
use super::work::mutation_context::MutationContext;
use super::work::pipeline::{ApprovalBasis, ImpactBasis, Pipeline, TimeoutAction};
use super::work::stopped::stopped;
use super::work::timed_effect::TimedEffect;
use crate::cluster::Purpose;
use crate::decide::approval::EvictionMethod;
use crate::decide::effect::{escalates_again, escalation, no_way_back};
use crate::decide::proposal::{NamedOwners, ProposedRule};
use crate::decide::rules_on::SiblingRules;
use crate::decide::timed_effect::{EffectTerm, escalation_end, kept_for_good, propose};
use crate::decide::{Proposal, RulePatch, RuleWords};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect};
use crate::naming::duration::parse_duration;
use crate::render::Format;

/// Raise a rule's effect: block new pods, or evict running ones
///
/// Computes the current impact, evaluates the guards of --abort-if, and asks for confirmation. If
/// another user or program changes a rule meanwhile, the command does not change this rule, and prints the
/// difference. If a rule was created or changed by another user or program, the confirmation question names this user
/// or program.
///
/// --expect and --abort-if apply to the pods of all rules of the command, including rules
/// that an interrupted run has already changed. A dry run is refused if the real run would be refused. Otherwise,
/// it prints the confirmation question, and does not wait for an answer.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("timeout", |arg| arg.help("Time limit of --wait; with --for, time limit for restoring effect None; such as 30s")))]
pub(super) struct EscalateArgs {
    #[command(flatten)]
    rules: RuleArgs,

    /// New effect
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "NoSchedule|NoExecute"
    )]
    to: Higher,

    /// With --to NoSchedule: restore effect None after this time, such as 10m
    ///
    /// Not with NoExecute: an eviction cannot be undone. The command waits for this time, and then restores effect
    /// None; on Ctrl-C, SIGTERM or SIGHUP, it restores None at once. If the server cannot be reached, the command
    /// retries until the time of --timeout is over.
    ///
    /// If another user or program has changed a rule meanwhile, the command leaves this rule as it is, and exits with
    /// code 5. A rule that was deleted, or already has effect None, is not an error. If the command is killed,
    /// NoSchedule stays; when the time is over, `list` and `describe` show the effect as expired.
    ///
    /// To restart the time, run the same command again; to make NoSchedule permanent, run it without --for.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    lasts: Option<Duration>,

    #[command(flatten)]
    waiting: WaitingArgs,

    /// With --wait, on timeout: keep or revert the effect
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
    report: ReportArgs,

    #[command(flatten)]
    safety: SafetyArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Preview the evictions, confirm them, and wait until the pods are gone
  kubectl devicetaint escalate drain-node-7 --to NoExecute --wait --timeout 10m

  # Select the rule by its device and taint key
  kubectl devicetaint escalate gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance --to NoSchedule

  # Keep new pods off for ten minutes
  kubectl devicetaint escalate drain-node-7 --to NoSchedule --for 10m

  # In a script: evict no more than the report shows, and revert on timeout
  kubectl devicetaint preview --rule drain-node-7 -o json > report.json
  kubectl devicetaint escalate drain-node-7 --to NoExecute \\
    --yes --expect report.json --wait --on-timeout revert";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Higher {
    /// Block new pods
    #[value(name = "NoSchedule")]
    NoSchedule,
    /// Also evict the pods that use the devices
    #[value(name = "NoExecute")]
    NoExecute,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnTimeout {
    /// Keep the new effect; Ctrl-C during --wait keeps it, too
    Keep,
    /// Restore the previous effect
    Revert,
}

impl From<OnTimeout> for TimeoutAction {
    fn from(typed: OnTimeout) -> Self {
        match typed {
            OnTimeout::Keep => Self::Keep,
            OnTimeout::Revert => Self::Revert,
        }
    }
}

impl From<Higher> for Effect {
    fn from(higher: Higher) -> Self {
        match higher {
            Higher::NoSchedule => Self::NoSchedule,
            Higher::NoExecute => Self::NoExecute,
        }
    }
}

impl EscalateArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::changing(Purpose::Escalate).tidying_up(self.is_timed())
    }
}

pub(super) async fn run(args: EscalateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let (format, dry_run) = (args.report.format()?, args.change.change().dry_run);
    let lines = args.report.lines();
    let work = args.escalate(format, lines, context);
    accounted(work, format, dry_run, context).await
}

impl EscalateArgs {
    /// Whether it takes back what it does.
    fn is_timed(&self) -> bool {
        self.lasts.is_some()
    }

    async fn escalate(
        &self,
        format: Option<Format>,
        lines: Lines,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let typed = self.rules.typed(SiblingRules::Noted);
        // What can be wrong without a cluster is found before it is asked.
        typed.chooser()?;
        let term = self
            .lasts
            .map(|lasts| EffectTerm::new(&self.to.into(), lasts));
        let term = term.transpose()?;
        let safety = self.safety.prepare()?;
        // From before anything is changed, so that a signal meanwhile still has it taken back.
        let mut signals = term.map(|_| Signals::listen_for_hangup());
        let prepared = Box::pin(self.prepare(&typed, term, context));
        let (mutation, proposal) = stoppable_by(prepared, signals.as_mut(), context).await?;
        let change = self.change.change();
        let mut changer = Changer::new(&mutation.rules, change, context).with_lines(lines);
        let pipeline = Pipeline {
            basis: ApprovalBasis::Impact(ImpactBasis {
                mutation: &mutation,
                safety: &safety,
                late: self.on_timeout.into(),
            }),
            dry_run: change.dry_run,
            context,
        };
        let mut begun = None;
        let apply = async |changer: &mut Changer<'_>| {
            let timeout = self.waiting.timeout;
            let timed =
                term.map(|term| TimedEffect::begin(&proposal, term, timeout, &mutation, context));
            let until = timed.as_ref().map(TimedEffect::until);
            begun = timed.filter(|_| change.dry_run.is_real());
            let changed = self.carry_out(&proposal, &mutation, until, changer).await;
            mutation.view.tell(&context.printer);
            changed
        };
        let applied = Box::pin(pipeline.run(&proposal, &mut changer, apply));
        let applied = stoppable_by(applied, signals.as_mut(), context).await;
        let ended = match (begun, signals) {
            (Some(timed), Some(signals)) => {
                Box::pin(hold(timed, applied, signals, &mut changer)).await
            }
            (Some(_), None) | (None, _) => applied,
        };
        changer.present(format, &ended)?;
        ended.map(|()| ExitStatus::Success)
    }

    /// What is to be changed, in the cluster as it is.
    async fn prepare(
        &self,
        typed: &RuleWords<'_>,
        term: Option<EffectTerm>,
        context: &Context,
    ) -> Result<(MutationContext, Proposal), Failure> {
        let to = Effect::from(self.to);
        let mutation = MutationContext::open(context).await?;
        let (mutation, chooser) = mutation.chosen(typed, context).await?;
        let meant = mutation.selected(&chooser).await?;
        typed.refuse_several(&meant.rules)?;
        // All or nothing: unlike `deescalate`, it is in no hurry.
        if let Some(failure) = meant.all_missing() {
            return Err(failure);
        }
        if meant.rules.is_empty() {
            context.printer.note("No resources found");
        }
        let mutation = mutation.with_identities_of(&meant.rules).await?;
        let rules = propose(&meant.rules, &to, term)?;
        self.warn_of_no_way_back(&rules, context);
        let open: Vec<String> = rules
            .iter()
            .filter(|it| it.is_open())
            .map(ProposedRule::name)
            .collect();
        let action = escalation(&open, &to);
        let proposal = Proposal {
            action: match term {
                Some(term) => format!("{action} {}", term.describe()),
                None => action,
            },
            rules,
            whose: NamedOwners::All,
            is_noted_before: true,
            patience: self.waiting.patience(),
            drains: None,
            eviction: EvictionMethod::Taint,
        };
        Ok((mutation, proposal))
    }

    async fn carry_out(
        &self,
        proposal: &Proposal,
        mutation: &MutationContext,
        until: Option<Timestamp>,
        changer: &mut Changer<'_>,
    ) -> Result<(), Failure> {
        for done in proposal.rules.iter().filter(|rule| !rule.is_open()) {
            changer.unchanged(&done.rule)?;
        }
        let to = Effect::from(self.to);
        let patch = RulePatch::effect(&to, &mutation.view.semantics, Some(mutation.view.now));
        let patch = match until {
            Some(until) => patch.until(until),
            None => patch,
        };
        for rule in &proposal.changed() {
            // On a conflict it is decided again: a rule that is gone, or that does more by now, is left
            // alone.
            let again = |found: Option<&DeviceTaintRule>| escalates_again(found, &to);
            if let Err(failure) = changer.patch(rule, &patch, again).await {
                let names = proposal.open_names();
                let failure = mutation.with_impact_warnings(failure, &names, &to).await;
                return Err(stopped(failure, changer.context()));
            }
        }
        Ok(())
    }

    /// Says which rules this run would not revert, since it does not know what they were.
    fn warn_of_no_way_back(&self, rules: &[ProposedRule], context: &Context) {
        let kept = rules.iter().filter(|rule| !rule.is_open());
        for rule in kept.filter(|_| self.is_timed()) {
            context.printer.warn(&kept_for_good(&rule.rule));
        }
        let is_real = self.change.change().dry_run.is_real();
        let reverts = match self.on_timeout {
            OnTimeout::Keep => false,
            OnTimeout::Revert => self.waiting.wait && is_real,
        };
        let done = rules.iter().filter(|rule| !rule.is_open() && rule.evicts());
        for rule in done.filter(|_| reverts) {
            let consequence = "so `--on-timeout revert` will not change it";
            context.printer.warn(&no_way_back(&rule.rule, consequence));
        }
    }
}

/// Keeps an effect for its time, or until somebody stops the program, and takes it back: how the command ends. What was only
/// partly `applied` is taken back at once, since nobody would do so later.
async fn hold(
    mut timed: TimedEffect<'_>,
    applied: Result<(), Failure>,
    mut signals: Signals,
    changer: &mut Changer<'_>,
) -> Result<(), Failure> {
    let context = changer.context();
    let stopped = match &applied {
        Ok(()) => tokio::select! {
            status = signals.next() => Some(status),
            () = timed.hold(changer) => None,
        },
        Err(failure) => failure.signal(),
    };
    if applied.is_err() {
        timed.settle().await;
    }
    let given = Box::pin(timed.give_back(changer));
    // A second signal ends also that, and says what is left.
    let given = stoppable_by(given, Some(&mut signals), context).await;
    let first = match (stopped, applied) {
        (Some(status), _) => Some(interrupted(status, context)),
        (None, applied) => applied.err(),
    };
    escalation_end(first, given)
}
