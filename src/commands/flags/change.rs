//! Flags of commands that change something: dry runs, limits of the impact, and waits.

use std::path::PathBuf;
use std::time::Duration;

use crate::assess::Guard;
use crate::commands::work::connect::Source;
use crate::commands::work::pipeline::read_expected;
use crate::commands::work::present::formats;
use crate::decide::approval::SafetyLimits;
use crate::decide::change_log::DryRun;
use crate::decide::proposal::Patience;
use crate::error::Failure;
use crate::naming::duration::parse_duration;
use crate::render::Format;

/// Flags of every command that changes something.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct ChangeArgs {
    /// Only print what would be done: client or server
    ///
    /// `client`, the default, sends nothing; the `server` checks the changes.
    #[arg(long, value_enum, hide_possible_values = true, hide_default_value = true, default_value = "none", num_args = 0..=1, require_equals = true, default_missing_value = "client", value_name = "WHERE")]
    pub(crate) dry_run: DryRun,
}

/// Flags of commands that change something, and can be rehearsed on saved objects.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct RehearsalArgs {
    #[command(flatten)]
    change: ChangeArgs,

    /// With --dry-run=client, read saved objects; repeatable
    #[arg(long, value_name = "FILENAME", hide_short_help = true)]
    from: Vec<PathBuf>,
}

impl RehearsalArgs {
    /// Place where changes are only tried.
    pub(crate) fn dry_run(&self) -> DryRun {
        self.change.dry_run
    }

    /// The source of the cluster's state.
    ///
    /// # Errors
    ///
    /// Changes would be sent, and saved objects read.
    pub(crate) fn source(&self) -> Result<Source, Failure> {
        if !self.from.is_empty() && self.dry_run() != DryRun::Client {
            return Err(Failure::usage("--from needs --dry-run=client"));
        }
        Ok(Source {
            from: self.from.clone(),
            kubernetes: None,
            now: None,
        })
    }
}

/// Format of the report of a change.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct ReportArgs {
    /// Output format: json or yaml
    ///
    /// Prints a ChangeReport at the end: what was done with each rule.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = formats(&[Format::Json, Format::Yaml]), help_heading = "Output")]
    pub(crate) output: Option<Format>,
}

/// Flags that limit the impact.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct SafetyArgs {
    /// Do not ask for confirmation
    ///
    /// A wide change (for `drain` and `make-room`: only with --force) also needs --abort-if or --expect: evictions in
    /// kube-system or several namespaces (admin access does not count), or a taint on every device. So does any rule in
    /// Kubernetes 1.36.0 to 1.36.2.
    #[arg(short, long)]
    yes: bool,

    /// Refuse more than in this report of `preview -o json`
    ///
    /// Refused are other taints or selectors (not for `drain`, `make-room`), other or earlier evictions, replaced
    /// devices, and missing data.
    #[arg(long, value_name = "FILENAME", hide_short_help = true)]
    expect: Option<PathBuf>,

    /// Refuse if this is true, such as 'pods.evicted>20'
    ///
    /// An unknown value counts as true. Repeatable; signals: `help guards`.
    #[arg(long, value_name = "GUARD", value_parser = parse_guard)]
    abort_if: Vec<Guard>,
}

impl SafetyArgs {
    /// Finds errors in the flags before anything else is done.
    pub(crate) fn prepare(&self) -> Result<SafetyLimits, Failure> {
        Ok(SafetyLimits {
            yes: self.yes,
            guards: self.abort_if.clone(),
            expect: self.expect.as_ref().map(read_expected).transpose()?,
        })
    }
}

/// Reads a value of `--abort-if`.
pub(crate) fn parse_guard(text: &str) -> Result<Guard, String> {
    text.parse::<Guard>()
        .map_err(|error| format!("{error}; {}", error.hint))
}

/// Time for which the API must show zero pods to evict.
const SETTLE: Duration = Duration::from_secs(10);

/// Flags of waiting for the evictions that were begun.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Wait")]
pub(crate) struct WaitingArgs {
    /// Wait until all evicted pods have ended
    ///
    /// If --timeout is too short for the last eviction, for example because of a long tolerationSeconds, the
    /// command is refused before anything is changed.
    #[arg(long)]
    pub(crate) wait: bool,

    /// With --wait, how long to wait, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) timeout: Duration,
}

impl WaitingArgs {
    /// Time limit of the wait, if there is one.
    pub(crate) fn patience(&self) -> Option<Patience> {
        self.wait.then_some(Patience {
            timeout: self.timeout,
            settle: SETTLE,
        })
    }
}
