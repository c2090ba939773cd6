//! `make-room`: evicts pods so that a pod that waits for devices gets theirs.

use super::context::Context;
use super::signal::{Signals, interrupted, stoppable_by};
use super::work::changer::{Changer, Recorder, RehearsalArgs, ReportArgs, recorder, reported};
use super::work::connect::failed;
use super::work::make_room::{
    Preparation, Prepared, RoomEvictions, RoomRequest, remove_left, until_scheduled,
};
use super::work::mutation_context::{MutationContext, by_name};
use super::work::pipeline::{Pipeline, read_limits};
use crate::decide::approval::SafetyLimits;
use crate::decide::change_log::DryRun;
use crate::decide::make_room::{RoomEnd, RoomOptions, RoomRun, room_target, with_removal};
use crate::decide::{Existing, Terms};
use crate::error::{ExitStatus, Failure};

/// Evict pods so that a pending pod gets their devices
///
/// Chooses pods on one node whose eviction frees devices for all claims of the pending pod: first a set that violates no
/// PodDisruptionBudget and whose grace periods are at most 10s, then one that violates no budget, and with --force any.
/// Of several sets, the one with the fewest pods is chosen, then the one with the lowest priority, the fewest devices and
/// the shortest grace period. Pods of the same or a higher priority, critical system pods, pods of DaemonSets, and pods
/// with an annotation against disruption (such as karpenter.sh/do-not-disrupt=true) are never evicted. Devices that are
/// used with admin access, as monitors do, count as free.
///
/// The pods are evicted through the Eviction API. Until the pending pod is scheduled, a taint, devicetaint.dev/make-room,
/// keeps other pods off the devices; the claims of the pending pod must tolerate it. The taint is removed at the end, also
/// after a timeout or Ctrl-C; after a kill, `remove --expired` removes it, or the same command again.
///
/// CPU and memory of the node, and affinity to other pods, are not checked.
///
/// Exit code 1: no set of pods was found. 4: refused, for example because the pod does not wait for devices that other
/// pods hold. 5: timeout, or another pod got the devices.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct MakeRoomArgs {
    /// The pending pod: pod/NAME
    ///
    /// In --namespace if this is set, else in all namespaces.
    #[arg(value_name = "POD")]
    target: String,

    #[command(flatten)]
    options: RoomOptions,

    #[command(flatten)]
    change: RehearsalArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    safety: SafetyLimits,
}

const EXAMPLES: &str = "\
Examples:
  # Which pods would be evicted for this pod?
  kubectl devicetaint make-room pod/train-0 -n training --dry-run

  # Evict them, and wait until the pod is scheduled
  kubectl devicetaint make-room pod/train-0 -n training";

pub(super) async fn run(args: MakeRoomArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let format = args.report.output;
    let recorder = recorder(args.change.dry_run(), format, context);
    reported(Box::pin(args.make_room(recorder, context)), format, context).await
}

impl MakeRoomArgs {
    fn request(&self, yes: bool, context: &Context) -> Result<RoomRequest, Failure> {
        Ok(RoomRequest {
            target: room_target(&self.target, context.namespace.as_deref())?,
            options: self.options,
            yes,
        })
    }

    async fn make_room(
        &self,
        recorder: Recorder<'_>,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        // Errors of flags are found before the cluster is read.
        let safety = read_limits(&self.safety)?;
        let request = self.request(safety.yes, context)?;
        // From before anything is changed, so that a signal meanwhile still has the rules removed.
        let mut signals = Signals::listen_for_hangup();
        let prepared = async {
            let mutation = MutationContext::open(&self.change.source()?, context).await?;
            let found = Box::pin(request.prepare(&mutation)).await?;
            Ok((mutation, found))
        };
        let prepared = Box::pin(prepared);
        let (mutation, found) = stoppable_by(prepared, &mut signals, context).await?;
        match found {
            Preparation::Scheduled(pod, node) => {
                let text = format!("pod {} is already scheduled on node {node}", pod.name);
                context.printer.note(&text);
                Ok(ExitStatus::Success)
            }
            // Evictions by this command would come on top of the scheduler's own preemption.
            Preparation::Nominated(pod, node) => {
                context.printer.note(&format!(
                    "the scheduler has nominated node {node} for pod {}, and preempts pods there; nothing was changed",
                    pod.name
                ));
                if !recorder.dry_run.is_real() {
                    return Ok(ExitStatus::Success);
                }
                let waiting = until_scheduled(&pod, &mutation.view, self.options.timeout);
                let end = stoppable_by(Box::pin(waiting), &mut signals, context).await?;
                ended(&end, &pod.name, context)
            }
            Preparation::Room(prepared) => {
                let work = RoomWork {
                    options: self.options,
                    safety: &safety,
                    recorder,
                    prepared: &prepared,
                    mutation: &mutation,
                    context,
                };
                Box::pin(work.carry_out(signals)).await
            }
        }
    }
}

/// Prints the success of a run, or gives its failure.
fn ended(
    end: &RoomEnd,
    pod: &crate::model::NamespacedName,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    context.printer.note(&end.result(pod)?);
    Ok(ExitStatus::Success)
}

/// A chosen set, to be carried out.
struct RoomWork<'a> {
    options: RoomOptions,
    safety: &'a SafetyLimits,
    recorder: Recorder<'a>,
    prepared: &'a Prepared,
    mutation: &'a MutationContext,
    context: &'a Context,
}

impl RoomWork<'_> {
    /// Asks, evicts, waits, and removes the rules, whatever the result.
    async fn carry_out(&self, mut signals: Signals) -> Result<ExitStatus, Failure> {
        let (context, prepared) = (self.context, self.prepared);
        let dry_run = self.recorder.dry_run;
        if !prepared.taken_over.is_empty() {
            let count = prepared.taken_over.len();
            context.printer.note(&format!(
                "another run for pod {} may still be in progress; rules taken over: {count}",
                prepared.pod.name
            ));
        }
        let proposal = prepared.proposal();
        let mut changer = Changer::new(self.mutation.writable_rules(), self.recorder);
        context.log.set_room((&prepared.plan).into());
        let pipeline = Pipeline {
            mutation: self.mutation,
            safety: self.safety,
            context,
        };
        let mut has_begun = false;
        let mut end = None;
        let apply = async |changer: &Changer<'_>| {
            has_begun = dry_run.is_real();
            context.log.advise(["to remove rules that are left: kubectl devicetaint remove -l devicetaint.dev/make-room".to_owned()]);
            let terms = Terms {
                existing: Existing::Kept,
                semantics: &self.mutation.view.semantics,
                now: self.mutation.view.now,
            };
            for step in &prepared.steps {
                changer.take(step, &terms).await?;
            }
            if dry_run.is_real() {
                end = Some(Box::pin(self.evict()).await?);
            }
            Ok(())
        };
        let checked = async {
            if dry_run != DryRun::Client {
                prepared.check_permission(self.mutation).await?;
            }
            pipeline.run(&proposal, &mut changer, apply).await
        };
        let applied = stoppable_by(Box::pin(checked), &mut signals, context).await;
        self.mutation.view.tell(&context.printer);
        let removed = if has_begun {
            self.remove(&applied, &mut signals, &changer).await
        } else {
            Ok(None)
        };
        if removed.is_ok() {
            context.log.advise([]);
        }
        let done = match (&end, applied) {
            (Some(end), Ok(())) => ended(end, &prepared.pod.name, context),
            (None, Ok(())) => Ok(ExitStatus::Success),
            // The removal is part of what an interruption reports.
            (_, Err(failure)) if failure.status().is_signal() => {
                Err(interrupted(failure.status(), context))
            }
            (_, Err(failure)) => Err(failure),
        };
        with_removal(done, removed, |signal| interrupted(signal, context))
    }

    /// Removes the rules, also after a signal that comes meanwhile: the first one that came, if one did.
    ///
    /// # Errors
    ///
    /// A rule could not be removed, or a second signal ends the removal.
    async fn remove(
        &self,
        applied: &Result<(), Failure>,
        signals: &mut Signals,
        changer: &Changer<'_>,
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

    async fn evict(&self) -> Result<RoomEnd, Failure> {
        let steps = self.prepared.steps.iter();
        let names: Vec<String> = steps.map(|step| step.draft.name.clone()).collect();
        let rules = by_name(&names, self.mutation.rules()?)
            .await
            .map_err(failed)?;
        let evictions = RoomEvictions {
            live: self.mutation.live()?,
            prepared: self.prepared,
            rules,
            context: self.context,
        };
        evictions
            .run(RoomRun::new(self.options.timeout, self.options.force))
            .await
    }
}
