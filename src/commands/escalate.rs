//! `escalate`: let rules do more.

use super::context::Context;
use super::work::changer::{
    Changer, Recorder, RehearsalArgs, ReportArgs, effects, recorder, reported, stopped,
};
use super::work::mutation_context::MutationContext;
use super::work::pipeline::{Pipeline, read_limits};
use super::work::wait::WaitingArgs;
use crate::decide::approval::SafetyLimits;
use crate::decide::proposal::{ProposedRule, escalate, escalates_again, escalation};
use crate::decide::{Proposal, RuleArguments, RuleChoice, RulePatch};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect};

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
#[command(after_help = EXAMPLES)]
pub(super) struct EscalateArgs {
    #[command(flatten)]
    rules: RuleArguments,

    /// New effect
    #[arg(long, value_parser = effects(["NoSchedule", "NoExecute"]), hide_possible_values = true, value_name = "NoSchedule|NoExecute")]
    to: Effect,

    #[command(flatten)]
    waiting: WaitingArgs,

    #[command(flatten)]
    change: RehearsalArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    safety: SafetyLimits,
}

const EXAMPLES: &str = "\
Examples:
  # Preview the evictions, confirm them, and wait until the pods are gone
  kubectl devicetaint escalate maintenance-node-7 --to NoExecute --wait --timeout 10m

  # Select the rule by its device and taint key
  kubectl devicetaint escalate gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance --to NoSchedule

  # In a script: evict no more than the report shows
  kubectl devicetaint preview --rule maintenance-node-7 -o json > report.json
  kubectl devicetaint escalate maintenance-node-7 --to NoExecute \\
    --yes --expect report.json --wait";

pub(super) async fn run(args: EscalateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let format = args.report.output;
    let recorder = recorder(args.change.dry_run(), format, context);
    reported(args.escalate(recorder, context), format, context).await
}

impl EscalateArgs {
    async fn escalate(
        &self,
        recorder: Recorder<'_>,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        // Errors in the arguments are found before the cluster is asked.
        let choice = RuleChoice::parse(&self.rules)?;
        let safety = read_limits(&self.safety)?;
        let (mutation, proposal) = Box::pin(self.prepare(&choice, context)).await?;
        let mut changer = Changer::new(mutation.writable_rules(), recorder);
        let pipeline = Pipeline {
            mutation: &mutation,
            safety: &safety,
            context,
        };
        let apply = async |changer: &Changer<'_>| {
            let changed = self.carry_out(&proposal, &mutation, changer).await;
            mutation.view.tell(&context.printer);
            changed
        };
        let ended = Box::pin(pipeline.run(&proposal, &mut changer, apply)).await;
        ended.map(|()| ExitStatus::Success)
    }

    /// Proposed changes, in the cluster as it is.
    async fn prepare(
        &self,
        choice: &RuleChoice,
        context: &Context,
    ) -> Result<(MutationContext, Proposal), Failure> {
        let to = self.to.clone();
        let mutation = MutationContext::open(&self.change.source()?, context).await?;
        let (mutation, chooser) = mutation.chooser(choice).await?;
        let meant = mutation.selected(&chooser).await?;
        // All or nothing: unlike `deescalate`, it is in no hurry.
        if let Some(failure) = meant.all_missing() {
            return Err(failure);
        }
        if meant.rules.is_empty() {
            context.printer.note("No resources found");
        }
        let mutation = mutation.with_identities_of(&meant.rules).await?;
        let rules = escalate(&meant.rules, &to)?;
        let open: Vec<String> = rules
            .iter()
            .filter(|it| it.is_open())
            .map(ProposedRule::name)
            .collect();
        let proposal = Proposal {
            patience: self.waiting.patience(),
            ..Proposal::new(rules, escalation(&open, &to))
        };
        Ok((mutation, proposal))
    }

    async fn carry_out(
        &self,
        proposal: &Proposal,
        mutation: &MutationContext,
        changer: &Changer<'_>,
    ) -> Result<(), Failure> {
        for done in proposal.rules.iter().filter(|rule| !rule.is_open()) {
            changer.unchanged(&done.rule)?;
        }
        let to = self.to.clone();
        let patch = RulePatch::effect(&to, &mutation.view.semantics, Some(mutation.view.now));
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
}
