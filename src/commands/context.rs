//! Context of a command: its surroundings, read once, a printer, and the clock.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::cluster::{self, ApiClient, ConnectionOptions, Purpose};
use crate::completion::{COMMAND, KUBECTL_NAME, Said};
use crate::decide::change_log::ChangeLog;
use crate::output::{Environment, Printer};
use crate::report::metadata::Cluster;
use crate::report::wait::WaitReport;

/// Names the shell that completes a word; the scripts of `completion` set it.
pub(super) const COMPLETED_SHELL: &str = "KUBECTL_DEVICETAINT_COMPLETE";
/// Index of the completed word, in the shells that pass it.
const COMPLETED_WORD: &str = "_CLAP_COMPLETE_INDEX";

/// Every environment variable that is read from users, and its effect; no other part of the environment ever is, but what
/// scripts of `completion` set.
const VARIABLES: &str = "\
COLUMNS: Width of the terminal; default: what the terminal reports
HOME: Directory that contains .kube/config and .kube/kuberc
HTTPS_PROXY: Proxy for https API servers; --proxy-url and the kubeconfig take precedence
HTTP_PROXY: Proxy for http API servers
KUBECONFIG: Paths of kubeconfig files, which are merged; --kubeconfig takes precedence
KUBECTL_KUBERC: If false, kubectl's preferences are not read
KUBERC: File with kubectl's preferences, or off; --kuberc takes precedence
KUBERNETES_SERVICE_HOST: Set by Kubernetes in pods: the API server that is used if there is no kubeconfig
KUBERNETES_SERVICE_PORT: Port of the API server at KUBERNETES_SERVICE_HOST
NO_COLOR: If set and not empty, no colors
NO_PROXY: Hosts that are reached without a proxy
PATH: Directories searched for credential plugins
TERM: If dumb, no colors and no progress
USERPROFILE: Used if HOME is not set, as on Windows
http_proxy: Proxy for http API servers; HTTP_PROXY takes precedence
https_proxy: Proxy for https API servers; HTTPS_PROXY takes precedence
no_proxy: Hosts that are reached without a proxy; NO_PROXY takes precedence";

/// The variables that are read from users, by name, with the effect of each in one line.
pub fn variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    VARIABLES.lines().filter_map(|line| line.split_once(": "))
}

/// The process' environment and streams, as values.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    variables: BTreeMap<&'static str, OsString>,
    streams: Environment,
}

impl Surroundings {
    /// Reads environment and streams.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub(super) fn view() -> Self {
        let of_scripts = [COMPLETED_SHELL, COMPLETED_WORD];
        let names = variables().map(|(name, _)| name).chain(of_scripts);
        let set = names.filter_map(|name| Some((name, std::env::var_os(name)?)));
        let variables: BTreeMap<&'static str, OsString> = set.collect();
        // An empty variable counts as unset, as the NO_COLOR convention has it.
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

    /// True if a shell or kubectl asks which words an argument can become, by the names of program and command.
    pub(super) fn completes(&self, program: Option<&OsString>, command: Option<&OsString>) -> bool {
        let program = program.map(Path::new).and_then(Path::file_stem);
        self.variables.contains_key(COMPLETED_SHELL)
            || program.is_some_and(|name| name == KUBECTL_NAME)
            || command.is_some_and(|name| name == COMMAND)
    }

    /// Variables set by the shell script that asks for completion.
    pub(super) fn said_by_a_shell(&self) -> Said<'_> {
        let variable = |name| self.variables.get(name).map(OsString::as_os_str);
        Said {
            shell: variable(COMPLETED_SHELL),
            word: variable(COMPLETED_WORD),
        }
    }

    /// The part that connections depend on.
    pub(super) fn environment(&self) -> cluster::Environment {
        cluster::Environment::from_variables(|name| self.variables.get(name).cloned())
    }

    /// A printer for errors before the flags are known.
    pub(super) fn plain_printer(&self) -> Printer<'static> {
        Printer::standard(&self.streams)
    }
}

/// Columns of the terminal: by the shell, else by the terminal.
fn width(columns: Option<&OsString>) -> Option<u16> {
    let said = columns.and_then(|columns| columns.to_str()?.parse().ok());
    said.or_else(|| terminal_size::terminal_size().map(|(width, _)| width.0))
}

/// Context that every command gets.
pub(super) struct Context {
    pub(super) printer: Arc<Printer<'static>>,
    pub(super) width: Option<u16>,
    /// Cluster to connect to, and the user.
    pub(super) connection: ConnectionOptions,
    /// The namespace given, if it was one.
    pub(super) namespace: Option<String>,
    pub(super) environment: cluster::Environment,
    /// Changes of the command, for the message after an interruption.
    pub(super) log: ChangeLog,
    /// The UID of this run, which marks its changes.
    pub(super) run: Option<String>,
    /// True if a user at a terminal can be asked.
    pub(super) interactive: bool,
    /// The report of the wait, once it has ended.
    pub(super) waited: OnceLock<WaitReport>,
    /// True if the cluster has been named above a question.
    is_introduced: AtomicBool,
    /// The connected cluster, once there is one.
    client: OnceLock<ApiClient>,
}

impl Context {
    pub(super) fn new(
        surroundings: &Surroundings,
        connection: ConnectionOptions,
        purpose: Option<Purpose>,
    ) -> Self {
        let streams = &surroundings.streams;
        let mut environment = surroundings.environment();
        environment.stdin_is_terminal = std::io::stdin().is_terminal();
        Self {
            width: streams.width,
            namespace: connection.narrowing_namespace().map(str::to_owned),
            // Questions are printed on stderr and answered on stdin: who redirects one of them does not see
            // or answer them.
            interactive: environment.stdin_is_terminal && streams.stderr_is_terminal,
            environment,
            run: cluster::run_uid(),
            ..Self::plain(
                Printer::standard(streams),
                ConnectionOptions {
                    purpose,
                    ..connection
                },
            )
        }
    }

    /// A context that writes to these and asks this cluster, without a terminal.
    pub(super) fn plain(printer: Printer<'static>, connection: ConnectionOptions) -> Self {
        Self {
            printer: Arc::new(printer),
            width: None,
            connection,
            namespace: None,
            environment: cluster::Environment::default(),
            log: ChangeLog::default(),
            run: None,
            interactive: false,
            waited: OnceLock::new(),
            is_introduced: AtomicBool::new(false),
            client: OnceLock::new(),
        }
    }

    /// Notes that this cluster is connected.
    pub(super) fn asked(&self, client: &ApiClient) {
        // A command asks one cluster: further connections are to the same.
        let _ = self.client.set(client.clone());
    }

    /// The connected cluster, once there is one.
    pub(super) fn cluster(&self) -> Option<Cluster> {
        let client = self.client.get()?;
        Some(Cluster {
            context: client.context().map(str::to_owned),
            server: client.server().url.clone(),
            version: client.server_version(),
        })
    }

    /// As [`Context::cluster`], for a heading above a question: the first time only.
    pub(super) fn introduced_cluster(&self) -> Option<Cluster> {
        // A second question is right below the first, which has named the cluster.
        let is_new = !self.is_introduced.swap(true, Ordering::Relaxed);
        self.cluster().filter(|_| is_new)
    }
}

/// Current time of this machine. A server's time goes before it wherever there is one.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the clock"
)]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// A server's time, from the moment on at which it was asked.
pub(crate) struct Clock {
    at: Timestamp,
    since: Instant,
}

impl Clock {
    /// A clock that shows `at` now.
    pub(crate) fn set(at: Timestamp) -> Self {
        Self {
            at,
            since: Instant::now(),
        }
    }

    /// The current time.
    pub(crate) fn now(&self) -> Timestamp {
        // The clock of this machine may be set while the command waits; what has passed is monotonic.
        let passed = SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::MAX);
        self.at.saturating_add(passed).unwrap_or(self.at)
    }
}
