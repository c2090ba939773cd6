//! `wait`: until a rule has done what it does.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use tokio::time::Instant;

use super::context::Context;
use super::flags::kubelet::DebugPodArgs;
use super::flags::output::format_parser;
use super::profile::CommandProfile;
use super::signal;
use super::work::cluster_view::ClusterView;
use super::work::connect::{Live, connect};
use super::work::device_nodes::{device_nodes, propose_checks, warn_of_silence};
use super::work::kubelet::{AwaitedRelease, NodeClaim, Verifier};
use super::work::kubelet_node::NodeTrust;
use super::work::rules_on::meant_on;
use super::work::unreleased_devices::{ForceDeletions, clear_released, clear_released_of};
use super::work::wait::{
    ProgressLine, Wait, WaitEnd, WaitResult, not_seen_released, timed_out, with_silent_kubelet,
};
use crate::cluster::{Detail, Purpose};
use crate::completion::Values;
use crate::decide::chooser::Absence;
use crate::decide::device_nodes::DeviceNodes;
use crate::decide::rules_on::SiblingRules;
use crate::decide::wait_advice::also_verified;
use crate::decide::{RuleArguments, RuleWords};
use crate::engine::ProposedTaint;
use crate::engine::device_removal::RemovalObjection;
use crate::engine::holders::{NotEvictedReason, staying};
use crate::engine::settle::{Goal, Patience};
use crate::error::{ExitStatus, Failure};
use crate::kubelet::SOCKET;
use crate::model::{DeviceId, DeviceTaintRule, NodeName};
use crate::naming::duration::parse_duration;
use crate::naming::labels::LabelSelector;
use crate::render::{Format, Page, render};
use crate::report::WaitReport;
use crate::report::unevicted_pods::{NotEvictedPod, not_evicted_line};

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
    #[arg(
        long = "for",
        value_enum,
        value_name = "evicted|idle|observed|deleted"
    )]
    what: What,

    /// How long to wait, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    timeout: Duration,

    /// How long the API must show the result before the wait succeeds
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    settle: Duration,

    /// Also query the kubelet of this node, and wait until it has released the rules' devices
    ///
    /// SOCKET is the kubelet's PodResources socket. The command must run on the node, as root. The kubelet's checkpoint
    /// has the devices of force-deleted pods; the API does not. The command is refused if the rules select no device of
    /// the node. This flag and --via-debug can be used only with --for evicted or idle.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true, default_missing_value = SOCKET, conflicts_with = "via_debug")]
    verify_node: Option<PathBuf>,

    /// With --verify-node, name of the Node object; default: derived from the kubelet
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), requires = "verify_node", add = Values::Nodes)]
    node: Option<String>,

    /// Trust that --node is the node of this kubelet, if this cannot be verified
    #[arg(long, requires = "node")]
    confirm_node: bool,

    #[command(flatten)]
    debug: DebugPodArgs,

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

  # On the node: until pods are gone and the kubelet has released the devices
  kubectl devicetaint wait drain-node-7 --for evicted --verify-node

  # The same, run from another machine
  kubectl devicetaint wait drain-node-7 --for evicted --via-debug node-7 \\
    --debug-image registry.example.com/kubectl-devicetaint:0.1.0

  # Until the controller has counted the pods for a rule with effect None
  kubectl devicetaint wait drain-node-7 --for observed --timeout 30s";

/// The root folder of kubelets, on their nodes.
const KUBELET: &str = "/var/lib/kubelet";

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
            Self::Idle => Goal::Idle,
            Self::Observed => Goal::Observed,
            Self::Deleted => Goal::Deleted,
        }
    }
}

impl WaitArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        let purpose = if self.makes_a_pod() {
            Purpose::DebugWait
        } else {
            Purpose::Wait
        };
        CommandProfile::reading(purpose).tidying_up(self.makes_a_pod())
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
    let began = Instant::now();
    // The kubelet has what the wait for the API leaves of the time.
    let end = began.checked_add(args.timeout).unwrap_or(began);
    let verifier = args.verifier(end, context).await;
    let verifier = verifier.map_err(|failure| with_silent_kubelet(failure, args.timeout))?;
    let found = async {
        let live = connect(context).await?;
        let found = args.find(&typed, &live, context).await?;
        Ok((live, found))
    };
    let (live, found) = args.stoppable(found, context).await?;
    // Only with --ignore-not-found: what is not there has nothing left to do.
    if found.is_empty() {
        return Ok(ExitStatus::Success);
    }
    let verifier = match verifier {
        None => None,
        Some(verifier) => {
            let awaited = AwaitedRelease { rules: &found, end };
            let aimed = args.aimed(verifier, awaited, &live, context);
            let aimed = args.stoppable(aimed, context).await;
            Some(aimed.map_err(|failure| with_silent_kubelet(failure, args.timeout))?)
        }
    };
    let wait = Wait {
        goal: args.what.goal(),
        rules: &found,
        expected: Vec::new(),
        patience: args.patience(),
        advice: &|_, _| again(),
        progress_line: ProgressLine::Shown,
        last_look: None,
    };
    let waited = args.stoppable(args.waited(&wait, &live, context), context);
    let is_verified = verifier.is_some();
    let (waited, nodes) = waited.await.map_err(|failure| match is_verified {
        true => also_verified(failure, &found),
        false => failure,
    })?;
    let unverified = verifier.as_ref().and_then(|it| it.warning().cloned());
    let waited = match verifier {
        Some(verifier) => {
            let time = WaitTime { began, end };
            let deletions = ForceDeletions {
                verifier: &verifier,
                waited: &found,
                live: &live,
                context,
                noted: BTreeSet::new(),
            };
            let verified = args.verified(waited, deletions, time);
            let verified = verified.await?;
            // Only what the kubelet was seen to release is taken off the rules.
            if let (WaitEnd::Met, Some(node)) = (&verified.ending, verifier.node()) {
                let rules = live.rules()?;
                clear_released(&wait.names(), node, &rules, context).await;
                clear_released_of(&verified.recorded, node, &rules, context).await;
            }
            verified
        }
        None => waited,
    };
    live.tell(&context.printer);
    let is_met = matches!(waited.ending, WaitEnd::Met) && !args.is_data();
    let next = nodes.filter(|_| is_met && !is_verified);
    let report = waited.report(&wait).with_warnings(&unverified);
    let status = args.tell(&report, waited.ending, context)?;
    // What the API shows as free may be held by its node.
    if let Some(nodes) = next {
        propose_checks(&nodes, &live, &context.printer).await;
    }
    Ok(status)
}

/// When a wait began, and when its time is over.
#[derive(Clone, Copy)]
struct WaitTime {
    began: Instant,
    end: Instant,
}

impl WaitArgs {
    /// Whether pods are made, and removed in the end.
    fn makes_a_pod(&self) -> bool {
        self.debug.via_debug.is_some()
    }

    /// Where pods ask the kubelet, nobody else hears that the program is stopped while there is none.
    async fn stoppable<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
        context: &Context,
    ) -> Result<T, Failure> {
        if self.makes_a_pod() {
            signal::stoppable(work, context).await
        } else {
            work.await
        }
    }

    /// Waits as far as the API goes; with the nodes of the devices, where they are looked at.
    async fn waited(
        &self,
        wait: &Wait<'_>,
        live: &Live,
        context: &Context,
    ) -> Result<(WaitResult, Option<DeviceNodes>), Failure> {
        let view = match wait.goal {
            Goal::Observed | Goal::Deleted => {
                return Ok((wait.for_rules(live, context).await?, None));
            }
            Goal::Evicted => {
                let view = ClusterView::of(live.clone(), Detail::Names).await?;
                view.with_hardware_of(wait.rules).await?
            }
            // Counters and numbers say which devices are the same hardware.
            Goal::Idle => ClusterView::of(live.clone(), Detail::Attributes).await?,
        };
        let (view, identities) = wait.identities(view, &self.typed(), context).await?;
        let others = wait.other_users(&view, context);
        let nodes = device_nodes(wait.rules, &view).await;
        // A wait for natural ends sees only what kubelets report.
        if let Goal::Idle = wait.goal {
            warn_of_silence(&nodes, live, &context.printer).await;
        }
        let mut waited = wait.for_pods(view, context).await?;
        let now = ClusterView::of(live.clone(), Detail::Names);
        let renamed = wait.renamed_since(&waited.ending, &identities, now, context);
        waited.warnings.extend(renamed.await);
        waited.warnings.extend(identities);
        waited.warnings.extend(others);
        Ok((waited, Some(nodes)))
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

    /// The kubelet whose word counts too, if so.
    async fn verifier(&self, end: Instant, context: &Context) -> Result<Option<Verifier>, Failure> {
        let plan = self.debug.plan(KUBELET);
        if self.verify_node.is_none() && plan.is_none() {
            return Ok(None);
        }
        if !self.what.goal().is_about_pods() {
            let flag = match plan {
                Some(_) => "--via-debug",
                None => "--verify-node",
            };
            return Err(Failure::usage(format!(
                "{flag} needs --for evicted or --for idle"
            )));
        }
        Ok(match (plan, &self.verify_node) {
            (Some(plan), _) => Some(Verifier::through(plan, || {
                Box::pin(signal::Signals::listen().received())
            })),
            (None, Some(socket)) => Some(Verifier::at(socket, end, context).await?),
            (None, None) => None,
        })
    }

    /// The kubelet with what it has to give back; who holds that and stays is said at once.
    async fn aimed(
        &self,
        verifier: Verifier,
        awaited: AwaitedRelease<'_>,
        live: &Live,
        context: &Context,
    ) -> Result<Verifier, Failure> {
        let view = ClusterView::of(live.clone(), Detail::Attributes).await?;
        let proposed: Vec<ProposedTaint> = awaited
            .rules
            .iter()
            .map(|rule| ProposedTaint::of_changed_rule(rule, &rule.taint.effect, view.now))
            .collect();
        let view = view.with_pods_of(&proposed).await?;
        let node = self.node.as_deref().map(NodeName::from);
        let said = NodeClaim {
            name: node.as_ref(),
            trust: NodeTrust::typed(self.confirm_node),
        };
        let verifier = verifier.waiting_for(awaited, &view, said, context).await?;
        let impact = view.impact(&proposed);
        // A pod that was deleted leaves, and is counted as terminating.
        let staying: Vec<NotEvictedPod> = staying(&impact, &[])
            .iter()
            .filter(|pod| pod.stay != NotEvictedReason::Leaves)
            .map(NotEvictedPod::new)
            .collect();
        if let Some(line) = not_evicted_line(&staying) {
            let after = if staying.len() == 1 {
                "this pod has ended"
            } else {
                "these pods have ended"
            };
            context.printer.warn(&format!(
                "{line}; the node releases the devices only after {after}"
            ));
        }
        Ok(verifier)
    }

    /// How a wait ends that was met as far as the API goes.
    async fn verified(
        &self,
        waited: WaitResult,
        mut deletions: ForceDeletions<'_>,
        time: WaitTime,
    ) -> Result<WaitResult, Failure> {
        let (verifier, context) = (deletions.verifier, deletions.context);
        let Some(not_released) = waited.ending.not_released() else {
            return Ok(waited);
        };
        let seen = async |held: &[(DeviceId, RemovalObjection)]| deletions.note(held).await;
        let left = verifier
            .settled_with_status(time.end, seen, context)
            .await?;
        let ending = WaitEnd::verified(left, not_released, verifier.node());
        Ok(waited.verified(ending, verifier.node(), time.began.elapsed()))
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
            WaitEnd::TimedOut(left) => {
                Err(timed_out(self.timeout, &left))
            }
            WaitEnd::NotReleased(left) => Err(not_seen_released(&left)),
        };
        self.print(report, status, context)
    }

    fn print(
        &self,
        report: &WaitReport,
        status: Result<ExitStatus, Failure>,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
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
