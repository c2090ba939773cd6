//! `preview`: evictions, their times and their harm.

use std::path::PathBuf;

use serde_json::Value;

use super::context::Context;
use super::flags::device_filters::DeviceFilterArgs;
use super::flags::guards;
use super::flags::output::PageArgs;
use super::flags::publish::PublishArgs;
use super::flags::source::SourceArgs;
use super::profile::{CommandProfile, NamespaceFilter, PODS_OF_EVERY_NAMESPACE};
use super::signal::Signals;
use super::work::changer::{Changer, stopped};
use super::work::cluster_view::{ClusterView, Disruption};
use super::work::hypothesis::Hypothesis;
use super::work::output_request::OutputRequest;
use super::work::pipeline::approve_idle;
use super::work::present::present;
use super::work::publish::{PATIENCE, Publication, changer};
use super::work::source;
use crate::assess::Guard;
use crate::cluster::{self, Detail, Rules};
use crate::completion::Values;
use crate::decide::approval::SafetyLimits;
use crate::decide::change_log::DryRun;
use crate::decide::choice::{Choice, DeviceArguments, DeviceFilterFlags, Purpose};
use crate::decide::publish;
use crate::engine::ProposedTaint;
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
    filters: DeviceFilterArgs,

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
    /// An unknown value counts as true. Repeatable; for the signals: `help guards`.
    #[arg(long, value_name = "GUARD", help_heading = "Guards")]
    abort_if: Vec<String>,

    #[command(flatten)]
    publish: PublishArgs,

    #[command(flatten)]
    source: SourceArgs,

    /// Show one row for each workload; the default for more than 18 pods
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    by_workload: bool,

    #[command(flatten)]
    output: PageArgs,

    /// Exit with code 6 when the report is incomplete
    #[arg(long, help_heading = "Output")]
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
  kubectl devicetaint preview --rule drain-node-7 --abort-if 'pods.evicted>20'";

/// Request of a preview, before anything is read of a cluster.
struct PreviewRequest {
    choice: Choice,
    manifests: Vec<(DeviceTaintRule, Value)>,
    guards: Vec<Guard>,
}

/// Request, view and report.
struct PreviewAnswer {
    view: ClusterView<Disruption>,
    proposed: Vec<ProposedTaint>,
    report: ImpactReport,
}

impl PreviewArgs {
    fn wanted(&self) -> OutputRequest {
        OutputRequest {
            strictness: self.strict.into(),
            ..self.output.wanted()
        }
    }

    /// Purpose of the connection, and who handles signals.
    pub(super) fn profile(&self) -> CommandProfile {
        let publishes = self.publish.publish;
        let purpose = if publishes {
            cluster::Purpose::Publish
        } else {
            cluster::Purpose::Preview
        };
        CommandProfile::of(purpose)
            .with_namespace(NamespaceFilter::Meaningless(PODS_OF_EVERY_NAMESPACE))
            .tidying_up(publishes)
    }
}

pub(super) async fn run(args: PreviewArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let request = args.request(context).await?;
    let wanted = args.wanted();
    let answer = view(&request, &args, context).await?;
    // A tripped guard changes nothing.
    let Some(live) = answer
        .view
        .live()
        .filter(|_| args.publish.publish && !answer.report.is_refused())
    else {
        // The view is dropped before a long report is printed.
        let PreviewAnswer { view, report, .. } = answer;
        return present(&report, &view.into_view_warnings(), wanted, context);
    };

    let rules = live.rules()?;
    publish(answer, &rules, &request, &args, context).await
}

/// Prints the answer with the controller's messages about rules that are created for it.
async fn publish(
    mut answer: PreviewAnswer,
    rules: &Rules,
    request: &PreviewRequest,
    args: &PreviewArgs,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let wanted = args.wanted();
    let publication = Publication::new(rules, &answer.proposed, &answer.view)?;
    let changer = changer(rules, context);
    let limits = SafetyLimits {
        yes: true,
        guards: request.guards.clone(),
        ..SafetyLimits::default()
    };
    let (action, release) = (publication.action(), answer.view.release());
    if let Err(failure) = approve_idle(&action, &limits, release, DryRun::None, context) {
        // The report is useful although nothing is published.
        present(&answer.report, answer.view.view_warnings(), wanted, context)?;
        return Err(failure);
    }
    // A signal ends the comparison and not the program: the rules still have to be removed.
    let mut signals = Signals::listen();
    let compared = {
        let view = || view(request, args, context);
        tokio::select! {
            compared = Box::pin(compare(&publication, &mut answer, view, &changer)) => compared,
            status = signals.next() => Err(publish::interrupted(status)),
        }
    };
    // Whatever came of the comparison, and before it is told: the rules are in the cluster.
    let left = if args.publish.cleanup {
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
    let status = present(&answer.report, answer.view.view_warnings(), wanted, context)?;
    left?;
    let PreviewAnswer { report, .. } = &answer;
    publish::check(&report.answers, &report.assessment.facts, PATIENCE)?;
    Ok(status)
}

/// Adds the controller's messages to the answer.
///
/// The controller previews a rule once, perhaps before it has seen the newest pods and claims, and the
/// cluster may have changed since it was read. So rules with differences are created again, once.
async fn compare(
    publication: &Publication<'_>,
    answer: &mut PreviewAnswer,
    view: impl AsyncFn() -> Result<PreviewAnswer, Failure>,
    changer: &Changer<'_>,
) -> Result<(), Failure> {
    let answers = publication.ask(&answer.report, changer).await?;
    let differs = answers.iter().any(|rule| rule.agrees() == Some(false));
    answer.report.set_answers(answers);
    if differs {
        // The controller evaluates a rule with effect None once, so that it has to be created again.
        publication.clean_up(changer).await?;
        *answer = view().await?;
        let answers = publication.ask(&answer.report, changer).await?;
        answer.report.set_answers(answers);
    }
    Ok(())
}

/// Reads the inputs of the question, and answers it.
async fn view(
    request: &PreviewRequest,
    args: &PreviewArgs,
    context: &Context,
) -> Result<PreviewAnswer, Failure> {
    let PreviewRequest {
        choice,
        manifests,
        guards,
    } = request;
    let manifests: Vec<DeviceTaintRule> = manifests.iter().map(|(rule, _)| rule.clone()).collect();
    let manifests = manifests.as_slice();
    let view =
        ClusterView::open_for_impact(&args.source.source(), context, Detail::Terms, choice).await?;
    let hypothesis = Hypothesis::new(view, choice, manifests, context).await?;
    let Hypothesis { view, proposed } = hypothesis;
    if !args.allow_missing {
        view.refuse_missing(&proposed)?;
    }
    let view = view.with_pods_for(&proposed, guards).await?;
    let mut report = view.report(&proposed, guards);
    report.by_workload = args.by_workload;
    Ok(PreviewAnswer {
        view,
        proposed,
        report,
    })
}

impl PreviewArgs {
    /// The request; finds all errors that need no reading of a cluster.
    async fn request(&self, context: &Context) -> Result<PreviewRequest, Failure> {
        let typed = DeviceArguments {
            arguments: self.targets.clone(),
            all_devices: Some(self.all_devices),
            filters: DeviceFilterFlags {
                skips_errors: Some(self.skip_errors),
                with_partitions: self.with_partitions,
                ..self.filters.filters()
            },
            rules: self.rule.clone(),
            filenames: self.filename.clone(),
        };
        let choice = Choice::parse(&typed, Purpose::Assess)?;
        let guards = guards::parse(&self.abort_if)?;
        let manifests = source::manifests(&self.filename, context).await?;
        Ok(PreviewRequest {
            choice,
            guards,
            manifests,
        })
    }
}
