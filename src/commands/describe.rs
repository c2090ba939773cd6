//! `describe`: all about some rules.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::flags::output::OutputArgs;
use super::flags::rules::RuleArgs;
use super::flags::source::SourceArgs;
use super::work::look::Look;
use super::work::nodes::{gap_of, nodes_of};
use super::work::present::present;
use crate::cluster::{ApiClient, ClusterError, ObjectEvent, eviction_events, rule_events};
use crate::engine::life::{Remaining, remaining};
use crate::engine::{Cause, ConsideredTaint, Impact};
use crate::error::{ExitStatus, Failure};
use crate::model::{Affects, DeviceTaintRule, Gap, NodeHealth, NodeName};
use crate::report::description::{Event, RuleDescription, Subject};
use crate::report::time::Time;
use crate::report::{Knowledge, RuleDescriptions};

/// Show rules, what the controller says, whom they hit now, and what each pod waits for
///
/// With effect None it shows whom the rule would hit with NoExecute.
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
  # Why does the eviction not end?
  kubectl devicetaint describe drain-node-7

  # The rule that taints these devices
  kubectl devicetaint describe gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance

  # What was it like when this was saved?
  kubectl devicetaint describe drain-node-7 --from cluster.json.gz";

pub(super) async fn run(args: DescribeArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let chooser = args.rules.chooser()?;
    let look = Look::open(&args.source.source(), context).await?;
    let meant = chooser.meant(look.rules()?, look.now);
    let missing = meant.all_missing();
    if meant.rules.is_empty() {
        context.printer.note("No resources found");
        return missing.map_or(Ok(ExitStatus::Success), Err);
    }
    let considered: Vec<ConsideredTaint> = meant
        .rules
        .iter()
        .map(|rule| ConsideredTaint::of_rule(rule, look.now))
        .collect();
    let look = look.with_pods_of(&considered).await?;
    let questions: Vec<Question<'_>> = meant
        .rules
        .iter()
        .zip(&considered)
        .map(|(rule, considered)| Question {
            rule,
            impact: look.impact(std::slice::from_ref(considered)),
        })
        .collect();
    let beside = Beside::of(&questions, &look).await;
    let described = questions
        .iter()
        .map(|question| describe(question, &beside, &look));
    let answer = RuleDescriptions::new(described.collect());
    let status = present(&answer, look.aside(), args.output.wanted(), context)?;
    missing.map_or(Ok(status), Err)
}

/// One of the rules, as the only considered one.
struct Question<'a> {
    rule: &'a DeviceTaintRule,
    impact: Impact<'a>,
}

impl Question<'_> {
    /// The pods that the rule hits, by UID.
    fn hit(&self) -> BTreeMap<&str, String> {
        let pods = self.impact.pods.iter();
        pods.filter(|pod| pod.causes.iter().any(Cause::is_considered))
            .map(|pod| (pod.pod.uid.as_str(), pod.pod.name.to_string()))
            .collect()
    }
}

fn describe(question: &Question<'_>, beside: &Beside, look: &Look) -> RuleDescription {
    let Question { rule, impact } = question;
    let gaps = [&look.reading.gaps, &impact.gaps, &beside.gaps];
    RuleDescription::new(
        &Subject {
            rule,
            impact,
            remaining: &remaining(impact, &beside.nodes, look.now),
            warnings: &look.reading.warnings,
            knowledge: &Knowledge::new(gaps.into_iter().flatten(), &look.semantics),
        },
        beside.events_of(question),
        look.now,
    )
}

/// What only a cluster has, beside the facts.
#[derive(Default)]
struct Beside {
    /// What was reported about each rule, by its name.
    of_rules: BTreeMap<String, Vec<ObjectEvent>>,
    /// What was reported about pods that any of the rules hits.
    of_pods: Vec<ObjectEvent>,
    nodes: BTreeMap<NodeName, NodeHealth>,
    gaps: Vec<Gap>,
}

impl Beside {
    /// Events, and how the nodes are of pods that should have ended; saved files have neither.
    async fn of(questions: &[Question<'_>], look: &Look) -> Self {
        let Some(live) = look.live() else {
            let gap = Gap {
                affects: Affects::Details,
                what: "events".to_owned(),
                why: "they are not read from files".to_owned(),
            };
            return Self {
                gaps: vec![gap],
                ..Self::default()
            };
        };
        let mut beside = Self::default();
        if let Err(error) = beside.read_events(questions, &live.client).await {
            beside.gaps.push(gap_of("events", &error));
        }
        let left: Vec<Remaining<'_>> = questions
            .iter()
            .flat_map(|question| remaining(&question.impact, &BTreeMap::new(), look.now))
            .collect();
        let (nodes, unknown) = nodes_of(&left, &live.client).await;
        beside.nodes = nodes;
        beside.gaps.extend(unknown);
        beside
    }

    async fn read_events(
        &mut self,
        questions: &[Question<'_>],
        client: &ApiClient,
    ) -> Result<(), ClusterError> {
        for question in questions {
            let name = question.rule.name.as_str();
            let events = rule_events(client, name).await?;
            self.of_rules.insert(name.to_owned(), events);
        }
        let hit: BTreeSet<&str> = questions
            .iter()
            .flat_map(|one| one.hit().into_keys())
            .collect();
        if !hit.is_empty() {
            let mut events = eviction_events(client).await?;
            events.retain(|event| hit.contains(event.uid.as_str()));
            self.of_pods = events;
        }
        Ok(())
    }

    /// What was reported about the rule and about the pods that it hits, oldest first.
    fn events_of(&self, question: &Question<'_>) -> Vec<Event> {
        let of_rule = self.of_rules.get(question.rule.name.as_str());
        let of_rule = of_rule
            .into_iter()
            .flatten()
            .map(|found| event(found, None));
        let hit = question.hit();
        let of_pods = self.of_pods.iter().filter_map(|found| {
            let pod = hit.get(found.uid.as_str())?.clone();
            Some(event(found, Some(pod)))
        });
        let mut events: Vec<Event> = of_rule.chain(of_pods).collect();
        events.sort_by(|left, right| {
            (left.last, &left.pod, &left.message).cmp(&(right.last, &right.pod, &right.message))
        });
        events
    }
}

fn event(found: &ObjectEvent, pod: Option<String>) -> Event {
    Event {
        pod,
        kind: found.kind.clone(),
        reason: found.reason.clone(),
        message: found.message.clone(),
        last: found.last.map(Time),
    }
}
