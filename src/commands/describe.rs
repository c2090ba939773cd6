//! `describe`: all about some rules.

use super::context::Context;
use super::flags::output::OutputArgs;
use super::flags::rules::RuleArgs;
use super::flags::source::SourceArgs;
use super::profile::CommandProfile;
use super::work::cluster_view::{ClusterView, Pods};
use super::work::connect::Live;
use super::work::mutation_context::resolved;
use super::work::nodes::{NodesKnown, gap_of, names_of, nodes_in, nodes_of};
use super::work::present::present;
use crate::assess::ReportCompleteness;
use crate::cluster::{ClusterError, Detail, Purpose, ReadResult, eviction_events, rule_events};
use crate::engine::beside::pods_beside;
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
    rules: RuleArgs,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Why has the eviction not finished?
  kubectl devicetaint describe drain-node-7

  # The rule that taints exactly this device with this key
  kubectl devicetaint describe gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance";

impl DescribeArgs {
    /// Purpose of the connection, and who handles signals.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::Describe)
    }
}

pub(super) async fn run(args: DescribeArgs, context: &Context) -> Result<ExitStatus, Failure> {
    // Errors in the arguments are found before the cluster is asked.
    let choice = args.rules.choice()?;
    let view = ClusterView::open(&args.source.source(), context, Detail::Names).await?;
    // Rules that cannot be read end the command before devices are read for the choice.
    view.rules()?;
    let (view, chooser) = Box::pin(resolved(&choice, view)).await?;
    let meant = chooser.select(view.rules()?, view.now);
    let missing = meant.all_missing();
    if meant.rules.is_empty() {
        let Some(missing) = missing else {
            context.printer.note("No resources found");
            return Ok(ExitStatus::Success);
        };
        return Err(missing);
    }
    let proposed = ProposedTaint::of_rules(&meant.rules, view.now);
    let view = view.with_identities_of(&meant.rules).await?;
    let mut view = view.with_pods_of(&proposed).await?;
    let identities = view.identity_warnings(&meant.rules);
    view.reading.warnings.extend(identities);
    let questions: Vec<DescribedRule<'_>> = meant
        .rules
        .iter()
        .zip(&proposed)
        .map(|(rule, proposed)| DescribedRule {
            rule,
            impact: view.impact(std::slice::from_ref(proposed)),
        })
        .collect();
    let beside = DescribeContext::of(&questions, &view).await;
    let described = questions.iter();
    let described: Vec<RuleDescription> = described
        .map(|question| describe(question, &beside, &view))
        .collect();
    let (warnings, wanted) = (view.view_warnings(), args.output.wanted());
    // As `kubectl get`: one object is printed as itself, and only several as a list.
    let status = match described.as_slice() {
        [only] => present(only, warnings, wanted, context)?,
        _ => present(&RuleDescriptions::new(described), warnings, wanted, context)?,
    };
    // The rules that exist were shown; a missing one is a failure all the same.
    missing.map_or(Ok(status), Err)
}

/// One of the rules, as the only considered one.
struct DescribedRule<'a> {
    rule: &'a DeviceTaintRule,
    impact: Impact<'a>,
}

fn describe(
    question: &DescribedRule<'_>,
    beside: &DescribeContext,
    view: &ClusterView<Pods>,
) -> RuleDescription {
    let DescribedRule { rule, impact } = question;
    let around = beside.nodes.around(&view.reading.snapshot.claims);
    let beside_it = beside.gaps.iter().chain(&beside.nodes.gap);
    let proposed = ProposedTaint::of_rule(rule, view.now);
    let users = pods_beside(view.snapshot(), &[proposed], impact, &view.semantics);
    let gaps = view.reading.gaps.iter().chain(beside_it);
    RuleDescription::new(
        &Subject {
            rule,
            impact,
            remaining: &pending_evictions(impact, &around, view.now),
            beside: Some(users.get(&rule.name).copied().unwrap_or_default()),
            warnings: &[
                &view.reading.warnings[..],
                &beside.warnings,
                &beside.nodes.warnings,
            ]
            .concat(),
            completeness: &ReportCompleteness::new(gaps),
        },
        events_about(rule, impact, &beside.events),
        &view.basis(),
    )
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
    async fn of(questions: &[DescribedRule<'_>], view: &ClusterView<Pods>) -> Self {
        let Some(live) = view.live() else {
            let events = view.reading.snapshot.events.clone();
            let nodes = nodes_in(&view.reading, &left_of(questions, view));
            return Self {
                events,
                nodes,
                gaps: view.reading.without(Kind::Event).into_iter().collect(),
                warnings: Vec::new(),
            };
        };
        let mut beside = Self::default();
        match read_events(questions, live).await {
            Ok(told) => {
                beside.events = told.facts;
                beside.warnings = told.warnings;
            }
            // Events only explain: who may not read them gets the answer all the same, with the gap.
            Err(error) => beside.gaps.push(gap_of("events", &error)),
        }
        let left = left_of(questions, view);
        beside.nodes = NodesKnown {
            publishers: Publishers::of(&view.reading, &names_of(&left)),
            ..nodes_of(&left, live).await
        };
        beside
    }
}

/// The pods that the rules evict and that are still there, seen without nodes: nodes are read only of pods
/// that should have ended.
fn left_of<'a>(
    questions: &[DescribedRule<'a>],
    view: &ClusterView<Pods>,
) -> Vec<PendingEviction<'a>> {
    let nothing = NodesKnown::default();
    let around = nothing.around(&view.reading.snapshot.claims);
    let left = questions
        .iter()
        .flat_map(|question| pending_evictions(&question.impact, &around, view.now));
    left.collect()
}

/// Events about the rules and, if pods use their devices, about evictions.
async fn read_events(
    questions: &[DescribedRule<'_>],
    live: &Live,
) -> Result<ReadResult<Vec<model::Event>>, ClusterError> {
    let Live { client, served } = live;
    let mut events: ReadResult<Vec<model::Event>> = ReadResult::default();
    let mut add = |told: ReadResult<Vec<model::Event>>| {
        events.facts.extend(told.facts);
        events.warnings.extend(told.warnings);
    };
    for question in questions {
        add(rule_events(client, served, question.rule.name.as_str()).await?);
    }
    if questions
        .iter()
        .any(|question| !question.impact.pods.is_empty())
    {
        add(eviction_events(client, served).await?);
    }
    Ok(events)
}
