//! `list`: existing rules, and their effects.

use crate::naming::keys;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::context::Context;
use super::work::cluster_view::ClusterView;
use super::work::connect::Source;
use super::work::mutation_context::resolved;
use super::work::present::{OutputArgs, present};
use crate::assess::ReportCompleteness;
use crate::cluster::Detail;
use crate::decide::identity::on_other_hardware;
use crate::decide::{RuleArguments, RuleChoice};
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
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
    #[command(flatten)]
    rules: RuleArguments,

    /// Only expired rules (see `add --expires`)
    #[arg(long)]
    expired: bool,

    /// Omit the header line
    #[arg(long, help_heading = "Output")]
    no_headers: bool,

    #[command(flatten)]
    source: Source,

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

pub(super) async fn run(args: ListArgs, context: &Context) -> Result<ExitStatus, Failure> {
    // Errors in the arguments are found before the cluster is asked.
    let choice = args.rules.narrowed()?;
    let (view, objects) = if args.wants_objects() {
        ClusterView::open_with_objects(&args.source, context).await?
    } else {
        let view = ClusterView::open(&args.source, context, Detail::Names).await?;
        (view, BTreeMap::new())
    };
    // Rules that could not be read must not look like none; of files, a warning says how to state that.
    if view.live().is_some() {
        view.rules()?;
    }
    let (view, names) = match choice {
        Some(choice) => named(&choice, view).await?,
        None => (view, None),
    };
    let rules = view.snapshot().rules.iter();
    let shown: Vec<DeviceTaintRule> = rules
        .filter(|rule| args.wants(rule, names.as_deref(), view.now))
        .cloned()
        .collect();
    let view = view.with_identities_of(&shown).await?;
    let proposed = ProposedTaint::of_rules(&shown, view.now);
    let view = view.with_pods_of(&proposed).await?;
    let other_hardware = on_other_hardware(&shown, view.snapshot(), &view.semantics);
    let impact = view.impact(&proposed);
    let completeness = ReportCompleteness::new(&view.reading.gaps);
    let rows = rows(shown, &impact, &other_hardware, &completeness);
    let list = RuleList::new(rows, objects, &impact, &view.basis());
    let page = args.output.page(args.no_headers);
    present(&list, &view.into_view_warnings(), page, context)
}

impl ListArgs {
    /// True if the rule objects are printed, and not a report about them.
    fn wants_objects(&self) -> bool {
        match self.output.output {
            Format::Json | Format::Yaml => true,
            Format::Table | Format::Wide | Format::Markdown | Format::Html | Format::Name => false,
        }
    }

    fn wants(&self, rule: &DeviceTaintRule, names: Option<&[String]>, now: Timestamp) -> bool {
        let named = names.is_none_or(|names| names.iter().any(|name| name == rule.name.as_str()));
        let expired = !self.expired || keys::is_expired(&rule.metadata, now);
        named && expired && self.rules.has_labels(&rule.metadata.labels)
    }
}

/// The names of the selected rules, all of which exist.
async fn named(
    choice: &RuleChoice,
    view: ClusterView,
) -> Result<(ClusterView, Option<Vec<String>>), Failure> {
    let (view, chooser) = Box::pin(resolved(choice, view)).await?;
    let selected = chooser.select(view.rules()?, view.now);
    // A list without a rule that was named would pass for all of them.
    if let Some(missing) = selected.all_missing() {
        return Err(missing);
    }
    let names = selected.rules.iter().map(|rule| rule.name.to_string());
    Ok((view, Some(names.collect())))
}
