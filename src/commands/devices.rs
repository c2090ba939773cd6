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
    self, Choice, DeviceArguments, DeviceFilterFlags, NO_DEVICES, refuse_unknown_columns,
};
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
    /// Devices, as DRIVER or DRIVER/POOL/DEVICE with * for any, or by hardware ID; default: all
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
    /// That is, devices that no claim holds, and whose counter sets have enough counters left to allocate them. Claims
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
    let (view, question, notes) = args.view(choice, context).await?;
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
        Choice::parse(&typed, choice::Purpose::Choose).map(Some)
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
        let hint = if self.filters.filters().node.is_some() {
            "for one line per device: -o wide"
        } else {
            "for one line per device: -o wide; for the devices of one node: --node NODE"
        };
        let report = report.with_lines(DeviceLines::Nodes);
        Ok((report, Some(hint.to_owned())))
    }

    /// Reads the devices, and resolves the selection.
    async fn view(
        &self,
        choice: Option<Choice>,
        context: &Context,
    ) -> Result<(ClusterView, Listed, Vec<String>), Failure> {
        // Read at once: slices that are read again are another round of questions.
        let view = ClusterView::open(&self.source.source(), context, Detail::Attributes).await?;
        refuse_unknown_columns(&self.columns, &view.reading)?;
        let is_narrowed = choice.as_ref().is_some_and(Choice::is_narrower_than_nodes);
        let (view, selected) = match &choice {
            Some(choice) => {
                let (view, devices) = Box::pin(view.devices_of(choice, context)).await?;
                (view, Some(devices))
            }
            None => (view, None),
        };
        // That there is no device is known only where slices and claims were read.
        let is_bare = view.knows_usage()
            && view.reading.without(Kind::ResourceSlice).is_none()
            && view.known_devices().is_empty();
        let listed = Listed {
            list_filter: ListFilter {
                selected,
                is_narrowed,
                tainted: self.tainted,
                free: self.free,
                namespace: context.namespace.clone(),
            },
            columns: self.columns.clone(),
        };
        let notes = is_bare.then(|| NO_DEVICES.to_owned()).into_iter();
        Ok((view, listed, notes.collect()))
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
