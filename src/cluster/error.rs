//! Errors of requests to a cluster.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::permission::{Permission, Purpose};
use crate::model::Kind;

/// Server of a request, printed `cluster "prod" (https://10.0.0.1:6443)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The cluster's name in the kubeconfig, if it has one.
    pub cluster: Option<String>,
    /// Address of its API server.
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

/// Error of a request to a cluster. Every text names the object; none contains a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The flags, the kubeconfig and what these name lead to no server, or with no credentials.
    #[error("{message}")]
    Configuration {
        /// Names the object and its file; never holds a secret.
        message: String,
        /// The way out, if there is one.
        hint: Option<String>,
    },
    /// The server cannot be reached.
    #[error("cannot reach {server}: {reason}")]
    Unreachable {
        /// Server.
        server: Arc<Server>,
        /// The operating system's words.
        reason: String,
    },
    /// The server's certificate, or ours, was refused.
    #[error("no secure connection to {server}: {reason}")]
    Tls {
        /// Server.
        server: Arc<Server>,
        /// Reason.
        reason: String,
    },
    /// The server said nothing for too long.
    #[error("{server} did not respond to {path} within {}s", waited.as_secs_f64())]
    TimedOut {
        /// Server.
        server: Arc<Server>,
        /// Path of the request.
        path: String,
        /// The request timeout.
        waited: Duration,
    },
    /// The server asks to come back later than the request timeout allows, or for ever.
    #[error("{server} is overloaded or not ready ({status})")]
    Busy {
        /// Server.
        server: Arc<Server>,
        /// HTTP status.
        status: u16,
    },
    /// The server does not know who is asking.
    #[error("{server} does not accept the credentials")]
    Unauthorized {
        /// Server.
        server: Arc<Server>,
    },
    /// The user may not do this.
    #[error("cannot {permission}: access denied{}", user.as_ref().map(|user| format!(" for {user}")).unwrap_or_default())]
    Forbidden {
        /// Missing permission.
        permission: Permission,
        /// User, as far as the server names it.
        user: Option<String>,
        /// Purpose, which decides what else is needed.
        purpose: Option<Purpose>,
    },
    /// The server has no such kind in a version that this plugin knows.
    #[error("{server} does not serve {kind} in any version this plugin knows")]
    NotServed {
        /// Server.
        server: Arc<Server>,
        /// Missing kind.
        kind: Kind,
        /// Advice to get it, for the server's version.
        advice: String,
    },
    /// The object does not exist.
    #[error("{path} does not exist")]
    NotFound {
        /// Path of the object.
        path: String,
    },
    /// Another client changed the object in the meantime.
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
        /// Attempts.
        tries: u32,
    },
    /// A change was sent, its answer was lost, and looking at the object does not tell what became of
    /// it.
    #[error("cannot tell whether {path} was changed: {reason}")]
    Unresolved {
        /// Path of the object.
        path: String,
        /// Reason why there was no response, and what was found afterwards.
        reason: String,
    },
    /// The server refused for another reason.
    #[error("{server} responded to {path} with {status}: {message}")]
    Refused {
        /// Server.
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
        /// Server.
        server: Arc<Server>,
        /// Path of the request.
        path: String,
        /// Reason for the refusal of the last response.
        reason: String,
    },
    /// The answer is complete, and is not what an API server sends or what this plugin understands.
    #[error("cannot use the response of {server} to {path}: {reason}")]
    Undecodable {
        /// Server.
        server: Arc<Server>,
        /// Path of the request.
        path: String,
        /// Reason.
        reason: String,
    },
}

const LOG_IN: &str = "log in again; to show your user: `kubectl auth whoami`";

/// The advice, with the other way that there is for commands which answer from dumps too.
pub(crate) fn or_from_a_dump(advice: &str, purpose: Option<Purpose>) -> String {
    if purpose.is_some_and(Purpose::reads_dumps) {
        format!("{advice}, or read a dump: --from FILE")
    } else {
        advice.to_owned()
    }
}

impl ClusterError {
    /// A configuration that leads to no server.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::Configuration {
            message: message.into(),
            hint: None,
        }
    }

    /// The way out; none when the text says it all.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Configuration { hint, .. } => return hint.clone(),
            Self::NotServed { advice, .. } => return Some(advice.clone()),
            Self::Unauthorized { .. } => LOG_IN,
            // Before other denials: without credentials, no role would help.
            Self::Forbidden { .. } if self.is_anonymous() => LOG_IN,
            Self::Forbidden {
                permission,
                purpose,
                ..
            } => {
                let (verb, resource) = (permission.verb, permission.full_resource());
                let advice = format!("ask for permission to `{verb}` {resource}");
                // A dump replaces reads. It is no way out for a change.
                let purpose = purpose.filter(|_| permission.is_read());
                return Some(or_from_a_dump(&advice, purpose));
            }
            Self::Unreachable { .. } => {
                "check that the cluster is running, and check --context and --server"
            }
            Self::Tls { .. } => {
                "check certificate-authority and tls-server-name of the cluster, and the user's client certificate"
            }
            Self::TimedOut { .. } | Self::Busy { .. } => {
                "try later, or wait longer with --request-timeout"
            }
            Self::Unresolved { .. } => {
                "run the same command again: it checks what was done, and completes the rest"
            }
            Self::Incomplete { .. } | Self::Undecodable { .. } => {
                "check --server and proxies on the way (proxy-url, HTTPS_PROXY): compare with `kubectl get --raw /version`"
            }
            Self::NotFound { .. }
            | Self::Conflict { .. }
            | Self::AlreadyExists { .. }
            | Self::Contended { .. }
            | Self::Invalid { .. }
            | Self::Refused { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// True if the outcome of a change is unknown.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unresolved { .. })
    }

    /// True if the server does not accept the object, so that trying again does not help.
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Invalid { .. })
    }

    /// True if the server denied it to an anonymous user. No role helps then:
    /// it would open the cluster to all users.
    ///
    /// Upstream: `user.Anonymous` in apiserver's `pkg/authentication/user/user.go`.
    pub fn is_anonymous(&self) -> bool {
        if let Self::Forbidden { user, .. } = self {
            user.as_deref() == Some("system:anonymous")
        } else {
            false
        }
    }

    /// Missing permission, if that is the reason.
    pub fn denied(&self) -> Option<&Permission> {
        if let Self::Forbidden { permission, .. } = self {
            Some(permission)
        } else {
            None
        }
    }
}

impl ClusterError {
    /// True if the cause passes by itself, so that the same command may succeed later.
    ///
    /// Trying again is safe whatever became of a change: names of rules are made from what they taint,
    /// so the same command finds what an earlier one has made, looks at it anew, and does what is left.
    /// This holds for a change whose outcome is not known too. A name that does not resolve and a server
    /// that refuses connections count as passing, since a cluster that restarts looks like that; the
    /// caller has to stop trying at some time.
    pub fn passes(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Busy { .. }
            | Self::Incomplete { .. }
            | Self::Conflict { .. }
            | Self::AlreadyExists { .. }
            | Self::Contended { .. }
            | Self::Unresolved { .. } => true,
            // Anything below 500 is a verdict about the request, except for the two codes that are about the moment.
            Self::Refused { status, .. } => *status >= 500 || [429, 408].contains(status),
            Self::Configuration { .. }
            | Self::Tls { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotServed { .. }
            | Self::NotFound { .. }
            | Self::Invalid { .. }
            | Self::Undecodable { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Permission, Server};
    use crate::model::Kind;
    use std::sync::Arc;

    fn server() -> Arc<Server> {
        Arc::new(Server {
            cluster: None,
            url: "https://s".to_owned(),
        })
    }

    fn text() -> String {
        "x".to_owned()
    }

    fn refused(status: u16) -> ClusterError {
        ClusterError::Refused {
            server: server(),
            path: text(),
            status,
            message: text(),
        }
    }

    #[test]
    fn what_passes_by_itself_is_tried_again() {
        let (server, path, reason) = (server(), text(), text());
        let unresolved = ClusterError::Unresolved { path, reason };
        let reason = text();
        let unreachable = ClusterError::Unreachable { server, reason };
        let forbidden = ClusterError::Forbidden {
            permission: Permission::new("get", Kind::Pod),
            user: None,
            purpose: None,
        };
        for (error, expected) in [
            (unreachable, true),
            (refused(500), true),
            (refused(429), true),
            (refused(408), true),
            (refused(400), false),
            (refused(409), false),
            (ClusterError::NotFound { path: text() }, false),
            (ClusterError::configuration("x"), false),
            (forbidden, false),
            (unresolved, true),
        ] {
            assert_eq!(error.passes(), expected, "{error}");
        }
    }
}
