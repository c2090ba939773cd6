//! `wait`: until a rule has done what it does.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use tokio::time::Instant;

use super::context::Context;
use super::flags::events::EventsArgs;
use super::flags::output::format_parser;
use super::flags::source::VersionArgs;
use super::work::connect::{Live, connect};
use super::work::events::{self, Results, Stdout};
use super::work::kubelet::Verifier;
use super::work::look::Look;
use super::work::meant::meant;
use super::work::wait::{Ending, Wait, Waited, timed_out};
use crate::decide::chooser::Absence;
use crate::decide::{Chooser, Ways};
use crate::engine::settle::{Goal, Patience};
use crate::error::{ExitStatus, Failure};
use crate::kubelet::SOCKET;
use crate::model::DeviceTaintRule;
use crate::naming::duration::parse_duration;
use crate::naming::labels::LabelSelector;
use crate::render::{Format, Page, render};

/// Wait until rules have evicted everybody, were seen by the controller, or are gone
///
/// Evicted means: the controller says so about the rule as it is now, no affected pod is left, not
/// even a terminating one, and it stays so for --settle. Exits with code 5 when the time is over,
/// and says what remains.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct WaitArgs {
    /// Rules by name, or devices and the KEY of their taint
    ///
    /// Devices are written DRIVER/POOL/DEVICE, the taint KEY, KEY=VALUE or KEY:EFFECT.
    #[arg(value_name = "RULE|DEVICE KEY")]
    targets: Vec<String>,

    /// Rules with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<LabelSelector>,

    /// What to wait for
    #[arg(long = "for", value_enum, value_name = "evicted|observed|deleted")]
    what: What,

    /// How long to wait, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    timeout: Duration,

    /// How long nobody may be left before that counts
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    settle: Duration,

    /// Ask the kubelet of this node too, and wait until it has given the rules' devices back
    ///
    /// Runs on the node as root. The API does not know of pods that were deleted by force; the kubelet
    /// does.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true, default_missing_value = SOCKET)]
    verify_node: Option<PathBuf>,

    /// It is fine if a rule is not there when the wait begins
    #[arg(long)]
    ignore_not_found: bool,

    /// One of table, wide, json, yaml, markdown and name
    #[arg(short, long, hide_possible_values = true, value_parser = format_parser(), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    output: Format,

    #[command(flatten)]
    events: EventsArgs,

    #[command(flatten)]
    version: VersionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Until all pods are gone, terminating ones too
  kubectl devicetaint wait drain-node-7 --for evicted --timeout 10m

  # On the node: until its kubelet has given the devices back, too
  kubectl devicetaint wait drain-node-7 --for evicted --verify-node

  # Until the controller has said whom a rule with effect None would hit
  kubectl devicetaint wait drain-node-7 --for observed --timeout 30s";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Everybody whom it evicts is gone
    Evicted,
    /// The controller has judged its current state
    Observed,
    /// It is gone
    Deleted,
}

impl From<What> for Goal {
    fn from(what: What) -> Self {
        match what {
            What::Evicted => Self::Evicted,
            What::Observed => Self::Observed,
            What::Deleted => Self::Deleted,
        }
    }
}

pub(super) async fn run(args: WaitArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let chooser = args.chooser()?;
    let goal = Goal::from(args.what);
    let again = || vec!["run the same command again to wait on".to_owned()];
    context.ledger.advise(again());
    let results = if args.is_data() {
        Results::Answer
    } else {
        Results::Lines
    };
    let events = args.events.events.as_deref();
    let stdout = events::begin(events, "wait", results, context).await?;
    let began = Instant::now();
    let end = began.checked_add(args.timeout).unwrap_or(began);
    let verifier = args.verifier(end, context).await?;
    let live = connect(context).await?;
    let found = args.find(&chooser, &live, context).await?;
    if found.is_empty() {
        return Ok(ExitStatus::Success);
    }
    if let Some(verifier) = &verifier {
        verifier.introduce(&found, end, context).await?;
    }
    let wait = Wait {
        goal,
        rules: &found,
        expected: Vec::new(),
        patience: args.patience(),
        advice: &|_| again(),
    };
    let waited = match goal {
        Goal::Observed | Goal::Deleted => wait.for_rules(&live, context).await?,
        Goal::Evicted => {
            let look = Look::of(live.clone(), args.version.version()).await?;
            wait.for_pods(look, context).await?
        }
    };
    let waited = match verifier {
        Some(verifier) => {
            args.verified(waited, (&verifier, &found), (began, end))
                .await?
        }
        None => waited,
    };
    live.tell(&context.printer);
    args.tell(&wait, waited, stdout, context)
}

impl WaitArgs {
    fn chooser(&self) -> Result<Chooser, Failure> {
        Chooser::parse(&Ways {
            targets: &self.targets,
            selector: self.selector.as_ref(),
            ..Ways::default()
        })
    }

    /// The kubelet whose word counts too, if so.
    async fn verifier(&self, end: Instant, context: &Context) -> Result<Option<Verifier>, Failure> {
        let Some(socket) = &self.verify_node else {
            return Ok(None);
        };
        match Goal::from(self.what) {
            Goal::Evicted => Verifier::at(socket, end, context).await.map(Some),
            Goal::Observed | Goal::Deleted => {
                Err(Failure::usage("--verify-node goes with --for evicted only"))
            }
        }
    }

    /// How a wait ends that was met as far as the API goes.
    async fn verified(
        &self,
        waited: Waited,
        (verifier, rules): (&Verifier, &[DeviceTaintRule]),
        (began, end): (Instant, Instant),
    ) -> Result<Waited, Failure> {
        match waited.ending {
            Ending::TimedOut(_) => return Ok(waited),
            Ending::Met => {}
        }
        let left = verifier.settled(rules, end).await?;
        let ending = if left.is_empty() {
            Ending::Met
        } else {
            Ending::TimedOut(left)
        };
        Ok(Waited {
            ending,
            took: began.elapsed(),
            ..waited
        })
    }

    /// Whether how it ended is printed as data.
    fn is_data(&self) -> bool {
        match self.output {
            Format::Json | Format::Yaml => true,
            Format::Table | Format::Wide | Format::Markdown | Format::Html | Format::Name => false,
        }
    }

    fn patience(&self) -> Patience {
        Patience {
            settle: self.settle,
            timeout: self.timeout,
        }
    }

    /// The rules that are meant and there. What was never there is a mistake, and not gone.
    async fn find(
        &self,
        chooser: &Chooser,
        live: &Live,
        context: &Context,
    ) -> Result<Vec<DeviceTaintRule>, Failure> {
        // No way to mean rules for a wait depends on the time.
        let now = jiff::Timestamp::UNIX_EPOCH;
        let mut found = meant(chooser, &live.rules()?, now, context).await?;
        let absence = if self.ignore_not_found {
            Absence::Ignored
        } else {
            Absence::Refused
        };
        let (lines, failure) = found.objection(absence);
        for line in &lines {
            context.printer.note(line);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        if found.rules.is_empty() && lines.is_empty() {
            if !self.ignore_not_found {
                return Err(Failure::new(ExitStatus::Failed, "no rule has these labels")
                    .hint("if that is fine, add --ignore-not-found"));
            }
            context.printer.note("No resources found");
        }
        Ok(found.rules)
    }

    fn tell(
        &self,
        wait: &Wait<'_>,
        waited: Waited,
        stdout: Stdout,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let report = waited.report(wait);
        let status = match waited.ending {
            Ending::Met => Ok(ExitStatus::Success),
            Ending::TimedOut(left) => Err(timed_out(self.timeout, &left)),
        };
        if stdout == Stdout::Free && (status.is_ok() || self.is_data()) {
            let page = Page {
                format: self.output,
                width: context.width,
            };
            context.printer.emit(&render(&report, page)?)?;
        }
        status
    }
}
