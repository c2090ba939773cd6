//! `preview`: evictions, their times and their harm.
//!
//! With `--publish` also the controller's own preview: a rule with effect None is created for every considered taint, and
//! what the controller writes to it is compared with this preview to the letter.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::context::Context;
use super::signal::Signals;
use super::work::changer::{Changer, Lines, Recorder, stopped};
use super::work::cluster_view::{ClusterView, Disruption, ViewWarnings};
use super::work::connect::{Source, failed, manifests};
use super::work::pipeline::approve_idle;
use super::work::present::{PageArgs, present_as};
use crate::assess::Guard;
use crate::cluster::{Rules, StoredRule};
use crate::completion::Values;
use crate::decide::approval::SafetyLimits;
use crate::decide::change_log::{DryRun, held};
use crate::decide::choice::{Choice, DeviceArguments, Purpose, refuse_missing};
use crate::decide::publish::{
    self, ControllerAnswer, check_preview, previews, publication, removed_meanwhile, what_stays,
    with_what_is_left,
};
use crate::decide::{Existing, RuleDraft, Terms};
use crate::engine::{ProposedTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::report::ImpactReport;

/// Show which pods a taint would evict, and when
///
/// Changes nothing, except with --publish. Previews a proposed taint (DEVICE and TAINT), or the taint of an
/// existing rule (--rule) or of a rule in a manifest (-f). A TAINT without EFFECT has effect None, which is
/// previewed as NoExecute: the device-taint-eviction controller of Kubernetes counts the pods of a rule with
/// effect None in the same way.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct PreviewArgs {
    /// DRIVER/POOL/DEVICE or hardware ID, and a taint KEY[=VALUE][:EFFECT]
    ///
    /// See `help selectors`. Without TAINT, assumes a NoExecute taint that only tolerations without a key match.
    #[arg(value_name = "DEVICE|TAINT", add = Values::DevicesThenTaint)]
    targets: Vec<String>,

    #[command(flatten)]
    filters: DeviceArguments,

    /// Skip devices for which --where cannot be evaluated
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    skip_errors: bool,

    /// Also select devices that share counters with these, such as the partitions of a GPU
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    with_partitions: bool,

    /// Every device of every driver
    #[arg(long, help_heading = "Devices")]
    all_devices: bool,

    /// Existing rule, by name; repeatable
    #[arg(long, value_name = "NAME", help_heading = "Devices", add = Values::Rules)]
    rule: Vec<String>,

    /// Manifest of rules; `-` reads stdin; repeatable
    #[arg(short, long, value_name = "FILENAME", help_heading = "Devices")]
    filename: Vec<PathBuf>,

    /// Accept names that match no device
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    allow_missing: bool,

    /// Exit with code 4 if this is true: 'pods.evicted>20'
    ///
    /// An unknown value counts as true. Repeatable; signals: `help guards`.
    #[arg(long, value_name = "GUARD", help_heading = "Guards")]
    abort_if: Vec<Guard>,

    /// Create rules with effect None; compare the controller's count
    ///
    /// The exit code is 6 if the controller's count differs, or is not reported in time. In Kubernetes 1.36.0 to 1.36.2,
    /// --abort-if is required.
    #[arg(long, conflicts_with = "from", help_heading = "Controller")]
    pub(super) publish: bool,

    /// Delete the rules of --publish afterwards
    #[arg(
        long,
        requires = "publish",
        help_heading = "Controller",
        hide_short_help = true
    )]
    cleanup: bool,

    #[command(flatten)]
    source: Source,

    /// Show one row for each workload; the default for more than 18 pods
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    by_workload: bool,

    #[command(flatten)]
    output: PageArgs,

    /// Exit with code 6 when the report is incomplete
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    strict: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Which pods would be evicted if this device had a NoExecute taint?
  kubectl devicetaint preview gpu.example.com/node-7/gpu-0

  # A taint with a key that some pods tolerate, on all devices of a node's pool
  kubectl devicetaint preview 'gpu.example.com/node-7/*' \\
    example.com/maintenance=firmware:NoExecute

  # The same, compared with the controller's own count; leaves no objects behind
  kubectl devicetaint preview 'gpu.example.com/node-7/*' \\
    example.com/maintenance=firmware:NoExecute --publish --cleanup

  # The pods that would be evicted, as arguments for kubectl
  kubectl devicetaint preview gpu.example.com/node-7/gpu-0 -o name \\
    | xargs -L1 kubectl get

  # A rule with effect None: fail if NoExecute would evict more than 20 pods
  kubectl devicetaint preview --rule maintenance-node-7 --abort-if 'pods.evicted>20'";

/// A preview, before anything is read of a cluster.
struct Preview {
    args: PreviewArgs,
    choice: Choice,
    manifests: Vec<DeviceTaintRule>,
}

/// View and report.
struct PreviewAnswer {
    view: ClusterView<Disruption>,
    proposed: Vec<ProposedTaint>,
    report: ImpactReport,
}

impl PreviewArgs {
    /// The selected devices and their taint.
    fn choice(&self) -> Result<Choice, Failure> {
        let typed = DeviceArguments {
            all_devices: Some(self.all_devices),
            skips_errors: Some(self.skip_errors),
            with_partitions: self.with_partitions,
            rules: self.rule.clone(),
            filenames: self.filename.clone(),
            ..self.filters.with(&self.targets)
        };
        Choice::parse(&typed, Purpose::Assess)
    }
}

pub(super) async fn run(args: PreviewArgs, context: &Context) -> Result<ExitStatus, Failure> {
    // All errors that need no reading of a cluster come first.
    let choice = args.choice()?;
    let manifests = manifests(&args.filename, context).await?.into_iter();
    let preview = Preview {
        choice,
        manifests: manifests.map(|(rule, _)| rule).collect(),
        args,
    };
    let PreviewAnswer {
        view,
        proposed,
        report,
    } = preview.answer(context).await?;
    // A tripped guard changes nothing.
    let publishes = preview.args.publish && !report.is_refused();
    match view.live().filter(|_| publishes) {
        Some(live) => {
            let rules = live.rules()?;
            let answer = PreviewAnswer {
                view,
                proposed,
                report,
            };
            preview.publish(answer, &rules, context).await
        }
        // The view is dropped before a long report is printed.
        None => preview.present(&report, &view.into_view_warnings(), context),
    }
}

impl Preview {
    /// Reads the inputs of the question, and answers it.
    async fn answer(&self, context: &Context) -> Result<PreviewAnswer, Failure> {
        let Self {
            args,
            choice,
            manifests,
        } = self;
        let view = ClusterView::open_for_impact(&args.source, context, choice).await?;
        let (view, proposed) = view.proposed(choice, manifests, context).await?;
        if !args.allow_missing {
            refuse_missing(&proposed, &view.reading, &view.semantics)?;
        }
        let view = view.with_pods_for(&proposed, &args.abort_if).await?;
        let mut report = view.report(&proposed, &args.abort_if);
        report.by_workload = args.by_workload;
        Ok(PreviewAnswer {
            view,
            proposed,
            report,
        })
    }

    fn present(
        &self,
        report: &ImpactReport,
        warnings: &ViewWarnings,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let PreviewArgs { output, strict, .. } = &self.args;
        present_as(report, warnings, output.output, (*strict).into(), context)
    }

    /// Prints the answer with the controller's messages about rules that are created for it.
    async fn publish(
        &self,
        mut answer: PreviewAnswer,
        rules: &Rules,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let publication = Publication::new(rules, &answer.proposed, &answer.view)?;
        // A line for each rule would hide the report.
        let changer = Changer::new(
            Some(rules),
            Recorder::new(DryRun::None, Lines::Left, context),
        );
        let limits = SafetyLimits {
            yes: true,
            guards: self.args.abort_if.clone(),
            ..SafetyLimits::default()
        };
        let (action, release) = (publication.action(), answer.view.release());
        if let Err(failure) = approve_idle(&action, &limits, release, DryRun::None, context) {
            // The report is useful although nothing is published.
            self.present(&answer.report, answer.view.view_warnings(), context)?;
            return Err(failure);
        }
        // A signal ends the comparison and not the program: the rules still have to be removed.
        let mut signals = Signals::listen();
        let compared = tokio::select! {
            compared = Box::pin(self.compare(&publication, &mut answer, &changer, context)) => compared,
            status = signals.next() => Err(publish::interrupted(status)),
        };
        // Whatever came of the comparison, and before it is told: the rules are in the cluster.
        let left = if self.args.cleanup {
            publication.clean_up(&changer).await
        } else {
            publication.tell_what_stays(context);
            Ok(())
        };
        if let Err(failure) = compared {
            let failure = stopped(failure, context);
            return Err(match &left {
                Ok(()) => failure,
                Err(removal) => publish::with_failed_removal(failure, removal),
            });
        }
        let status = self.present(&answer.report, answer.view.view_warnings(), context)?;
        left?;
        let report = &answer.report;
        publish::check(&report.published_rules, &report.assessment.facts, PATIENCE)?;
        Ok(status)
    }

    /// Adds the controller's messages to the answer.
    ///
    /// The controller previews a rule once, perhaps before it has seen the newest pods and claims, and the
    /// cluster may have changed since it was read. So rules with differences are created again, once.
    async fn compare(
        &self,
        publication: &Publication<'_>,
        answer: &mut PreviewAnswer,
        changer: &Changer<'_>,
        context: &Context,
    ) -> Result<(), Failure> {
        let answers = publication.ask(&answer.report, changer).await?;
        let differs = answers.iter().any(|rule| rule.agrees == Some(false));
        answer.report.published_rules = answers;
        if differs {
            // The controller evaluates a rule with effect None once, so that it has to be created again.
            publication.clean_up(changer).await?;
            *answer = self.answer(context).await?;
            let answers = publication.ask(&answer.report, changer).await?;
            answer.report.published_rules = answers;
        }
        Ok(())
    }
}

/// Time limit for the controller.
const PATIENCE: Duration = Duration::from_secs(15);
/// Interval of reading its answer.
const INTERVAL: Duration = Duration::from_millis(200);

/// Rules with effect None in one cluster.
struct Publication<'a> {
    rules: &'a Rules,
    drafts: Vec<RuleDraft>,
    semantics: Semantics,
    now: jiff::Timestamp,
}

impl<'a> Publication<'a> {
    /// Prepares a rule for each of the `proposed` taints; creates none yet.
    fn new(
        rules: &'a Rules,
        proposed: &[ProposedTaint],
        view: &ClusterView<Disruption>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            rules,
            drafts: previews(proposed)?,
            semantics: view.semantics,
            now: view.now,
        })
    }

    /// The creation of the rules in words.
    fn action(&self) -> String {
        publication(self.drafts.len())
    }

    /// Creates the rules and waits for the controller; returns its messages, beside those of `report`.
    async fn ask(
        &self,
        report: &ImpactReport,
        changer: &Changer<'_>,
    ) -> Result<Vec<ControllerAnswer>, Failure> {
        for draft in self.drafts.clone() {
            self.create_anew(&draft, changer).await?;
        }
        // All rules are there by now, so that one limit is enough for all answers.
        let began = Instant::now();
        let mut answers = Vec::with_capacity(self.drafts.len());
        for (draft, taint) in self.drafts.iter().zip(&report.proposed_taints) {
            let expected = taint.controller_message.as_deref();
            answers.push(self.wait(draft, expected, began).await?);
        }
        Ok(answers)
    }

    /// The controller previews a rule once, so that an existing one gets no new message.
    async fn create_anew(&self, draft: &RuleDraft, changer: &Changer<'_>) -> Result<(), Failure> {
        self.remove(draft, changer).await?;
        let terms = Terms {
            existing: Existing::Kept,
            semantics: &self.semantics,
            now: self.now,
        };
        changer.create(draft, &terms).await.map(drop)
    }

    async fn wait(
        &self,
        draft: &RuleDraft,
        expected: Option<&str>,
        began: Instant,
    ) -> Result<ControllerAnswer, Failure> {
        loop {
            let stored = self.rules.get(&draft.name).await.map_err(failed)?;
            let Some(StoredRule { fact: rule, .. }) = stored else {
                return Err(removed_meanwhile(&draft.name));
            };
            let condition = rule.condition.as_ref();
            let answer = ControllerAnswer::new(&draft.name, rule.generation, condition, expected);
            if answer.condition.is_some() || began.elapsed() >= PATIENCE {
                return Ok(answer);
            }
            sleep(INTERVAL).await;
        }
    }

    /// Removes all rules, and lists those that cannot be removed.
    async fn clean_up(&self, changer: &Changer<'_>) -> Result<(), Failure> {
        // One that cannot be removed keeps no other from being removed.
        let mut first = Ok(());
        for draft in self.drafts.clone() {
            let removed = self.remove(&draft, changer).await;
            first = first.and(removed);
        }
        first.map_err(|failure| with_what_is_left(failure, &self.drafts))
    }

    /// Removes the rule of that name if there is one, and if it is an earlier preview.
    async fn remove(&self, draft: &RuleDraft, changer: &Changer<'_>) -> Result<(), Failure> {
        let found = self.rules.get(&draft.name).await.map_err(failed)?;
        let Some(StoredRule { fact: rule, .. }) = found else {
            return Ok(());
        };
        check_preview(&rule, draft)?;
        let removed = changer.delete(&rule).await?;
        // As long as a finalizer holds it, its name is taken.
        if removed.is_held() {
            return Err(held(&rule));
        }
        Ok(())
    }

    /// Warns on standard error that the rules stay, if any was created.
    fn tell_what_stays(&self, context: &Context) {
        if context.log.has_changed() {
            context.printer.note(&what_stays(&self.drafts));
        }
    }
}
