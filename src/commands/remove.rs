//! `remove`: take rules away.

use std::collections::BTreeSet;

use super::context::Context;
use super::work::changer::{
    ChangeArgs, Changer, Recorder, ReportArgs, recorder, reported, stopped,
};
use super::work::connect::{Live, connect};
use super::work::mutation_context::{MutationContext, selected_on};
use super::work::pipeline::approve_deletion;
use crate::cluster::read_nodes;
use crate::decide::approval::RemovalApproval;
use crate::decide::change_log::held_line;
use crate::decide::{Proposal, RuleArguments, RuleChoice, SelectedRules};
use crate::engine::rule_lifecycle::{blocks, release};
use crate::engine::{ProposedTaint, nodes_of, tainted_devices};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Kind};
use crate::report::rule_lifecycle::release_lines;

/// Delete rules, and show which devices become schedulable again
///
/// Selects rules by name, by hardware, by devices and KEY- (as in `kubectl taint`), by labels (-l), or all rules
/// (--all). With --expired, selects expired rules (see `add --expires`).
///
/// Asks for confirmation for --all and for more than one rule. If stdin is not a terminal, the command is then refused
/// without --yes.
///
/// Also asks for confirmation for rules that another user or program created or changed. If stdin is not a terminal,
/// the command is then refused without --others.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct RemoveArgs {
    #[command(flatten)]
    rules: RuleArguments,

    /// Expired rules
    #[arg(long)]
    expired: bool,

    /// All rules, including those of other users and programs
    #[arg(long)]
    all: bool,

    /// Do not ask for confirmation
    ///
    /// Rules of other users and programs still need confirmation or --others.
    #[arg(short, long, help_heading = "Safety")]
    yes: bool,

    /// Allow rules of other users and programs
    ///
    /// Without this flag, such rules need confirmation, even with --yes; if stdin is not a terminal, the
    /// command is refused.
    #[arg(long, help_heading = "Safety")]
    others: bool,

    /// Ignore missing rules
    #[arg(long, help_heading = "Change")]
    ignore_not_found: bool,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    report: ReportArgs,
}

const EXAMPLES: &str = "\
Examples:
  # By name
  kubectl devicetaint remove maintenance-node-7

  # By device and taint key
  kubectl devicetaint remove gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance-

  # Expired rules
  kubectl devicetaint remove --expired";

pub(super) async fn run(args: RemoveArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let format = args.report.output;
    let recorder = recorder(args.change.dry_run, format, context);
    reported(args.remove(recorder, context), format, context).await
}

impl RemoveArgs {
    /// Removes rules by name that the user has approved, except those that others changed.
    pub(super) fn agreed(names: Vec<String>, others: bool, change: ChangeArgs) -> Self {
        Self {
            rules: RuleArguments::named(names),
            expired: false,
            all: false,
            yes: true,
            others,
            // An earlier run may have been interrupted.
            ignore_not_found: true,
            change,
            report: ReportArgs::default(),
        }
    }

    /// The command with the report that another command prints.
    pub(super) fn with_report(self, report: ReportArgs) -> Self {
        Self { report, ..self }
    }

    async fn remove(
        &self,
        recorder: Recorder<'_>,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        // Errors in the arguments are found before the cluster is asked.
        let choice = self.choice()?;
        let live = connect(context).await?;
        let rules = live.rules()?;
        let (chooser, mut found) = selected_on(&choice, &live, context).await?;
        // As with `kubectl delete`, a missing rule keeps no other from being deleted, so that an interrupted
        // command can be run again.
        let missing = self.objection(&mut found, context);
        let changer = Changer::new(Some(&rules), recorder);
        context.log.missing(&chooser, &found);
        if found.rules.is_empty() && missing.is_none() {
            context.printer.note("No resources found");
        }
        let proposal = Proposal::deletion(&found.rules);
        let agreed = RemovalApproval {
            yes: self.yes,
            others: self.others,
        };
        let approved = approve_deletion(&proposal, &chooser, agreed, &live, &changer).await;
        approved.inspect_err(|failure| context.log.refuse(&proposal.rules, failure))?;
        context.log.plan(proposal.goals());
        let removed = Box::pin(self.delete(&proposal, &live, &changer)).await;
        match (removed, missing) {
            (Err(failure), _) => Err(failure),
            (Ok(()), Some(failure)) if found.rules.is_empty() => Err(failure),
            (Ok(()), Some(failure)) => {
                let deleted = if changer.dry_run().is_real() {
                    "the other rules were deleted"
                } else {
                    "the other rules would be deleted"
                };
                Err(failure.detail(deleted))
            }
            (Ok(()), None) => Ok(ExitStatus::Success),
        }
    }

    fn choice(&self) -> Result<RuleChoice, Failure> {
        RuleChoice::parse(&RuleArguments {
            expired: self.expired,
            all: self.all,
            ..self.rules.clone()
        })
    }

    /// One failure for all that is not there, unless that is fine.
    fn objection(&self, found: &mut SelectedRules, context: &Context) -> Option<Failure> {
        let (lines, failure) = found.objection(self.ignore_not_found);
        for line in lines {
            context.printer.note(&line);
        }
        failure
    }

    /// Deletes the proposed rules.
    async fn delete(
        &self,
        proposal: &Proposal,
        live: &Live,
        changer: &Changer<'_>,
    ) -> Result<(), Failure> {
        let found = proposal.changed();
        if found.is_empty() {
            return Ok(());
        }
        // Read before they are gone; a user who may not look at devices may remove rules all the same.
        let mutation = MutationContext::of(live.clone()).await;
        let mut gone = Vec::new();
        for rule in found {
            let removed = changer.delete(&rule).await;
            let removed = removed.map_err(|failure| stopped(failure, changer.context()))?;
            if removed.is_held() {
                changer.note(held_line(&rule));
            } else {
                gone.push(rule);
            }
        }
        if !gone.is_empty() {
            tell_released(&gone, mutation, changer).await;
        }
        Ok(())
    }
}

/// Reports the devices that the rules free, and the reasons why others stay unallocatable.
async fn tell_released(
    removed: &[DeviceTaintRule],
    mutation: Result<MutationContext, Failure>,
    changer: &Changer<'_>,
) {
    let context = changer.context();
    let blocking: Vec<&DeviceTaintRule> = removed
        .iter()
        .filter(|rule| blocks(&rule.taint.effect))
        .collect();
    let mutation = match mutation {
        Ok(mutation) => mutation,
        Err(_) if blocking.is_empty() => return,
        Err(failure) => {
            return changer.note(format!(
                "cannot tell whether the devices are schedulable again: {failure}"
            ));
        }
    };
    mutation.view.tell(&context.printer);
    // Other rules have kept no device from being allocated.
    if blocking.is_empty() {
        return;
    }
    let proposed = ProposedTaint::of_rules(blocking, mutation.view.now);
    let devices = tainted_devices(
        mutation.view.snapshot(),
        &proposed,
        mutation.view.now,
        &mutation.view.semantics,
    );
    let Some(Live { client, served }) = mutation.view.live() else {
        return;
    };
    let nodes = read_nodes(client, served, &nodes_of(&devices)).await;
    let nodes = nodes.as_deref().ok();
    let deciding = [
        Kind::ResourceSlice,
        Kind::DeviceTaintRule,
        Kind::ResourceClaim,
    ];
    let is_unread = |kind: &Kind| mutation.view.reading.without(*kind).is_some();
    let unread: BTreeSet<Kind> = deciding.into_iter().filter(is_unread).collect();
    let released = release(&devices, mutation.view.snapshot(), nodes);
    for line in release_lines(&released, &unread) {
        changer.note(line);
    }
}
