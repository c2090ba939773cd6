//! `devices`: which devices there are, and who uses them.

use super::context::Context;
use super::flags::device_filters::DeviceFilterArgs;
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::profile::{CommandProfile, NamespaceFilter};
use super::work::cluster_view::ClusterView;
use super::work::output_request::OutputRequest;
use super::work::present::{page, present};
use crate::assess::Basis;
use crate::cluster::{Detail, Purpose};
use crate::completion::Values;
use crate::decide::choice::{
    AmbiguousNumber, DeviceFilter, DeviceFilterFlags, NO_DEVICES, SharedNumber, ShownDevices,
    hardware_among, refuse_empty_names, refuse_unknown_attributes,
};
use crate::decide::identity::Hardware;
use crate::decide::list_filter::ListFilter;
use crate::engine;
use crate::error::{ExitStatus, Failure};
use crate::model::Kind;
use crate::render::{Format, render};
use crate::report::{DeviceLines, DeviceReport};

/// List devices with their taints, claims and pods
///
/// Lists the devices that match the DEVICE arguments and all flags, grouped by node, with counts for each
/// node. `help selectors` describes how several arguments are combined. The names in the column DEVICE can be
/// used as arguments of `preview`. With --namespace, shows only devices allocated to claims in that namespace.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DevicesArgs {
    /// Devices, as DRIVER or DRIVER/POOL/DEVICE with * for any, or by UUID, serial number or PCI address;
    /// default: all
    #[arg(value_name = "DEVICE", add = Values::Devices)]
    devices: Vec<String>,

    #[command(flatten)]
    filters: DeviceFilterArgs,

    /// Every device of every driver, which is the default
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    all_devices: bool,

    /// Skip devices for which --where cannot be evaluated
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    skip_errors: bool,

    /// Only devices with a taint, of any effect
    #[arg(long, help_heading = "Devices")]
    tainted: bool,

    /// Only free devices, tainted or not
    ///
    /// That is, devices that no claim holds, and whose counter sets have enough counters left to allocate them. If
    /// several drivers publish the same hardware, a claim for one of these devices makes all of them not free. Claims
    /// with admin access do not count. Devices of which it is unknown whether they are in use are not listed.
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

    /// Omit the header line and the lines of the nodes
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
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::Devices).with_namespace(NamespaceFilter::Narrows)
    }
}

pub(super) async fn run(args: DevicesArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let (_, mut named) = args.hardware();
    named.extend(args.all_devices.then(|| "*/*/*".to_owned()));
    let shown = ShownDevices::parse(&named)?;
    if args.free && context.namespace.is_some() {
        return Err(Failure::usage(
            "--free cannot be used together with --namespace, which lists only allocated devices",
        ));
    }
    refuse_empty_names(&args.columns)?;
    let wanted = args.output.wanted();
    let (view, question, notes) = args.view(shown, context).await?;
    let unknown = args.free && !view.knows_usage();
    // Claims name the pods that use a device.
    let view = view.with_pods(|_| false).await?;
    let report = question
        .report(&view.basis())
        .with_headers(args.no_headers.into());
    let (report, hint) = args.fitted(report, wanted, context)?;
    let status = present(&report, &view.into_view_warnings(), wanted, context)?;
    if unknown {
        none_known_as_free(wanted, context)?;
    }
    for note in notes {
        context.printer.note(&note);
    }
    if let Some(hint) = hint {
        context.printer.hint(&hint);
    }
    Ok(status)
}

impl DevicesArgs {
    /// The arguments that name hardware, and all others.
    fn hardware(&self) -> (Vec<Hardware>, Vec<String>) {
        hardware_among(&self.devices)
    }

    /// The report in the lines that were asked for, or that a terminal has room for, and how to see the rest.
    fn fitted(
        &self,
        report: DeviceReport,
        wanted: OutputRequest,
        context: &Context,
    ) -> Result<(DeviceReport, Option<String>), Failure> {
        let rows = context.height.filter(|_| {
            let may_fold = !self.no_headers && !report.has_columns();
            wanted.format == Format::Table && may_fold
        });
        let Some(rows) = rows else {
            return Ok((report, None));
        };
        let shown = render(&report, page(wanted, context))?.lines().count();
        // The line that asks for the next command is one of the terminal's.
        if shown < usize::from(rows) {
            return Ok((report, None));
        }
        let hint = "for one line per device: -o wide; for the devices of one node: --node NODE";
        let report = report.with_lines(DeviceLines::Nodes);
        Ok((report, Some(hint.to_owned())))
    }

    /// What there is, what is asked about it, and what to do where that is nothing.
    async fn view(
        &self,
        shown: ShownDevices,
        context: &Context,
    ) -> Result<(ClusterView, Listed, Vec<String>), Failure> {
        let mut filters = DeviceFilterFlags {
            identities: self.hardware().0,
            skips_errors: self.skip_errors,
            has_skip_errors: true,
            ..self.filters.filters()
        };
        // Read at once: slices that are read again are another round of questions.
        let view = ClusterView::open(&self.source.source(), context, Detail::Attributes).await?;
        let (view, numbers) = view.numbers_among(&shown).await?;
        let shown = shown.without(&numbers);
        filters.identities.extend(numbers);
        // A node that has no devices has an empty list, and chooses nothing from what is chosen otherwise.
        let beside_it = DeviceFilterFlags {
            node: None,
            ..filters.clone()
        };
        let is_alone = DeviceFilter::parse(&beside_it)?.is_none();
        let node = filters.node.clone().filter(|_| is_alone);
        let filter = DeviceFilter::parse(if is_alone { &beside_it } else { &filters })?;
        let view = view.with_attributes_for(filter.as_ref()).await?;
        refuse_unknown_attributes(&self.columns, &view.reading)?;
        let filtered = match &filter {
            Some(filter) => Some(filter.resolve(&view.reading, shown.names(), &view.semantics)?),
            None => None,
        };
        let inventory = engine::devices(view.snapshot(), &view.semantics);
        let known = inventory.iter().map(|state| &state.id);
        shown.refuse_missing(known, &view.reading)?;
        // That there is no device is known only where slices and claims were read.
        let is_bare = inventory.is_empty()
            && view.knows_usage()
            && view.reading.without(Kind::ResourceSlice).is_none();
        let idle = match &node {
            Some(node) => Box::pin(view.idle_node(node)).await?,
            None => None,
        };
        let list_filter = ListFilter {
            shown,
            node,
            filtered: filtered
                .as_ref()
                .map(|filtered| filtered.devices.iter().cloned().collect()),
            tainted: self.tainted,
            free: self.free,
            namespace: context.namespace.clone(),
        };
        let bare = is_bare.then(|| NO_DEVICES.to_owned());
        let notes = filtered.into_iter().flat_map(|filtered| {
            let ambiguous: Vec<String> = filtered
                .ambiguous
                .iter()
                .map(AmbiguousNumber::describe)
                .collect();
            let shared = filtered.shared.iter().map(SharedNumber::describe);
            let shared: Vec<String> = shared.collect();
            filtered.notes.into_iter().chain(ambiguous).chain(shared)
        });
        let notes = notes.chain(idle).chain(bare).collect();
        let listed = Listed {
            list_filter,
            columns: self.columns.clone(),
        };
        Ok((view, listed, notes))
    }
}

/// Which devices are listed.
struct Listed {
    list_filter: ListFilter,
    columns: Vec<String>,
}

impl Listed {
    fn report(&self, basis: &Basis<'_>) -> DeviceReport {
        let mut devices = engine::devices(&basis.reading.snapshot, basis.semantics);
        self.list_filter.keep(&mut devices, basis);
        let report = DeviceReport::new(&devices, basis).of_tainted_alone(self.list_filter.tainted);
        let report = if self.list_filter.is_selection() {
            report.of_selection()
        } else {
            report
        };
        if self.columns.is_empty() {
            return report;
        }
        report.with_attributes(&devices, self.columns.clone())
    }
}

/// Says that no device is listed since nobody knows which are free; names alone cannot say that.
fn none_known_as_free(wanted: OutputRequest, context: &Context) -> Result<(), Failure> {
    let text = "free devices are unknown, so none are listed";
    if wanted.format.carries_incompleteness() {
        context.printer.warn(text);
        return Ok(());
    }
    Err(Failure::new(ExitStatus::Incomplete, text))
}
