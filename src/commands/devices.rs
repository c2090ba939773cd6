//! `devices`: which devices there are, and who uses them.

use super::context::Context;
use super::flags::device_filters::DeviceFilterArgs;
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::profile::{CommandProfile, NamespaceFilter};
use super::work::cluster_view::ClusterView;
use super::work::output_request::OutputRequest;
use super::work::present::present;
use crate::assess::Basis;
use crate::cluster::{Detail, Purpose};
use crate::completion::Values;
use crate::decide::choice::{
    self, Choice, DeviceArguments, DeviceFilterFlags, refuse_unknown_columns,
};
use crate::decide::explain_targets::ListFilter;
use crate::engine;
use crate::error::{ExitStatus, Failure};
use crate::render::Format;
use crate::report::{DeviceLines, DeviceReport};

/// List devices with their taints and pods
///
/// Without arguments and flags, counts the devices of each node and driver. FREE: no claim holds the device, its counters
/// are left, and no taint keeps new claims off. PARTITIONS USED counts the devices that use counters, but no whole
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
    filters: DeviceFilterArgs,

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
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # All devices of a node
  kubectl devicetaint devices --node node-7

  # Free devices (pods with adminAccess: true may still use them)
  kubectl devicetaint devices gpu.example.com --free -o name";

impl DevicesArgs {
    /// Purpose of the connection, and who handles signals.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::Devices).with_namespace(NamespaceFilter::Narrows)
    }
}

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
    let wanted = args.output.wanted();
    let lines = args.lines(wanted.format, context);
    let (view, question) = args.view(choice, context).await?;
    // Without claims, all counts of use would be unknown.
    let lines = match view.knows_usage() {
        true => lines,
        false => DeviceLines::Devices,
    };
    let unknown = args.free && !view.device_basis().knows_free_devices();
    // Claims name the pods that use a device.
    let view = view.with_pods(|_| false).await?;
    let report = question
        .report(&view.basis())
        .with_lines(lines)
        .with_headers(args.no_headers.into());
    let status = present(&report, &view.into_view_warnings(), wanted, context)?;
    if unknown {
        none_known_as_free(wanted, context)?;
    }
    Ok(status)
}

impl DevicesArgs {
    /// The selected devices; `None` for all.
    fn choice(&self) -> Result<Option<Choice>, Failure> {
        let typed = DeviceArguments {
            arguments: self.devices.clone(),
            all_devices: Some(self.all_devices),
            filters: DeviceFilterFlags {
                skips_errors: Some(self.skip_errors),
                ..self.filters.filters()
            },
            ..DeviceArguments::default()
        };
        if typed.is_empty() {
            return Ok(None);
        }
        Choice::parse(&typed, choice::Purpose::List).map(Some)
    }

    /// Devices where some are selected, or where there is room; else counts.
    fn lines(&self, format: Format, context: &Context) -> DeviceLines {
        let filters = self.filters.filters();
        let is_selected = !self.devices.is_empty()
            || self.all_devices
            || filters.node.is_some()
            || !filters.expressions.is_empty()
            || self.tainted
            || self.free
            || !self.columns.is_empty()
            || context.namespace.is_some();
        let is_wide = match format {
            Format::Wide | Format::Html => true,
            Format::Table | Format::Markdown | Format::Json | Format::Yaml | Format::Name => false,
        };
        if is_selected || is_wide {
            DeviceLines::Devices
        } else {
            DeviceLines::Nodes
        }
    }

    /// Reads the devices, and resolves the selection.
    async fn view(
        &self,
        choice: Option<Choice>,
        context: &Context,
    ) -> Result<(ClusterView, Listed), Failure> {
        // Read at once: slices that are read again are another round of questions.
        let view = ClusterView::open(&self.source.source(), context, Detail::Attributes).await?;
        refuse_unknown_columns(&self.columns, &view.reading)?;
        let (view, selected) = match &choice {
            Some(choice) => {
                let (view, devices) = Box::pin(view.devices_of(choice, context)).await?;
                (view, Some(devices))
            }
            None => (view, None),
        };
        let listed = Listed {
            list_filter: ListFilter {
                selected,
                tainted: self.tainted,
                free: self.free,
                namespace: context.namespace.clone(),
            },
            columns: self.columns.clone(),
        };
        Ok((view, listed))
    }
}

/// Listed devices.
struct Listed {
    list_filter: ListFilter,
    columns: Vec<String>,
}

impl Listed {
    fn report(&self, basis: &Basis<'_>) -> DeviceReport {
        let mut devices = engine::devices(&basis.reading.snapshot, basis.semantics);
        self.list_filter.keep(&mut devices, basis);
        let report = DeviceReport::new(&devices, basis).of_tainted_alone(self.list_filter.tainted);
        if self.columns.is_empty() {
            return report;
        }
        report.with_attributes(&devices, self.columns.clone())
    }
}

/// Says that no device is listed since it is unknown which are free; names alone cannot say that.
fn none_known_as_free(wanted: OutputRequest, context: &Context) -> Result<(), Failure> {
    let text = "free devices are unknown, so none are listed";
    if wanted.format.carries_incompleteness() {
        context.printer.warn(text);
        return Ok(());
    }
    Err(Failure::new(ExitStatus::Incomplete, text))
}
