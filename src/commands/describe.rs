//! `describe`: all about one rule.

use std::collections::BTreeMap;

use super::arguments::{OutputArgs, VersionArgs};
use super::connection::failed;
use super::context::Context;
use super::scene::Scene;
use super::waiting::nodes_of;
use crate::cluster::rule_events;
use crate::engine::ConsideredTaint;
use crate::engine::life::remaining;
use crate::error::{ExitStatus, Failure};
use crate::model::Gap;
use crate::render::{Page, render};
use crate::report::description::{Event, RuleDescription, Subject};

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
    let events = match rule_events(&scene.live.client, &args.name).await {
        Ok(events) => events,
        Err(error) => {
            reading.gaps.push(Gap {
                what: "events".to_owned(),
                why: error.to_string(),
            });
            Vec::new()
        }
    };
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
        events
            .into_iter()
            .map(|event| Event {
                kind: event.kind,
                reason: event.reason,
                message: event.message,
                last: event.last.map(crate::report::time::Time),
            })
            .collect(),
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
