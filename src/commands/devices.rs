//! `devices`: which devices there are, and who uses them.

use std::collections::BTreeSet;

use super::context::Context;
use super::flags::devices::SelectorArgs;
use super::flags::events::EventsArgs;
use super::flags::output::OutputArgs;
use super::flags::picks::PickArgs;
use super::flags::source::SourceArgs;
use super::work::clusters;
use super::work::events::{self, Results};
use super::work::follow::{Question, answer, answer_once, follow};
use super::work::look::{Aside, Look};
use super::work::present::present;
use super::work::wanted::Wanted;
use crate::decide::choice::{self, Picker, Picks, Shown, Typed};
use crate::decide::narrowing::{Narrowing, Usage};
use crate::engine;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, Kind};
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

    #[command(flatten)]
    picks: PickArgs,

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

    #[command(flatten)]
    events: EventsArgs,
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
    if args.free && context.namespace.is_some() {
        return Err(Failure::usage(
            "--free cannot be used together with --namespace: what a claim holds is not free",
        ));
    }
    args.events.refuse_without_watch(args.watch)?;
    let events = args.events.events.as_deref();
    events::begin(events, "devices", Results::Answer, context).await?;
    let wanted = args.output.wanted();
    if !context.contexts.is_empty() {
        let asked = async |context: &Context| {
            let (look, question, _) = args.look(shown.clone(), context).await?;
            answer(&question, look).await
        };
        let reports = clusters::ask(context, asked).await?;
        return present(&reports, &Aside::default(), wanted, context);
    }
    let (look, question, hints) = args.look(shown, context).await?;
    let unknown = args.free && !look.knows_usage();
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
    for hint in hints {
        context.printer.hint(&hint);
    }
    Ok(status)
}

impl DevicesArgs {
    /// Whether saved files are asked.
    pub(super) fn reads_files(&self) -> bool {
        !self.source.from.is_empty()
    }

    /// Whether it goes on.
    pub(super) fn watches(&self) -> bool {
        self.watch
    }

    /// What there is, what is asked about it, and what to do where that is nothing.
    async fn look(
        &self,
        shown: Shown,
        context: &Context,
    ) -> Result<(Look, Listed, Vec<String>), Failure> {
        let picks = self.picks.picks(context.namespace.as_deref());
        let node = picks.node.clone().filter(|_| !picks.with_partitions);
        let picker = Picker::parse(&Picks {
            node: picks.node.clone().filter(|_| node.is_none()),
            ..picks
        })?;
        let look = Look::open(&self.source.source(), context).await?;
        let look = look.with_attributes_for(picker.as_ref()).await?;
        let picked = match &picker {
            Some(picker) => Some(picker.resolve(&look.reading, &[], &look.semantics)?),
            None => None,
        };
        let inventory = engine::devices(look.snapshot(), &look.semantics);
        let known = inventory.devices.iter().map(|state| &state.id);
        shown.refuse_missing(known)?;
        let is_bare = inventory.devices.is_empty()
            && look.knows_usage()
            && look.reading.without(Kind::ResourceSlice).is_none();
        let narrowing = Narrowing {
            shown,
            node,
            picked: picked
                .as_ref()
                .map(|picked| picked.devices.iter().cloned().collect()),
            tainted: self.tainted,
            free: self.free,
            namespace: context.namespace.clone(),
        };
        let bare = is_bare.then(|| choice::NO_DEVICES.to_owned());
        let notes = picked.into_iter().flat_map(|picked| picked.notes);
        let hints = bare.into_iter().chain(narrowing.nearest_node(&inventory));
        let hints = notes.chain(hints);
        let hints = hints.collect();
        Ok((look, Listed { narrowing }, hints))
    }
}

/// Which devices are listed.
struct Listed {
    narrowing: Narrowing,
}

impl Question for Listed {
    type Answer = DeviceReport;

    /// Who uses a device is named in the claims.
    fn needs_pods_of(&self, _basis: &Basis<'_>) -> Option<BTreeSet<DeviceId>> {
        None
    }

    fn answer(&self, basis: &Basis<'_>) -> DeviceReport {
        let mut inventory = engine::devices(&basis.reading.snapshot, basis.semantics);
        let usage = Usage::of(basis);
        inventory
            .devices
            .retain(|state| self.narrowing.wants(state, usage));
        DeviceReport::new(&inventory.devices, &inventory.gaps, basis)
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
