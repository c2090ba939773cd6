//! `tolerations`: the lines that tolerate a taint, and who has them.

use super::context::Context;
use super::work::cluster_view::ClusterView;
use super::work::connect::Source;
use super::work::present::{OutputArgs, present};
use crate::cluster::Detail;
use crate::completion::Values;
use crate::decide::dedication::{
    taints_meant, tolerants, toleration_document, traps, typed_taint, unreadable,
};
use crate::error::{ExitStatus, Failure};
use crate::model::{Affects, Kind, Reading, Taint};
use crate::naming::phrase::few;
use crate::render::{Format, json};
use crate::report::metadata::{Incomplete, Metadata, Warning};
use crate::report::taint::Taint as TaintView;
use crate::report::tolerations::{TolerationReport, tolerant_report};

/// Print the toleration for a taint, or the claims that tolerate it
///
/// The argument is a rule, a taint KEY[=VALUE]:EFFECT, or a device, which stands for all of its taints. Without
/// --who, prints the toleration as YAML, or with -o json as JSON. With --who, prints a table by default.
///
/// The printed toleration always has an effect. Up to Kubernetes 1.37, a device toleration without an effect applies
/// to scheduling only: it does not prevent evictions by a NoExecute taint.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("output", |arg| arg.long_help(OUTPUT_LONG)))]
pub(super) struct TolerationsArgs {
    /// Name of a rule, taint KEY[=VALUE]:EFFECT, or device DRIVER/POOL/DEVICE
    #[arg(value_name = "RULE|TAINT|DEVICE", add = Values::RulesOrDevices)]
    target: String,

    /// List every claim and template that tolerates the taint, and mark wildcard tolerations (without a key)
    #[arg(long)]
    who: bool,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    output: OutputArgs,
}

const OUTPUT_LONG: &str = "Output format: table, wide, json, yaml or name\n\nThe format name needs --who. \
    Without --who, the formats table and wide print YAML.";

const EXAMPLES: &str = "\
Examples:
  # Which toleration does a claim need to get a device with this taint?
  kubectl devicetaint tolerations devicetaint.dev/dedicated=research:NoSchedule

  # Which claims and templates tolerate this taint?
  kubectl devicetaint tolerations devicetaint.dev/dedicated=research:NoSchedule --who";

pub(super) async fn run(args: TolerationsArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let taints = typed_taint(&args.target)?.map(|taint| vec![taint]);
    if let Some(taints) = taints.as_ref().filter(|_| !args.who) {
        // The lines of a taint are known without a cluster.
        return args.print(taints, context);
    }
    let view = ClusterView::open(&args.source, context, Detail::Terms).await?;
    let taints = match taints {
        Some(taints) => taints,
        None => taints_meant(
            &args.target,
            view.rules()?,
            view.snapshot(),
            &view.semantics,
        )?,
    };
    if args.who {
        return args.who(&taints, view, context).await;
    }
    view.tell(&context.printer);
    args.print(&taints, context)
}

impl TolerationsArgs {
    fn print(&self, taints: &[Taint], context: &Context) -> Result<ExitStatus, Failure> {
        let document = toleration_document(taints);
        let text = match self.output.output {
            Format::Json => json::render(&document)?,
            Format::Yaml | Format::Table | Format::Wide => json::render_yaml(&document)?,
            Format::Markdown | Format::Html | Format::Name => {
                return Err(
                    Failure::usage("tolerations can be printed as yaml or json").hint(
                        "for a table of the claims and templates that tolerate the taint: --who",
                    ),
                );
            }
        };
        for line in traps(taints) {
            context.printer.note(&line);
        }
        context.printer.emit(&text)?;
        Ok(ExitStatus::Success)
    }

    async fn who(
        &self,
        taints: &[Taint],
        view: ClusterView,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let view = view.with_templates().await?;
        let reading = &view.reading;
        let found = tolerants(view.snapshot(), taints);
        let found = found.iter();
        let reports = found.map(|one| tolerant_report(one, taints, &view.semantics));
        let shown = taints.iter().map(|taint| TaintView::of_rule(taint, None));
        let unread = reading.without(Kind::ResourceClaimTemplate);
        let unread = unread.filter(|gap| reading.gaps.iter().all(|it| it.what != gap.what));
        let gaps = reading.gaps.iter().chain(&unread).map(|gap| Incomplete {
            missing: gap.what.clone(),
            message: gap.why.clone(),
            affects: Affects::Details,
        });
        let incomplete = gaps.chain(not_understood(reading)).collect();
        let metadata = Metadata::new(&view.device_basis());
        let warnings = reading.warnings.iter().map(Warning::from).collect();
        let (taints, items) = (shown.collect(), reports.collect());
        let report = TolerationReport::new(taints, items, metadata, warnings, incomplete);
        present(&report, view.view_warnings(), self.output.output, context)
    }
}

/// The claims and templates with unknown tolerations, as a missing part of the report.
fn not_understood(reading: &Reading) -> Option<Incomplete> {
    let unknown: Vec<String> = unreadable(&reading.snapshot)
        .iter()
        .map(ToString::to_string)
        .collect();
    (!unknown.is_empty()).then(|| Incomplete {
        missing: "tolerations".to_owned(),
        message: format!(
            "the tolerations of some claims or templates are unknown: {}",
            few(&unknown)
        ),
        affects: Affects::Details,
    })
}
