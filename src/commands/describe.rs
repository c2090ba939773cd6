//! `describe`: all about one rule.

use std::collections::BTreeMap;

use super::context::Context;
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::work::look::Look;
use super::work::nodes::{gap_of, nodes_of};
use crate::cluster::{ApiClient, ClusterError, ObjectEvent, eviction_events, rule_events};
use crate::engine::life::remaining;
use crate::engine::{Cause, ConsideredTaint, Impact};
use crate::error::{ExitStatus, Failure};
use crate::model::{Affects, DeviceTaintRule, Gap, NodeHealth, NodeName};
use crate::render::{Page, render};
use crate::report::Knowledge;
use crate::report::description::{Event, RuleDescription, Subject};
use crate::report::time::Time;

/// Show a rule, what the controller says, whom it hits now, and what each pod waits for
///
/// With effect None it shows whom the rule would hit with NoExecute.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DescribeArgs {
    /// Rule, by name
    #[arg(value_name = "RULE")]
    name: String,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Why does the eviction not end?
  kubectl devicetaint describe drain-node-7

  # What was it like when this was saved?
  kubectl devicetaint describe drain-node-7 --from cluster.json.gz";

pub(super) async fn run(args: DescribeArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let look = Look::open(&args.source.source(), context).await?;
    let rule = look.rule(&args.name)?.clone();
    let considered = [ConsideredTaint::of_rule(&rule, look.now)];
    let look = look.with_pods_of(&considered).await?;
    let impact = look.impact(&considered);
    let now = look.now;
    let beside = beside(&rule, &impact, &look).await;
    let gaps = [&look.reading.gaps, &impact.gaps, &beside.gaps];
    let knowledge = Knowledge::new(gaps.into_iter().flatten(), &look.semantics);
    let description = RuleDescription::new(
        &Subject {
            rule: &rule,
            impact: &impact,
            remaining: &remaining(&impact, &beside.nodes, now),
            knowledge: &knowledge,
        },
        beside.events,
        now,
    );
    look.tell(&context.printer);
    let page = Page {
        format: args.output.output,
        width: context.width,
    };
    context.printer.emit(&render(&description, page)?)?;
    args.output.accept(&description.incomplete, &[])
}

/// What only a cluster has, beside the facts.
#[derive(Default)]
struct Beside {
    events: Vec<Event>,
    nodes: BTreeMap<NodeName, NodeHealth>,
    gaps: Vec<Gap>,
}

/// Events, and how the nodes are of pods that should have ended; saved files have neither.
async fn beside(rule: &DeviceTaintRule, impact: &Impact<'_>, look: &Look) -> Beside {
    let Some(live) = look.live() else {
        let gap = Gap {
            affects: Affects::Details,
            what: "events".to_owned(),
            why: "they are not read from files".to_owned(),
        };
        return Beside {
            gaps: vec![gap],
            ..Beside::default()
        };
    };
    let events = read_events(rule, impact, &live.client).await;
    let left = remaining(impact, &BTreeMap::new(), look.now);
    let (nodes, unknown) = nodes_of(&left, &live.client).await;
    let gap = events.as_ref().err().map(|error| gap_of("events", error));
    Beside {
        events: events.unwrap_or_default(),
        nodes,
        gaps: gap.into_iter().chain(unknown).collect(),
    }
}

/// What was reported about the rule and about the pods that it hits.
async fn read_events(
    rule: &DeviceTaintRule,
    impact: &Impact<'_>,
    client: &ApiClient,
) -> Result<Vec<Event>, ClusterError> {
    let of_rule = rule_events(client, rule.name.as_str()).await?;
    let mut events: Vec<Event> = of_rule.into_iter().map(|event| view(event, None)).collect();
    let hit: BTreeMap<&str, String> = impact
        .pods
        .iter()
        .filter(|pod| pod.causes.iter().any(Cause::is_considered))
        .map(|pod| (pod.pod.uid.as_str(), pod.pod.name.to_string()))
        .collect();
    if !hit.is_empty() {
        let of_pods = eviction_events(client).await?.into_iter();
        events.extend(of_pods.filter_map(|found| {
            let pod = hit.get(found.uid.as_str())?.clone();
            Some(view(found, Some(pod)))
        }));
    }
    events.sort_by(|left, right| {
        (left.last, &left.pod, &left.message).cmp(&(right.last, &right.pod, &right.message))
    });
    Ok(events)
}

fn view(event: ObjectEvent, pod: Option<String>) -> Event {
    Event {
        pod,
        kind: event.kind,
        reason: event.reason,
        message: event.message,
        last: event.last.map(Time),
    }
}
