//! `make-room`: evicts pods so that a pod that waits for devices gets theirs.

use std::time::Duration;

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::flags::safety::SafetyArgs;
use super::profile::{CommandProfile, NamespaceFilter};
use super::signal::{Signals, interrupted, stoppable_by};
use super::work::changer::{Changer, Lines};
use super::work::consent::introduce;
use super::work::make_room::{
    Preparation, Prepared, RoomOrder, RoomRequest, remove_left, until_scheduled,
};
use super::work::mutation_context::MutationContext;
use super::work::pipeline::{ApprovalBasis, ImpactBasis, Pipeline};
use super::work::resolve_rules::by_name;
use crate::cluster::Purpose;
use crate::commands::work::connect::failed;
use crate::decide::make_room::{
    Mechanism, RoomLimits, RoomTarget, StageEnd, StageLimits, interrupted as advice, plan_lines,
    taken_over_line, with_removal, with_scheduler,
};
use crate::decide::{Existing, Terms};
use crate::error::{ExitStatus, Failure};
use crate::naming::duration::parse_duration;
use crate::render::{Format, Page, render};
use crate::report::RoomReport;
use crate::report::change::DryRun;
use crate::report::room::RoomOutcome;
use crate::report::room_plan::{ended_report, nothing_report, planned_report};

/// Evict pods so that a pending pod gets their devices
///
/// Finds a set of pods on one node whose eviction frees devices for all claims of the pending pod, and costs least.
/// Two sets are compared in these steps; the first difference decides:
///
/// 1. A set whose eviction violates no PodDisruptionBudget costs less than a set that violates one. Sets that violate
///    budgets need --force.
///
/// 2. If both sets violate none, a set in which all grace periods are at most 10s costs less than a set with a longer
///    grace period.
///
/// 3. Then these numbers are compared in this order, and the set with the lower number costs less: pods, the highest
///    priority of a pod, the sum of the priorities, devices that the pods claim, and pods without a controller.
///
/// Pods of equal or higher priority, pods in kube-system, and pods with an annotation against disruption (such as
/// karpenter.sh/do-not-disrupt=true) are never evicted.
///
/// The command does not check whether the node has enough CPU and memory for the pending pod, or whether the pending
/// pod's affinity to other pods is satisfied.
///
/// Reserves the devices for the pending pod with a temporary taint, devicetaint.dev/make-room. The claims of the
/// pending pod must tolerate this taint, unless --without-toleration is set. Pods with PodDisruptionBudgets are
/// evicted through the Eviction API, the others by effect NoExecute. The taint is removed when the pending pod is
/// scheduled (with --without-toleration: when the evicted pods have left), and also after a timeout or Ctrl-C.
///
/// The most important exit codes:
///
/// - 0: the pod is scheduled.
///
/// - 1: no set of pods is found, the pending pod was deleted, or another user or program removed or changed the
///   command's rules.
///
/// - 4: the command is refused, for example because the pod does not wait for devices that other pods hold.
///
/// - 5: timeout, or another pod got the devices.
///
/// --expect takes a report of `preview`, not the report of make-room. To create the report of `preview`, first run
/// make-room with --dry-run. The output of this dry run has a line that begins with "to see all affected pods:",
/// followed by a `preview` command. Run this `preview` command with `-o json`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct MakeRoomArgs {
    /// The pending pod: pod/NAME
    ///
    /// In --namespace if this is set, else in all namespaces.
    #[arg(value_name = "POD")]
    target: String,

    /// Allow sets that violate PodDisruptionBudgets
    ///
    /// Pods that the Eviction API has not evicted within --grace are evicted with effect NoExecute.
    #[arg(long, help_heading = "Pods")]
    force: bool,

    /// With --force, how long evictions are tried before NoExecute is set, such as 30s
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration, help_heading = "Pods", hide_short_help = true)]
    grace: Duration,

    /// Rely on the pending pod's priority, without a toleration
    ///
    /// The taint is removed when the evicted pods have left, before the pod is scheduled. From then on, the
    /// devices are not reserved for the pod. The scheduler tries pods by priority, but another pod, even
    /// one of a lower priority, may get the devices first.
    #[arg(long)]
    without_toleration: bool,

    /// How long to wait until the pod is scheduled
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, help_heading = "Wait")]
    timeout: Duration,

    #[command(flatten)]
    change: ChangeArgs,

    /// Output format: json or yaml
    ///
    /// Prints a RoomReport at the end: the pods to evict, and the outcome.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = ["json", "yaml"], help_heading = "Output")]
    output: Option<String>,

    #[command(flatten)]
    safety: SafetyArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Which pods would be evicted for this pod?
  kubectl devicetaint make-room pod/train-0 -n training --dry-run

  # Evict them, and wait until the pod is scheduled
  kubectl devicetaint make-room pod/train-0 -n training";

impl MakeRoomArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::MakeRoom)
            .with_namespace(NamespaceFilter::Narrows)
            .tidying_up(true)
    }
}

pub(super) async fn run(args: MakeRoomArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let format = args
        .output
        .as_deref()
        .map(str::parse::<Format>)
        .transpose()?;
    let lines = match format {
        Some(_) => Lines::Left,
        None => Lines::Printed,
    };
    let dry_run = args.change.change().dry_run;
    let done = args.make_room(lines, format, context).await;
    match &done {
        // A command line that is wrong gets no report: nobody knows what was asked for.
        Err(failure) if failure.status() != ExitStatus::Usage && !context.is_accounted() => {
            let report = RoomReport {
                error: Some(failure.to_string()),
                ..RoomReport::new(RoomOutcome::Failed, dry_run)
            };
            print(report, format, context)?;
        }
        Ok(_) | Err(_) => {}
    }
    done
}

/// Prints the report, if that was asked for.
fn print(report: RoomReport, format: Option<Format>, context: &Context) -> Result<(), Failure> {
    let Some(format) = format else {
        return Ok(());
    };
    let page = Page {
        format,
        width: None,
        height: None,
    };
    // Before it is printed: a failure to print must not be followed by a second document.
    context.accounted();
    let report = report.in_cluster(context.cluster().as_ref());
    Ok(context.printer.emit(&render(&report, page)?)?)
}

impl MakeRoomArgs {
    fn request(&self, context: &Context) -> Result<RoomRequest, Failure> {
        let namespace = context.namespace.as_deref();
        Ok(RoomRequest {
            target: RoomTarget::parse(&self.target, namespace)?,
            limits: RoomLimits { force: self.force },
            mechanism: self.mechanism(),
            timeout: self.timeout,
        })
    }

    fn mechanism(&self) -> Mechanism {
        if self.without_toleration {
            Mechanism::PriorityAlone
        } else {
            Mechanism::Taint
        }
    }

    fn stage_limits(&self) -> StageLimits {
        StageLimits {
            timeout: self.timeout,
            force_after: self.force.then_some(self.grace),
            mechanism: self.mechanism(),
        }
    }

    async fn make_room(
        &self,
        lines: Lines,
        format: Option<Format>,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let request = self.request(context)?;
        // What can be wrong without a cluster is found before it is asked.
        self.safety.prepare()?;
        // From before anything is changed, so that a signal meanwhile still has the rules removed.
        let mut signals = Signals::listen_for_hangup();
        let prepared = async {
            let mutation = MutationContext::open(context).await?;
            let found = Box::pin(request.prepare(&mutation)).await?;
            Ok((mutation, found))
        };
        let prepared = Box::pin(prepared);
        let (mutation, found) = stoppable_by(prepared, &mut signals, context).await?;
        let dry_run = self.change.change().dry_run;
        match found {
            Preparation::Scheduled(pod, node) => {
                let text = format!("pod {} is already scheduled on node {node}", pod.name);
                context.printer.note(&text);
                let report = RoomReport {
                    waiting_pod: Some((&pod).into()),
                    node: Some(node.to_string()),
                    ..RoomReport::new(RoomOutcome::Scheduled, dry_run)
                };
                print(report, format, context)?;
                Ok(ExitStatus::Success)
            }
            // The scheduler is preempting pods itself. Evictions by this command would come on top of these.
            Preparation::Nominated(pod, node) => {
                context.printer.note(&format!(
                    "the scheduler has already nominated node {node} for pod {}, and may have preempted \
                     pods there; nothing was changed",
                    pod.name
                ));
                let report = RoomReport {
                    waiting_pod: Some((&pod).into()),
                    ..RoomReport::new(RoomOutcome::Planned, dry_run)
                };
                if !dry_run.is_real() {
                    print(report, format, context)?;
                    return Ok(ExitStatus::Success);
                }
                let waiting = until_scheduled(&pod, &mutation.view, self.stage_limits());
                let waiting = stoppable_by(Box::pin(waiting), &mut signals, context);
                let end = waiting.await?;
                let status = end.status(&pod.name);
                let error = status.as_ref().err().map(ToString::to_string);
                let report = ended_report(report, &end);
                print(RoomReport { error, ..report }, format, context)?;
                if let Some(text) = end.success(&pod.name) {
                    context.printer.note(&text);
                }
                status
            }
            Preparation::Nothing(pod, nothing) => {
                let failure = with_scheduler(nothing.failure(&pod.name), &pod);
                let report = RoomReport {
                    error: Some(failure.to_string()),
                    ..nothing_report(&pod, &nothing, dry_run)
                };
                mutation.view.tell(&context.printer);
                print(report, format, context)?;
                Err(failure)
            }
            Preparation::Room(prepared) => {
                let work = RoomWork {
                    args: self,
                    prepared: &prepared,
                    mutation: &mutation,
                    format,
                    context,
                };
                Box::pin(work.carry_out(lines, signals)).await
            }
        }
    }
}

/// A chosen set, to be carried out.
struct RoomWork<'a> {
    args: &'a MakeRoomArgs,
    prepared: &'a Prepared,
    mutation: &'a MutationContext,
    format: Option<Format>,
    context: &'a Context,
}

impl RoomWork<'_> {
    /// Asks, evicts, waits, and removes the rules, whatever happened.
    async fn carry_out(&self, lines: Lines, mut signals: Signals) -> Result<ExitStatus, Failure> {
        let (args, context, prepared) = (self.args, self.context, self.prepared);
        let change = args.change.change();
        let name = &prepared.pod.name;
        let scheduler = prepared.waiting.scheduler.as_deref();
        let shown = plan_lines(name, &prepared.plan, args.mechanism(), scheduler);
        let taken_over = taken_over_line(&prepared.taken_over);
        let taken_over = taken_over.map(|line| format!("  {line}"));
        let shown: Vec<String> = shown.into_iter().chain(taken_over).collect();
        introduce(&shown, context);
        let safety = args.safety.prepare()?;
        let proposal = prepared.proposal();
        let changer = Changer::new(&self.mutation.rules, change, context);
        let mut changer = changer.with_lines(lines);
        let pipeline = Pipeline {
            basis: ApprovalBasis::Impact(ImpactBasis {
                mutation: self.mutation,
                safety: &safety,
            }),
            dry_run: change.dry_run,
            context,
        };
        let mut has_begun = false;
        let mut ended = None;
        let apply = async |changer: &mut Changer<'_>| {
            has_begun = change.dry_run.is_real();
            context.ledger.advise(advice());
            let terms = Terms {
                existing: Existing::Kept,
                semantics: &self.mutation.view.semantics,
                now: self.mutation.view.now,
            };
            for step in &prepared.first {
                changer.take(step, &terms).await?;
            }
            if change.dry_run.is_real() {
                ended = Some(Box::pin(self.stages(changer)).await?);
            }
            Ok(())
        };
        let checked = async {
            if change.mode().is_some() {
                prepared.check_permission(self.mutation).await?;
            }
            pipeline.run(&proposal, &mut changer, apply).await
        };
        let applied = stoppable_by(Box::pin(checked), &mut signals, context).await;
        self.mutation.view.tell(&context.printer);
        let removed = if has_begun {
            self.remove(&applied, &mut signals, &mut changer).await
        } else {
            Ok(None)
        };
        let status = match (&ended, applied) {
            (Some(end), Ok(())) => self.ending(end),
            (None, Ok(())) => Ok(ExitStatus::Success),
            // What was removed since is part of the account.
            (_, Err(failure)) if failure.status().is_signal() => {
                Err(interrupted(failure.status(), context))
            }
            (_, Err(failure)) => Err(failure),
        };
        let status = with_removal(status, removed, |signal| interrupted(signal, context));
        self.report(ended.as_ref(), &status)?;
        status
    }

    /// Removes the rules, also after a signal that comes meanwhile: the first one that came, if one did.
    ///
    /// # Errors
    ///
    /// When a rule could not be removed, and when a second signal ends also that.
    async fn remove(
        &self,
        applied: &Result<(), Failure>,
        signals: &mut Signals,
        changer: &mut Changer<'_>,
    ) -> Result<Option<ExitStatus>, Failure> {
        let context = self.context;
        let first = applied.as_ref().err().and_then(Failure::signal);
        let was_stopped = applied.is_err();
        let mut removal = Box::pin(remove_left(&self.prepared.pod.uid, was_stopped, changer));
        let first = match first {
            Some(first) => first,
            None => tokio::select! {
                removed = &mut removal => return removed.map(|()| None),
                signal = signals.next() => {
                    context.printer.note("removing the rules first; interrupt again to leave the \
                        rules in place");
                    signal
                }
            },
        };
        stoppable_by(removal, signals, context).await?;
        Ok(Some(first))
    }

    async fn stages(&self, changer: &mut Changer<'_>) -> Result<StageEnd, Failure> {
        let names = self.prepared.names();
        let rules = by_name(&names, &self.mutation.rules)
            .await
            .map_err(failed)?;
        let mut order = RoomOrder {
            live: &self.mutation.live,
            semantics: self.mutation.view.semantics,
            prepared: self.prepared,
            limits: self.args.stage_limits(),
            rules,
            context: self.context,
        };
        order.run(changer).await
    }

    fn ending(&self, end: &StageEnd) -> Result<ExitStatus, Failure> {
        let name = &self.prepared.pod.name;
        if let Some(text) = end.success(name) {
            self.context.printer.note(&text);
        }
        end.status(name)
    }

    fn report(
        &self,
        ended: Option<&StageEnd>,
        status: &Result<ExitStatus, Failure>,
    ) -> Result<(), Failure> {
        let dry_run: DryRun = self.args.change.change().dry_run;
        let mut planned = planned_report(&self.prepared.pod, &self.prepared.plan, dry_run);
        let taken_over = taken_over_line(&self.prepared.taken_over);
        planned.messages.extend(taken_over);
        let mut report = match ended {
            Some(end) => ended_report(planned, end),
            None => planned,
        };
        if let Err(failure) = status {
            report.error = Some(failure.to_string());
            if ended.is_none() {
                report.room_outcome = RoomOutcome::Failed;
            }
        }
        print(report, self.format, self.context)
    }
}
