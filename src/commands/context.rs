//! What a command works with: the surroundings, looked at once, and a printer.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use super::arguments::GlobalArgs;
use crate::output::{ColorChoice, Environment, Printer, Verbosity};

/// Variables that the program listens to; no other part of the environment is ever read.
const VARIABLES: [&str; 15] = [
    "COLUMNS",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "KUBECONFIG",
    "KUBECTL_PATH",
    "NO_COLOR",
    "NO_PROXY",
    "TERM",
    "USER",
    "USERPROFILE",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "PATH",
];

/// The process' environment and streams, as values.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    pub(super) variables: BTreeMap<&'static str, String>,
    streams: Environment,
}

impl Surroundings {
    /// Looks at environment and streams.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub(super) fn look() -> Self {
        let variables: BTreeMap<&'static str, String> = VARIABLES
            .into_iter()
            .filter_map(|name| Some((name, std::env::var(name).ok()?)))
            .collect();
        let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
        let streams = Environment {
            width: std::io::stdout()
                .is_terminal()
                .then(|| width(set("COLUMNS")))
                .flatten(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            no_color: set("NO_COLOR").is_some(),
            dumb_terminal: set("TERM").is_some_and(|term| term == "dumb"),
        };
        Self { variables, streams }
    }

    /// A printer for what goes wrong before the flags are known.
    pub(super) fn plain_printer(&self) -> Printer<'static> {
        Printer::standard(ColorChoice::Auto, &self.streams, Verbosity::Normal)
    }
}

/// Columns of the terminal: what the shell says, else what the terminal says.
fn width(columns: Option<&String>) -> Option<u16> {
    let said = columns.and_then(|columns| columns.parse().ok());
    said.or_else(|| terminal_size::terminal_size().map(|(width, _)| width.0))
}

/// What every command gets.
pub(super) struct Context {
    pub(super) printer: Printer<'static>,
    pub(super) width: Option<u16>,
}

impl Context {
    pub(super) fn new(surroundings: Surroundings, global: &GlobalArgs) -> Self {
        let verbosity = if global.quiet {
            Verbosity::Quiet
        } else {
            Verbosity::Normal
        };
        Self {
            printer: Printer::standard(global.color.into(), &surroundings.streams, verbosity),
            width: surroundings.streams.width,
        }
    }
}
