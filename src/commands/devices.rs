//! `devices`: which devices there are, and who uses them.

use super::arguments::{OutputArgs, SourceArgs};
use super::context::Context;
use super::selection::{SelectorArgs, no_such_device, wrong_name};
use super::source;
use crate::engine::{self, DeviceState};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceSelector;
use crate::naming::device;
use crate::render::{Page, render};
use crate::report::{Basis, DeviceReport};

/// List devices with their taints, and the claims and pods that use them
///
/// What stands in the first column is what `preview` takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DevicesArgs {
    /// Devices, as DRIVER/POOL/DEVICE with * for any; default: all
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,

    #[command(flatten)]
    selector: SelectorArgs,

    /// Only devices that are local to this node
    #[arg(long, help_heading = "Devices")]
    node: Option<String>,

    /// Only devices with a taint, of whatever effect
    #[arg(long, help_heading = "Devices")]
    tainted: bool,

    /// Only devices that no claim holds
    #[arg(long, help_heading = "Devices")]
    free: bool,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # All devices of a node
  kubectl devicetaint devices --node node-7

  # What could be tainted without hitting anybody
  kubectl devicetaint devices gpu.example.com --free -o name";

pub(super) async fn run(args: DevicesArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let selectors = args.selectors()?;
    let facts = source::read(&args.source, context).await?;
    let reading = &facts.reading;
    let semantics = args.source.semantics(reading)?;
    let now = args.source.now(reading)?;

    let mut states = engine::devices(&reading.snapshot, &semantics);
    for selector in &selectors {
        if !states.iter().any(|state| matches(selector, state)) {
            let known: Vec<_> = states.into_iter().map(|state| state.id).collect();
            return Err(no_such_device(selector, &known));
        }
    }
    states.retain(|state| args.wants(state, &selectors));

    if states.is_empty() {
        context.printer.note("No resources found");
    }
    let report = DeviceReport::new(
        &states,
        &Basis {
            reading,
            semantics: &semantics,
            now,
        },
    );
    facts.tell(&context.printer);
    for warning in &report.warnings {
        context.printer.warn(&warning.line());
    }
    let page = Page {
        format: args.output.output,
        width: context.width,
    };
    context.printer.emit(&render(&report, page)?)?;
    Ok(ExitStatus::Success)
}

impl DevicesArgs {
    fn selectors(&self) -> Result<Vec<DeviceSelector>, Failure> {
        let named = self
            .devices
            .iter()
            .map(|text| device::parse(text).map_err(wrong_name));
        let mut selectors = named.collect::<Result<Vec<_>, _>>()?;
        selectors.extend(self.selector.selector()?);
        Ok(selectors)
    }

    /// Whether the device is among those asked for; several names widen, other flags narrow.
    fn wants(&self, state: &DeviceState<'_>, selectors: &[DeviceSelector]) -> bool {
        let named =
            selectors.is_empty() || selectors.iter().any(|selector| matches(selector, state));
        let local = self
            .node
            .as_ref()
            .is_none_or(|node| state.node.is_some_and(|found| found.as_str() == node));
        let tainted = !self.tainted || !state.taints.is_empty();
        let free = !self.free || state.allocations == 0;
        named && local && tainted && free
    }
}

fn matches(selector: &DeviceSelector, state: &DeviceState<'_>) -> bool {
    selector
        .driver
        .as_ref()
        .is_none_or(|driver| *driver == state.id.driver)
        && selector
            .pool
            .as_ref()
            .is_none_or(|pool| *pool == state.id.pool)
        && selector
            .device
            .as_ref()
            .is_none_or(|device| *device == state.id.device)
}
