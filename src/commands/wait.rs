//! `wait`: until a rule has done what it does.

use std::time::Duration;

use clap::ValueEnum;

use super::context::Context;
use super::flags::output::format_parser;
use super::profile::CommandProfile;
use super::work::cluster_view::ClusterView;
use super::work::connect::{Live, connect};
use super::work::rules_on::meant_on;
use super::work::wait::{ProgressLine, Wait, WaitEnd, WaitResult, not_seen_released, timed_out};
use crate::cluster::{Detail, Purpose};
use crate::completion::Values;
use crate::decide::chooser::Absence;
use crate::decide::rules_on::SiblingRules;
use crate::decide::{RuleArguments, RuleWords};
use crate::engine::settle::{AdminAccess, Goal, Patience};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::duration::parse_duration;
use crate::naming::labels::LabelSelector;
use crate::render::{Format, Page, render};
use crate::report::WaitReport;

/// Wait for evictions or idle devices
///
/// --for evicted waits until all pods that the rules evict are gone, including terminating pods. Since Kubernetes
/// 1.35, it also waits until the condition of each rule reports, for the rule's current generation, that no eviction
/// is pending. Pods that tolerate the taint of a rule stay, and are listed.
///
/// --for idle waits until no claim holds the devices, their partitions, or devices of other drivers on the same
/// hardware; claims with admin access count, too. A device of the same pool that is allocated but no longer published
/// may be the same hardware under an earlier name. So the command also waits until no claim holds such a device. The
/// rules must block new pods (NoSchedule or NoExecute), but need not evict pods. If a driver now publishes the hardware
/// as a device with another name, a taint must block new pods on that device, too.
///
/// The results of `evicted` and `idle` must persist for --settle. On a timeout, the command lists what
/// remains and exits with code 5. With --for evicted and --for idle, the exit code is also 5 if a pod was force-deleted,
/// or disappeared while it was stuck in Terminating: its node may not have released the devices.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct WaitArgs {
    /// Rules by name, by hardware ID, or by devices and the KEY of their taint
    ///
    /// A device is DRIVER/POOL/DEVICE or a hardware ID (UUID, serial number or PCI address). After a hardware ID, KEY
    /// may be omitted. Instead of KEY, KEY=VALUE and KEY:EFFECT are also accepted. A final `-`, as in `kubectl
    /// taint`, is accepted and ignored.
    ///
    /// A hardware ID selects the rules that taint exactly the device with this ID or one of its partitions, and the
    /// rules whose annotation devicetaint.dev/identity has this ID. When the plugin creates a rule for a device, it
    /// records the hardware of the device in this annotation. With KEY, only rules with this taint key are selected.
    #[arg(value_name = "RULE|DEVICE KEY", add = Values::RulesOrDevices)]
    targets: Vec<String>,

    /// Rules with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<LabelSelector>,

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

    /// Output format: table, wide, json, yaml, markdown or name
    #[arg(short, long, hide_possible_values = true, value_parser = format_parser(), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  # Until all evicted pods are gone, terminating ones too
  kubectl devicetaint wait drain-node-7 --for evicted --timeout 10m

  # Until no claim holds the devices
  kubectl devicetaint wait drain-node-7 --for idle --timeout 2h

  # Until the controller has counted the pods for a rule with effect None
  kubectl devicetaint wait drain-node-7 --for observed --timeout 30s";

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

impl WaitArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::Wait)
    }
}

pub(super) async fn run(args: WaitArgs, context: &Context) -> Result<ExitStatus, Failure> {
    // On the heap: it is long, and stands beside the other commands on the stack.
    Box::pin(wait(args, context)).await
}

async fn wait(args: WaitArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let typed = args.typed();
    // What can be wrong without a cluster is found before it is asked.
    typed.chooser()?;
    let again = || vec!["to keep waiting, run the same command again".to_owned()];
    context.ledger.advise(again());
    let live = connect(context).await?;
    let found = args.find(&typed, &live, context).await?;
    // Only with --ignore-not-found: what is not there has nothing left to do.
    if found.is_empty() {
        return Ok(ExitStatus::Success);
    }
    let wait = Wait {
        goal: args.what.goal(),
        rules: &found,
        expected: Vec::new(),
        patience: args.patience(),
        advice: &|_| again(),
        progress_line: ProgressLine::Shown,
        last_look: None,
    };
    let waited = args.waited(&wait, &live, context).await?;
    live.tell(&context.printer);
    let report = waited.report(&wait);
    args.tell(&report, waited.ending, context)
}

impl WaitArgs {
    /// Waits, with the warnings about the hardware of the rules.
    async fn waited(
        &self,
        wait: &Wait<'_>,
        live: &Live,
        context: &Context,
    ) -> Result<WaitResult, Failure> {
        let view = match wait.goal {
            Goal::Observed | Goal::Deleted => {
                return wait.for_rules(live, context).await;
            }
            Goal::Evicted => {
                let view = ClusterView::of(live.clone(), Detail::Names).await?;
                view.with_hardware_of(wait.rules).await?
            }
            // Counters and numbers say which devices are the same hardware.
            Goal::Idle(_) => ClusterView::of(live.clone(), Detail::Attributes).await?,
        };
        let (view, identities) = wait.identities(view, &self.typed(), context).await?;
        let others = wait.other_users(&view, context);
        let mut waited = wait.for_pods(view, context).await?;
        let now = ClusterView::of(live.clone(), Detail::Names);
        let renamed = wait.renamed_since(&waited.ending, &identities, now, context);
        waited.warnings.extend(renamed.await);
        waited.warnings.extend(identities);
        waited.warnings.extend(others);
        Ok(waited)
    }

    fn typed(&self) -> RuleWords<'_> {
        let ways = RuleArguments {
            targets: &self.targets,
            selector: self.selector.as_ref(),
            absence: Absence::of(self.ignore_not_found),
            ..RuleArguments::default()
        };
        RuleWords::new(ways, SiblingRules::Selected)
    }

    /// Whether how it ended is printed as data.
    fn is_data(&self) -> bool {
        match self.output {
            Format::Json | Format::Yaml => true,
            Format::Table | Format::Wide | Format::Markdown | Format::Html | Format::Name => false,
        }
    }

    fn patience(&self) -> Patience {
        Patience {
            settle: self.settle,
            timeout: self.timeout,
        }
    }

    /// The rules that are meant and there. What was never there is a mistake, and not gone.
    async fn find(
        &self,
        typed: &RuleWords<'_>,
        live: &Live,
        context: &Context,
    ) -> Result<Vec<DeviceTaintRule>, Failure> {
        let (_, mut found) = meant_on(typed, live, context).await?;
        let (lines, failure) = found.objection(Absence::of(self.ignore_not_found));
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

    fn tell(
        &self,
        report: &WaitReport,
        ending: WaitEnd,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let status = match ending {
            WaitEnd::Met => Ok(ExitStatus::Success),
            WaitEnd::TimedOut(left) => Err(timed_out(self.timeout, &left)),
            WaitEnd::NotReleased(left) => Err(not_seen_released(&left)),
        };
        // A failure names what is left itself, and a table would say it twice.
        if status.is_ok() || self.is_data() {
            let page = Page {
                format: self.output,
                width: context.width,
                height: context.height,
            };
            let report = report.clone().in_cluster(context.cluster().as_ref());
            context.printer.emit(&render(&report, page)?)?;
        }
        status
    }
}

fn without_labels() -> Failure {
    Failure::new(ExitStatus::Failed, "no rule matches these labels")
        .hint("to ignore missing rules: --ignore-not-found")
}
