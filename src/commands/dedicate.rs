//! `dedicate`: devices for the claims of some namespaces, and for no others.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::profile::{CommandProfile, NamespaceFilter, OF_A_DEDICATION};
use super::work::connect::failed;
use super::work::consent::{ask, introduce};
use super::work::dedication_objects::{DedicationObjects, DedicationWriter};
use super::work::mutation_context::MutationContext;
use super::work::stopped::stopped;
use crate::assess::{Consent, defects};
use crate::cluster::{ClusterError, Purpose, TrialResult, WriteMode, user_name};
use crate::completion::Values;
use crate::decide::approval::{ApprovalFacts, EvictionMethod, ImpactLimit};
use crate::decide::choice::{
    self, Choice, ChoiceBasis, DeviceArguments, DeviceFilterFlags, NumberUse,
};
use crate::decide::dedication::{
    DesiredObject, Findings, NamespaceFact, Namespaces, ObjectKind, Step, Terms, other_dedication,
    refuse_overlap, refuse_shared_counters,
};
use crate::decide::ledger::RuleGoal;
use crate::decide::question::CountedPods;
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceSelector, Kind};
use crate::naming::labels::LabelSelector;
use crate::naming::phrase::counted;
use crate::render::{Format, Page, render};
use crate::report::metadata::Warning;
use crate::report::rules::ObjectList;

/// Policies act up to a second after they are created; this long is waited for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two trials of the policies.
const PAUSE: Duration = Duration::from_millis(250);
/// Versions of manifests that are printed without a cluster: those of Kubernetes 1.37.
const NEWEST: [&str; 2] = ["admissionregistration.k8s.io/v1", "resource.k8s.io/v1"];

/// Dedicate devices to the claims of some namespaces
///
/// Creates these objects, in this order:
///
/// 1. A MutatingAdmissionPolicy that adds a toleration of the taint devicetaint.dev/dedicated=NAME to every new claim
///    and claim template in the namespaces of --to or --namespace-selector.
///
/// 2. A ValidatingAdmissionPolicy that rejects this toleration, and wildcard tolerations (without a key), in all
///    other namespaces except those of --allow.
///
/// 3. When the policies are in effect, the rules that taint the devices. The taint has effect NoSchedule: claims keep
///    the devices that they hold.
///
/// If the command is interrupted, run it again: it creates what is missing. With other namespaces, it changes the
/// policies.
///
/// `--dry-run=client -o yaml` prints the objects in this order, for `kubectl diff -f -` or `kubectl apply -f -`. It
/// checks nothing; `--dry-run=server` makes all checks.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DedicateArgs {
    /// DRIVER, DRIVER/POOL/DEVICE, UUID, serial number or PCI address
    ///
    /// DRIVER selects all devices of the driver. `*` as driver, pool or device matches any.
    #[arg(value_name = "DEVICE", add = Values::Devices)]
    targets: Vec<String>,

    /// Also dedicate devices that use the same counter sets, such as the partitions of a GPU
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    with_partitions: bool,

    /// Namespaces that may use the devices, comma-separated
    ///
    /// Their new claims get the toleration. Repeatable.
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_delimiter = ',',
        help_heading = "Dedication",
        add = Values::Namespaces
    )]
    to: Vec<String>,

    /// Namespaces that may use the devices, by labels; not with --to
    ///
    /// If the labels of a namespace change, the change applies to new claims only.
    #[arg(long, value_name = "SELECTOR", help_heading = "Dedication")]
    namespace_selector: Option<LabelSelector>,

    /// Name of the dedication; default: the namespace of a single --to
    ///
    /// The name is the value of the taint, and part of the names of the admission policies.
    #[arg(long, help_heading = "Dedication", hide_short_help = true)]
    name: Option<String>,

    /// Other namespaces in which claims with the toleration are accepted, such as monitoring
    ///
    /// The toleration is not added to claims in these namespaces.
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_delimiter = ',',
        help_heading = "Dedication",
        hide_short_help = true,
        add = Values::Namespaces
    )]
    allow: Vec<String>,

    /// Why the devices are dedicated
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Rule",
        hide_short_help = true
    )]
    reason: Option<String>,

    /// Print the objects: json, yaml or name
    ///
    /// Default: a line for each change.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = ["json", "yaml", "name"], help_heading = "Change")]
    output: Option<String>,

    #[command(flatten)]
    change: ChangeArgs,

    /// Do not ask for confirmation
    #[arg(short, long, help_heading = "Change")]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  # One GPU for the claims of namespace research
  kubectl devicetaint dedicate gpu.example.com/node-8/gpu-2 --to research

  # All devices of a driver, as manifests, for example for Git
  kubectl devicetaint dedicate gpu.example.com --to research \\
    --dry-run=client -o yaml";

impl DedicateArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::Dedicate)
            .with_namespace(NamespaceFilter::Meaningless(OF_A_DEDICATION))
    }

    /// The terms without the devices.
    fn terms(&self) -> Result<Terms, Failure> {
        let namespaces = match (&self.to[..], &self.namespace_selector) {
            ([], None) => {
                return Err(Failure::usage("no namespaces specified")
                    .hint("add --to NAMESPACE, or --namespace-selector SELECTOR"));
            }
            ([], Some(selector)) => Namespaces::Labelled(selector.clone()),
            (names, None) => Namespaces::Named(names.iter().cloned().collect()),
            (_, Some(_)) => {
                return Err(Failure::usage(
                    "--to and --namespace-selector cannot be used together",
                ));
            }
        };
        let name = match (&self.name, &self.to[..]) {
            (Some(name), _) => name.clone(),
            (None, [only]) => only.clone(),
            (None, _) => {
                return Err(
                    Failure::usage("without --name, exactly one --to NAMESPACE is needed")
                        .hint("add --name NAME"),
                );
            }
        };
        Terms::check_name(&name)?;
        Ok(Terms {
            name,
            namespaces,
            allowed: self.allow.iter().cloned().collect(),
            devices: Vec::new(),
            reason: self.reason.clone(),
        })
    }

    fn choice(&self, terms: &Terms) -> Result<Choice, Failure> {
        let mut arguments = self.targets.clone();
        // As if it had been typed, so that a second taint is refused.
        arguments.push(terms.taint().to_string());
        let typed = DeviceArguments {
            arguments,
            all_devices: false,
            filters: DeviceFilterFlags {
                with_partitions: self.with_partitions,
                ..DeviceFilterFlags::default()
            },
            rules: Vec::new(),
            filenames: Vec::new(),
        };
        Choice::parse(&typed, choice::Purpose::Add)
    }

    fn format(&self) -> Result<Option<Format>, Failure> {
        let format = self.output.as_deref().map(str::parse::<Format>);
        Ok(format.transpose()?)
    }
}

pub(super) async fn run(args: DedicateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let mut terms = args.terms()?;
    let choice = args.choice(&terms)?;
    let format = args.format()?;
    let change = args.change.change();
    if change.mode().is_none() && choice.filter().is_none() {
        terms.devices = selectors(choice);
        let [mutating, rules] = NEWEST;
        let objects = terms.objects(mutating, rules);
        return print(&objects, format, &args, context);
    }
    let mutation = MutationContext::open(context).await?;
    let (mutation, choice) = Box::pin(mutation.with_numbers_of(choice)).await?;
    let mutation = mutation.with_attributes_for(choice.filter()).await?;
    let view = &mutation.view;
    let resolved = choice.resolved(&view.reading, &view.semantics, NumberUse::Change)?;
    for note in &resolved.notes {
        context.printer.note(note);
    }
    terms.devices = selectors(resolved.choice);
    let objects = DedicationObjects::of(&mutation.live).await?;
    let mutating = objects.version_of(ObjectKind::MutatingPolicy)?;
    let desired = terms.objects(mutating, mutation.rules.api_version());
    if change.mode().is_none() {
        return print(&desired, format, &args, context);
    }
    let dedication = Dedication {
        terms: &terms,
        args: &args,
        objects: &objects,
        mutation: &mutation,
        namespaces: objects.namespaces().await?,
        context,
    };
    Box::pin(dedication.make(desired, format)).await
}

fn selectors(choice: Choice) -> Vec<DeviceSelector> {
    match choice.by {
        ChoiceBasis::Selectors(selectors) => selectors,
        ChoiceBasis::Filtered(..) | ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_) => Vec::new(),
    }
}

/// Prints what would be created, as objects or as lines.
fn print(
    objects: &[DesiredObject],
    format: Option<Format>,
    args: &DedicateArgs,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    match format {
        Some(format) => print_objects(objects, format, context)?,
        None => {
            let suffix = args.change.change().dry_run.suffix();
            for object in objects {
                let line = format!("{} created{suffix}\n", object.full_name());
                context.printer.emit(&line)?;
            }
        }
    }
    Ok(ExitStatus::Success)
}

fn print_objects(
    objects: &[DesiredObject],
    format: Format,
    context: &Context,
) -> Result<(), Failure> {
    let all: Vec<Value> = objects.iter().map(|one| one.object.clone()).collect();
    let page = Page {
        format,
        width: None,
        height: None,
    };
    Ok(context.printer.emit(&render(&ObjectList(all), page)?)?)
}

/// A dedication that is made in a cluster as it was read.
struct Dedication<'a> {
    terms: &'a Terms,
    args: &'a DedicateArgs,
    objects: &'a DedicationObjects,
    mutation: &'a MutationContext,
    namespaces: Vec<NamespaceFact>,
    context: &'a Context,
}

impl Dedication<'_> {
    /// Checks, asks, applies the policies, waits until they are in effect, applies the rules, and looks again.
    async fn make(
        &self,
        desired: Vec<DesiredObject>,
        format: Option<Format>,
    ) -> Result<ExitStatus, Failure> {
        let view = &self.mutation.view;
        self.terms.refuse_namespaces(&self.namespaces)?;
        let proposed: Vec<ProposedTaint> = self
            .terms
            .devices
            .iter()
            .map(|device| ProposedTaint::hypothetical(device.clone(), self.terms.taint(), view.now))
            .collect();
        view.refuse_missing(&proposed)?;
        refuse_overlap(self.terms, view.rules()?)
            .map_err(|failure| failure.detail("nothing was changed"))?;
        refuse_shared_counters(view.snapshot(), &view.selected(&proposed).devices)?;
        let before = self.findings(self.mutation, &proposed).await?;
        let planned = self
            .planned(desired)
            .await
            .map_err(|failure| failure.detail("nothing was changed"))?;
        if planned.iter().any(|(_, step)| *step != Step::Keep) {
            // Without permission to try the policies, they are not created.
            self.is_in_effect()
                .await
                .map_err(|error| failed(error).detail("nothing was changed"))?;
            self.approve(&planned, &before)?;
        }
        let writer = DedicationWriter {
            objects: self.objects,
            dedication: &self.terms.name,
            change: self.args.change.change(),
            prints_lines: format.is_none(),
            context: self.context,
        };
        self.apply(&writer, &planned)
            .await
            .map_err(|failure| stopped(failure, self.context))?;
        if let Some(format) = format {
            let objects: Vec<DesiredObject> = planned.into_iter().map(|(one, _)| one).collect();
            print_objects(&objects, format, self.context)?;
        }
        if writer.change.dry_run.is_real() {
            self.look_again(&before, &proposed)
                .await
                .map_err(|failure| stopped(failure, self.context))?;
        }
        view.tell(&self.context.printer);
        Ok(ExitStatus::Success)
    }

    /// What the dedication does not keep off its devices.
    async fn findings(
        &self,
        mutation: &MutationContext,
        proposed: &[ProposedTaint],
    ) -> Result<Findings, Failure> {
        let view = mutation.view.clone().with_templates().await?;
        for kind in [Kind::ResourceClaim, Kind::ResourceClaimTemplate] {
            if let Some(gap) = view.reading.without(kind) {
                return Err(Failure::new(
                    ExitStatus::Failed,
                    format!("cannot read {}: {}", gap.what, gap.why),
                ));
            }
        }
        let daemon_sets = self.objects.daemon_sets().await?;
        let selected = view.selected(proposed).devices;
        Ok(Findings::of(
            self.terms,
            view.snapshot(),
            &selected,
            &self.namespaces,
            &daemon_sets,
        ))
    }

    /// What is done about each object; the server takes all of it, or nothing is done.
    async fn planned(
        &self,
        desired: Vec<DesiredObject>,
    ) -> Result<Vec<(DesiredObject, Step)>, Failure> {
        let user = user_name(&self.mutation.live.client).await;
        let mut planned = Vec::new();
        for wanted in desired {
            let found = self.objects.get(wanted.kind, &wanted.name).await;
            let found = found.map_err(failed)?;
            let step = wanted.step(found.as_ref(), &self.terms.name)?;
            let wanted = wanted.created_by(user.as_deref(), found.as_ref());
            if step != Step::Keep {
                let applied = self.objects.apply(&wanted, WriteMode::DryRun).await;
                wanted.check_applied(&applied.map_err(failed)?)?;
            }
            planned.push((wanted, step));
        }
        Ok(planned)
    }

    fn approve(
        &self,
        planned: &[(DesiredObject, Step)],
        findings: &Findings,
    ) -> Result<(), Failure> {
        let defect = defects::of_rules(self.mutation.view.release());
        if let Some(defect) = &defect {
            let line = Warning::from(defect).line();
            self.context.printer.warn(&line);
        }
        let changed = planned.iter().filter(|(_, step)| *step == Step::Configure);
        let changed = changed.map(|(one, _)| format!("changes {}", one.full_name()));
        let lines: Vec<String> = changed.chain(findings.lines()).collect();
        let action = match self.terms.devices.as_slice() {
            [only] => format!("Dedicate {}", crate::naming::device::format(only)),
            several => format!("Dedicate {}", counted(several.len(), "device")),
        };
        let facts = ApprovalFacts {
            // The taint evicts no pod, but claims are mutated and rejected from then on.
            impact: Consent::Yes,
            pods: Some(0),
            is_unknown: false,
            changes_others: false,
            defect: defect.as_ref(),
            eviction: EvictionMethod::Taint,
            yes: self.args.yes,
            limit: ImpactLimit::Unsupported,
        };
        let action = format!("{action} to {}", self.terms.namespaces_text());
        match facts.question(&action, CountedPods::Evicted)? {
            None => {
                for line in &lines {
                    self.context.printer.note(line);
                }
                Ok(())
            }
            Some(question) => {
                introduce(&lines, self.context);
                ask(&question, self.args.change.change().dry_run, self.context).map(drop)
            }
        }
    }

    async fn apply(
        &self,
        writer: &DedicationWriter<'_>,
        planned: &[(DesiredObject, Step)],
    ) -> Result<(), Failure> {
        writer.plan(planned.iter().filter_map(|(wanted, step)| {
            let goal = match step {
                Step::Create => RuleGoal::Created,
                Step::Configure => RuleGoal::Changed,
                Step::Keep => return None,
            };
            Some((wanted.full_name(), goal))
        }));
        let is_open = planned.iter().any(|(_, step)| *step != Step::Keep);
        let (rules, policies): (Vec<_>, Vec<_>) = planned
            .iter()
            .partition(|(wanted, _)| wanted.kind == ObjectKind::Rule);
        for (wanted, step) in policies {
            writer.apply(wanted, *step).await?;
        }
        // An earlier run may have been stopped before the policies were in effect.
        if is_open && writer.change.dry_run.is_real() {
            self.wait_for_policies().await?;
        }
        for (wanted, step) in rules {
            writer.apply(wanted, *step).await?;
        }
        Ok(())
    }

    async fn wait_for_policies(&self) -> Result<(), Failure> {
        let started = Instant::now();
        loop {
            match self.is_in_effect().await {
                Ok(true) => return Ok(()),
                Err(error) if started.elapsed() >= PATIENCE => return Err(failed(error)),
                Ok(false) if started.elapsed() >= PATIENCE => {
                    return Err(Failure::new(
                        ExitStatus::TryAgain,
                        format!(
                            "the admission policies of dedication {} are not in effect after {}s",
                            self.terms.name,
                            PATIENCE.as_secs()
                        ),
                    ));
                }
                Ok(false) | Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Whether the server adds the toleration in a namespace of the dedication, and rejects it in another,
    /// according to claims that it does not store.
    async fn is_in_effect(&self) -> Result<bool, ClusterError> {
        let probe = |namespace: &NamespaceFact, is_tolerating: bool| {
            let name = namespace.name.clone();
            async move {
                let claim = |version: &str| self.terms.probe(version, &name, is_tolerating);
                self.objects.try_claim(&name, claim).await
            }
        };
        let mut open = self.namespaces.iter().filter(|one| !one.is_terminating);
        let inside = open
            .clone()
            .find(|one| self.terms.has(&one.name, &one.labels));
        let outside = open.find(|one| !self.terms.accepts(one));
        let is_added = match inside {
            None => true,
            Some(namespace) => match probe(namespace, false).await? {
                TrialResult::Accepted(claim) => self.terms.is_tolerated(&claim),
                TrialResult::Rejected(_) => false,
            },
        };
        let is_rejected = match outside {
            None => true,
            Some(namespace) => match probe(namespace, true).await? {
                TrialResult::Accepted(_) => false,
                TrialResult::Rejected(message) => self.terms.is_rejection(&message),
            },
        };
        Ok(is_added && is_rejected)
    }

    /// Claims may have been created before the policies were in effect, and another dedication meanwhile.
    async fn look_again(
        &self,
        before: &Findings,
        proposed: &[ProposedTaint],
    ) -> Result<(), Failure> {
        let now = self.mutation.again().await?;
        for line in self.findings(&now, proposed).await?.since(before).lines() {
            self.context.printer.warn(&line);
        }
        match other_dedication(self.terms, now.view.rules()?) {
            None => Ok(()),
            Some((rule, name)) => Err(Failure::new(
                ExitStatus::Failed,
                format!(
                    "dedication {name} was created meanwhile, and has some of the devices (rule {})",
                    rule.name
                ),
            )
            .hint(format!(
                "end one of both: kubectl devicetaint undedicate {}",
                self.terms.name
            ))),
        }
    }
}
