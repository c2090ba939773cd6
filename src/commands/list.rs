//! `list`: existing rules, and their effects.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::context::Context;
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::profile::CommandProfile;
use super::work::cluster_view::ClusterView;
use super::work::mutation_context::resolved;
use super::work::present::present;
use crate::assess::{Basis, DeviceBasis, ReportCompleteness};
use crate::cluster::{Detail, Purpose};
use crate::completion::Values;
use crate::decide::identity::on_other_hardware;
use crate::decide::{RuleArguments, RuleChoice};
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::labels::LabelSelector;
use crate::naming::rule;
use crate::render::Format;
use crate::report::rules::{RuleList, rows};

/// List rules with their devices, pods and progress
///
/// Includes rules created by other users and programs. PODS counts the pods that the rule evicts; in parentheses, the
/// pods that it would evict with effect NoExecute.
///
/// NOTE: `evicting`, the controller evicts pods, or evicted pods are still terminating; `done`, no pod is left to evict;
/// `stale`, the condition EvictionInProgress is of an earlier generation of the rule; `expired` (see `add --expires`);
/// `drain NAME` and `dedicated NAME`, the rule is part of these; `other hardware`, the device is not the one for which
/// the rule was created.
///
/// With -o json and yaml, `items` has the rules as stored in the cluster, and `ruleSummaries` has the counts of each rule.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Only these rules: by name, or by devices and the KEY of their taint
    ///
    /// A device is DRIVER/POOL/DEVICE or a hardware ID (UUID, PCI address, uuid=UUID or serial=NUMBER).
    #[arg(value_name = "RULE|DEVICE KEY", add = Values::RulesOrDevices)]
    targets: Vec<String>,

    /// Only rules with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<LabelSelector>,

    /// Only expired rules (see `add --expires`)
    #[arg(long)]
    expired: bool,

    /// Omit the header line
    #[arg(long, help_heading = "Output")]
    no_headers: bool,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # All rules, with reason and creator
  kubectl devicetaint list -o wide

  # Expired rules (see `add --expires`)
  kubectl devicetaint list --expired

  # The rules that this plugin created, as stored in the cluster
  kubectl devicetaint list -o yaml \\
    -l app.kubernetes.io/managed-by=kubectl-devicetaint";

impl ListArgs {
    /// Purpose of the connection, and who handles signals.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::List)
    }
}

pub(super) async fn run(args: ListArgs, context: &Context) -> Result<ExitStatus, Failure> {
    // Errors in the arguments are found before the cluster is asked.
    let choice = args.choice()?;
    let (view, question) = args.view(choice, context).await?;
    let devices = {
        let basis = view.device_basis();
        let shown = question.shown(&basis);
        basis.selected(&proposed(&shown, view.now)).devices
    };
    let view = view.with_pods(|id| devices.contains(id)).await?;
    let list = question.list(&view.basis());
    present(
        &list,
        &view.into_view_warnings(),
        args.output.wanted(),
        context,
    )
}

/// Listed rules, and their form.
struct Listed<'a> {
    args: &'a ListArgs,
    /// Only those of these names, where some are named.
    names: Option<Vec<String>>,
    /// The rules as they are served, where these are printed.
    objects: BTreeMap<String, Value>,
}

impl Listed<'_> {
    fn shown(&self, basis: &DeviceBasis<'_>) -> Vec<DeviceTaintRule> {
        let rules = basis.reading.snapshot.rules.iter();
        rules
            .filter(|rule| self.args.wants(rule, self.names.as_deref(), basis.now))
            .cloned()
            .collect()
    }
}

/// Taints of the rules, or the same with effect NoExecute.
fn proposed(rules: &[DeviceTaintRule], now: Timestamp) -> Vec<ProposedTaint> {
    ProposedTaint::of_rules(rules, now)
}

impl Listed<'_> {
    fn list(&self, basis: &Basis<'_>) -> RuleList {
        let shown = self.shown(basis);
        let other_hardware = on_other_hardware(&shown, &basis.reading.snapshot, basis.semantics);
        let proposed = proposed(&shown, basis.now);
        let impact = basis.impact(&proposed);
        let completeness = ReportCompleteness::new(&basis.reading.gaps);
        let rows = rows(shown, &impact, &other_hardware, &completeness);
        let list = RuleList::new(rows, self.objects.clone(), basis.now);
        list.from_answer(&impact, basis)
            .with_headers(self.args.no_headers.into())
    }
}

impl ListArgs {
    /// View of the cluster, and the rules to list; all named rules exist.
    async fn view(
        &self,
        choice: Option<RuleChoice>,
        context: &Context,
    ) -> Result<(ClusterView, Listed<'_>), Failure> {
        let source = self.source.source();
        let (view, objects) = if self.wants_objects() {
            ClusterView::open_with_objects(&source, context).await?
        } else {
            (
                ClusterView::open(&source, context, Detail::Names).await?,
                BTreeMap::new(),
            )
        };
        // Rules that could not be read must not look like none; of files, a warning says how to state that.
        if view.live().is_some() {
            view.rules()?;
        }
        let (view, names) = match choice {
            Some(choice) => named(&choice, view).await?,
            None => (view, None),
        };
        let question = Listed {
            args: self,
            names,
            objects,
        };
        let shown = question.shown(&view.device_basis());
        let view = view.with_identities_of(&shown).await?;
        Ok((view, question))
    }

    /// The selection of rules, if any was typed.
    fn choice(&self) -> Result<Option<RuleChoice>, Failure> {
        // As `kubectl get devicetaintrules`.
        let is_all = |targets: &[String]| match targets {
            [only] => rule::is_type(only),
            several => several.is_empty(),
        };
        if is_all(&self.targets) {
            return Ok(None);
        }
        let choice = RuleChoice::parse(&RuleArguments {
            targets: &self.targets,
            ..RuleArguments::default()
        });
        choice.map(Some)
    }

    /// True if the rule objects are printed, and not a report about them.
    fn wants_objects(&self) -> bool {
        match self.output.output {
            Format::Json | Format::Yaml => true,
            Format::Table | Format::Wide | Format::Markdown | Format::Html | Format::Name => false,
        }
    }

    fn wants(&self, rule: &DeviceTaintRule, names: Option<&[String]>, now: Timestamp) -> bool {
        let named = names.is_none_or(|names| names.iter().any(|name| name == rule.name.as_str()));
        let labelled = self
            .selector
            .as_ref()
            .is_none_or(|selector| selector.matches(&rule.metadata.labels));
        let expired = !self.expired || rule.metadata.is_expired(now);
        named && labelled && expired
    }
}

/// The names of the selected rules.
async fn named(
    choice: &RuleChoice,
    view: ClusterView,
) -> Result<(ClusterView, Option<Vec<String>>), Failure> {
    let (view, chooser) = Box::pin(resolved(choice, view)).await?;
    let meant = chooser.select(view.rules()?, view.now);
    // A list without a rule that was named would pass for all of them.
    if let Some(missing) = meant.all_missing() {
        return Err(missing);
    }
    let names = meant.rules.iter().map(|rule| rule.name.to_string());
    Ok((view, Some(names.collect())))
}
