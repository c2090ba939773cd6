//! `list`: which rules there are, and what they do.

use std::collections::BTreeMap;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::context::Context;
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::work::look::{Look, rule_named};
use crate::engine::ConsideredTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::labels::LabelSelector;
use crate::render::{Format, Page, render};
use crate::report::rules::{Headers, RuleList, SortBy, rows};

/// List rules with what they taint, whom they hit, and who made them
///
/// Rules that others made are listed too. PODS are those that the rule evicts, or would with effect
/// NoExecute if its effect is None. EVICTING is what the controller says, marked as stale when that
/// is about an earlier state of the rule or when no pod is left.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Only these rules
    #[arg(value_name = "RULE")]
    names: Vec<String>,

    /// Only rules with these labels, such as kubectl-devicetaint/batch=9c41d7e02b
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<LabelSelector>,

    /// Only rules that should be gone by now
    #[arg(long)]
    expired: bool,

    /// Leave out the line of headers
    #[arg(long, help_heading = "Output")]
    no_headers: bool,

    /// Order of the rules
    #[arg(long, value_name = "ORDER", value_parser = sort_parser(), default_value = "name", help_heading = "Output")]
    sort_by: SortBy,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # All rules, with reason, ticket and who made them
  kubectl devicetaint list -o wide

  # What somebody forgot
  kubectl devicetaint list --expired

  # The rules as they are in the cluster, or with --from as they are in the file
  kubectl devicetaint list -o yaml \\
    -l app.kubernetes.io/managed-by=kubectl-devicetaint";

fn sort_parser() -> impl TypedValueParser<Value = SortBy> {
    let words = SortBy::ALL.map(|(word, _)| word);
    PossibleValuesParser::new(words).map(|word| {
        let known = SortBy::ALL.into_iter().find(|(known, _)| *known == word);
        known.map(|(_, order)| order).unwrap_or_default()
    })
}

pub(super) async fn run(args: ListArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let source = args.source.source();
    let (look, objects) = if args.wants_objects() {
        Look::open_with_objects(&source, context).await?
    } else {
        (Look::open(&source, context).await?, BTreeMap::new())
    };
    let now = look.now;
    let rules = look.rules()?.to_vec();
    refuse_unknown(&args.names, &rules)?;
    let considered: Vec<ConsideredTaint> = rules
        .iter()
        .map(|rule| ConsideredTaint::of_rule(rule, now))
        .collect();
    let look = look.with_pods_of(&considered).await?;
    let impact = look.impact(&considered);

    let shown: Vec<DeviceTaintRule> = rules
        .into_iter()
        .filter(|rule| args.wants(rule, now))
        .collect();
    let headers = if args.no_headers {
        Headers::Left
    } else {
        Headers::Shown
    };
    let list = RuleList::new(rows(shown, Some(&impact)), objects, now)
        .sorted_by(args.sort_by)
        .with_headers(headers);
    look.tell(&context.printer);
    for gap in &look.reading.gaps {
        context.printer.warn(&format!("{}: {}", gap.what, gap.why));
    }
    if list.is_empty() {
        context.printer.note("No resources found");
    }
    let page = Page {
        format: args.output.output,
        width: context.width,
    };
    context.printer.emit(&render(&list, page)?)?;
    if args.output.strict && !look.reading.gaps.is_empty() {
        return Err(Failure::new(
            ExitStatus::Incomplete,
            "the answer is incomplete",
        ));
    }
    Ok(ExitStatus::Success)
}

fn refuse_unknown(names: &[String], rules: &[DeviceTaintRule]) -> Result<(), Failure> {
    for name in names {
        rule_named(name, rules)?;
    }
    Ok(())
}

impl ListArgs {
    /// Whether the rules are printed as they are, and not what is known about them.
    fn wants_objects(&self) -> bool {
        match self.output.output {
            Format::Json | Format::Yaml => true,
            Format::Table | Format::Wide | Format::Markdown | Format::Name => false,
        }
    }

    fn wants(&self, rule: &DeviceTaintRule, now: jiff::Timestamp) -> bool {
        let named =
            self.names.is_empty() || self.names.iter().any(|name| name == rule.name.as_str());
        let labelled = self
            .selector
            .as_ref()
            .is_none_or(|selector| selector.matches(&rule.metadata.labels));
        let expired = !self.expired || rule.metadata.is_expired(now);
        named && labelled && expired
    }
}
