//! `describe`: all about one rule.

use std::collections::BTreeMap;

use super::arguments::{OutputArgs, VersionArgs};
use super::connection::failed;
use super::context::Context;
use super::scene::Scene;
use super::waiting::nodes_of;
use crate::cluster::{ClusterError, ObjectEvent, eviction_events, rule_events};
use crate::engine::life::remaining;
use crate::engine::{Cause, ConsideredTaint};
use crate::error::{ExitStatus, Failure};
use crate::model::{Gap, Reading};
use crate::render::{Page, render};
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
    version: VersionArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Why does the eviction not end?
  kubectl devicetaint describe drain-node-7";

pub(super) async fn run(args: DescribeArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let scene = Scene::open(&args.version, context).await?;
    let rule = scene.rule(&args.name)?.clone();
    let considered = [ConsideredTaint::of_rule(&rule, scene.now)];
    let mut reading = scene.with_pods(&considered).await.map_err(failed)?;
    let (events, gap) = events(&scene, &args.name, &reading, &considered).await;
    reading.gaps.extend(gap);
    let impact = scene.impact(&reading, &considered);
    let left = remaining(&impact, &BTreeMap::new(), scene.now);
    let nodes = nodes_of(&left, &scene).await;
    let left = remaining(&impact, &nodes, scene.now);
    let description = RuleDescription::new(
        &Subject {
            rule: &rule,
            impact: &impact,
            remaining: &left,
            gaps: &reading.gaps,
        },
        events,
        scene.now,
    );
    scene.live.tell(&context.printer);
    let page = Page {
        format: args.output.output,
        width: context.width,
    };
    context.printer.emit(&render(&description, page)?)?;
    if args.output.strict && !reading.gaps.is_empty() {
        return Err(Failure::new(
            ExitStatus::Incomplete,
            "the answer is incomplete",
        ));
    }
    Ok(ExitStatus::Success)
}

/// What was reported about the rule and about the pods that it hits, and what of it cannot be read.
async fn events(
    scene: &Scene,
    rule: &str,
    reading: &Reading,
    considered: &[ConsideredTaint],
) -> (Vec<Event>, Option<Gap>) {
    match read_events(scene, rule, reading, considered).await {
        Ok(events) => (events, None),
        Err(error) => {
            let gap = Gap {
                what: "events".to_owned(),
                why: error.to_string(),
            };
            (Vec::new(), Some(gap))
        }
    }
}

async fn read_events(
    scene: &Scene,
    rule: &str,
    reading: &Reading,
    considered: &[ConsideredTaint],
) -> Result<Vec<Event>, ClusterError> {
    let client = &scene.live.client;
    let of_rule = rule_events(client, rule).await?;
    let mut events: Vec<Event> = of_rule.into_iter().map(|event| view(event, None)).collect();
    let impact = scene.impact(reading, considered);
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
