//! `describe`: all about some rules.

use super::context::Context;
use super::work::cluster_view::{ClusterView, Pods};
use super::work::connect::{Live, Source};
use super::work::mutation_context::resolved;
use super::work::observer::{NodesKnown, gap_of, names_of, nodes_in, nodes_of};
use super::work::present::{OutputArgs, present};
use crate::assess::ReportCompleteness;
use crate::cluster::{ClusterError, Detail, ReadResult, eviction_events, rule_events};
use crate::decide::identity::other_hardware;
use crate::decide::{RuleArguments, RuleChoice};
use crate::engine::inventory::pods_beside;
use crate::engine::rule_lifecycle::{PendingEviction, pending_evictions};
use crate::engine::termination_blocker::Publishers;
use crate::engine::{Impact, ProposedTaint};
use crate::error::{ExitStatus, Failure};
use crate::model::{self, DeviceTaintRule, Gap, Kind, Warning};
use crate::report::RuleDescriptions;
use crate::report::description::{RuleDescription, Subject};
use crate::report::remaining_pods::events_about;

/// Show rules, their conditions, and what delays each eviction
///
/// For a rule with effect None, shows the pods that NoExecute would evict.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DescribeArgs {
    #[command(flatten)]
    rules: RuleArguments,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Why has the eviction not finished?
  kubectl devicetaint describe maintenance-node-7

  # The rule that taints exactly this device with this key
  kubectl devicetaint describe gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance";

pub(super) async fn run(args: DescribeArgs, context: &Context) -> Result<ExitStatus, Failure> {
    // Errors in the arguments are found before the cluster is asked.
    let choice = RuleChoice::parse(&args.rules)?;
    let view = ClusterView::open(&args.source, context, Detail::Names).await?;
    // Rules that cannot be read end the command before devices are read for the choice.
    view.rules()?;
    let (view, chooser) = Box::pin(resolved(&choice, view)).await?;
    let selected = chooser.select(view.rules()?, view.now);
    let missing = selected.all_missing();
    if selected.rules.is_empty() {
        let Some(missing) = missing else {
            context.printer.note("No resources found");
            return Ok(ExitStatus::Success);
        };
        return Err(missing);
    }
    let proposed = ProposedTaint::of_rules(&selected.rules, view.now);
    let view = view.with_identities_of(&selected.rules).await?;
    let mut view = view.with_pods_of(&proposed).await?;
    let identities = other_hardware(&selected.rules, view.snapshot(), &view.semantics);
    view.reading.warnings.extend(identities);
    let rules = selected.rules.iter().zip(&proposed);
    let rules: Vec<DescribedRule<'_>> = rules
        .map(|(rule, proposed)| DescribedRule {
            rule,
            proposed,
            impact: view.impact(std::slice::from_ref(proposed)),
        })
        .collect();
    let beside = DescribeContext::of(&rules, &view).await;
    let gaps = view.reading.gaps.iter().chain(&beside.gaps);
    let completeness = ReportCompleteness::new(gaps.chain(&beside.nodes.gap));
    let described = rules
        .iter()
        .map(|rule| rule.describe(&beside, &completeness, &view));
    let described: Vec<RuleDescription> = described.collect();
    let of_rules: Vec<Warning> = rules
        .iter()
        .flat_map(|rule| rule.impact.warnings.iter().cloned())
        .collect();
    let warnings = [
        &view.reading.warnings[..],
        &beside.warnings,
        &beside.nodes.warnings,
        &of_rules,
    ];
    let report = RuleDescriptions::new(described, &warnings, &completeness, &view.basis());
    let status = present(&report, view.view_warnings(), args.output.output, context)?;
    // The rules that exist were shown; a missing one is a failure all the same.
    missing.map_or(Ok(status), Err)
}

/// One of the rules, as the only considered one.
struct DescribedRule<'a> {
    rule: &'a DeviceTaintRule,
    proposed: &'a ProposedTaint,
    impact: Impact<'a>,
}

impl DescribedRule<'_> {
    fn describe(
        &self,
        beside: &DescribeContext,
        completeness: &ReportCompleteness<'_>,
        view: &ClusterView<Pods>,
    ) -> RuleDescription {
        let Self {
            rule,
            proposed,
            impact,
        } = self;
        let around = beside.nodes.around(&view.reading.snapshot.claims);
        let proposed = std::slice::from_ref(*proposed);
        let users = pods_beside(view.snapshot(), proposed, impact, &view.semantics);
        RuleDescription::new(
            &Subject {
                rule,
                impact,
                remaining: &pending_evictions(impact, &around, view.now),
                beside: users.get(&rule.name).copied().unwrap_or_default(),
                completeness,
            },
            events_about(rule, impact, &beside.events),
            view.now,
        )
    }
}

/// Context of the answer, beside the facts that every answer needs.
#[derive(Default)]
struct DescribeContext {
    /// Events about the rules, and about evictions.
    events: Vec<model::Event>,
    nodes: NodesKnown,
    gaps: Vec<Gap>,
    /// Warnings about the events.
    warnings: Vec<Warning>,
}

impl DescribeContext {
    /// Events, and the nodes of pods that should have ended, as far as they are known.
    async fn of(rules: &[DescribedRule<'_>], view: &ClusterView<Pods>) -> Self {
        // Seen without nodes: nodes are read only of pods that should have ended.
        let nothing = NodesKnown::default();
        let around = nothing.around(&view.reading.snapshot.claims);
        let left = rules
            .iter()
            .flat_map(|rule| pending_evictions(&rule.impact, &around, view.now));
        let left: Vec<PendingEviction<'_>> = left.collect();
        let Some(live) = view.live() else {
            return Self {
                events: view.reading.snapshot.events.clone(),
                nodes: nodes_in(&view.reading, &left),
                gaps: view.reading.without(Kind::Event).into_iter().collect(),
                warnings: Vec::new(),
            };
        };
        let nodes = NodesKnown {
            publishers: Publishers::of(&view.reading, &names_of(&left)),
            ..nodes_of(&left, live).await
        };
        let read = match read_events(rules, live).await {
            Ok(read) => Self {
                events: read.facts,
                warnings: read.warnings,
                ..Self::default()
            },
            // Events only explain: who may not read them gets the answer all the same, with the gap.
            Err(error) => Self {
                gaps: vec![gap_of("events", &error)],
                ..Self::default()
            },
        };
        Self { nodes, ..read }
    }
}

/// Events about the rules and, if pods use their devices, about evictions.
async fn read_events(
    rules: &[DescribedRule<'_>],
    live: &Live,
) -> Result<ReadResult<Vec<model::Event>>, ClusterError> {
    let Live { client, served } = live;
    let mut events: ReadResult<Vec<model::Event>> = ReadResult::default();
    let mut add = |read: ReadResult<Vec<model::Event>>| {
        events.facts.extend(read.facts);
        events.warnings.extend(read.warnings);
    };
    for described in rules {
        add(rule_events(client, served, described.rule.name.as_str()).await?);
    }
    if rules.iter().any(|rule| !rule.impact.pods.is_empty()) {
        add(eviction_events(client, served).await?);
    }
    Ok(events)
}
