//! `wait`: until a rule has done what it does.

use std::time::Duration;

use clap::ValueEnum;

use super::context::Context;
use super::flags::source::VersionArgs;
use super::work::connect::{connect, failed};
use super::work::scene::Scene;
use super::work::wait::{self, Ending, Patience, timed_out};
use crate::cluster::{Rules, parse_duration};
use crate::error::{ExitStatus, Failure};
use crate::report::rules::resource_name;

/// Wait until rules have evicted everybody, were seen by the controller, or are gone
///
/// Evicted means: the controller says so about the rule as it is now, no affected pod is left, not
/// even a terminating one, and it stays so for --settle. Exits with code 5 when the time is over,
/// and says what remains.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct WaitArgs {
    /// Rules, by name
    #[arg(value_name = "RULE", required = true)]
    names: Vec<String>,

    /// What to wait for
    #[arg(long = "for", value_enum, value_name = "WHAT")]
    what: What,

    /// How long to wait, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    timeout: Duration,

    /// How long nobody may be left before that counts
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    settle: Duration,

    #[command(flatten)]
    version: VersionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Until all pods are gone, terminating ones too
  kubectl devicetaint wait drain-node-7 --for evicted --timeout 10m

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

impl What {
    fn verb(self) -> &'static str {
        match self {
            Self::Evicted => "evicted",
            Self::Observed => "observed",
            Self::Deleted => "deleted",
        }
    }
}

pub(super) async fn run(args: WaitArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let again = "run the same command again to wait on".to_owned();
    context.ledger.advise([again]);
    let live = connect(context).await?;
    let rules = Rules::new(&live.client, &live.served).map_err(failed)?;
    let ending = match args.what {
        What::Observed => {
            wait::until(args.timeout, context, async || {
                wait::not_observed(&rules, &args.names).await
            })
            .await?
        }
        What::Deleted => {
            wait::until(args.timeout, context, async || {
                wait::not_deleted(&rules, &args.names).await
            })
            .await?
        }
        What::Evicted => {
            let scene = Scene::of(live, args.version.version()).await?;
            for name in &args.names {
                wait::refuse_harmless(scene.look.rule(name)?)?;
            }
            let patience = Patience {
                timeout: args.timeout,
                settle: args.settle,
            };
            wait::evicted(&scene, &args.names, patience, context).await?
        }
    };
    match ending {
        Ending::Met => {
            for name in &args.names {
                let line = format!("{} {}\n", resource_name(name), args.what.verb());
                context.printer.emit(&line)?;
            }
            Ok(ExitStatus::Success)
        }
        Ending::TimedOut(left) => Err(timed_out(args.timeout, left)),
    }
}
