//! `podresources`: devices in use according to the kubelet of this node, and whether devices may be pulled.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use jiff::Timestamp;

use super::context::{self, Context};
use super::work::cluster_view::{ClusterView, Pods, ViewWarnings};
use super::work::connect::{Source, failed};
use super::work::present::{OutputArgs, present};
use crate::assess::{DeviceUse, SafetyFacts, device_safety, devices_in_use};
use crate::cluster::{Detail, Purpose, node_of_pod};
use crate::completion::Values;
use crate::decide::choice::{self, Choice, ChoiceBasis, DeviceArguments};
use crate::engine::closed_nodes::{Evidence, KubeletNode, NodeProof, kubelet_node};
use crate::error::{ExitStatus, Failure};
use crate::kubelet::{Lister, SOCKET, certificate_node, notes_beside};
use crate::model::{DeviceSelector, InUse, Kind, NamespacedName, NodeName, PreparedClaim, Warning};
use crate::naming::device;
use crate::report::PodResourcesReport;

/// Query the kubelet of this node for devices in use
///
/// Run this command on the node, as root or in a pod that mounts the kubelet's directory. `check` also finds devices
/// that the kubelet still holds for a pod that no longer exists in the API.
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
  kubectl devicetaint podresources check";

#[derive(Debug, Subcommand)]
enum KubeletQuestion {
    List(ListArgs),
    Check(Box<CheckArgs>),
}

/// List the devices used by containers of active pods on this node
///
/// Lists DRA devices, and devices of device plugins. Claims that are prepared for force-deleted pods, which the kubelet
/// omits, are listed from its checkpoint, without pod and container.
#[derive(clap::Args, Debug)]
struct ListArgs {
    /// Socket of the kubelet's podresources API
    #[arg(long, value_name = "FILENAME", default_value = SOCKET, help_heading = "Kubelet")]
    socket: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

/// Check which devices of this node are safe to pull, and why others are not
///
/// To pull a device is to remove it from the machine. A device is safe to pull if all of these conditions are met
/// for 5 seconds. Devices that share counters with it, such as its partitions, must also meet them, even if they
/// are not selected.
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
    /// A hardware ID is a UUID, a PCI address, or an attribute with its value, such as serial=1423022041312.
    #[arg(value_name = "DEVICE", add = Values::Devices)]
    devices: Vec<String>,

    /// Name of the kubelet's Node object; default: the node that the data shows
    ///
    /// Pods and devices that the kubelet lists, its client certificate, or the hostname identify the node. If they show
    /// another node, the command fails; without any of them, no device is safe to pull.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Kubelet", add = Values::Nodes)]
    node: Option<String>,

    /// Socket of the kubelet's podresources API
    #[arg(long, value_name = "FILENAME", default_value = SOCKET, help_heading = "Kubelet")]
    socket: PathBuf,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    output: OutputArgs,
}

/// Time for which a device must be idle to be safe to pull: a device may be idle for an instant between two pods.
const SETTLE: Duration = Duration::from_secs(5);

impl PodResourcesArgs {
    /// True if the kubelet alone is asked.
    pub(super) fn lists(&self) -> bool {
        matches!(self.question, KubeletQuestion::List(_))
    }

    /// Purpose of the connection, if a cluster is asked.
    pub(super) fn purpose(&self) -> Option<Purpose> {
        match &self.question {
            KubeletQuestion::Check(args) if args.source.from.is_empty() => {
                Some(Purpose::PodResources)
            }
            KubeletQuestion::List(_) | KubeletQuestion::Check(_) => None,
        }
    }
}

pub(super) async fn run(args: PodResourcesArgs, context: &Context) -> Result<ExitStatus, Failure> {
    match args.question {
        KubeletQuestion::List(args) => list(&args, context).await,
        KubeletQuestion::Check(args) => check(&args, context).await,
    }
}

async fn list(args: &ListArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let answer = KubeletAnswer::read(&args.socket, context).await?;
    let prepared = answer.prepared.as_deref().unwrap_or_default();
    let mut items = devices_in_use(&answer.in_use, prepared);
    if let Some(namespace) = &context.namespace {
        for item in &mut items {
            item.users.retain(|user| user.namespace == *namespace);
        }
        items.retain(|item| !item.users.is_empty());
    }
    let report = PodResourcesReport::of_list(items, answer.prepared.as_ref().err());
    let format = args.output.output;
    present(&report, &ViewWarnings::default(), format, context)
}

async fn check(args: &CheckArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let choice = choice(&args.devices)?;
    let mut result = args.query(choice.as_ref(), context).await?;
    let is_safe = |item: &DeviceUse| item.safe_to_pull == Some(true);
    if result.items.iter().any(is_safe) {
        tokio::time::sleep(SETTLE).await;
        let before = result.items;
        result = args.query(choice.as_ref(), context).await?;
        let items = result.items.into_iter();
        result.items = items.map(|item| item.settled(&before)).collect();
    }
    let CheckResult {
        view,
        answer,
        node,
        items,
    } = result;
    let report = PodResourcesReport::of_check(&node, answer.time, items, &view.basis());
    present(&report, view.view_warnings(), args.output.output, context)
}

/// Understands the devices that were typed; `None` selects all devices of the node.
fn choice(arguments: &[String]) -> Result<Option<Choice>, Failure> {
    if arguments.is_empty() {
        return Ok(None);
    }
    let typed = DeviceArguments {
        arguments: arguments.to_vec(),
        ..DeviceArguments::default()
    };
    let choice = Choice::parse(&typed, choice::Purpose::Choose)?;
    if choice.filter.is_some() {
        return Err(Failure::usage("a node is selected with --node"));
    }
    Ok(Some(choice))
}

/// Keeps the selected ones of the devices of `node`.
fn select(
    mut items: Vec<DeviceUse>,
    choice: &Choice,
    node: &NodeName,
) -> Result<Vec<DeviceUse>, Failure> {
    let ChoiceBasis::Selectors(selectors) = &choice.by else {
        return Ok(items);
    };
    let is_named = |item: &DeviceUse, selector: &DeviceSelector| {
        let id = item.device.as_ref();
        id.is_some_and(|id| device::names(selector, id))
    };
    let is_missing = |selector: &&DeviceSelector| !items.iter().any(|it| is_named(it, selector));
    if let Some(missing) = selectors.iter().find(is_missing) {
        let name = device::format(missing);
        let text = format!("no device of node {node} matches {name}");
        return Err(Failure::new(ExitStatus::Failed, text)
            .detail("of a driver that does not run, only the devices in use are known"));
    }
    items.retain(|item| selectors.iter().any(|it| is_named(item, it)));
    Ok(items)
}

/// The devices that were checked, and the data of one moment.
struct CheckResult {
    view: ClusterView<Pods>,
    answer: KubeletAnswer,
    node: NodeName,
    items: Vec<DeviceUse>,
}

impl CheckArgs {
    /// Reads all sources, and checks the selected devices.
    ///
    /// The API last: the scheduler allocates a device before the kubelet knows the pod, so that in the reverse order a
    /// device could look free that was allocated in between.
    async fn query(
        &self,
        choice: Option<&Choice>,
        context: &Context,
    ) -> Result<CheckResult, Failure> {
        let answer = KubeletAnswer::read(&self.socket, context).await?;
        let view = ClusterView::open(&self.source, context, Detail::Terms).await?;
        let view = view.with_attributes(&[Kind::DeviceClass]).await?;
        let view = view.with_templates().await?;
        // Pods of all devices, since any of them may identify the kubelet's node.
        let view = view.with_pods(|_| true).await?;
        let named = self.node.as_deref().map(NodeName::from);
        let (node, is_verified) = answer.node(&self.socket, named.as_ref(), &view).await?;
        let items = device_safety(&SafetyFacts {
            reading: &view.reading,
            semantics: &view.semantics,
            node: &node,
            is_verified,
            in_use: &answer.in_use,
            prepared: answer.prepared.as_deref().ok(),
        });
        // A mistyped node must not look like one on which nothing is in use.
        if items.is_empty() {
            return Err(Failure::new(
                ExitStatus::Failed,
                format!("no device on node {node}: none is published, allocated or in use there"),
            )
            .hint("to show the nodes that have devices: kubectl devicetaint devices -o wide"));
        }
        let items = match choice {
            Some(choice) => {
                let choice = choice.resolved(&view.reading, &view.semantics)?.choice;
                select(items, &choice, &node)?
            }
            None => items,
        };
        Ok(CheckResult {
            view,
            answer,
            node,
            items,
        })
    }
}

/// File with the name of the machine on Linux.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";

/// The answer of a kubelet.
struct KubeletAnswer {
    /// Its list.
    in_use: InUse,
    /// Claims in its checkpoint beside the socket, or why that could not be read.
    prepared: Result<Vec<PreparedClaim>, Warning>,
    /// When it answered.
    time: Timestamp,
}

impl KubeletAnswer {
    /// Reads the list of the kubelet at the `socket`, and its checkpoint. Without --request-timeout, a connection that is
    /// silent for a day has failed.
    ///
    /// # Errors
    ///
    /// If the kubelet does not answer; a retry may help.
    async fn read(socket: &Path, context: &Context) -> Result<Self, Failure> {
        const DAY: Duration = Duration::from_secs(86_400);
        let limit = context.connection.request_timeout.unwrap_or(DAY);
        let in_use = Lister::new(socket, limit).list().await;
        let in_use = in_use.map_err(|error| {
            let status = if error.passes() {
                ExitStatus::TryAgain
            } else {
                ExitStatus::Failed
            };
            let hint = error.hint();
            Failure::new(status, error).hint(hint)
        })?;
        let time = context::now();
        let prepared = notes_beside(socket).map_err(|message| Warning {
            code: "checkpoint-unread",
            message,
            fix: None,
        });
        Ok(Self {
            in_use,
            prepared,
            time,
        })
    }

    /// The node of the kubelet at `socket`, and whether evidence shows that it is the `named` one.
    ///
    /// # Errors
    ///
    /// If evidence shows another node, or if there is neither evidence nor a name.
    async fn node(
        &self,
        socket: &Path,
        named: Option<&NodeName>,
        view: &ClusterView<Pods>,
    ) -> Result<(NodeName, bool), Failure> {
        let located = self.locate_pods(view).await?;
        let certificate = certificate_node(socket);
        // Without a hostname, there is one proof less.
        let hostname = fs::read_to_string(HOSTNAME).unwrap_or_default();
        let evidence = Evidence {
            snapshot: view.snapshot(),
            semantics: &view.semantics,
            in_use: &self.in_use,
            // So it is without a checkpoint.
            prepared: self.prepared.as_deref().unwrap_or_default(),
            located: &located,
            certificate: certificate.as_ref(),
            hostname: hostname.trim(),
        };
        match kubelet_node(&evidence, named) {
            KubeletNode::Verified(node) => Ok((node, true)),
            KubeletNode::Unverified(node) => Ok((node, false)),
            KubeletNode::Other {
                expected,
                node,
                proof,
            } => Err(other_node(&expected, &node, &proof)),
            KubeletNode::Unknown => Err(Failure::new(
                ExitStatus::Failed,
                "cannot determine the node of this kubelet",
            )
            .hint("specify the node: --node NAME")),
        }
    }

    /// The node of a pod that the kubelet lists, read from the API if no such pod was read with the devices.
    async fn locate_pods(
        &self,
        view: &ClusterView<Pods>,
    ) -> Result<Vec<(NamespacedName, NodeName)>, Failure> {
        // A pod may be gone by now, and the next one not.
        const TRIES: usize = 3;
        let known = &view.snapshot().pods;
        let is_known = |name: &NamespacedName| known.iter().any(|pod| pod.name == *name);
        let listed = &self.in_use.pods;
        let Some(live) = view.live() else {
            return Ok(Vec::new());
        };
        if listed.iter().any(|pod| is_known(&pod.name)) {
            return Ok(Vec::new());
        }
        for pod in listed.iter().take(TRIES) {
            let node = node_of_pod(&live.client, &pod.name).await.map_err(failed)?;
            if let Some(node) = node {
                return Ok(vec![(pod.name.clone(), node)]);
            }
        }
        Ok(Vec::new())
    }
}

fn other_node(expected: &NodeName, node: &NodeName, proof: &NodeProof) -> Failure {
    let why = match proof {
        NodeProof::Pod(pod) => format!("it runs pod {pod}, which is on node {node}"),
        NodeProof::Device(device) => {
            format!("it has prepared device {device}, which is local to node {node}")
        }
        NodeProof::Certificate => format!("its client certificate names node {node}"),
    };
    Failure::usage(format!("this is not the kubelet of node {expected}: {why}")).hint(format!(
        "use the socket of the kubelet of node {expected}, or run the command on that node"
    ))
}
