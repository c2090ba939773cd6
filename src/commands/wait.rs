//! `wait`: until the evictions of a rule have ended, or it is gone.

use std::time::Duration;

use clap::ValueEnum;

use super::context::Context;
use super::work::cluster_view::ClusterView;
use super::work::connect::{Live, connect};
use super::work::mutation_context::selected_on;
use super::work::present::OutputArgs;
use super::work::wait::{ProgressLine, Wait, WaitEnd, not_seen_released, timed_out};
use crate::cluster::Detail;
use crate::decide::{RuleArguments, RuleChoice};
use crate::engine::settle::{AdminAccess, Goal, Patience};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::duration::parse_duration;
use crate::render::{Format, Page, render};

/// Wait for evictions or idle devices
///
/// --for evicted waits until all pods that the rules evict are gone, including terminating pods. Since Kubernetes
/// 1.35, it also waits until the condition of each rule reports, for the rule's current generation, that no eviction
/// is pending. Pods that tolerate the taint of a rule stay, and are listed.
///
/// --for idle waits until no claim holds the devices, or devices that share counters with them, such as partitions;
/// claims with admin access count, too. The rules must block new pods (NoSchedule or NoExecute), but need not evict
/// pods.
///
/// The results of `evicted` and `idle` must persist for --settle. On a timeout, the command lists what
/// remains and exits with code 5. With --for evicted and --for idle, the exit code is also 5 if a pod was force-deleted,
/// or disappeared while it was stuck in Terminating: its node may not have released the devices.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct WaitArgs {
    #[command(flatten)]
    rules: RuleArguments,

    /// What to wait for
    #[arg(long = "for", value_enum, value_name = "evicted|idle|observed|deleted")]
    what: What,

    /// How long to wait, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    timeout: Duration,

    /// How long the API must show the result before the wait succeeds
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    settle: Duration,

    /// Ignore rules that are missing when the wait begins
    #[arg(long)]
    ignore_not_found: bool,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Until all evicted pods are gone, terminating ones too
  kubectl devicetaint wait maintenance-node-7 --for evicted --timeout 10m

  # Until no claim holds the devices
  kubectl devicetaint wait maintenance-node-7 --for idle --timeout 2h

  # Until the controller has counted the pods for a rule with effect None
  kubectl devicetaint wait maintenance-node-7 --for observed --timeout 30s";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// All evicted pods have ended
    Evicted,
    /// No claim holds the rules' devices
    Idle,
    /// The device-taint-eviction-controller has processed the rule's current generation
    Observed,
    /// The rule no longer exists
    Deleted,
}

impl What {
    fn goal(self) -> Goal {
        match self {
            Self::Evicted => Goal::Evicted,
            Self::Idle => Goal::Idle(AdminAccess::Counted),
            Self::Observed => Goal::Observed,
            Self::Deleted => Goal::Deleted,
        }
    }
}

pub(super) async fn run(args: WaitArgs, context: &Context) -> Result<ExitStatus, Failure> {
    // Errors in the arguments are found before the cluster is asked.
    let choice = RuleChoice::parse(&args.rules)?;
    let again = || vec!["to keep waiting, run the same command again".to_owned()];
    context.log.advise(again());
    let live = connect(context).await?;
    let found = args.find(&choice, &live, context).await?;
    // Only with --ignore-not-found: a missing rule has nothing left to do.
    if found.is_empty() {
        return Ok(ExitStatus::Success);
    }
    let goal = args.what.goal();
    let wait = Wait {
        goal,
        rules: &found,
        expected: Vec::new(),
        patience: Patience {
            settle: args.settle,
            timeout: args.timeout,
        },
        advice: &|_| again(),
        progress_line: ProgressLine::Shown,
        last_look: None,
    };
    let detail = match goal {
        Goal::Observed | Goal::Deleted => None,
        Goal::Evicted => Some(Detail::Names),
        // Counters say which devices are parts of the same hardware.
        Goal::Idle(_) => Some(Detail::Attributes),
    };
    let waited = match detail {
        None => wait.for_rules(&live, context).await?,
        Some(detail) => {
            let view = ClusterView::of(live.clone(), detail).await?;
            wait.for_pods(view, context).await?
        }
    };
    live.tell(&context.printer);
    let report = waited.report(&wait);
    let status = match waited.ending {
        WaitEnd::Met => Ok(ExitStatus::Success),
        WaitEnd::TimedOut(left) => Err(timed_out(args.timeout, &left)),
        WaitEnd::NotReleased(left) => Err(not_seen_released(&left)),
    };
    let format = args.output.output;
    let is_data = match format {
        Format::Json | Format::Yaml => true,
        Format::Table | Format::Wide | Format::Markdown | Format::Html | Format::Name => false,
    };
    // A failure names the blockers itself, and a table would repeat them.
    if status.is_ok() || is_data {
        let page = Page {
            width: context.width,
            ..format.into()
        };
        let report = report.in_cluster(context.cluster().as_ref());
        let text = render(&report, page)?;
        context.printer.emit(&text)?;
    }
    status
}

impl WaitArgs {
    /// The selected rules that exist. A rule that never existed is a mistake, and not gone.
    async fn find(
        &self,
        choice: &RuleChoice,
        live: &Live,
        context: &Context,
    ) -> Result<Vec<DeviceTaintRule>, Failure> {
        let (_, mut found) = selected_on(choice, live, context).await?;
        let (lines, failure) = found.objection(self.ignore_not_found);
        for line in &lines {
            context.printer.note(line);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        if found.rules.is_empty() && lines.is_empty() {
            if !self.ignore_not_found {
                return Err(without_labels());
            }
            context.printer.note("No resources found");
        }
        Ok(found.rules)
    }
}

fn without_labels() -> Failure {
    Failure::new(ExitStatus::Failed, "no rule matches these labels")
        .hint("to ignore missing rules: --ignore-not-found")
}
