//! What can go wrong between this plugin and a cluster.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::permission::Permission;
use super::purpose::Purpose;
use crate::model::Kind;
use crate::naming::nearest::hints_for;

/// Which server was asked, printed `cluster "prod" (https://10.0.0.1:6443)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The cluster's name in the kubeconfig, if it has one.
    pub cluster: Option<String>,
    /// Where its API server is.
    pub url: String,
}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cluster {
            Some(cluster) => write!(formatter, "cluster {cluster:?} ({})", self.url),
            None => write!(formatter, "the server at {}", self.url),
        }
    }
}

/// Why a cluster gave no answer. Every text names the object; none contains a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A connection flag has a value that cannot be used.
    #[error("invalid value {value:?} for --{flag}: {reason}")]
    Flag {
        /// Without its dashes.
        flag: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A connection flag is missing that another one needs.
    #[error("--{flag} is missing: {reason}")]
    FlagMissing {
        /// Without its dashes.
        flag: &'static str,
        /// What needs it.
        reason: String,
    },
    /// There is no kubeconfig, and this is not a pod.
    #[error("no cluster is configured: {searched}")]
    NoConfiguration {
        /// Where was looked.
        searched: String,
        /// What was to be done with the cluster.
        purpose: Option<Purpose>,
    },
    /// A kubeconfig file cannot be read.
    #[error("cannot read the kubeconfig {path}", path = path.display())]
    KubeconfigUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A kubeconfig file is not one.
    #[error("the kubeconfig {path} is not valid: {reason}", path = path.display())]
    KubeconfigMalformed {
        /// The file.
        path: PathBuf,
        /// The parser's words and the line; never the text of the file.
        reason: String,
    },
    /// The kubeconfig refers to something that it does not contain.
    #[error("{what} {name:?} does not exist in {files}")]
    NotInKubeconfig {
        /// `context`, `cluster` or `user`.
        what: &'static str,
        /// What was looked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
        /// The kubeconfig files.
        files: String,
    },
    /// A value in the kubeconfig cannot be used.
    #[error("{object} in {files}: {field} {problem}")]
    KubeconfigValue {
        /// Such as `cluster "prod"`.
        object: String,
        /// Such as `certificate-authority-data`.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
        /// The kubeconfig files.
        files: String,
    },
    /// A file that the kubeconfig or a flag names cannot be read.
    #[error("cannot read the {what} {path} of {object}", path = path.display())]
    File {
        /// Such as `client certificate`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Such as `user "admin"`.
        object: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The credential plugin of a user could not be started.
    #[error("cannot run the credential plugin {command:?} of user {user:?}")]
    PluginStart {
        /// The program, without its arguments.
        command: String,
        /// The user in the kubeconfig.
        user: String,
        /// What the kubeconfig says about installing it.
        install_hint: Option<String>,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The credential plugin of a user ran and gave no credentials.
    #[error("the credential plugin {command:?} of user {user:?} {problem}")]
    PluginFailed {
        /// The program, without its arguments.
        command: String,
        /// The user in the kubeconfig.
        user: String,
        /// Such as `ended with exit status 1`; never its output.
        problem: String,
    },
    /// The user's own preferences do not let the credential plugin run.
    #[error("the credential plugin {command:?} of user {user:?} {refusal}")]
    PluginRefused {
        /// The program, without its arguments.
        command: String,
        /// The user in the kubeconfig.
        user: String,
        /// Why.
        refusal: &'static str,
    },
    /// kubectl's preferences cannot be used.
    #[error("the preferences {path} cannot be used: {reason}", path = path.display())]
    Preferences {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The credentials could not be loaded or renewed.
    #[error("cannot use the credentials for {server}: {reason}")]
    Credentials {
        /// Which server they are for.
        server: Arc<Server>,
        /// Why; without the credentials.
        reason: String,
    },
    /// The server cannot be reached.
    #[error("cannot reach {server}: {reason}")]
    Unreachable {
        /// Which server.
        server: Arc<Server>,
        /// The operating system's words.
        reason: String,
    },
    /// The server's certificate, or ours, was refused.
    #[error("no secure connection to {server}: {reason}")]
    Tls {
        /// Which server.
        server: Arc<Server>,
        /// What is wrong.
        reason: String,
    },
    /// The server said nothing for too long.
    #[error("{server} did not respond to {path} within {}s", waited.as_secs_f64())]
    TimedOut {
        /// Which server.
        server: Arc<Server>,
        /// Path of the request.
        path: String,
        /// The request timeout.
        waited: Duration,
    },
    /// The server asks to come back later than the request timeout allows, or for ever.
    #[error("{server} is overloaded or not ready ({status}){}", limit.map(|limit| format!(": \
        the request timeout of {}s leaves no time for another attempt", limit.as_secs_f64())).unwrap_or_default())]
    Busy {
        /// Which server.
        server: Arc<Server>,
        /// HTTP status.
        status: u16,
        /// The request timeout, if there is one.
        limit: Option<Duration>,
    },
    /// An answer came that is not one of an API server to what was asked: nothing follows from it.
    #[error("{server} did not respond to {path} like an API server: {found}")]
    Foreign {
        /// Which server.
        server: Arc<Server>,
        /// Path of the request.
        path: String,
        /// What came instead.
        found: String,
    },
    /// The server does not know who is asking.
    #[error("{server} does not accept the credentials")]
    Unauthorized {
        /// Which server.
        server: Arc<Server>,
    },
    /// The user may not do this.
    #[error("cannot {permission}: access denied{}", user.as_ref().map(|user| format!(" for {user}")).unwrap_or_default())]
    Forbidden {
        /// What is not allowed.
        permission: Permission,
        /// Who asked, as far as the server says.
        user: Option<String>,
        /// What it was for, which decides what else is needed.
        purpose: Option<Purpose>,
    },
    /// The server has no such kind in a version that this plugin knows.
    #[error("{server} does not serve {kind} in any version this plugin knows")]
    NotServed {
        /// Which server.
        server: Arc<Server>,
        /// What is missing.
        kind: Kind,
        /// How to get it, for the server's version.
        advice: String,
    },
    /// The object does not exist.
    #[error("{path} does not exist")]
    NotFound {
        /// Path of the object.
        path: String,
    },
    /// Somebody else changed the object in the meantime.
    #[error("{path} was changed by another client: {message}")]
    Conflict {
        /// Path of the object.
        path: String,
        /// The server's words.
        message: String,
    },
    /// There is an object of that name already.
    #[error("{path} already exists")]
    AlreadyExists {
        /// Path of the object.
        path: String,
    },
    /// The server does not accept the object as it would be.
    #[error("the server rejected the request: {message}")]
    Invalid {
        /// Path of the object.
        path: String,
        /// The server's words.
        message: String,
    },
    /// Others kept changing the object before this change of it could be made.
    #[error("{path} changes too often: gave up after {tries} attempts")]
    Contended {
        /// Path of the object.
        path: String,
        /// How often it was tried.
        tries: u32,
    },
    /// A change was sent, its answer was lost, and looking at the object does not tell what became of
    /// it.
    #[error("cannot tell whether {path} was changed: {reason}")]
    Unresolved {
        /// Path of the object.
        path: String,
        /// Why there was no answer, and what was found afterwards.
        reason: String,
    },
    /// The server refused for another reason.
    #[error("{server} responded to {path} with {status}: {message}")]
    Refused {
        /// Which server.
        server: Arc<Server>,
        /// Path of the request.
        path: String,
        /// HTTP status.
        status: u16,
        /// The server's words.
        message: String,
    },
    /// The answer never arrived in one piece.
    #[error("no complete response to {path} from {server}: {reason}")]
    Incomplete {
        /// Which server.
        server: Arc<Server>,
        /// Path of the request.
        path: String,
        /// What was wrong with the last response.
        reason: String,
    },
    /// The answer is complete and cannot be understood.
    #[error("cannot parse the response of {server} to {path}: {reason}")]
    Undecodable {
        /// Which server.
        server: Arc<Server>,
        /// Path of the request.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The advice, with the other way that there is for commands which answer from dumps too.
fn or_from_a_dump(advice: &str, purpose: Option<Purpose>) -> String {
    if purpose.is_some_and(Purpose::reads_dumps) {
        format!("{advice}, or read a dump: --from FILE")
    } else {
        advice.to_owned()
    }
}

/// Whether client and server have no algorithm in common, as far as the reason tells.
fn is_about_an_algorithm(reason: &str) -> bool {
    let words = ["HandshakeFailure", "UnsupportedSignatureAlgorithm"];
    words.iter().any(|word| reason.contains(word))
}

impl ClusterError {
    /// The way out, in the order in which to try; empty when the text says it all.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoConfiguration { purpose, .. } => vec![or_from_a_dump(
                "set a kubeconfig with --kubeconfig or KUBECONFIG",
                *purpose,
            )],
            Self::NotInKubeconfig { what, name, known, .. } if !known.is_empty() => {
                hints_for(what, name, known)
            }
            Self::PluginStart { install_hint, .. } => install_hint.iter().cloned().collect(),
            Self::PluginFailed { .. } => {
                vec!["test the credential plugin with `kubectl auth whoami`, which runs it in the same way".to_owned()]
            }
            Self::PluginRefused { .. } => vec![
                "kubectl does not run the credential plugin either: show the preferences with `kubectl \
                 kuberc view`, or use another file with --kuberc or KUBERC".to_owned(),
            ],
            Self::Preferences { .. } => {
                vec!["fix the file, or turn preferences off with KUBERC=off".to_owned()]
            }
            Self::Unreachable { .. } => vec![
                "check that the cluster is running, and check --context and --server".to_owned(),
            ],
            Self::Tls { reason, .. } => {
                let curve = is_about_an_algorithm(reason).then(|| {
                    "if the server's certificate or its authority uses the curve P-521, which is not \
                     supported: use P-256, P-384 or RSA".to_owned()
                });
                let check = "check certificate-authority and tls-server-name of the cluster, and the user's client certificate".to_owned();
                [check].into_iter().chain(curve).collect()
            }
            Self::Foreign { .. } => vec![
                "a proxy, gateway or login page may have responded instead: check --server, \
                 proxy-url and HTTPS_PROXY, and compare with `kubectl get --raw /version`".to_owned(),
            ],
            Self::TimedOut { .. } => vec![
                "check the network to the server, or wait longer with --request-timeout".to_owned(),
            ],
            Self::Busy { limit: None, .. } => vec!["try later".to_owned()],
            Self::Busy { .. } => vec!["try later, or wait longer with --request-timeout".to_owned()],
            Self::Unauthorized { .. } => {
                vec!["log in again; to show your user: `kubectl auth whoami`".to_owned()]
            }
            Self::Unresolved { .. } => vec![
                "run the same command again: it checks what was done, and completes the rest".to_owned(),
            ],
            // Before other denials: without credentials, no role would help.
            Self::Forbidden { .. } if self.is_anonymous() => vec![
                "the request was anonymous, because it carried no token or certificate that the \
                server accepts (Kubernetes 1.19 and later accept no passwords): log in again; to show your \
                 user: `kubectl auth whoami`".to_owned(),
            ],
            Self::Forbidden {
                permission,
                purpose,
                ..
            } => {
                let advice = format!(
                    "ask for permission to `{}` {}",
                    permission.verb,
                    permission.full_resource()
                );
                vec![or_from_a_dump(
                    &advice,
                    // A dump replaces reads. It is no way out for a change.
                    purpose.filter(|_| permission.is_read()),
                )]
            }
            Self::NotServed { advice, .. } => vec![advice.clone()],
            Self::Incomplete { .. } => vec![
                "try again; if the error persists, check the proxy (proxy-url, HTTPS_PROXY), \
                which may cut responses short".to_owned(),
            ],
            Self::Flag { .. }
            | Self::FlagMissing { .. }
            | Self::KubeconfigUnreadable { .. }
            | Self::KubeconfigMalformed { .. }
            | Self::NotInKubeconfig { .. }
            | Self::KubeconfigValue { .. }
            | Self::File { .. }
            | Self::Credentials { .. }
            | Self::NotFound { .. }
            | Self::Conflict { .. }
            | Self::AlreadyExists { .. }
            | Self::Contended { .. }
            | Self::Invalid { .. }
            | Self::Refused { .. }
            | Self::Undecodable { .. } => Vec::new(),
        }
    }

    /// Whether it is not known what became of a change.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unresolved { .. })
    }

    /// Whether the server does not accept the object, so that trying again does not help.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Invalid { .. })
    }

    /// Whether the server denied it to somebody whose credentials it did not know. No role helps then:
    /// it would open the cluster to everybody.
    ///
    /// Upstream: `user.Anonymous` in apiserver's `pkg/authentication/user/user.go`.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        if let Self::Forbidden { user, .. } = self {
            user.as_deref() == Some("system:anonymous")
        } else {
            false
        }
    }

    /// What is not allowed, when that is the reason.
    #[must_use]
    pub fn denied(&self) -> Option<&Permission> {
        if let Self::Forbidden { permission, .. } = self {
            Some(permission)
        } else {
            None
        }
    }
}
