//! `describe`: all about some rules.

use super::context::Context;
use super::flags::output::PageArgs;
use super::flags::rules::RuleArgs;
use super::flags::source::SourceArgs;
use super::work::connect::Live;
use super::work::history::histories as histories_of;
use super::work::look::Look;
use super::work::nodes::{NodesKnown, gap_of, names_of, nodes_in, nodes_of};
use super::work::present::present;
use super::work::rules_on::chosen_in;
use crate::assess::Knowledge;
use crate::cluster::{ClusterError, Told, eviction_events, rule_events};
use crate::decide::released;
use crate::engine::rule_lifecycle::{PendingEviction, pending_evictions};
use crate::engine::termination_blocker::Publishers;
use crate::engine::{Impact, ProposedTaint};
use crate::error::{ExitStatus, Failure};
use crate::model::{self, DeviceTaintRule, Gap, Kind, Warning};
use crate::report::RuleDescriptions;
use crate::report::description::{RuleDescription, Subject};
use crate::report::events::{events_about, may_have_evicted};

/// Show rules, their conditions, and what each pod is waiting for
///
/// For a rule with effect None, shows the pods that NoExecute would evict.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DescribeArgs {
    #[command(flatten)]
    rules: RuleArgs,

    /// Show past evictions of the rules: pods, times, and replacements
    ///
    /// Read from events, which servers keep for an hour, from pods and from their owners. Reports
    /// which data is no longer available.
    #[arg(long)]
    history: bool,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: PageArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Why has the eviction not finished?
  kubectl devicetaint describe drain-node-7

  # The rule that taints these devices
  kubectl devicetaint describe gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance
";

impl DescribeArgs {
    /// Whether it tells what rules have done.
    pub(super) fn tells_history(&self) -> bool {
        self.history
    }
}

pub(super) async fn run(args: DescribeArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let typed = args.rules.typed();
    // What can be wrong without a cluster is found before it is asked.
    typed.chooser()?;
    let look = Look::open(&args.source.source(), context).await?;
    look.rules()?;
    let (look, chooser) = Box::pin(chosen_in(&typed, look, context)).await?;
    let meant = chooser.meant(look.rules()?, look.now);
    let missing = meant.all_missing();
    if meant.rules.is_empty() {
        let Some(missing) = missing else {
            context.printer.note("No resources found");
            return Ok(ExitStatus::Success);
        };
        return Err(missing);
    }
    let proposed: Vec<ProposedTaint> = meant
        .rules
        .iter()
        .map(|rule| ProposedTaint::of_rule(rule, look.now))
        .collect();
    let look = look.with_identities_of(&meant.rules).await?;
    let mut look = look.with_pods_of(&proposed).await?;
    let identities = look.identity_warnings(&meant.rules);
    look.reading.warnings.extend(identities);
    look.reading
        .warnings
        .extend(released::warnings(&meant.rules, None));
    let questions: Vec<Question<'_>> = meant
        .rules
        .iter()
        .zip(&proposed)
        .map(|(rule, proposed)| Question {
            rule,
            impact: look.impact(std::slice::from_ref(proposed)),
        })
        .collect();
    let mut beside = Beside::of(&questions, &look).await;
    let mut histories = Vec::new();
    if args.history {
        let (found, gaps) = Box::pin(histories_of(&meant.rules, &look)).await?;
        histories = found;
        let news = gaps.into_iter().filter(|gap| !beside.gaps.contains(gap));
        beside.gaps.extend(news.collect::<Vec<_>>());
    }
    let mut histories = histories.into_iter();
    let described = questions.iter().map(|question| {
        let description = describe(question, &beside, &look);
        match histories.next() {
            Some(history) => description.with_history(history),
            None => description,
        }
    });
    let answer = RuleDescriptions::new(described.collect());
    let status = present(&answer, look.aside(), args.output.wanted(), context)?;
    missing.map_or(Ok(status), Err)
}

/// One of the rules, as the only considered one.
struct Question<'a> {
    rule: &'a DeviceTaintRule,
    impact: Impact<'a>,
}

fn describe(question: &Question<'_>, beside: &Beside, look: &Look) -> RuleDescription {
    let Question { rule, impact } = question;
    let around = beside.nodes.around(&look.reading.snapshot.claims);
    let beside_it = beside.gaps.iter().chain(&beside.nodes.gap);
    let gaps = look
        .reading
        .gaps
        .iter()
        .chain(&impact.gaps)
        .chain(beside_it);
    RuleDescription::new(
        &Subject {
            rule,
            impact,
            remaining: &pending_evictions(impact, &around, look.now),
            warnings: &[
                &look.reading.warnings[..],
                &beside.warnings,
                &beside.nodes.warnings,
            ]
            .concat(),
            knowledge: &Knowledge::new(gaps, &look.semantics),
        },
        events_about(rule, impact, &beside.events),
        look.now,
    )
}

/// What there is to say beside the facts that every answer needs.
#[derive(Default)]
struct Beside {
    /// What was reported about the rules, and about evictions.
    events: Vec<model::Event>,
    nodes: NodesKnown,
    gaps: Vec<Gap>,
    /// What is odd about the events.
    warnings: Vec<Warning>,
}

impl Beside {
    /// Events, and how the nodes are of pods that should have ended, as far as they are known.
    async fn of(questions: &[Question<'_>], look: &Look) -> Self {
        let nothing = NodesKnown::default();
        let around = nothing.around(&look.reading.snapshot.claims);
        let left: Vec<PendingEviction<'_>> = questions
            .iter()
            .flat_map(|question| pending_evictions(&question.impact, &around, look.now))
            .collect();
        let Some(live) = look.live() else {
            return Self {
                events: look.reading.snapshot.events.clone(),
                nodes: nodes_in(&look.reading, &left),
                gaps: look.reading.without(Kind::Event).into_iter().collect(),
                warnings: Vec::new(),
            };
        };
        let mut beside = Self::default();
        match read_events(questions, live).await {
            Ok(told) => {
                beside.events = told.facts;
                beside.warnings = told.warnings;
            }
            Err(error) => beside.gaps.push(gap_of("events", &error)),
        }
        beside.nodes = NodesKnown {
            publishers: Publishers::of(&look.reading, &names_of(&left)),
            ..nodes_of(&left, live).await
        };
        beside
    }
}

/// What was reported about the rules and, if they hit any pods or may have done so, about evictions.
async fn read_events(
    questions: &[Question<'_>],
    live: &Live,
) -> Result<Told<Vec<model::Event>>, ClusterError> {
    let Live { client, served } = live;
    let mut events: Told<Vec<model::Event>> = Told::default();
    let mut add = |told: Told<Vec<model::Event>>| {
        events.facts.extend(told.facts);
        events.warnings.extend(told.warnings);
    };
    for question in questions {
        add(rule_events(client, served, question.rule.name.as_str()).await?);
    }
    if questions
        .iter()
        .any(|question| may_have_evicted(question.rule) || !question.impact.pods.is_empty())
    {
        add(eviction_events(client, served).await?);
    }
    Ok(events)
}
