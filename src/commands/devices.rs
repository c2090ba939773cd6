//! `devices`: which devices there are, and who uses them.

use super::context::Context;
use super::work::cluster_view::ClusterView;
use super::work::connect::Source;
use super::work::present::{OutputArgs, present};
use crate::cluster::Detail;
use crate::completion::Values;
use crate::decide::choice::{self, Choice, DeviceArguments, refuse_unknown_columns};
use crate::decide::explain_targets::ListFilter;
use crate::engine;
use crate::error::{ExitStatus, Failure};
use crate::render::Format;
use crate::report::{DeviceLines, DeviceReport};

/// List devices with their taints and pods
///
/// Without arguments and flags, counts the devices of each node and driver. FREE: no claim holds the device, its counters
/// are left, and no taint keeps new claims off. TAINTED: the effect is NoSchedule or NoExecute. PARTITIONS USED counts the devices that use counters, but no whole
/// counter set; all other counts are those of the other devices. Claims with admin access use nothing.
///
/// With DEVICE, flags, or -o wide, lists the devices: those that match the arguments and all flags. `help selectors`
/// describes how several arguments are combined. With --namespace, lists only devices allocated to claims in that
/// namespace.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DevicesArgs {
    /// Devices, as DRIVER or DRIVER/POOL/DEVICE with * for any, or by hardware ID; default: all
    #[arg(value_name = "DEVICE", add = Values::Devices)]
    devices: Vec<String>,

    #[command(flatten)]
    filters: DeviceArguments,

    /// List every device of every driver
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    all_devices: bool,

    /// Skip devices for which --where cannot be evaluated
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    skip_errors: bool,

    /// Only devices with a taint, of any effect
    #[arg(long, help_heading = "Devices")]
    tainted: bool,

    /// Only free devices
    ///
    /// Devices of which it is unknown whether they are free are not listed.
    #[arg(long, help_heading = "Devices")]
    free: bool,

    /// Attributes and capacities to show: model,memory
    ///
    /// One column each. A name without a domain matches any domain.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Output"
    )]
    columns: Vec<String>,

    /// Omit the header line and the lines of the pools
    #[arg(long, help_heading = "Output")]
    no_headers: bool,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # All devices of a node
  kubectl devicetaint devices --node node-7

  # Free devices (pods with adminAccess: true may still use them)
  kubectl devicetaint devices gpu.example.com --free -o name";

pub(super) async fn run(args: DevicesArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let choice = args.choice()?;
    if args.free && context.namespace.is_some() {
        return Err(Failure::usage(
            "--free cannot be used together with --namespace, which lists only allocated devices",
        ));
    }
    if args.columns.iter().any(|name| name.trim().is_empty()) {
        return Err(Failure::usage("--columns has an empty attribute name"));
    }
    // Read at once: slices that are read again are another round of questions.
    let mut view = ClusterView::open(&args.source, context, Detail::Attributes).await?;
    refuse_unknown_columns(&args.columns, &view.reading)?;
    let mut selected = None;
    if let Some(choice) = &choice {
        let devices;
        (view, devices) = Box::pin(view.devices_of(choice, context)).await?;
        selected = Some(devices);
    }
    let basis = view.device_basis();
    // Without claims, all counts of use would be unknown.
    let lines = match basis.knows_usage() && args.counts(choice.is_some(), context) {
        true => DeviceLines::Nodes,
        false => DeviceLines::Devices,
    };
    let is_free_unknown = args.free && !basis.knows_free_devices();
    // Claims name the pods that use a device.
    let view = view.with_pods(|_| false).await?;
    let mut devices = engine::devices(view.snapshot(), &view.semantics);
    let filter = ListFilter {
        selected,
        tainted: args.tainted,
        free: args.free,
        namespace: context.namespace.clone(),
    };
    filter.keep(&mut devices, &view.basis());
    let mut report = DeviceReport {
        lines,
        only_tainted: args.tainted,
        ..DeviceReport::new(&devices, &view.basis())
    };
    if !args.columns.is_empty() {
        report = report.with_attributes(&devices, args.columns.clone());
    }
    drop(devices);
    let page = args.output.page(args.no_headers);
    let status = present(&report, &view.into_view_warnings(), page, context)?;
    if is_free_unknown {
        none_known_as_free(page.format, context)?;
    }
    Ok(status)
}

impl DevicesArgs {
    /// The selected devices; `None` for all.
    fn choice(&self) -> Result<Option<Choice>, Failure> {
        let typed = DeviceArguments {
            all_devices: Some(self.all_devices),
            skips_errors: Some(self.skip_errors),
            ..self.filters.with(&self.devices)
        };
        if typed.is_empty() {
            return Ok(None);
        }
        Choice::parse(&typed, choice::Purpose::List).map(Some)
    }

    /// True if devices are counted and not listed: neither are some selected, nor is there room for all.
    fn counts(&self, is_selected: bool, context: &Context) -> bool {
        let is_wide = match self.output.output {
            Format::Wide | Format::Html => true,
            Format::Table | Format::Markdown | Format::Json | Format::Yaml | Format::Name => false,
        };
        let is_narrowed = self.tainted || self.free || !self.columns.is_empty();
        !(is_selected || is_narrowed || is_wide || context.namespace.is_some())
    }
}

/// Says that no device is listed since it is unknown which are free; names alone cannot say that.
fn none_known_as_free(format: Format, context: &Context) -> Result<(), Failure> {
    let text = "free devices are unknown, so none are listed";
    if format != Format::Name {
        context.printer.warn(text);
        return Ok(());
    }
    Err(Failure::new(ExitStatus::Incomplete, text))
}
