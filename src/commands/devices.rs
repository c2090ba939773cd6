//! `devices`: which devices there are, and who uses them.

use std::collections::BTreeSet;

use super::context::Context;
use super::flags::devices::SelectorArgs;
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::work::choice::{Shown, Typed};
use super::work::follow::{Question, answer_once, follow};
use super::work::look::Look;
use super::work::wanted::Wanted;
use crate::engine::{self, DeviceState, Inventory};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceId;
use crate::naming::nearest::nearest;
use crate::report::{Basis, DeviceReport};

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

    /// Only devices that no claim holds; one with administrative access takes them from nobody
    #[arg(long, help_heading = "Devices")]
    free: bool,

    /// List again whenever something is different
    #[arg(short, long, help_heading = "Devices")]
    watch: bool,

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
    let shown = Shown::parse(&Typed {
        arguments: args.devices.clone(),
        flags: args.selector.selector()?,
        ..Typed::default()
    })?;
    let namespace = context.namespace.as_deref();
    if args.free && namespace.is_some() {
        return Err(Failure::usage(
            "--free cannot be used together with --namespace: what a claim holds is not free",
        ));
    }
    let look = Look::open(&args.source.source(), context).await?;
    let inventory = engine::devices(look.snapshot(), &look.semantics);
    let known = inventory.devices.iter().map(|state| &state.id);
    shown.refuse_missing(known)?;
    let question = Listed {
        args: &args,
        shown,
        namespace,
    };
    let hint = question.nearest_node(&inventory);
    let unknown = args.free && !look.knows_usage();
    let wanted = args.output.wanted();
    if args.watch {
        if unknown {
            none_known_as_free(wanted, context)?;
        }
        return follow(&question, look, wanted, context).await;
    }
    let status = answer_once(&question, look, wanted, context).await?;
    if unknown {
        none_known_as_free(wanted, context)?;
    }
    if let Some(hint) = hint {
        context.printer.hint(&hint);
    }
    Ok(status)
}

/// Which devices are listed.
struct Listed<'a> {
    args: &'a DevicesArgs,
    shown: Shown,
    namespace: Option<&'a str>,
}

impl Question for Listed<'_> {
    type Answer = DeviceReport;

    /// Who uses a device is named in the claims.
    fn needs_pods_of(&self, _basis: &Basis<'_>) -> Option<BTreeSet<DeviceId>> {
        None
    }

    fn answer(&self, basis: &Basis<'_>) -> DeviceReport {
        let mut inventory = engine::devices(&basis.reading.snapshot, basis.semantics);
        let known = Known {
            usage: basis.knows_usage(),
        };
        inventory.devices.retain(|state| self.wants(state, known));
        DeviceReport::new(&inventory.devices, &inventory.gaps, basis)
    }
}

impl Listed<'_> {
    fn wants(&self, state: &DeviceState<'_>, known: Known) -> bool {
        self.shown.contains(&state.id) && self.args.wants(state, known, self.namespace)
    }

    /// A node that was probably meant, where no device is local to the one that was asked for.
    fn nearest_node(&self, inventory: &Inventory<'_>) -> Option<String> {
        let node = self.args.node.as_ref()?;
        let nodes = inventory.devices.iter().filter_map(|state| state.node);
        let known: BTreeSet<String> = nodes.map(ToString::to_string).collect();
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

/// Says that no device is listed since nobody knows which are free; names alone cannot say that.
fn none_known_as_free(wanted: Wanted, context: &Context) -> Result<(), Failure> {
    let text = "which devices are free is not known, so that none is listed";
    if wanted.format.carries_incompleteness() {
        context.printer.insist(text);
        return Ok(());
    }
    Err(Failure::new(ExitStatus::Incomplete, text))
}

/// What is known about the devices.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Whether all claims were read, so that a device that none holds is free.
    usage: bool,
}

impl DevicesArgs {
    /// Whether the device passes the flags that narrow the list. One whose use is not known is not
    /// free.
    fn wants(&self, state: &DeviceState<'_>, known: Known, namespace: Option<&str>) -> bool {
        let local = self
            .node
            .as_ref()
            .is_none_or(|node| state.node.is_some_and(|found| found.as_str() == node));
        let tainted = !self.tainted || !state.taints.is_empty();
        let free = !self.free || (known.usage && state.is_free());
        let held = namespace.is_none_or(|namespace| {
            let mut claims = state.claims.iter();
            claims.any(|claim| claim.name.namespace.as_str() == namespace)
        });
        local && tainted && free && held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NodeName;

    fn free(allocations: usize, administrative: usize, usage: bool) -> bool {
        let node = NodeName::from("node-7");
        let state = DeviceState {
            id: DeviceId {
                driver: "gpu.example.com".into(),
                pool: "node-7".into(),
                device: "gpu-0".into(),
            },
            node: Some(&node),
            published: true,
            allocations,
            administrative,
            taints: Vec::new(),
            claims: Vec::new(),
            admin_claims: Vec::new(),
            consumers: Vec::new(),
        };
        let args = <DevicesArgs as clap::Args>::augment_args(clap::Command::new("devices"));
        let matches = args.get_matches_from(["devices", "--free"]);
        let args = <DevicesArgs as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
        args.wants(&state, Known { usage }, None)
    }

    #[test]
    fn free_is_what_is_known_to_be_held_by_nobody() {
        assert!(free(0, 0, true));
        assert!(free(1, 1, true), "a monitor takes it from nobody");
        assert!(!free(1, 0, true));
        assert!(!free(2, 1, true));
        assert!(!free(0, 0, false), "nobody knows");
    }
}
