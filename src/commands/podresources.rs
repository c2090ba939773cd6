//! `podresources`: what the kubelet of this node says is in use, and whether devices may be pulled.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use super::context::Context;
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::signal;
use super::work::connect::failed;
use super::work::debug_pod::{self, DebugPodPlan};
use super::work::kubelet::{lister, noted, refused};
use super::work::look::{Aside, Look};
use super::work::present::present;
use crate::cluster::node_of_pod;
use crate::decide::choice::{Shown, Typed};
use crate::engine::pulling::{Identity, Testimony, Witnesses, strangers, testimonies};
use crate::error::{ExitStatus, Failure};
use crate::kubelet::{KubeletError, Lister, SOCKET};
use crate::model::{NamespacedName, NodeName};
use crate::naming::duration::parse_duration;
use crate::report::in_use::PreparedRow;
use crate::report::metadata::Warning as Oddity;
use crate::report::{PodResourcesReport, PullReport};

/// Where Linux says what the machine is called.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Ask the kubelet of this node what is in use, whatever the API says
///
/// Runs on the node itself as root, or in a pod that mounts the kubelet's folder. The kubelet knows what its containers
/// use also while the API does not say so.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct PodResourcesArgs {
    #[command(subcommand)]
    question: Question,
}

const EXAMPLES: &str = "\
Examples:
  # What do the pods of this node use?
  kubectl devicetaint podresources list

  # May the devices of this node be pulled?
  kubectl devicetaint podresources check --node node-7

  # The same from afar
  kubectl devicetaint podresources check --via-debug node-7 \\
    --debug-image registry.example.com/kubectl-devicetaint:0.1.0

  # What does one pod use, and what could be given?
  kubectl devicetaint podresources get team-a/train-0
  kubectl devicetaint podresources allocatable";

#[derive(Debug, Subcommand)]
enum Question {
    List(ListArgs),
    Get(GetArgs),
    Allocatable(AllocatableArgs),
    Check(CheckArgs),
}

/// Which kubelet is asked.
#[derive(clap::Args, Debug)]
struct KubeletArgs {
    /// The socket of the kubelet's podresources API
    #[arg(long, value_name = "FILENAME", default_value = SOCKET, help_heading = "Kubelet")]
    socket: PathBuf,

    /// Ask the kubelet of this node, through a pod that is made there and removed
    ///
    /// The pod runs as root, past the scheduler, mounts the kubelet's socket and notes to be read, and is
    /// gone again after Ctrl-C too. Needs the permission to create, get and delete pods, and to get pods/log.
    #[arg(
        long,
        value_name = "NODE",
        value_parser = NonEmptyStringValueParser::new(),
        requires = "debug_image",
        help_heading = "Kubelet"
    )]
    via_debug: Option<String>,

    /// The image of that pod, whose entry point is this program
    #[arg(
        long,
        value_name = "IMAGE",
        value_parser = NonEmptyStringValueParser::new(),
        requires = "via_debug",
        help_heading = "Kubelet"
    )]
    debug_image: Option<String>,

    /// The namespace of that pod
    #[arg(
        long,
        value_name = "NAME",
        default_value = "default",
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Kubelet"
    )]
    debug_namespace: String,

    /// How long that pod may take, with its image to be pulled [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Kubelet")]
    debug_timeout: Option<Duration>,
}

/// List what the containers of this node's active pods use
///
/// Devices of claims with their claim, devices of device plugins, and the processors and memory that are a container's
/// alone. Pods that were deleted by force are not among them: `check` sees what they hold.
#[derive(clap::Args, Debug)]
struct ListArgs {
    #[command(flatten)]
    kubelet: KubeletArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Show what one pod of this node uses
#[derive(clap::Args, Debug)]
struct GetArgs {
    /// The pod
    #[arg(value_name = "NAMESPACE/POD", value_parser = parse_pod)]
    pod: NamespacedName,

    #[command(flatten)]
    kubelet: KubeletArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// List what the kubelet can give to containers
///
/// Devices of device plugins, processors and memory; a kubelet says nothing of devices of claims here.
#[derive(clap::Args, Debug)]
struct AllocatableArgs {
    #[command(flatten)]
    kubelet: KubeletArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Say which devices of this node are safe to pull, and what speaks against it
///
/// The API has to say that no claim holds a device and no pod that did is left, the kubelet that no container uses it
/// and that it is prepared for nobody, and its driver has to be at work. What could not be asked speaks against it.
/// Exits with code 4 when a device is not safe to pull.
#[derive(clap::Args, Debug)]
struct CheckArgs {
    /// Devices, as DRIVER/POOL/DEVICE with * for any; default: all of the node
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,

    /// The node whose kubelet this is, as the API calls it; default: that of --via-debug
    ///
    /// A pod that the kubelet lists has to show it, or the name of the machine: else no device is safe to pull.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = NonEmptyStringValueParser::new(),
        required_unless_present = "via_debug",
        help_heading = "Kubelet"
    )]
    node: Option<String>,

    #[command(flatten)]
    kubelet: KubeletArgs,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: PodResourcesArgs, context: &Context) -> Result<ExitStatus, Failure> {
    match args.question {
        Question::List(args) => list(&args, context).await,
        Question::Get(args) => get(&args, context).await,
        Question::Allocatable(args) => allocatable(&args, context).await,
        Question::Check(args) => check(&args, context).await,
    }
}

impl PodResourcesArgs {
    fn kubelet(&self) -> &KubeletArgs {
        match &self.question {
            Question::List(args) => &args.kubelet,
            Question::Get(args) => &args.kubelet,
            Question::Allocatable(args) => &args.kubelet,
            Question::Check(args) => &args.kubelet,
        }
    }

    /// Whether a cluster is asked too.
    pub(super) fn asks_a_cluster(&self) -> bool {
        let compares = match &self.question {
            Question::Check(args) => args.source.from.is_empty(),
            Question::List(_) | Question::Get(_) | Question::Allocatable(_) => false,
        };
        compares || self.makes_a_pod()
    }

    /// Whether there is a pod to be removed in the end.
    pub(super) fn makes_a_pod(&self) -> bool {
        self.kubelet().via_debug.is_some()
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
        let (Some(node), Some(image)) = (&self.via_debug, &self.debug_image) else {
            return here(lister(&self.socket, context)).await.map_err(refused);
        };
        let root = self.socket.parent().and_then(Path::parent);
        let root = root.and_then(Path::to_str).ok_or_else(|| {
            Failure::usage("--socket has to be ROOT/pod-resources/kubelet.sock for --via-debug")
        })?;
        let plan = DebugPodPlan {
            node,
            namespace: &self.debug_namespace,
            image,
            root,
            timeout: self.debug_timeout,
        };
        let own = ["podresources"].into_iter().chain(words.iter().copied());
        let own: Vec<&str> = own.chain(["--quiet", "-o", "json"]).collect();
        let stop = signal::Signals::listen().received();
        debug_pod::ask(&plan, &own, (stop, context)).await
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
        report.pods.retain(|pod| pod.namespace == *namespace);
        let of_it = |row: &PreparedRow| row.claim.split('/').next() == Some(namespace);
        report
            .prepared
            .iter_mut()
            .for_each(|rows| rows.retain(of_it));
    }
    present(&report, &Aside::default(), args.output.wanted(), context)
}

async fn get(args: &GetArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let here = async |lister: Lister| {
        let found = lister.get(&args.pod).await?;
        Ok(PodResourcesReport::of_pods(&found))
    };
    let name = args.pod.to_string();
    let report = args.kubelet.asked(here, &["get", &name], context).await?;
    present(&report, &Aside::default(), args.output.wanted(), context)
}

async fn allocatable(args: &AllocatableArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let here = async |lister: Lister| {
        let found = lister.allocatable().await?;
        Ok(PodResourcesReport::of_allocatable(&found))
    };
    let report = args.kubelet.asked(here, &["allocatable"], context).await?;
    present(&report, &Aside::default(), args.output.wanted(), context)
}

async fn check(args: &CheckArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let shown = Shown::parse(&Typed {
        arguments: args.devices.clone(),
        ..Typed::default()
    })?;
    let node = args.node.as_ref().or(args.kubelet.via_debug.as_ref());
    let node = node.ok_or_else(|| Failure::usage("--node has to say which node this is"))?;
    if let Some(other) = &args.kubelet.via_debug
        && other != node
    {
        return Err(Failure::usage(format!(
            "--via-debug {other} asks another kubelet than that of --node {node}"
        )));
    }
    // The kubelet first: what it says is in use may be given back until the API is read, which then says
    // that somebody holds what is free by now. The other way round, what is in use could look free.
    let listed = args.kubelet.listed(context).await?;
    if args.kubelet.via_debug.is_none() {
        return compare(args, (node, &listed), (&shown, context)).await;
    }
    // Nothing is left to be removed, and nobody else listens to Ctrl-C.
    signal::stoppable(compare(args, (node, &listed), (&shown, context)), context).await
}

/// What the API says to what the kubelet of `node` has `listed`.
async fn compare(
    args: &CheckArgs,
    (node, listed): (&str, &PodResourcesReport),
    (shown, context): (&Shown, &Context),
) -> Result<ExitStatus, Failure> {
    let node = NodeName::from(node);
    let (in_use, prepared) = listed.facts();
    let look = Look::open(&args.source.source(), context).await?;
    let look = look.with_pods(|_| true).await?;
    let witnesses = Witnesses {
        reading: &look.reading,
        semantics: &look.semantics,
        node: &node,
        in_use: &in_use,
        prepared: prepared.as_deref(),
        identity: Identity::Shown,
    };
    // A pod that was made on a node has asked the kubelet there.
    let identity = match args.kubelet.via_debug {
        Some(_) => Identity::Shown,
        None => identity(&witnesses, &look).await?,
    };
    let witnesses = Witnesses {
        identity,
        ..witnesses
    };
    let mut found = testimonies(&witnesses);
    if found.is_empty() {
        return Err(Failure::new(
            ExitStatus::Failed,
            format!("no device is known on node {node}: none is published, held, or in use there"),
        )
        .hint("kubectl devicetaint devices -o wide says which nodes have devices"));
    }
    shown.refuse_missing(found.iter().map(|one| &one.device))?;
    found.retain(|testimony: &Testimony| shown.contains(&testimony.device));
    let mut report = PullReport::new(node.as_str(), &found, &look.basis());
    report.warnings.extend(listed.warnings.iter().cloned());
    present(&report, look.aside(), args.output.wanted(), context)
}

/// Whether a pod that the kubelet lists shows that it is the kubelet of the node that is meant, or else the
/// machine's name does.
///
/// # Errors
///
/// When a pod shows that it is not.
async fn identity(witnesses: &Witnesses<'_>, look: &Look) -> Result<Identity, Failure> {
    // One that is asked for may be gone by now, and the next one not.
    const ASKED: usize = 3;
    let node = witnesses.node;
    let stranger = |pod: &NamespacedName, other: &NodeName| {
        Failure::usage(format!(
            "this is not the kubelet of node {node}: it runs pod {pod}, which is on node {other}"
        ))
        .hint(format!("--node {other}"))
    };
    if let Some((pod, other)) = strangers(witnesses).first() {
        return Err(stranger(pod, other));
    }
    let pods = witnesses.in_use.pods.iter();
    let known = witnesses.reading.snapshot.pods.iter();
    if pods
        .clone()
        .any(|pod| known.clone().any(|known| known.name == pod.name))
    {
        return Ok(Identity::Shown);
    }
    let by_name = identity_of_machine(node);
    let Some(live) = look.live() else {
        return Ok(by_name);
    };
    for pod in pods.take(ASKED) {
        match node_of_pod(&live.client, &pod.name).await.map_err(failed)? {
            Some(place) if place == *node => return Ok(Identity::Shown),
            Some(other) => return Err(stranger(&pod.name, &other)),
            None => {}
        }
    }
    Ok(by_name)
}

/// Whether this machine has the node's name, which is what a kubelet calls its node unless it is told
/// another name. Who asks for something else than the name of a machine is not there.
fn identity_of_machine(node: &NodeName) -> Identity {
    let name = fs::read_to_string(HOST_NAME).unwrap_or_default();
    if name.trim().eq_ignore_ascii_case(node.as_str()) {
        Identity::Shown
    } else {
        Identity::NotShown
    }
}

fn parse_pod(text: &str) -> Result<NamespacedName, String> {
    match text.split_once('/') {
        Some((namespace, name))
            if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
        {
            Ok(NamespacedName {
                namespace: namespace.into(),
                name: name.into(),
            })
        }
        Some(_) | None => Err("write NAMESPACE/POD".to_owned()),
    }
}
