//! `list`: which rules there are, and what they do.

use std::collections::BTreeMap;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::context::Context;
use super::flags::output::OutputArgs;
use super::flags::source::SourceArgs;
use super::work::choice::names;
use super::work::look::Look;
use super::work::present::present;
use crate::engine::ConsideredTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::labels::LabelSelector;
use crate::render::Format;
use crate::report::Knowledge;
use crate::report::rules::{Headers, Notes, RuleList, SortBy, rows};

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
    let names = names(&args.names)?;
    let source = args.source.source();
    let (look, objects) = if args.wants_objects() {
        Look::open_with_objects(&source, context).await?
    } else {
        (Look::open(&source, context).await?, BTreeMap::new())
    };
    for name in &names {
        look.rule(name)?;
    }
    let now = look.now;
    let rules = look.rules()?.iter();
    let shown: Vec<DeviceTaintRule> = rules
        .filter(|rule| args.wants(rule, &names, now))
        .cloned()
        .collect();
    let considered: Vec<ConsideredTaint> = shown
        .iter()
        .map(|rule| ConsideredTaint::of_rule(rule, now))
        .collect();
    let look = look.with_pods_of(&considered).await?;
    let impact = look.impact(&considered);

    let headers = if args.no_headers {
        Headers::Left
    } else {
        Headers::Shown
    };
    let notes = if args.expired {
        Notes::Always
    } else {
        Notes::WhereThereIsRoom
    };
    let gaps = look.reading.gaps.iter().chain(&impact.gaps);
    let knowledge = Knowledge::new(gaps, &look.semantics);
    let list = RuleList::new(rows(shown, &impact, &knowledge), objects, now)
        .from_answer(&impact, &look.basis())
        .sorted_by(args.sort_by)
        .with_headers(headers)
        .with_notes(notes);
    present(&list, look.aside(), args.output.wanted(), context)
}

impl ListArgs {
    /// Whether the rules are printed as they are, and not what is known about them.
    fn wants_objects(&self) -> bool {
        match self.output.output {
            Format::Json | Format::Yaml => true,
            Format::Table | Format::Wide | Format::Markdown | Format::Name => false,
        }
    }

    fn wants(&self, rule: &DeviceTaintRule, names: &[String], now: jiff::Timestamp) -> bool {
        let named = names.is_empty() || names.iter().any(|name| name == rule.name.as_str());
        let labelled = self
            .selector
            .as_ref()
            .is_none_or(|selector| selector.matches(&rule.metadata.labels));
        let expired = !self.expired || rule.metadata.is_expired(now);
        named && labelled && expired
    }
}
