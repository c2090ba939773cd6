//! `dedicate`: devices for the claims of some namespaces, and for no others.

use std::time::Duration;

use clap::ArgGroup;
use serde_json::Value;
use tokio::time::Instant;

use super::context::Context;
use super::work::changer::{RehearsalArgs, recorder, stopped};
use super::work::connect::failed;
use super::work::dedication::{DedicationObjects, with_policies};
use super::work::mutation_context::MutationContext;
use super::work::pipeline::approve;
use super::work::present::formats;
use crate::assess::{Consent, defects};
use crate::cluster::{TrialResult, WriteMode, preferred_version, user_name};
use crate::completion::Values;
use crate::decide::approval::{Approval, ImpactLimit};
use crate::decide::change_log::{DryRun, RuleGoal};
use crate::decide::choice::{self, Choice, ChoiceBasis, DeviceArguments, refuse_unmatched};
use crate::decide::dedication::{
    DesiredObject, KINDS, NamespaceFact, Namespaces, Step, Terms, findings, full_name,
    other_dedication, refuse_overlap, refuse_shared_counters,
};
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceSelector, Kind};
use crate::naming::labels::LabelSelector;
use crate::naming::phrase::counted;
use crate::render::{Format, render};
use crate::report::metadata::Warning;
use crate::report::rules::ObjectList;

/// Policies act up to a second after they are created; this long is waited for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two trials of the policies.
const PAUSE: Duration = Duration::from_millis(250);
/// Up to so many findings are listed.
const LISTED: usize = 20;

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
/// `--dry-run=client -o yaml` prints the objects in this order, for `kubectl diff -f -` or `kubectl apply -f -`.
/// `--dry-run=server` makes all checks.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("namespaces").required(true).args(["to", "namespace_selector"]))]
pub(super) struct DedicateArgs {
    /// DRIVER, DRIVER/POOL/DEVICE or hardware ID
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
    /// Default: a line for each change; with --dry-run=client, the names of the objects.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = formats(&[Format::Json, Format::Yaml, Format::Name]), help_heading = "Change")]
    output: Option<Format>,

    #[command(flatten)]
    change: RehearsalArgs,

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
    /// The terms without the devices.
    fn terms(&self) -> Result<Terms, Failure> {
        let namespaces = match &self.namespace_selector {
            Some(selector) => Namespaces::Labelled(selector.clone()),
            None => Namespaces::Named(self.to.iter().cloned().collect()),
        };
        let name = match (&self.name, &self.to[..]) {
            (Some(name), _) | (None, [name]) => name.clone(),
            (None, _) => {
                let failure = "without --name, exactly one --to NAMESPACE is needed";
                return Err(Failure::usage(failure).hint("add --name NAME"));
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
        let typed = DeviceArguments {
            arguments: self.targets.clone(),
            with_partitions: self.with_partitions,
            ..DeviceArguments::default()
        };
        let choice = Choice::parse(&typed, choice::Purpose::Choose)?;
        Ok(Choice {
            taint: Some(terms.taint()),
            ..choice
        })
    }

    /// Prints objects; by default, their names.
    fn print(&self, objects: &[DesiredObject], context: &Context) -> Result<ExitStatus, Failure> {
        let format = self.output.unwrap_or(Format::Name);
        let all = objects.iter().map(|one| one.object.clone()).collect();
        let text = render(&ObjectList(all), format.into())?;
        context.printer.emit(&text)?;
        Ok(ExitStatus::Success)
    }
}

/// The objects at the versions that are written if the server's are unknown.
fn unserved(terms: &Terms) -> Vec<DesiredObject> {
    terms.objects(
        preferred_version(Kind::MutatingAdmissionPolicy),
        preferred_version(Kind::DeviceTaintRule),
    )
}

/// The taints of the dedication.
fn proposed(terms: &Terms, mutation: &MutationContext) -> Vec<ProposedTaint> {
    let devices = terms.devices.iter().cloned();
    ProposedTaint::hypothetical_for(devices, &terms.taint(), mutation.view.now)
}

fn selectors(choice: Choice) -> Vec<DeviceSelector> {
    match choice.by {
        ChoiceBasis::Selectors(selectors) => selectors,
        ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_) => Vec::new(),
    }
}

pub(super) async fn run(args: DedicateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let mut terms = args.terms()?;
    let choice = args.choice(&terms)?;
    let recorder = recorder(args.change.dry_run(), args.output, context);
    let source = args.change.source()?;
    if recorder.dry_run == DryRun::Client && source.from.is_empty() && !choice.needs_cluster() {
        terms.devices = selectors(choice);
        return args.print(&unserved(&terms), context);
    }
    let mutation = MutationContext::open(&source, context).await?;
    let (mutation, choice) = Box::pin(mutation.resolved(&choice, context)).await?;
    terms.devices = selectors(choice);
    let (Some(live), Some(rules)) = (mutation.view.live(), mutation.writable_rules()) else {
        let view = &mutation.view;
        refuse_unmatched(&proposed(&terms, &mutation), &view.reading, &view.semantics)?;
        return args.print(&unserved(&terms), context);
    };
    let objects = DedicationObjects {
        live: with_policies(live).await?,
        dedication: &terms.name,
        recorder,
    };
    let policies = objects.of(Kind::MutatingAdmissionPolicy).map_err(failed)?;
    let desired = terms.objects(policies.api_version(), rules.api_version());
    if recorder.dry_run == DryRun::Client {
        return args.print(&desired, context);
    }
    let namespaces = objects.list(Kind::NamespaceObject).await.map_err(failed)?;
    let dedication = Dedication {
        terms: &terms,
        args: &args,
        objects: &objects,
        namespaces: namespaces.iter().map(NamespaceFact::from).collect(),
        context,
    };
    Box::pin(dedication.make(desired, &mutation)).await
}

/// A dedication that is made in a cluster.
struct Dedication<'a> {
    terms: &'a Terms,
    args: &'a DedicateArgs,
    objects: &'a DedicationObjects<'a>,
    namespaces: Vec<NamespaceFact>,
    context: &'a Context,
}

type Planned = Vec<(DesiredObject, Step)>;

impl Dedication<'_> {
    async fn make(
        &self,
        desired: Vec<DesiredObject>,
        mutation: &MutationContext,
    ) -> Result<ExitStatus, Failure> {
        let checked = self.check(desired, mutation).await;
        let (planned, found) = checked.map_err(|failure| failure.detail("nothing was changed"))?;
        if planned.iter().any(|(_, step)| *step != Step::Keep) {
            self.approve(&planned, &found, mutation)?;
        }
        let made = self.apply(&planned).await;
        made.map_err(|failure| stopped(failure, self.context))?;
        if self.args.output.is_some() {
            let objects: Vec<DesiredObject> = planned.into_iter().map(|(one, _)| one).collect();
            self.args.print(&objects, self.context)?;
        }
        if self.objects.recorder.dry_run.is_real() {
            let seen = self.look_again(&found, mutation).await;
            seen.map_err(|failure| stopped(failure, self.context))?;
        }
        mutation.view.tell(&self.context.printer);
        Ok(ExitStatus::Success)
    }

    /// The change that each object needs, and findings to be shown. The server takes all of it, or nothing is done.
    async fn check(
        &self,
        desired: Vec<DesiredObject>,
        mutation: &MutationContext,
    ) -> Result<(Planned, Vec<String>), Failure> {
        self.terms.refuse_namespaces(&self.namespaces)?;
        let proposed = proposed(self.terms, mutation);
        let view = &mutation.view;
        refuse_unmatched(&proposed, &view.reading, &view.semantics)?;
        refuse_overlap(self.terms, mutation.view.rules()?)?;
        let selected = mutation.view.selected(&proposed).devices;
        refuse_shared_counters(mutation.view.snapshot(), &selected)?;
        let found = self.findings(mutation).await?;
        let user = user_name(&mutation.live()?.client).await;
        let mut planned = Planned::new();
        for kind in KINDS {
            let listed = self.objects.list(kind).await.map_err(failed)?;
            for wanted in desired.iter().filter(|one| one.kind == kind) {
                let name = wanted.full_name();
                let is_it = |object: &&Value| full_name(kind, object) == name;
                let existing = listed.iter().find(is_it);
                let step = wanted.step(existing, &self.terms.name)?;
                let wanted = wanted.clone().created_by(user.as_deref(), existing);
                if step != Step::Keep {
                    let applied = self.objects.send(&wanted, WriteMode::DryRun).await;
                    wanted.check_applied(&applied.map_err(failed)?)?;
                }
                planned.push((wanted, step));
            }
        }
        // Without permission to try the policies, they are not created.
        self.is_in_effect().await?;
        Ok((planned, found))
    }

    /// Pods and claims that the dedication does not keep off its devices.
    async fn findings(&self, mutation: &MutationContext) -> Result<Vec<String>, Failure> {
        let view = mutation.view.clone().with_templates().await?;
        for kind in [Kind::ResourceClaim, Kind::ResourceClaimTemplate] {
            if let Some(gap) = view.reading.without(kind) {
                let failure = format!("cannot read {}: {}", gap.what, gap.why);
                return Err(Failure::new(ExitStatus::Failed, failure));
            }
        }
        let selected = view.selected(&proposed(self.terms, mutation)).devices;
        let daemon_sets = self.objects.list(Kind::DaemonSet).await.map_err(failed)?;
        let namespaces = &self.namespaces;
        let snapshot = view.snapshot();
        Ok(findings(
            self.terms,
            snapshot,
            &selected,
            namespaces,
            &daemon_sets,
        ))
    }

    fn approve(
        &self,
        planned: &Planned,
        found: &[String],
        mutation: &MutationContext,
    ) -> Result<(), Failure> {
        let defect = defects::of_rules(mutation.view.release());
        if let Some(defect) = &defect {
            self.context.printer.warn(&Warning::from(defect).line());
        }
        let changed = planned.iter().filter(|(_, step)| *step == Step::Configure);
        let changed = changed.map(|(one, _)| format!("changes {}", one.full_name()));
        let more = found.len().saturating_sub(LISTED);
        let lines: Vec<String> = changed
            .chain(found.iter().take(LISTED).cloned())
            .chain((more > 0).then(|| format!("and {more} more")))
            .collect();
        let (devices, to) = (self.terms.devices.len(), self.terms.namespaces_text());
        let action = format!("Dedicate devices of {} to {to}", counted(devices, "rule"));
        let yes = self.args.yes;
        let defect = defect.as_ref();
        let approval = Approval {
            // The taint evicts no pod, but claims are changed and rejected from then on.
            impact: Consent::Yes,
            ..Approval::without_evictions(&action, defect, yes, ImpactLimit::Unsupported)
        };
        approve(
            &lines,
            &approval,
            self.objects.recorder.dry_run,
            self.context,
        )
    }

    /// Applies the policies, waits until they are in effect, and applies the rules.
    async fn apply(&self, planned: &Planned) -> Result<(), Failure> {
        let open = planned.iter().filter_map(|(wanted, step)| match step {
            Step::Create => Some((wanted.full_name(), RuleGoal::Created)),
            Step::Configure => Some((wanted.full_name(), RuleGoal::Changed)),
            Step::Keep => None,
        });
        self.context.log.plan(open);
        let is_rule = |(wanted, _): &&(DesiredObject, Step)| wanted.kind == Kind::DeviceTaintRule;
        let (rules, policies): (Vec<_>, Vec<_>) = planned.iter().partition(is_rule);
        for (wanted, step) in policies {
            self.objects.apply(wanted, *step).await?;
        }
        let started = Instant::now();
        // Also if all exist: an earlier run may have been stopped before they were in effect.
        while self.objects.recorder.dry_run.is_real() && !self.is_in_effect().await? {
            if started.elapsed() >= PATIENCE {
                return Err(Failure::new(
                    ExitStatus::TryAgain,
                    format!(
                        "the admission policies of dedication {} are not in effect after {}s",
                        self.terms.name,
                        PATIENCE.as_secs()
                    ),
                ));
            }
            tokio::time::sleep(PAUSE).await;
        }
        for (wanted, step) in rules {
            self.objects.apply(wanted, *step).await?;
        }
        Ok(())
    }

    /// True if the server rejects the toleration in a namespace outside, and adds it in one of the dedication,
    /// according to claims that it does not store.
    async fn is_in_effect(&self) -> Result<bool, Failure> {
        let claims = self.objects.of(Kind::ResourceClaim).map_err(failed)?;
        let mut open = self.namespaces.iter().filter(|one| !one.is_terminating);
        let inside = open
            .clone()
            .find(|one| self.terms.has(&one.name, &one.labels));
        let outside = open.find(|one| !self.terms.accepts(one));
        for (namespace, is_tolerating) in [(outside, true), (inside, false)] {
            let Some(NamespaceFact { name, .. }) = namespace else {
                continue;
            };
            let probe = self.terms.probe(claims.api_version(), name, is_tolerating);
            let tried = claims.try_creation(name, &probe).await.map_err(failed)?;
            let is_so = match tried {
                TrialResult::Accepted(claim) => !is_tolerating && self.terms.is_tolerated(&claim),
                TrialResult::Rejected(message) => {
                    is_tolerating && self.terms.is_rejection(&message)
                }
            };
            if !is_so {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Claims may have been created before the policies were in effect, and another dedication meanwhile.
    async fn look_again(
        &self,
        before: &[String],
        mutation: &MutationContext,
    ) -> Result<(), Failure> {
        let now = mutation.again().await?;
        for line in self.findings(&now).await? {
            if !before.contains(&line) {
                self.context.printer.warn(&line);
            }
        }
        let Some((rule, name)) = other_dedication(self.terms, now.view.rules()?) else {
            return Ok(());
        };
        let failure = format!(
            "rule {} of dedication {name} was created meanwhile, and selects some of the devices",
            rule.name
        );
        Err(Failure::new(ExitStatus::Failed, failure).hint(format!(
            "end one of both: kubectl devicetaint undedicate {}",
            self.terms.name
        )))
    }
}
