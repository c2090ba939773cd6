//! `add`: creates the rules that a command describes, unless they exist.

use std::path::PathBuf;

use serde_json::Value;

use super::context::{self, Context};
use super::work::changer::{Changer, RehearsalArgs, recorder, stopped};
use super::work::connect::{failed, manifests, semantics_for};
use super::work::mutation_context::{MutationContext, by_name};
use super::work::pipeline::{Pipeline, read_limits};
use super::work::present::formats;
use crate::cluster;
use crate::completion::Values;
use crate::decide::add::action;
use crate::decide::approval::SafetyLimits;
use crate::decide::change_log::DryRun;
use crate::decide::choice::{
    Choice, DeviceArguments, Purpose, refuse_missing, refuse_unknown_on_node,
};
use crate::decide::draft::{RuleAnnotations, with_expiry};
use crate::decide::identity::with_identities;
use crate::decide::proposal::ProposedRule;
use crate::decide::{AddStep, Existing, Proposal, RuleDraft, Terms, add};
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::Expiry;
use crate::naming::phrase::counted;
use crate::render::{Format, render};
use crate::report::rules::ObjectList;

/// Create rules that taint devices
///
/// Shows the impact of effects NoSchedule and NoExecute, and asks for confirmation: always for NoExecute, and for
/// NoSchedule if pods may use a selected device, or if every device is selected. Without EFFECT, the effect is None: no
/// pods are evicted, and the device-taint-eviction controller of Kubernetes counts those that NoExecute would evict.
///
/// The same command can be run again: it leaves identical rules unchanged, and creates missing ones. To change existing
/// rules, add --overwrite.
///
/// With --dry-run=client, no cluster is needed, unless --node, --where, a hardware ID, --abort-if or --expect is used.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct AddArgs {
    /// DRIVER/POOL/DEVICE or hardware ID, and the taint KEY[=VALUE][:EFFECT]
    ///
    /// See `help selectors`. Each DRIVER/POOL/DEVICE becomes one rule, also with `*`; with hardware IDs, --node or --where,
    /// each device does.
    #[arg(value_name = "DEVICE|TAINT", add = Values::DevicesThenTaint)]
    targets: Vec<String>,

    #[command(flatten)]
    filters: DeviceArguments,

    /// Also select devices that share counters with these, such as the partitions of a GPU
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    with_partitions: bool,

    /// Every device of every driver
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    all_devices: bool,

    /// Manifest of rules; `-` reads stdin; repeatable
    #[arg(short, long, value_name = "FILENAME", help_heading = "Devices")]
    filename: Vec<PathBuf>,

    /// Accept names that match no device
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    allow_missing: bool,

    #[command(flatten)]
    annotations: RuleAnnotations,

    /// Expiry for `remove --expired`, such as 4h or 2d
    ///
    /// Or a time. An expired rule stays in effect until it is removed.
    #[arg(long, value_name = "TIME", help_heading = "Rule")]
    expires: Option<Expiry>,

    /// Change effect, value and expiry of an existing rule
    #[arg(long, help_heading = "Change", hide_short_help = true)]
    overwrite: bool,

    /// Print the rules: json, yaml or name
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = formats(&[Format::Json, Format::Yaml, Format::Name]), help_heading = "Output")]
    output: Option<Format>,

    #[command(flatten)]
    change: RehearsalArgs,

    #[command(flatten)]
    safety: SafetyLimits,
}

const EXAMPLES: &str = "\
Examples:
  # Announce maintenance: Kubernetes counts the affected pods, and evicts none
  kubectl devicetaint add gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance=firmware --reason 'firmware update' --expires 4h

  # Keep new pods off all devices of a pool
  kubectl devicetaint add 'gpu.example.com/node-7/*' \\
    example.com/maintenance:NoSchedule

  # As a manifest, for example for Git
  kubectl devicetaint add gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance:NoSchedule --dry-run=client -o yaml > rule.yaml";

pub(super) async fn run(args: AddArgs, context: &Context) -> Result<ExitStatus, Failure> {
    // On the heap: it holds much, and the stack would have to hold it several times over.
    Box::pin(args.add(context)).await
}

impl AddArgs {
    async fn add(&self, context: &Context) -> Result<ExitStatus, Failure> {
        let (choice, manifests) = self.choice(context).await?;
        // Invalid names are reported before the user is asked anything.
        let named = if choice.needs_cluster() {
            None
        } else {
            Some(self.annotations.drafts(&choice, manifests)?)
        };
        // Reports are read first: errors in a file need no cluster.
        let safety = read_limits(&self.safety)?;
        let dry_run = self.change.dry_run();
        let source = self.change.source()?;
        if let Some(drafts) = &named
            && dry_run == DryRun::Client
            && source.from.is_empty()
            && !safety.is_set()
        {
            return self.print_drafts(drafts, context).await;
        }

        let mutation = MutationContext::open(&source, context).await?;
        let (mut mutation, resolved) = Box::pin(mutation.resolved(&choice, context)).await?;
        let drafts = match named {
            Some(drafts) => drafts,
            None => {
                let slices = &mutation.view.snapshot().slices;
                refuse_unknown_on_node(choice.filter.as_ref(), &resolved, slices)?;
                self.annotations.drafts(&resolved, Vec::new())?
            }
        };
        // Attributes are most of the bytes of a slice, so that they are read only for rules that note
        // hardware.
        if !choice.needs_attributes() && drafts.iter().any(RuleDraft::notes_hardware) {
            mutation = mutation.with_attributes().await?;
        }
        let view = &mutation.view;
        let drafts = with_identities(drafts, view.snapshot(), &view.semantics);
        let drafts = with_expiry(drafts, self.expires.as_ref(), view.now)?;
        if !self.allow_missing {
            refuse_unknown_devices(&drafts, &mutation)?;
        }
        let terms = Terms {
            existing: self.existing(),
            semantics: &view.semantics,
            now: view.now,
        };
        let steps = add(drafts.clone(), &existing(&drafts, &mutation).await?, &terms)?;
        for note in steps.iter().flat_map(AddStep::notes) {
            context.printer.note(&note);
        }
        let recorder = recorder(dry_run, self.output, context);
        let mut changer = Changer::new(mutation.writable_rules(), recorder);
        let proposal = Self::proposal(&steps);
        let pipeline = Pipeline {
            mutation: &mutation,
            safety: &safety,
            context,
        };
        let apply = async |changer: &Changer<'_>| {
            let made = self.carry_out(&steps, &terms, changer, &mutation);
            let made = Box::pin(made).await?;
            self.print_rules(made, context)
        };
        let done = Box::pin(pipeline.run(&proposal, &mut changer, apply)).await;
        view.tell(&context.printer);
        done.map(|()| ExitStatus::Success)
    }
}

/// The rules that are there under the names of the drafts. Who may not list rules can still look at
/// each.
async fn existing(
    drafts: &[RuleDraft],
    mutation: &MutationContext,
) -> Result<Vec<DeviceTaintRule>, Failure> {
    match mutation.view.rules() {
        Ok(rules) => Ok(rules.to_vec()),
        Err(_) => {
            let names: Vec<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
            by_name(&names, mutation.rules()?).await.map_err(failed)
        }
    }
}

fn refuse_unknown_devices(drafts: &[RuleDraft], mutation: &MutationContext) -> Result<(), Failure> {
    let proposed: Vec<ProposedTaint> = drafts
        .iter()
        .map(|draft| {
            ProposedTaint::hypothetical(
                draft.selector.clone(),
                draft.taint.clone(),
                mutation.view.now,
            )
        })
        .collect();
    refuse_missing(&proposed, &mutation.view.reading, &mutation.view.semantics)
}

impl AddArgs {
    fn proposal(steps: &[AddStep]) -> Proposal {
        let open: Vec<&AddStep> = steps.iter().filter(|step| step.is_open()).collect();
        Proposal::new(
            steps.iter().map(ProposedRule::from).collect(),
            action(&open),
        )
    }

    async fn carry_out(
        &self,
        steps: &[AddStep],
        terms: &Terms<'_>,
        changer: &Changer<'_>,
        mutation: &MutationContext,
    ) -> Result<Vec<Value>, Failure> {
        if steps.len() > 1 {
            let rules = counted(steps.len(), "rule");
            changer.context().printer.note(&format!(
                "the devices are tainted by {rules}: one for each selected device or pattern"
            ));
        }
        let mut objects = Vec::new();
        for step in steps {
            match changer.take(step, terms).await {
                Ok(object) => objects.push(object),
                Err(failure) => {
                    let (names, taint) = ([step.draft.name.clone()], &step.draft.taint);
                    let failure = match step.existing() {
                        Some(_) => {
                            mutation
                                .with_impact_warnings(failure, &names, &taint.effect)
                                .await
                        }
                        None => failure,
                    };
                    // Created rules stay: the same command run again finds them and completes the rest.
                    return Err(stopped(failure, changer.context()));
                }
            }
        }
        Ok(objects)
    }

    /// Prints rules that need no cluster, as `kubectl create --dry-run=client` does.
    async fn print_drafts(
        &self,
        drafts: &[RuleDraft],
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let semantics = semantics_for(Some(cluster::Purpose::Add), None, None)?;
        let terms = Terms {
            existing: self.existing(),
            semantics: &semantics,
            now: context::now(),
        };
        let drafts = with_expiry(drafts.to_vec(), self.expires.as_ref(), terms.now)?;
        let changer = Changer::new(None, recorder(DryRun::Client, self.output, context));
        let mut objects = Vec::new();
        for step in add(drafts, &[], &terms)? {
            objects.push(changer.take(&step, &terms).await?);
        }
        self.print_rules(objects, context)?;
        Ok(ExitStatus::Success)
    }

    /// Prints the rules as objects, where that was requested.
    fn print_rules(&self, objects: Vec<Value>, context: &Context) -> Result<(), Failure> {
        if let Some(format) = self.output {
            let text = render(&ObjectList(objects), format.into())?;
            context.printer.emit(&text)?;
        }
        Ok(())
    }

    fn existing(&self) -> Existing {
        if self.overwrite {
            Existing::Overwritten
        } else {
            Existing::Kept
        }
    }

    /// Device arguments of the command line.
    fn typed(&self) -> DeviceArguments {
        DeviceArguments {
            all_devices: Some(self.all_devices),
            with_partitions: self.with_partitions,
            filenames: self.filename.clone(),
            ..self.filters.with(&self.targets)
        }
    }

    /// Selected devices, and the manifests; finds all errors that need no cluster.
    async fn choice(
        &self,
        context: &Context,
    ) -> Result<(Choice, Vec<(DeviceTaintRule, Value)>), Failure> {
        let choice = Choice::parse(&self.typed(), Purpose::Add)?;
        Ok((choice, manifests(&self.filename, context).await?))
    }
}
