//! `drain`: devices out of service, unit by unit.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::{Subcommand, ValueEnum};

use super::context::Context;
use super::drains::{self, StatusArgs};
use super::flags::change::{ChangeArgs, ReportArgs};
use super::flags::events::EventsArgs;
use super::flags::safety::SafetyArgs;
use super::flags::source::VersionArgs;
use super::work::changer::{Changer, Lines};
use super::work::connect::failed;
use super::work::drain::{DrainOrder, DrainRun, unread};
use super::work::events;
use super::work::mutation_context::MutationContext;
use super::work::pipeline::{Pipeline, TimeoutAction};
use super::work::stopped::stopped;
use crate::assess::Replacements;
use crate::cluster::{Purpose, WriteMode, evict};
use crate::decide::choice::{
    Choice, ChoiceBasis, DeviceArguments, DeviceFilterFlags, Purpose as ChoicePurpose,
};
use crate::decide::drafts::RuleAnnotations;
use crate::decide::drain::{
    DrainEnd, DrainPlan, DrainTerms, Inclusions, Means, Unit, UnitKind, UnitLimits, UnitPod,
    UnitProgress, drains as drain_states, next_line, plan_lines, pods_of, refuse_start, units,
    wanted, workload_states,
};
use crate::decide::identity::with_identities;
use crate::decide::proposal::{Drains, NamedOwners, ProposedRule};
use crate::decide::{AddStep, Existing, Proposal, RuleDraft, Terms, add};
use crate::engine::{self, Impact, ProposedTaint};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, Effect};
use crate::naming::duration::parse_duration;
use crate::naming::phrase::few;
use crate::render::Format;

/// Take devices out of service, node by node, without gaps
///
/// Taints all devices with NoSchedule first, so that no replacement is placed on a device that is
/// drained later. Then evicts the pods of one unit after the other through the Eviction API, which
/// respects PodDisruptionBudgets: the next pod of a workload only when its last replacement is
/// ready. A unit is over when no claim holds its devices and its workloads are ready again.
///
/// Refuses to begin unless other devices are available for every claim. If pods of a unit cannot
/// leave within --timeout, the command ends with code 5 and names them; the taints stay. The same
/// command run again continues, also from another machine. To undo it: `restore`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DrainArgs {
    #[command(subcommand)]
    view: Option<ViewedCluster>,

    /// DRIVER/POOL/DEVICE with * for any, UUID, serial or PCI address
    #[arg(value_name = "DEVICE")]
    targets: Vec<String>,

    /// All devices of this node; repeatable
    #[arg(
        long = "node",
        value_name = "NODE",
        value_delimiter = ',',
        help_heading = "Devices"
    )]
    nodes: Vec<String>,

    /// Include all devices that share hardware with the selected ones
    ///
    /// Devices that consume counters of the same counter set share hardware.
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    with_partitions: bool,

    /// What is drained together: device, node or pool
    ///
    /// Default: node with --node, else device.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "UNIT",
        help_heading = "Drain"
    )]
    unit: Option<UnitArg>,

    /// How pods leave: evict, or taint to ignore budgets
    ///
    /// evict (the default) uses the Eviction API, and tries again while a budget refuses. taint sets
    /// effect NoExecute, which evicts all pods of a unit at once and ignores budgets.
    #[arg(
        long,
        value_enum,
        default_value = "evict",
        hide_default_value = true,
        hide_possible_values = true,
        value_name = "HOW",
        help_heading = "Drain"
    )]
    by: By,

    /// After --grace, set NoExecute, which ignores budgets
    ///
    /// For the pods that could not be evicted until then.
    #[arg(long, help_heading = "Drain")]
    force: bool,

    /// With --force, how long evictions are tried first, such as 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, help_heading = "Drain", hide_short_help = true)]
    grace: Duration,

    /// How long a unit may take, such as 30m
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = parse_duration, help_heading = "Drain")]
    timeout: Duration,

    /// How long devices must be idle, and the scheduler has to see the taints
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration, help_heading = "Drain", hide_short_help = true)]
    settle: Duration,

    /// Also evict the only pods of StatefulSets
    #[arg(long, help_heading = "Pods")]
    include_singletons: bool,

    /// Also evict pods of Jobs, which may fail their Job
    #[arg(long, help_heading = "Pods")]
    include_jobs: bool,

    /// Also evict pods that no known workload recreates
    #[arg(long, help_heading = "Pods")]
    include_unmanaged: bool,

    /// Also evict pods of DaemonSets
    #[arg(long, help_heading = "Pods", hide_short_help = true)]
    include_daemonsets: bool,

    /// Proceed although pods will stay without a device
    #[arg(long, help_heading = "Safety", hide_short_help = true)]
    accept_unplaceable: bool,

    /// Name of the drain; default: derived from nodes or devices
    #[arg(long, help_heading = "Rule", hide_short_help = true)]
    name: Option<String>,

    /// Why the devices are drained
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Rule",
        hide_short_help = true
    )]
    reason: Option<String>,

    /// Ticket reference
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Rule",
        hide_short_help = true
    )]
    ticket: Option<String>,

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

/// What is looked at.
#[derive(Debug, Subcommand)]
enum ViewedCluster {
    Status(StatusArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UnitArg {
    /// Each device by itself
    Device,
    /// All devices of a node
    Node,
    /// All devices of a pool
    Pool,
}

impl From<UnitArg> for UnitKind {
    fn from(typed: UnitArg) -> Self {
        match typed {
            UnitArg::Device => Self::Device,
            UnitArg::Node => Self::Node,
            UnitArg::Pool => Self::Pool,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    /// The Eviction API
    Evict,
    /// Effect NoExecute
    Taint,
}

impl From<By> for Means {
    fn from(typed: By) -> Self {
        match typed {
            By::Evict => Self::Eviction,
            By::Taint => Self::Taint,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  # What would be done for two nodes
  kubectl devicetaint drain --node node-7 --node node-8 --dry-run

  # One node after the other, then give the devices back
  kubectl devicetaint drain --node node-7 --node node-8 --name firmware
  kubectl devicetaint restore firmware";

pub(super) async fn run(args: DrainArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let is_draining = !args.targets.is_empty() || !args.nodes.is_empty();
    match args.view {
        Some(_) if is_draining => Err(Failure::usage(
            "drain status drains nothing: omit devices and --node",
        )),
        Some(ViewedCluster::Status(args)) => drains::status(args, context).await,
        None => args.begin(context).await,
    }
}

/// What a drain is going to do, once that is known.
struct Prepared {
    terms: DrainTerms,
    /// Units that are not over and not left out.
    units: Vec<Unit>,
    steps: Vec<AddStep>,
    runs: Vec<DrainRun>,
}

impl DrainArgs {
    /// What it does with a cluster.
    pub(super) fn purpose(&self) -> Purpose {
        match self.view {
            Some(ViewedCluster::Status(_)) => Purpose::DrainStatus,
            None => Purpose::Drain,
        }
    }

    async fn begin(self, context: &Context) -> Result<ExitStatus, Failure> {
        let format = self.report.format()?;
        let (target, lines) = (self.events.events.as_deref(), self.report.lines());
        let lines = events::begin_beside(target, "drain", lines, context).await?;
        if self.targets.is_empty() && self.nodes.is_empty() {
            return Err(
                Failure::usage("no devices selected").hint("name devices, or add --node NODE")
            );
        }
        let choices = self.choices()?;
        let safety = self.safety.prepare()?;
        let change = self.change.change();
        let mutation = MutationContext::open(self.version.version(), context).await?;
        let mutation = mutation.with_attributes().await?;
        let (mutation, devices) = Box::pin(self.devices(choices, mutation, context)).await?;
        let prepared = self.prepare(&devices, &mutation, context)?;
        if prepared.runs.is_empty() {
            context.printer.note(&format!(
                "drain {}: no unit is left to drain",
                prepared.terms.name
            ));
            return self
                .end(&prepared.terms.name, &mutation, format, context)
                .await;
        }
        let limits = self.limits();
        Box::pin(self.check(&prepared, &limits, &mutation, context)).await?;
        let proposal = self.proposal(&prepared);
        let mut changer = Changer::new(&mutation.rules, change, context).with_lines(lines);
        let pipeline = Pipeline {
            mutation: &mutation,
            safety: &safety,
            dry_run: change.dry_run,
            late: TimeoutAction::Keep,
            context,
        };
        let order = DrainOrder {
            name: &prepared.terms.name,
            live: &mutation.live,
            version: self.version.version(),
            semantics: mutation.view.semantics,
            limits,
            settle: self.settle,
            context,
        };
        let mut ended = None;
        let apply = async |changer: &mut Changer<'_>| {
            self.taint(&prepared, &mutation, changer).await?;
            if change.dry_run.is_real() {
                let drained = order.drain(&prepared.runs, &mutation, &safety, changer);
                ended = Some(Box::pin(drained).await?);
            }
            Ok(())
        };
        let done = Box::pin(pipeline.run(&proposal, &mut changer, apply)).await;
        mutation.view.tell(&context.printer);
        let status = done.and_then(|()| {
            ended
                .as_ref()
                .map_or(Ok(changer.status()), DrainEnd::status)
        });
        self.print(&prepared.terms.name, &mutation, format, context)
            .await?;
        if status.is_ok() && change.dry_run.is_real() && lines == Lines::Printed {
            context.printer.note(&next_line(&prepared.terms.name));
        }
        status
    }

    /// What was typed to mean devices: one choice for each node, or one for all devices.
    fn choices(&self) -> Result<Vec<Choice>, Failure> {
        let filters = |node: Option<&String>| DeviceFilterFlags {
            node: node.cloned(),
            with_partitions: self.with_partitions,
            ..DeviceFilterFlags::default()
        };
        let choice = |node: Option<&String>| {
            let arguments = DeviceArguments {
                arguments: self
                    .targets
                    .iter()
                    .cloned()
                    .chain([TAINT.to_owned()])
                    .collect(),
                filters: filters(node),
                ..DeviceArguments::default()
            };
            Choice::parse(&arguments, ChoicePurpose::Add)
        };
        if self.nodes.is_empty() {
            return Ok(vec![choice(None)?]);
        }
        self.nodes.iter().map(|node| choice(Some(node))).collect()
    }

    /// The devices that are meant.
    async fn devices(
        &self,
        choices: Vec<Choice>,
        mutation: MutationContext,
        context: &Context,
    ) -> Result<(MutationContext, BTreeSet<DeviceId>), Failure> {
        let mut mutation = mutation;
        let mut devices = BTreeSet::new();
        for choice in choices {
            let (now, choice) = Box::pin(mutation.with_numbers_of(choice, &[])).await?;
            mutation = now.with_attributes_for(choice.filter()).await?;
            let view = &mutation.view;
            let (choice, notes) = choice.resolved(&view.reading, &view.semantics)?;
            for note in notes {
                context.printer.note(&note);
            }
            let ChoiceBasis::Selectors(selectors) = choice.by else {
                continue;
            };
            let proposed: Vec<ProposedTaint> = selectors
                .into_iter()
                .map(|selector| hypothetical(selector, view.now))
                .collect();
            view.refuse_missing(&proposed)?;
            devices.extend(view.selected(&proposed).devices);
        }
        Ok((mutation, devices))
    }

    /// The units, and what is to be done about each rule.
    fn prepare(
        &self,
        devices: &BTreeSet<DeviceId>,
        mutation: &MutationContext,
        context: &Context,
    ) -> Result<Prepared, Failure> {
        let view = &mutation.view;
        let inventory = engine::devices(view.snapshot(), &view.semantics).devices;
        let units = units(devices, &inventory, self.unit_kind())?;
        let nodes: BTreeSet<String> = self.nodes.iter().cloned().collect();
        let terms = DrainTerms::new(self.name.as_deref(), &nodes, devices)?;
        let rules = view.rules()?;
        let known = drain_states(rules);
        let drafts = self.drafts(&units, &terms)?;
        let (drafts, left_out) = wanted(drafts, &units, &known, &terms.name)?;
        for (unit, why) in &left_out {
            context
                .printer
                .warn(&format!("unit {unit} is left out: {why}"));
        }
        let drafts = with_identities(drafts, view.snapshot(), &view.semantics, &[]);
        let existing = Terms {
            existing: Existing::Kept,
            semantics: &view.semantics,
            now: view.now,
        };
        let names = names_by_unit(&drafts);
        let steps = add(drafts, rules, &existing)?;
        let state = known.iter().find(|drain| drain.name == terms.name);
        let units = units.into_iter();
        let runs: Vec<DrainRun> = units
            .filter(|unit| !left_out.contains_key(&unit.name))
            .map(|unit| DrainRun {
                rules: names.get(&unit.name).cloned().unwrap_or_default(),
                progress: state
                    .and_then(|state| state.unit(&unit.name))
                    .map_or(UnitProgress::Waiting, |unit| unit.progress.clone()),
                unit,
            })
            .filter(|run| !run.progress.is_over())
            .collect();
        Ok(Prepared {
            units: runs.iter().map(|run| run.unit.clone()).collect(),
            terms,
            steps,
            // What has begun is ended first.
            runs: begun_first(runs),
        })
    }

    fn unit_kind(&self) -> UnitKind {
        let default = if self.nodes.is_empty() {
            UnitKind::Device
        } else {
            UnitKind::Node
        };
        self.unit.map_or(default, UnitKind::from)
    }

    /// The rules of the drain, one for each device, each with the place of its unit.
    fn drafts(
        &self,
        units: &[Unit],
        terms: &DrainTerms,
    ) -> Result<Vec<(usize, RuleDraft)>, Failure> {
        let inscription = RuleAnnotations {
            name: None,
            batch: Some(terms.name.clone()),
            reason: self.reason.clone(),
            ticket: self.ticket.clone(),
            labels: vec![terms.label()],
        };
        let mut all = Vec::new();
        for (place, unit) in units.iter().enumerate() {
            let selectors = unit.devices.iter().cloned().map(DeviceSelector::from);
            let choice = Choice {
                by: ChoiceBasis::Selectors(selectors.collect()),
                taint: Some(terms.taint()),
            };
            let drafts = inscription.drafts(&choice, Vec::new())?;
            all.extend(drafts.into_iter().map(|draft| (place, draft)));
        }
        Ok(all)
    }

    fn limits(&self) -> UnitLimits {
        UnitLimits {
            means: self.by.into(),
            included: Inclusions {
                single_replicas: self.include_singletons,
                jobs: self.include_jobs,
                unmanaged: self.include_unmanaged,
                daemon_sets: self.include_daemonsets,
            },
            force_after: self.force.then_some(self.grace),
            timeout: self.timeout,
            accepts_unplaceable: self.accept_unplaceable,
        }
    }

    /// Refuses what cannot end well, before anything is tainted, and says what is going to be done.
    async fn check(
        &self,
        prepared: &Prepared,
        limits: &UnitLimits,
        mutation: &MutationContext,
        context: &Context,
    ) -> Result<(), Failure> {
        let view = &mutation.view;
        let devices = prepared.units.iter().flat_map(|unit| &unit.devices);
        let proposed: Vec<ProposedTaint> = devices
            .cloned()
            .map(|device| hypothetical(device.into(), view.now))
            .collect();
        let view = Box::pin(view.clone().with_pods_for(&proposed, &[])).await?;
        let basis = view.basis();
        let impact = view.impact(&proposed);
        let pods = pods_of(&impact, &basis);
        let (_, unknown) = workload_states(&view.snapshot().pods, &view.reading);
        let unread: Vec<String> = unread(&view.reading).into_iter().chain(unknown).collect();
        let leaving: Vec<&UnitPod> = pods
            .iter()
            .filter(|pod| pod.is_evicted(limits.included))
            .collect();
        let uids: BTreeSet<_> = leaving.iter().map(|pod| &pod.uid).collect();
        // Pods that are left alone need no other device.
        let of_leaving = Impact {
            pods: impact
                .pods
                .iter()
                .filter(|pod| uids.contains(&pod.pod.uid))
                .cloned()
                .collect(),
            ..impact.clone()
        };
        let (replacements, _) = Replacements::of(&of_leaving, &basis);
        let plan = DrainPlan {
            name: &prepared.terms.name,
            units: &prepared.units,
            pods: &pods,
            replacements: &replacements,
            limits,
            unread: &unread,
        };
        refuse_start(&plan)?;
        for line in plan_lines(&plan) {
            context.printer.note(&line);
        }
        self.check_permission(&leaving, limits, mutation).await
    }

    /// Whether the user may evict, asked in each namespace by an eviction that is not carried out.
    async fn check_permission(
        &self,
        leaving: &[&UnitPod],
        limits: &UnitLimits,
        mutation: &MutationContext,
    ) -> Result<(), Failure> {
        // A dry run by this plugin sends nothing that could change anything.
        if limits.means == Means::Taint || self.change.change().mode().is_none() {
            return Ok(());
        }
        let mut asked = BTreeSet::new();
        for pod in leaving {
            if !asked.insert(&pod.name.namespace) {
                continue;
            }
            let client = &mutation.live.client;
            let tried = evict(client, &pod.name, &pod.uid, WriteMode::DryRun).await;
            // A budget that refuses now is no reason not to begin.
            tried.map_err(|error| failed(error).detail("nothing was changed"))?;
        }
        Ok(())
    }

    fn proposal(&self, prepared: &Prepared) -> Proposal {
        let names: Vec<String> = prepared
            .units
            .iter()
            .map(|unit| unit.name.clone())
            .collect();
        let may_raise = self.force
            || match Means::from(self.by) {
                Means::Taint => true,
                Means::Eviction => false,
            };
        Proposal {
            rules: prepared.steps.iter().map(ProposedRule::from).collect(),
            action: format!("Drain {}", few(&names)),
            whose: NamedOwners::Anybodys,
            noted_before: None,
            patience: None,
            drains: Some(if may_raise {
                Drains::ByTaint
            } else {
                Drains::ByEviction
            }),
        }
    }

    /// Taints all units, before the first pod leaves.
    async fn taint(
        &self,
        prepared: &Prepared,
        mutation: &MutationContext,
        changer: &mut Changer<'_>,
    ) -> Result<(), Failure> {
        let terms = Terms {
            existing: Existing::Kept,
            semantics: &mutation.view.semantics,
            now: mutation.view.now,
        };
        for step in &prepared.steps {
            let made = changer.take(step, &terms).await;
            made.map_err(|failure| stopped(failure, changer.context()))?;
        }
        Ok(())
    }

    async fn end(
        &self,
        name: &str,
        mutation: &MutationContext,
        format: Option<Format>,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        self.print(name, mutation, format, context).await?;
        Ok(if self.change.change().error_unchanged {
            ExitStatus::Unchanged
        } else {
            ExitStatus::Success
        })
    }

    /// Prints how far the drain is, where that was asked for as data.
    async fn print(
        &self,
        name: &str,
        mutation: &MutationContext,
        format: Option<Format>,
        context: &Context,
    ) -> Result<(), Failure> {
        match format {
            Some(format) => drains::print(name, mutation, format, context).await,
            None => Ok(()),
        }
    }
}

/// Stands for the taint of the drain, whose name is known only with its devices.
const TAINT: &str = "drain:NoSchedule";

/// The taint that a pod has to leave for, on these devices.
fn hypothetical(selector: DeviceSelector, now: jiff::Timestamp) -> ProposedTaint {
    let taint = DrainTerms {
        name: String::new(),
    };
    ProposedTaint::hypothetical(selector, taint.taint(), now).with_effect(&Effect::NoExecute, now)
}

/// The names of the rules of each unit.
fn names_by_unit(drafts: &[RuleDraft]) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for draft in drafts {
        let unit = draft
            .annotations
            .get(crate::model::RuleMetadata::DRAIN_UNIT);
        if let Some(unit) = unit {
            let rules = names.entry(unit.clone()).or_default();
            rules.push(draft.name.clone());
        }
    }
    names
}

fn begun_first(runs: Vec<DrainRun>) -> Vec<DrainRun> {
    let (mut begun, waiting): (Vec<DrainRun>, Vec<DrainRun>) =
        runs.into_iter().partition(|run| run.progress.has_begun());
    begun.extend(waiting);
    begun
}
