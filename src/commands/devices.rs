//! `devices`: which devices there are, and who uses them.

use std::collections::BTreeSet;

use super::context::Context;
use super::flags::devices::{SelectorArgs, wrong_name};
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::work::choice::no_such_device;
use super::work::look::Look;
use crate::engine::{self, DeviceState};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceSelector;
use crate::naming::{NamingError, device, nearest::nearest};
use crate::render::{Page, render, unsaid};
use crate::report::DeviceReport;

/// List devices with their taints, and the claims and pods that use them
///
/// What stands in the first column is what `preview` takes. Several DEVICE arguments widen the
/// list, flags narrow it; --namespace to devices that claims of that namespace hold.
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
    let wanted = args.wanted()?;
    let namespace = context.namespace.as_deref();
    if args.free && namespace.is_some() {
        return Err(Failure::usage(
            "--free cannot be used together with --namespace: what a claim holds is not free",
        ));
    }
    let look = Look::open(&args.source.source(), context).await?;

    let all = engine::devices(look.snapshot(), &look.semantics);
    wanted.refuse_missing(&all)?;
    let (states, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|state| args.wants(state, &wanted) && is_held_in(namespace, state));
    if states.is_empty() {
        context.printer.note("No resources found");
        if let Some(hint) = args.nearest_node(&others) {
            context.printer.hint(&hint);
        }
    }
    let report = DeviceReport::new(&states, &look.basis());
    look.tell(&context.printer);
    for warning in &report.warnings {
        context.printer.warn(&warning.line());
    }
    let page = Page {
        format: args.output.output,
        width: context.width,
    };
    context.printer.emit(&render(&report, page)?)?;
    args.output
        .accept(&report.incomplete, &unsaid(&report, args.output.output))
}

/// The names that were asked for.
#[derive(Default)]
struct Wanted {
    /// Any of these; all devices where there are none.
    any: Vec<DeviceSelector>,
    /// And this.
    also: Option<DeviceSelector>,
}

impl Wanted {
    fn matches(&self, state: &DeviceState<'_>) -> bool {
        let any = self.any.is_empty() || self.any.iter().any(|selector| matches(selector, state));
        any && self.also.iter().all(|selector| matches(selector, state))
    }

    /// A name that matches nothing is a mistake, not an empty list.
    fn refuse_missing(&self, all: &[DeviceState<'_>]) -> Result<(), Failure> {
        for selector in self.any.iter().chain(&self.also) {
            if !all.iter().any(|state| matches(selector, state)) {
                let known: Vec<_> = all.iter().map(|state| state.id.clone()).collect();
                return Err(no_such_device(selector, &known));
            }
        }
        Ok(())
    }
}

impl DevicesArgs {
    fn wanted(&self) -> Result<Wanted, Failure> {
        let also = self.selector.selector()?;
        let mut any = Vec::new();
        for text in &self.devices {
            match device::parse(text) {
                Ok(selector) => any.push(selector),
                // To look at everything is no danger.
                Err(NamingError::Everything { .. }) => {
                    return Ok(Wanted {
                        any: Vec::new(),
                        also,
                    });
                }
                Err(error) => return Err(wrong_name(error)),
            }
        }
        Ok(Wanted { any, also })
    }

    fn wants(&self, state: &DeviceState<'_>, wanted: &Wanted) -> bool {
        let local = self
            .node
            .as_ref()
            .is_none_or(|node| state.node.is_some_and(|found| found.as_str() == node));
        let tainted = !self.tainted || !state.taints.is_empty();
        let free = !self.free || state.allocations == 0;
        wanted.matches(state) && local && tainted && free
    }

    /// A node that was probably meant, where none of that name has devices.
    fn nearest_node(&self, all: &[DeviceState<'_>]) -> Option<String> {
        let node = self.node.as_ref()?;
        let known: BTreeSet<String> = all
            .iter()
            .filter_map(|state| state.node.map(ToString::to_string))
            .collect();
        if known.contains(node) {
            return None;
        }
        let similar = nearest(node, known);
        let similar = similar.first()?;
        Some(format!(
            "no device is local to {node:?}, did you mean {similar}?"
        ))
    }
}

/// Whether a claim of that namespace holds the device, or none is asked for.
fn is_held_in(namespace: Option<&str>, state: &DeviceState<'_>) -> bool {
    namespace.is_none_or(|namespace| {
        let mut claims = state.claims.iter();
        claims.any(|claim| claim.name.namespace.as_str() == namespace)
    })
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
