//! `podresources`: what the kubelet of this node says is in use, and whether devices may be pulled.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;

use super::context::Context;
use super::flags::kubelet::{DebugPodArgs, pod_of_namespace};
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::profile::{CommandProfile, NamespaceFilter};
use super::signal;
use super::work::cluster_view::{ClusterView, Pods, ViewWarnings};
use super::work::debug_pod;
use super::work::kubelet::{lister, noted, refused, wait_flags};
use super::work::kubelet_node::{AskedKubelet, NodeTrust, shown_node};
use super::work::present::present;
use crate::cluster::{Detail, Purpose};
use crate::completion::Values;
use crate::decide::choice::{
    DeviceFilter, DeviceFilterFlags, ShownDevices, drivers_away, hardware_among, not_compared,
    on_another_node, with_drivers_away,
};
use crate::decide::identity::{WarningScope, warnings_about};
use crate::decide::record_reader::RecordReader;
use crate::decide::unreleased_devices;
use crate::engine::device_removal::{
    KubeletIdentity, RemovalCheck, RemovalFacts, RemovalObjection, removal_checks,
};
use crate::engine::kubelet_node::KubeletNode;
use crate::error::{ExitStatus, Failure};
use crate::kubelet::{KubeletError, Lister, SOCKET, SocketFlag};
use crate::model::{DeviceId, DriverName, Kind, NamespacedName, NodeName, Warning};
use crate::naming::duration::parse_duration;
use crate::report::in_use::PreparedRow;
use crate::report::metadata::Warning as Oddity;
use crate::report::{DeviceRemovalReport, PodResourcesReport};

/// Query the kubelet of this node for devices in use
///
/// Run this command on the node, as root or in a pod that mounts the kubelet's directory. On any other machine, add
/// --via-debug. `check` also finds devices that the kubelet still holds for a pod that no longer exists in the API.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct PodResourcesArgs {
    #[command(subcommand)]
    question: KubeletQuestion,
}

const EXAMPLES: &str = "\
Examples:
  # Which devices do the pods on this node use?
  kubectl devicetaint podresources list

  # Which devices of this node can be removed from the machine safely?
  kubectl devicetaint podresources check --node node-7

  # The same, run from another machine
  kubectl devicetaint podresources check --via-debug node-7 \\
    --debug-image registry.example.com/kubectl-devicetaint:0.1.0

  # Which devices does a pod use?
  kubectl devicetaint podresources get team-a/train-0

  # Which devices of device plugins can be allocated to containers?
  kubectl devicetaint podresources allocatable";

#[derive(Debug, Subcommand)]
enum KubeletQuestion {
    List(ListArgs),
    Get(GetArgs),
    Allocatable(AllocatableArgs),
    Check(Box<CheckArgs>),
}

/// Which kubelet is asked.
#[derive(clap::Args, Debug)]
struct KubeletArgs {
    /// Socket of the kubelet's podresources API
    #[arg(long, value_name = "FILENAME", default_value = SOCKET, help_heading = "Kubelet")]
    socket: PathBuf,

    #[command(flatten)]
    debug: DebugPodArgs,
}

/// List the devices used by containers of active pods on this node
///
/// Lists DRA devices with their claims, and devices of device plugins.
/// The kubelet omits force-deleted pods from its list of pods, even if it has not released their devices. Claims that are
/// prepared for such pods are listed from the kubelet's checkpoint.
#[derive(clap::Args, Debug)]
struct ListArgs {
    #[command(flatten)]
    kubelet: KubeletArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Show the devices used by one pod on this node
#[derive(clap::Args, Debug)]
struct GetArgs {
    /// The pod, as NAMESPACE/NAME
    #[arg(value_name = "NAMESPACE/POD", value_parser = pod_of_namespace)]
    pod: NamespacedName,

    #[command(flatten)]
    kubelet: KubeletArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// List the device-plugin devices that the kubelet can allocate to containers
///
/// DRA devices are not listed: the kubelet does not report which of them can be allocated.
#[derive(clap::Args, Debug)]
struct AllocatableArgs {
    #[command(flatten)]
    kubelet: KubeletArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Check which devices of this node are safe to pull, and why others are not
///
/// To pull a device is to remove it from the machine. A device is safe to pull if all of these conditions are met
/// during the time of --settle. The partitions of the device, and other devices on the same hardware, must also meet
/// them, even if they are not selected.
///
/// - According to the API, no claim holds the device, and no terminating pod uses it.
///
/// - According to the kubelet, no container uses the device, and the driver has not prepared it for a pod.
///
/// - The driver of the device is running.
///
/// - The device has a taint that blocks new pods, and no pending claim or claim template tolerates this taint.
///
/// A check that cannot be made counts as failed. Exits with code 4 if a device is not safe to pull. With --from, the
/// objects of the API are read from files, but the kubelet is still queried.
#[derive(clap::Args, Debug)]
struct CheckArgs {
    /// Devices, as DRIVER/POOL/DEVICE with * for any, or by hardware ID; default: all devices of
    /// the node
    ///
    /// A hardware ID is a UUID, serial number or PCI address, such as uuid=GPU-18db… or
    /// 0000:17:00.0.
    #[arg(value_name = "DEVICE", add = Values::Devices)]
    devices: Vec<String>,

    /// Name of the kubelet's Node object; required without --via-debug
    #[arg(long, value_name = "NAME", help_heading = "Kubelet", long_help = NODE_HELP, add = Values::Nodes)]
    node: Option<String>,

    /// Trust that --node is the node of this kubelet, if this cannot be verified
    ///
    /// For example, for an empty node whose kubelet has no client certificate, and whose hostname differs
    /// from the name of the node.
    #[arg(long, help_heading = "Kubelet")]
    confirm_node: bool,

    /// How long a device must be idle to be safe to pull
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    settle: Duration,

    #[command(flatten)]
    kubelet: KubeletArgs,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl PodResourcesArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        let purpose = match (self.makes_a_pod(), self.compares()) {
            (true, true) => Some(Purpose::DebugPodResources),
            (true, false) => Some(Purpose::DebugPod),
            (false, true) => Some(Purpose::PodResources),
            (false, false) => None,
        };
        CommandProfile {
            purpose,
            namespace: match &self.question {
                KubeletQuestion::List(_) | KubeletQuestion::Check(_) => NamespaceFilter::Narrows,
                KubeletQuestion::Get(_) => {
                    NamespaceFilter::Meaningless("the pod is given as NAMESPACE/NAME")
                }
                KubeletQuestion::Allocatable(_) => {
                    NamespaceFilter::Meaningless("devices have no namespace")
                }
            },
            ..CommandProfile::without_cluster()
        }
        .tidying_up(self.makes_a_pod())
    }
}

pub(super) async fn run(args: PodResourcesArgs, context: &Context) -> Result<ExitStatus, Failure> {
    match args.question {
        KubeletQuestion::List(args) => list(&args, context).await,
        KubeletQuestion::Get(args) => get(&args, context).await,
        KubeletQuestion::Allocatable(args) => allocatable(&args, context).await,
        KubeletQuestion::Check(args) => check(&args, context).await,
    }
}

impl PodResourcesArgs {
    fn kubelet(&self) -> &KubeletArgs {
        match &self.question {
            KubeletQuestion::List(args) => &args.kubelet,
            KubeletQuestion::Get(args) => &args.kubelet,
            KubeletQuestion::Allocatable(args) => &args.kubelet,
            KubeletQuestion::Check(args) => &args.kubelet,
        }
    }

    /// Whether what the kubelet says is compared with what a cluster says.
    fn compares(&self) -> bool {
        match &self.question {
            KubeletQuestion::Check(args) => args.source.from.is_empty(),
            KubeletQuestion::List(_)
            | KubeletQuestion::Get(_)
            | KubeletQuestion::Allocatable(_) => false,
        }
    }

    /// Whether there is a pod to be removed in the end.
    fn makes_a_pod(&self) -> bool {
        self.kubelet().debug.via_debug.is_some()
    }
}

impl KubeletArgs {
    /// What the kubelet says to the question that `words` are: asked here, or in a pod on its node.
    async fn asked(
        &self,
        here: impl AsyncFnOnce(Lister) -> Result<PodResourcesReport, KubeletError>,
        words: &[&str],
        context: &Context,
    ) -> Result<PodResourcesReport, Failure> {
        if self.debug.via_debug.is_none() {
            let asked = here(lister(&self.socket, context)).await;
            return asked.map_err(|error| refused(error, SocketFlag::Socket));
        }
        // The pod mounts the kubelet's root folder of the node, which the socket's path has to tell.
        let root = self
            .socket
            .parent()
            .and_then(Path::parent)
            .and_then(Path::to_str);
        let plan = root.and_then(|root| self.debug.plan(root)).ok_or_else(|| {
            Failure::usage("with --via-debug, --socket must end in /pod-resources/kubelet.sock")
        })?;
        let own: Vec<&str> = ["podresources"]
            .into_iter()
            .chain(words.iter().copied())
            .chain(["-o", "json"])
            .collect();
        // From before the pod is made, so that a signal meanwhile still has it removed.
        let stop = signal::Signals::listen().received();
        debug_pod::ask(&plan, &own, stop, context).await
    }

    /// All that is in use, with the kubelet's own notes.
    async fn listed(&self, context: &Context) -> Result<PodResourcesReport, Failure> {
        let here = async |lister: Lister| {
            let listed = lister.list().await?;
            let (prepared, unread) = noted(&self.socket);
            let mut report = PodResourcesReport::of_pods(&listed).with_notes(prepared.as_deref());
            report.warnings.extend(unread.iter().map(Oddity::from));
            Ok(report)
        };
        self.asked(here, &["list"], context).await
    }
}

async fn list(args: &ListArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let mut report = args.kubelet.listed(context).await?;
    if let Some(namespace) = &context.namespace {
        report.items.retain(|pod| pod.namespace == *namespace);
        let of_it = |row: &PreparedRow| row.claim.namespace == *namespace;
        report
            .prepared_claims
            .iter_mut()
            .for_each(|rows| rows.retain(of_it));
    }
    present(
        &report,
        &ViewWarnings::default(),
        args.output.wanted(),
        context,
    )
}

async fn get(args: &GetArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let here = async |lister: Lister| {
        let found = lister.get(&args.pod).await?;
        Ok(PodResourcesReport::of_pods(&found))
    };
    let name = args.pod.to_string();
    let report = args.kubelet.asked(here, &["get", &name], context).await?;
    present(
        &report,
        &ViewWarnings::default(),
        args.output.wanted(),
        context,
    )
}

async fn allocatable(args: &AllocatableArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let here = async |lister: Lister| {
        let found = lister.allocatable().await?;
        Ok(PodResourcesReport::of_allocatable(&found))
    };
    let report = args.kubelet.asked(here, &["allocatable"], context).await?;
    present(
        &report,
        &ViewWarnings::default(),
        args.output.wanted(),
        context,
    )
}

/// What shows that a kubelet is that of the node.
const NODE_HELP: &str = "\
Name of the kubelet's Node object; required without --via-debug

The command verifies that the kubelet belongs to this node. One of these must identify the node: a pod that the \
kubelet lists, a device that a driver has prepared for this kubelet, the kubelet's client certificate, or the \
hostname. If none of them does, no device is reported as safe to pull unless --confirm-node is set.";

async fn check(args: &CheckArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let chosen = args.chosen()?;
    let via_debug = args.kubelet.debug.via_debug.as_ref();
    let node = args.node.as_ref().or(via_debug);
    let node = node.ok_or_else(|| {
        Failure::usage("--node is required: the name of the node whose kubelet is queried")
    })?;
    if let Some(other) = via_debug
        && other != node
    {
        return Err(Failure::usage(format!(
            "--via-debug {other} and --node {node} are different nodes"
        )));
    }
    let node = NodeName::from(node.as_str());
    let mut asked = args.ask(&node, &chosen, context).await?;
    let is_idle = |one: &RemovalCheck| one.objections.is_empty();
    // What is idle for an instant may be between two pods.
    if !args.settle.is_zero() && asked.found.iter().any(is_idle) {
        let pause = async {
            tokio::time::sleep(args.settle).await;
            Ok(())
        };
        args.stoppable(pause, context).await?;
        let before = asked.found;
        asked = args.ask(&node, &chosen, context).await?;
        let found = asked.found.into_iter();
        asked.found = found.map(|one| one.settled(&before)).collect();
    }
    let mut report = DeviceRemovalReport::new(node.as_str(), &asked.found, &asked.view.basis());
    report.warnings.extend(asked.warnings);
    let report = if chosen.is_all() {
        report
    } else {
        report.of_chosen()
    };
    present(
        &report,
        asked.view.view_warnings(),
        args.output.wanted(),
        context,
    )
}

/// Which devices are asked about.
struct ChosenDevices {
    shown: ShownDevices,
    filters: DeviceFilterFlags,
    filter: Option<DeviceFilter>,
}

impl ChosenDevices {
    /// Whether it is about all devices of the node.
    fn is_all(&self) -> bool {
        self.filter.is_none() && self.shown.names().is_empty()
    }

    /// What was chosen, with the words as hardware that are its numbers in `view`.
    async fn with_numbers(&self, view: ClusterView) -> Result<(ClusterView, Self), Failure> {
        let (view, numbers) = view.numbers_among(&self.shown).await?;
        let shown = self.shown.clone().without(&numbers);
        let mut filters = self.filters.clone();
        filters.identities.extend(numbers);
        let filter = DeviceFilter::parse(&filters)?;
        let found = Self {
            shown,
            filters,
            filter,
        };
        Ok((view, found))
    }

    /// Keeps those of the devices that were chosen. A number of hardware that several devices have is that of all of
    /// them: they are pulled together.
    /// What has to be known of the choice is a warning.
    fn keep(
        &self,
        found: &mut Vec<RemovalCheck>,
        view: &ClusterView<Pods>,
    ) -> Result<Option<Warning>, Failure> {
        let known: Vec<DeviceId> = found.iter().map(|one| one.device.clone()).collect();
        let away: Vec<DriverName> = not_running(found).into_iter().collect();
        let missing = self.shown.refuse_missing(known.iter(), &view.reading);
        missing.map_err(|failure| {
            let all = view.known_devices();
            // A device that exists elsewhere is another mistake than one that is misspelt.
            match self.shown.refuse_missing(all.iter(), &view.reading) {
                Ok(()) => on_another_node(),
                Err(_) => with_drivers_away(failure, &self.shown, &away),
            }
        })?;
        let Some(filter) = &self.filter else {
            found.retain(|one| self.shown.contains(&one.device));
            return Ok(None);
        };
        let filtered = filter.resolve(&view.reading, self.shown.names(), &view.semantics)?;
        found.retain(|one| filtered.devices.contains(&one.device));
        if found.is_empty() {
            return Err(on_another_node());
        }
        Ok(not_compared(&filtered.not_compared).map(|message| Warning {
            code: "not-compared",
            message,
            fix: Some("to check these devices too, specify them as DRIVER/POOL/DEVICE".to_owned()),
        }))
    }
}

/// The drivers of these devices that are not running.
fn not_running(found: &[RemovalCheck]) -> BTreeSet<DriverName> {
    let is_down = |one: &&RemovalCheck| one.objections.contains(&RemovalObjection::DriverDown);
    let down = found.iter().filter(is_down);
    down.map(|one| one.device.driver.clone()).collect()
}

/// What all witnesses have said at one moment.
struct KubeletAnswers {
    view: ClusterView<Pods>,
    found: Vec<RemovalCheck>,
    warnings: Vec<Oddity>,
}

impl CheckArgs {
    /// What was typed; the node is that of the kubelet, and chooses nothing.
    fn chosen(&self) -> Result<ChosenDevices, Failure> {
        let (identities, arguments) = hardware_among(&self.devices);
        let filters = DeviceFilterFlags {
            identities,
            ..DeviceFilterFlags::default()
        };
        Ok(ChosenDevices {
            shown: ShownDevices::parse(&arguments)?,
            filter: DeviceFilter::parse(&filters)?,
            filters,
        })
    }

    /// Asks all witnesses about the devices of `node` that are `shown`.
    ///
    /// The kubelet first: what it says is in use may be given back until the API is read, which then says
    /// that a claim holds what is free by now. The other way round, what is in use could look free.
    async fn ask(
        &self,
        node: &NodeName,
        chosen: &ChosenDevices,
        context: &Context,
    ) -> Result<KubeletAnswers, Failure> {
        let listed = self.kubelet.listed(context).await?;
        self.stoppable(self.compare(node, &listed, chosen, context), context)
            .await
    }

    /// Where a pod asks the kubelet, nobody else listens to Ctrl-C while nothing is left to be removed.
    async fn stoppable<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
        context: &Context,
    ) -> Result<T, Failure> {
        match self.kubelet.debug.via_debug {
            None => work.await,
            Some(_) => signal::stoppable(work, context).await,
        }
    }

    /// What the API says to what the kubelet of `node` has `listed`.
    async fn compare(
        &self,
        node: &NodeName,
        listed: &PodResourcesReport,
        chosen: &ChosenDevices,
        context: &Context,
    ) -> Result<KubeletAnswers, Failure> {
        let (in_use, prepared) = listed.facts();
        let view = ClusterView::open(&self.source.source(), context, Detail::Terms).await?;
        let view = view.with_attributes(&[Kind::DeviceClass]).await?;
        let (view, chosen) = chosen.with_numbers(view).await?;
        let view = view.with_templates().await?;
        // Pods of all devices, since any of them may prove which node the kubelet runs on.
        let view = view.with_pods(|_| true).await?;
        let kubelet = AskedKubelet {
            socket: &self.kubelet.socket,
            in_use: &in_use,
            // For the name of the node, notes that could not be read are only one proof less.
            prepared: prepared.as_deref().unwrap_or_default(),
            wanted: Some(node),
            trust: NodeTrust::typed(self.confirm_node),
        };
        // A pod that was made on a node has asked the kubelet there.
        let identity = match self.kubelet.debug.via_debug {
            Some(_) => KubeletIdentity::Shown,
            None => match shown_node(&kubelet, &view, context).await? {
                KubeletNode::Shown(..) => KubeletIdentity::Shown,
                KubeletNode::NotShown => KubeletIdentity::NotShown,
            },
        };
        let recorded = unreleased_devices::recorded_on(&view.snapshot().rules, node);
        let mut found = removal_checks(&RemovalFacts {
            reading: &view.reading,
            semantics: &view.semantics,
            node,
            in_use: &in_use,
            prepared: prepared.as_deref(),
            identity,
            recorded: &recorded,
        });
        // A mistyped node must not look like one on which nothing is in use.
        if found.is_empty() {
            return Err(Failure::new(
                ExitStatus::Failed,
                format!("no device on node {node}: none is published, allocated or in use there"),
            )
            .hint("to show the nodes that have devices: kubectl devicetaint devices -o wide"));
        }
        let away = drivers_away(node, &not_running(&found)).filter(|_| chosen.is_all());
        let uncompared = chosen.keep(&mut found, &view)?;
        let rules = &view.snapshot().rules;
        let names: Vec<DeviceId> = found.iter().map(|one| one.device.clone()).collect();
        // A device of the node that is not published any more is none of those that are checked.
        let scope = match chosen.is_all() {
            true => WarningScope::Pools,
            false => WarningScope::Devices,
        };
        let drift = warnings_about(&names, scope, rules, &view.reading, &view.semantics);
        let own = || wait_flags(node, &self.kubelet.socket, self.confirm_node);
        let flags = self.kubelet.debug.typed().unwrap_or_else(own);
        let reader = RecordReader::of_kubelet(&found, &flags);
        let forced = unreleased_devices::warnings(rules, Some(&names), reader);
        let more = drift.iter().chain(&forced).chain(&away).chain(&uncompared);
        let listed = listed.warnings.iter().cloned();
        Ok(KubeletAnswers {
            warnings: listed.chain(more.map(Oddity::from)).collect(),
            view,
            found,
        })
    }
}
