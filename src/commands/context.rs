//! Context of a command: its surroundings, read once, and a printer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::cluster::{self, ApiClient, ConnectionOptions};
use crate::completion::Said;
use crate::decide::change_log::ChangeLog;
use crate::output::{Environment, Printer, Repeated};
use crate::report::metadata::Cluster;
use crate::report::wait::WaitReport;

/// Names the shell that completes a word; the scripts of `completion` set it.
pub(super) const COMPLETED_SHELL: &str = "KUBECTL_DEVICETAINT_COMPLETE";
/// Index of the completed word, in the shells that pass it.
const COMPLETED_WORD: &str = "_CLAP_COMPLETE_INDEX";

/// An environment variable that the program reads.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Effect in one line, for the manual; empty for one that only scripts of this program set.
    pub meaning: &'static str,
}

/// Every environment variable that is read; no other part of the environment ever is.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "COLUMNS",
        meaning: "Width of the terminal; default: what the terminal reports",
    },
    Variable {
        name: "HOME",
        meaning: "Directory that contains .kube/config and .kube/kuberc",
    },
    Variable {
        name: "HTTPS_PROXY",
        meaning: "Proxy for https API servers; --proxy-url and the kubeconfig take precedence",
    },
    Variable {
        name: "HTTP_PROXY",
        meaning: "Proxy for http API servers",
    },
    Variable {
        name: "KUBECONFIG",
        meaning: "Paths of kubeconfig files, which are merged; --kubeconfig takes precedence",
    },
    Variable {
        name: "KUBECTL_KUBERC",
        meaning: "If false, kubectl's preferences are not read",
    },
    Variable {
        name: "KUBERC",
        meaning: "File with kubectl's preferences, or off; --kuberc takes precedence",
    },
    Variable {
        name: COMPLETED_SHELL,
        meaning: "",
    },
    Variable {
        name: COMPLETED_WORD,
        meaning: "",
    },
    Variable {
        name: "KUBERNETES_SERVICE_HOST",
        meaning: "Set by Kubernetes in pods: the API server that is used if there is no kubeconfig",
    },
    Variable {
        name: "KUBERNETES_SERVICE_PORT",
        meaning: "Port of the API server at KUBERNETES_SERVICE_HOST",
    },
    Variable {
        name: "NO_COLOR",
        meaning: "If set and not empty, no colors",
    },
    Variable {
        name: "NO_PROXY",
        meaning: "Hosts that are reached without a proxy",
    },
    Variable {
        name: "PATH",
        meaning: "Directories searched for credential plugins",
    },
    Variable {
        name: "TERM",
        meaning: "If dumb, no colors and no progress",
    },
    Variable {
        name: "USERPROFILE",
        meaning: "Used if HOME is not set, as on Windows",
    },
    Variable {
        name: "http_proxy",
        meaning: "Proxy for http API servers; HTTP_PROXY takes precedence",
    },
    Variable {
        name: "https_proxy",
        meaning: "Proxy for https API servers; HTTPS_PROXY takes precedence",
    },
    Variable {
        name: "no_proxy",
        meaning: "Hosts that are reached without a proxy; NO_PROXY takes precedence",
    },
];

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
        let variables: BTreeMap<&'static str, OsString> = VARIABLES
            .iter()
            .filter_map(|it| Some((it.name, std::env::var_os(it.name)?)))
            .collect();
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
        cluster::Environment {
            ..cluster::Environment::from_variables(|name| self.variables.get(name).cloned())
        }
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
    /// Detail logged of each request; 0 for none.
    pub(super) verbosity: u8,
    pub(super) environment: cluster::Environment,
    /// Changes of the command, for the message after an interruption.
    pub(super) log: ChangeLog,
    /// The UID of this run, which marks its changes.
    pub(super) run: Option<String>,
    /// True if a user at a terminal can be asked.
    pub(super) interactive: bool,
    /// True if the report of the change has been printed as data.
    pub(super) waited: OnceLock<WaitReport>,
    /// True if the cluster has been named above a question.
    is_introduced: AtomicBool,
    /// The connected cluster, once there is one.
    client: OnceLock<ApiClient>,
}

/// Connection flags, as a context keeps them.
pub(super) struct ConnectionSettings {
    /// Namespace that narrows the reads; absent for all.
    pub(super) namespace: Option<String>,
    /// Number of `-v`.
    pub(super) verbosity: u8,
    /// Connection to the API server.
    pub(super) options: ConnectionOptions,
}

impl Context {
    pub(super) fn new(
        surroundings: &Surroundings,
        connection: ConnectionSettings,
        repeated: Repeated,
    ) -> Self {
        let mut environment = surroundings.environment();
        environment.stdin_is_terminal = std::io::stdin().is_terminal();
        Self {
            printer: Arc::new(Printer::standard(&surroundings.streams).repeating(repeated)),
            width: surroundings.streams.width,
            namespace: connection.namespace,
            verbosity: connection.verbosity,
            connection: connection.options,
            // Questions are printed on stderr and answered on stdin: who redirects one of them does not see
            // or answer them.
            interactive: environment.stdin_is_terminal && surroundings.streams.stderr_is_terminal,
            environment,
            log: ChangeLog::default(),
            run: cluster::run_uid(),
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

#[cfg(test)]
impl Context {
    /// A context that writes to these and asks this cluster, without a terminal.
    pub(super) fn of_test(printer: Printer<'static>, connection: ConnectionOptions) -> Self {
        Self {
            printer: Arc::new(printer),
            width: None,
            connection,
            namespace: None,
            verbosity: 0,
            environment: cluster::Environment::default(),
            log: ChangeLog::default(),
            run: None,
            interactive: false,
            waited: OnceLock::new(),
            is_introduced: AtomicBool::new(false),
            client: OnceLock::new(),
        }
    }
}
