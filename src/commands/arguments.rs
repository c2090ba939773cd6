//! Flags that several commands share.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};
use jiff::Timestamp;

use crate::cluster::Detail;
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{Minor, Reading, Warning};
use crate::output::ColorChoice;
use crate::render::Format;
use crate::report::metadata::Incomplete;

/// Flags of every command.
#[derive(clap::Args, Debug)]
pub(super) struct GlobalArgs {
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        help_heading = "Output"
    )]
    pub(super) color: Color,

    /// Print results and errors only
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Color {
    /// On a terminal that has them
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// How a report is printed.
#[derive(clap::Args, Debug)]
pub(super) struct OutputArgs {
    /// Output format
    #[arg(short, long, value_parser = format_parser(), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    pub(super) output: Format,

    /// Exit with code 6 when part of the answer is missing
    #[arg(long, help_heading = "Output")]
    pub(super) strict: bool,
}

impl OutputArgs {
    /// Ends well, unless part of the answer is missing and that was asked to be an error.
    pub(super) fn accept(&self, incomplete: &[Incomplete]) -> Result<ExitStatus, Failure> {
        if !self.strict || incomplete.is_empty() {
            return Ok(ExitStatus::Success);
        }
        let missing: Vec<&str> = incomplete.iter().map(|gap| gap.what.as_str()).collect();
        Err(Failure::new(
            ExitStatus::Incomplete,
            format!("the answer is incomplete: {}", missing.join(", ")),
        ))
    }
}

/// Accepts the formats that `render` knows, so that there is one list of them.
fn format_parser() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(|format| PossibleValue::new(format.as_str()));
    clap::builder::PossibleValuesParser::new(names).try_map(|text| text.parse::<Format>())
}

/// Where the cluster's state comes from, and how it is understood.
#[derive(clap::Args, Debug)]
pub(super) struct SourceArgs {
    /// Read saved objects instead of the cluster: a file, a directory, or `-` for stdin; repeatable
    #[arg(long, value_name = "FILENAME", help_heading = "Source")]
    pub(super) from: Vec<PathBuf>,

    #[command(flatten)]
    version: VersionArgs,

    /// Time of the question, as RFC 3339; default: the newest time in the files
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "from", help_heading = "Source")]
    now: Option<Timestamp>,
}

/// How the cluster is understood.
#[derive(clap::Args, Debug)]
pub(super) struct VersionArgs {
    /// Kubernetes version whose behaviour applies, such as 1.36 or 1.37.1; default: what the source shows, else the newest known
    #[arg(long, value_name = "VERSION", value_parser = parse_version, help_heading = "Source")]
    kubernetes: Option<Minor>,

    /// Feature gates of the cluster that differ from their defaults; known: DRAWorkloadResourceClaims
    #[arg(long, value_name = "GATE=BOOL", value_parser = parse_gate, value_delimiter = ',', help_heading = "Source")]
    feature_gates: Vec<bool>,
}

impl VersionArgs {
    /// How a cluster of this version behaves, if no other is asked for.
    pub(super) fn semantics(&self, version: Option<Minor>) -> Result<Semantics, Failure> {
        let semantics = match self.kubernetes.or(version) {
            None => Semantics::newest(),
            Some(version) => Semantics::of(version).ok_or_else(|| {
                Failure::usage(format!(
                    "Kubernetes {version} has no device taints: they came with {}",
                    Semantics::OLDEST
                ))
            })?,
        };
        let pod_groups = self.feature_gates.last() == Some(&true);
        Ok(if pod_groups {
            semantics.with_pod_groups()
        } else {
            semantics
        })
    }
}

/// What has to be read of devices: rules that select by expression need their attributes.
pub(super) fn detail(semantics: &Semantics) -> Detail {
    if semantics.selects_by_expression {
        Detail::Attributes
    } else {
        Detail::Names
    }
}

impl SourceArgs {
    /// How the cluster behaves.
    pub(super) fn semantics(&self, version: Option<Minor>) -> Result<Semantics, Failure> {
        self.version.semantics(version)
    }

    /// Says that `semantics` are those of an older version, where the version is newer than all
    /// that are known.
    pub(super) fn warning(semantics: &Semantics) -> Option<Warning> {
        let (asked, newest) = (semantics.version, Semantics::NEWEST);
        (asked.minor > newest.minor).then(|| Warning {
            code: "newer-kubernetes",
            message: format!(
                "Kubernetes {asked} is newer than this plugin, which takes it to behave like {newest}"
            ),
            fix: Some("update the plugin, if there is a newer one".to_owned()),
        })
    }

    /// For which moment the question is answered; never this machine's clock.
    pub(super) fn now(&self, reading: &Reading) -> Result<Timestamp, Failure> {
        self.now.or(reading.observed_at).ok_or_else(|| {
            Failure::usage("the files carry no time, so that nobody can say what is due")
                .hint("say for which moment: --now 2026-11-21T01:00:00Z")
        })
    }
}

fn parse_version(text: &str) -> Result<Minor, String> {
    let wrong = || format!("{text:?} is no Kubernetes version such as 1.36 or 1.37.1");
    let rest = text
        .trim_start_matches('v')
        .strip_prefix("1.")
        .ok_or_else(wrong)?;
    let number = |part: &str| part.parse().map_err(|_| wrong());
    let (minor, patch) = match rest.split_once('.') {
        Some((minor, patch)) => (number(minor)?, Some(number(patch)?)),
        None => (number(rest)?, None),
    };
    let version = Minor { minor, patch };
    match Semantics::of(version) {
        Some(_) => Ok(version),
        None => Err(format!(
            "Kubernetes {version} has no device taints: they came with {}",
            Semantics::OLDEST
        )),
    }
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is no time such as 2026-11-21T01:00:00Z"))
}

fn parse_gate(text: &str) -> Result<bool, String> {
    match text.split_once('=') {
        Some(("DRAWorkloadResourceClaims", value)) => value
            .parse()
            .map_err(|_| format!("{value:?} is neither true nor false")),
        Some((gate, _)) => Err(format!(
            "feature gate {gate:?} plays no part here; known: DRAWorkloadResourceClaims"
        )),
        None => Err("write GATE=true or GATE=false".to_owned()),
    }
}
