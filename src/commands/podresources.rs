//! `podresources`: what the kubelet of this node says is in use, and whether devices may be pulled.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use super::context::Context;
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::profile::{CommandProfile, NamespaceFilter};
use super::work::cluster_view::{ClusterView, Pods, ViewWarnings};
use super::work::kubelet::{ListedByKubelet, listed};
use super::work::kubelet_node::{AskedKubelet, shown_node};
use super::work::present::present;
use crate::cluster::{Detail, Purpose};
use crate::completion::Values;
use crate::decide::choice::{
    DeviceFilter, DeviceFilterFlags, ShownDevices, drivers_away, hardware_among, not_compared,
    on_another_node, with_drivers_away,
};
use crate::decide::identity::{WarningScope, warnings_about};
use crate::engine::device_removal::{RemovalCheck, RemovalFacts, RemovalObjection, removal_checks};
use crate::error::{ExitStatus, Failure};
use crate::kubelet::SOCKET;
use crate::model::{DeviceId, DriverName, Kind, NodeName, Warning};
use crate::report::in_use::PreparedRow;
use crate::report::metadata::Warning as Oddity;
use crate::report::{DeviceRemovalReport, PodResourcesReport};

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
  kubectl devicetaint podresources check --node node-7";

#[derive(Debug, Subcommand)]
enum KubeletQuestion {
    List(ListArgs),
    Check(Box<CheckArgs>),
}

/// List the devices used by containers of active pods on this node
///
/// Lists DRA devices with their claims, and devices of device plugins.
/// The kubelet omits force-deleted pods from its list of pods, even if it has not released their devices. Claims that are
/// prepared for such pods are listed from the kubelet's checkpoint.
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
/// for 5 seconds. The partitions of the device, and other devices on the same hardware, must also meet
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

    /// Name of the kubelet's Node object
    ///
    /// The command verifies that the kubelet belongs to this node. One of these must identify the node: a pod that the
    /// kubelet lists, a device that a driver has prepared for this kubelet, the kubelet's client certificate, or the
    /// hostname. If none of them does, no device is reported as safe to pull.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Kubelet", add = Values::Nodes)]
    node: String,

    /// Socket of the kubelet's podresources API
    #[arg(long, value_name = "FILENAME", default_value = SOCKET, help_heading = "Kubelet")]
    socket: PathBuf,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// How long a device must be idle to be safe to pull: what is idle for an instant may be between two pods.
const SETTLE: Duration = Duration::from_secs(5);

impl PodResourcesArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        let (purpose, namespace) = match &self.question {
            KubeletQuestion::List(_) => (None, NamespaceFilter::Narrows),
            KubeletQuestion::Check(args) => (
                args.source.from.is_empty().then_some(Purpose::PodResources),
                NamespaceFilter::Meaningless("devices have no namespace"),
            ),
        };
        CommandProfile {
            purpose,
            namespace,
            ..CommandProfile::without_cluster()
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
    let found = listed(&args.socket, context).await?;
    let mut report =
        PodResourcesReport::of_pods(&found.in_use).with_notes(found.prepared.as_deref());
    report
        .warnings
        .extend(found.unread.iter().map(Oddity::from));
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

async fn check(args: &CheckArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let chosen = args.chosen()?;
    let node = NodeName::from(args.node.as_str());
    let mut asked = args.ask(&node, &chosen, context).await?;
    let is_idle = |one: &RemovalCheck| one.objections.is_empty();
    if asked.found.iter().any(is_idle) {
        tokio::time::sleep(SETTLE).await;
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
    /// The devices that are asked about.
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

    /// Asks all witnesses about the devices of `node` that are `chosen`.
    ///
    /// The kubelet first: what it says is in use may be given back until the API is read, which then says
    /// that a claim holds what is free by now. The other way round, what is in use could look free.
    async fn ask(
        &self,
        node: &NodeName,
        chosen: &ChosenDevices,
        context: &Context,
    ) -> Result<KubeletAnswers, Failure> {
        let ListedByKubelet {
            in_use,
            prepared,
            unread,
        } = listed(&self.socket, context).await?;
        let view = ClusterView::open(&self.source.source(), context, Detail::Terms).await?;
        let view = view.with_attributes(&[Kind::DeviceClass]).await?;
        let (view, chosen) = chosen.with_numbers(view).await?;
        let view = view.with_templates().await?;
        // Pods of all devices, since any of them may prove which node the kubelet runs on.
        let view = view.with_pods(|_| true).await?;
        let kubelet = AskedKubelet {
            socket: &self.socket,
            in_use: &in_use,
            // For the name of the node, notes that could not be read are only one proof less.
            prepared: prepared.as_deref().unwrap_or_default(),
            wanted: node,
        };
        let mut found = removal_checks(&RemovalFacts {
            reading: &view.reading,
            semantics: &view.semantics,
            node,
            in_use: &in_use,
            prepared: prepared.as_deref(),
            identity: shown_node(&kubelet, &view).await?,
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
        let names: Vec<DeviceId> = found.iter().map(|one| one.device.clone()).collect();
        // A device of the node that is not published any more is none of those that are checked.
        let scope = match chosen.is_all() {
            true => WarningScope::Pools,
            false => WarningScope::Devices,
        };
        let rules = &view.snapshot().rules;
        let drift = warnings_about(&names, scope, rules, &view.reading, &view.semantics);
        let warnings = unread.iter().chain(&drift).chain(&away).chain(&uncompared);
        Ok(KubeletAnswers {
            warnings: warnings.map(Oddity::from).collect(),
            view,
            found,
        })
    }
}
