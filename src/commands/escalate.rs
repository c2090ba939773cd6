//! `escalate`: let rules do more.

use clap::ValueEnum;

use super::context::Context;
use super::flags::change::{ChangeArgs, ReportArgs};
use super::flags::events::EventsArgs;
use super::flags::rules::RuleArgs;
use super::flags::safety::SafetyArgs;
use super::flags::source::VersionArgs;
use super::flags::waiting::WaitingArgs;
use super::work::change_summary::accounted;
use super::work::changer::{Changer, Lines};
use super::work::events;
use super::work::mutation_context::MutationContext;
use super::work::pipeline::{Pipeline, TimeoutAction};
use super::work::stopped::stopped;
use crate::decide::effect::{escalation, no_way_back};
use crate::decide::identity::OtherHardware;
use crate::decide::proposal::{NamedOwners, ProposedRule};
use crate::decide::rules_on::{SiblingRules, refuse_several};
use crate::decide::{Proposal, RulePatch, escalate};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect};
use crate::render::Format;

/// Raise a rule's effect: block new pods, or evict running ones
///
/// Computes the impact again, applies the guards, and asks for confirmation. The change applies
/// only to the rule as it was previewed: after a concurrent change, nothing is overwritten, and the
/// difference is printed. For rules that this plugin did not create, the owner is shown in the
/// question.
///
/// --confirm-pods, --expect and --abort-if count the pods of all rules of the command, including rules that
/// an earlier, interrupted run has already changed. A dry run refuses what the real run would refuse; it
/// prints the question instead of asking it.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
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

    /// Proceed even if a device name now refers to other hardware
    ///
    /// A rule records the hardware of its device when it is created. Without this flag, nothing is
    /// changed if the device is now other hardware, or if the hardware has another name.
    #[arg(long, help_heading = "Safety", hide_short_help = true)]
    accept_identity_change: bool,

    #[command(flatten)]
    waiting: WaitingArgs,

    /// What to do with the rules on timeout; Ctrl-C keeps them
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
    events: EventsArgs,

    #[command(flatten)]
    safety: SafetyArgs,

    #[command(flatten)]
    version: VersionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Preview the evictions, confirm them, and wait until the pods are gone
  kubectl devicetaint escalate drain-node-7 --to NoExecute --wait --timeout 10m

  # The rule, by its device and taint key
  kubectl devicetaint escalate gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance --to NoSchedule

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
    /// Keep the rules
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

pub(super) async fn run(args: EscalateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let (format, dry_run) = (args.report.format()?, args.change.change().dry_run);
    let (events, lines) = (args.events.events.as_deref(), args.report.lines());
    let lines = events::begin_beside(events, "escalate", lines, context).await?;
    let work = args.escalate(format, lines, context);
    accounted(work, format, dry_run, context).await
}

impl EscalateArgs {
    async fn escalate(
        &self,
        format: Option<Format>,
        lines: Lines,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let typed = self.rules.typed(SiblingRules::Noted);
        // What can be wrong without a cluster is found before it is asked.
        typed.chooser()?;
        let safety = self.safety.prepare()?;
        let to = Effect::from(self.to);
        let mutation = MutationContext::open(self.version.version(), context).await?;
        let (mutation, chooser) = mutation.chosen(&typed, context).await?;
        let meant = mutation.meant(&chooser).await?;
        refuse_several(typed.hardware_alone(), &meant.rules)?;
        // All or nothing: unlike `deescalate`, it is in no hurry.
        if let Some(failure) = meant.all_missing() {
            return Err(failure);
        }
        if meant.rules.is_empty() {
            context.printer.note("No resources found");
        }
        let mutation = mutation.with_identities_of(&meant.rules).await?;
        let rules = escalate(&meant.rules, &to)?;
        self.warn_of_no_way_back(&rules, context);
        let open: Vec<String> = rules
            .iter()
            .filter(|it| it.is_open())
            .map(ProposedRule::name)
            .collect();
        let proposal = Proposal {
            action: escalation(&open, &to),
            rules,
            whose: NamedOwners::Anybodys,
            noted_before: Some(self.other_hardware()),
            patience: self.waiting.patience(),
            drains: None,
        };
        let change = self.change.change();
        let mut changer = Changer::new(&mutation.rules, change, context).with_lines(lines);
        let pipeline = Pipeline {
            mutation: &mutation,
            safety: &safety,
            dry_run: change.dry_run,
            late: self.on_timeout.into(),
            context,
        };
        let apply = async |changer: &mut Changer<'_>| {
            let changed = self.carry_out(&proposal, &mutation, changer).await;
            mutation.view.tell(&context.printer);
            changed
        };
        let ended = Box::pin(pipeline.run(&proposal, &mut changer, apply)).await;
        let status = changer.status();
        changer.present(format, &ended)?;
        ended.map(|()| status)
    }

    async fn carry_out(
        &self,
        proposal: &Proposal,
        mutation: &MutationContext,
        changer: &mut Changer<'_>,
    ) -> Result<(), Failure> {
        for done in proposal.rules.iter().filter(|rule| !rule.is_open()) {
            changer.unchanged(&done.rule)?;
        }
        let to = Effect::from(self.to);
        let patch = RulePatch::effect(&to, &mutation.view.semantics, Some(mutation.view.now));
        for rule in &proposal.changed() {
            // On a conflict it is decided again: a rule that is gone, or that does more by now, is left
            // alone.
            let again = |found: Option<&DeviceTaintRule>| {
                found.is_some_and(|found| escalate(std::slice::from_ref(found), &to).is_ok())
            };
            if let Err(failure) = changer.patch(rule, &patch, again).await {
                let names = proposal.open_names();
                let failure = mutation.with_impact_warnings(failure, &names, &to).await;
                return Err(stopped(failure, changer.context()));
            }
        }
        Ok(())
    }

    fn other_hardware(&self) -> OtherHardware {
        if self.accept_identity_change {
            OtherHardware::Accepted
        } else {
            OtherHardware::Refused
        }
    }

    /// Says which rules a timeout would not revert, since this run does not know what they were.
    fn warn_of_no_way_back(&self, rules: &[ProposedRule], context: &Context) {
        let is_real = self.change.change().dry_run.is_real();
        let reverts = match self.on_timeout {
            OnTimeout::Keep => false,
            OnTimeout::Revert => self.waiting.wait && is_real,
        };
        let done = rules.iter().filter(|rule| !rule.is_open() && rule.evicts());
        for rule in done.filter(|_| reverts) {
            let consequence = "so --on-timeout revert will not change it";
            context.printer.warn(&no_way_back(&rule.rule, consequence));
        }
    }
}
