//! Whether running the same command again can succeed: a function of the error.

use http::StatusCode;

use super::error::ClusterError;

/// What to expect of the same command, run again as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retryability {
    /// What was in the way passes by itself.
    TryAgain,
    /// It would fail in the same way, until somebody does something.
    Stop,
}

impl ClusterError {
    /// What to expect after this.
    ///
    /// Trying again is safe whatever became of a change: names of rules are made from what they taint,
    /// so the same command finds what an earlier one has made, looks at it anew, and does what is left.
    /// That holds for a change whose outcome is not known too. A name that does not resolve and a server
    /// that refuses connections count as passing, since a cluster that restarts looks like that; who
    /// tries again has to stop at some time. An answer that is not an API server's does not: what gives
    /// it, such as a login page, goes on doing so.
    #[must_use]
    pub fn retryability(&self) -> Retryability {
        match self {
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Busy { .. }
            | Self::Incomplete { .. }
            | Self::Conflict { .. }
            | Self::AlreadyExists { .. }
            | Self::Contended { .. }
            | Self::Unresolved { .. } => Retryability::TryAgain,
            Self::Refused { status, .. } => of_status(*status),
            Self::Flag { .. }
            | Self::FlagMissing { .. }
            | Self::NoConfiguration { .. }
            | Self::KubeconfigUnreadable { .. }
            | Self::KubeconfigMalformed { .. }
            | Self::NotInKubeconfig { .. }
            | Self::KubeconfigValue { .. }
            | Self::File { .. }
            | Self::PluginStart { .. }
            | Self::PluginFailed { .. }
            | Self::PluginRefused { .. }
            | Self::Preferences { .. }
            | Self::Credentials { .. }
            | Self::Tls { .. }
            | Self::Foreign { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotServed { .. }
            | Self::NotFound { .. }
            | Self::Invalid { .. }
            | Self::Undecodable { .. } => Retryability::Stop,
        }
    }
}

/// What to expect after a refusal with this HTTP status.
fn of_status(status: u16) -> Retryability {
    // Anything below 500 is a verdict about the request, except for the two codes that are about the moment.
    let passes = status >= StatusCode::INTERNAL_SERVER_ERROR.as_u16()
        || status == StatusCode::TOO_MANY_REQUESTS.as_u16()
        || status == StatusCode::REQUEST_TIMEOUT.as_u16();
    if passes {
        Retryability::TryAgain
    } else {
        Retryability::Stop
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use std::io;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;
    use crate::cluster::{Permission, Server};
    use crate::model::Kind;

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
    fn what_the_network_and_the_server_do_for_a_while_passes() {
        let server = server();
        let waited = Duration::from_secs(1);
        for error in [
            ClusterError::Unreachable {
                server: Arc::clone(&server),
                reason: text(),
            },
            ClusterError::TimedOut {
                server: Arc::clone(&server),
                path: text(),
                waited,
            },
            ClusterError::Busy {
                server: Arc::clone(&server),
                status: 429,
                limit: None,
            },
            ClusterError::Incomplete {
                server,
                path: text(),
                reason: text(),
            },
            refused(500),
            refused(599),
            refused(429),
            refused(408),
        ] {
            assert_eq!(error.retryability(), Retryability::TryAgain, "{error}");
        }
    }

    #[test]
    fn who_lost_a_race_or_does_not_know_tries_again() {
        for error in [
            ClusterError::Conflict {
                path: text(),
                message: text(),
            },
            ClusterError::AlreadyExists { path: text() },
            ClusterError::Contended {
                path: text(),
                tries: 5,
            },
            ClusterError::Unresolved {
                path: text(),
                reason: text(),
            },
        ] {
            assert_eq!(error.retryability(), Retryability::TryAgain, "{error}");
        }
    }

    #[test]
    fn what_the_server_has_decided_stays() {
        for error in [
            refused(400),
            refused(403),
            refused(409),
            refused(499),
            ClusterError::Unauthorized { server: server() },
            ClusterError::Forbidden {
                permission: Permission::new("get", Kind::Pod),
                user: None,
                purpose: None,
            },
            ClusterError::NotServed {
                server: server(),
                kind: Kind::DeviceTaintRule,
                advice: text(),
            },
            ClusterError::NotFound { path: text() },
            ClusterError::Invalid {
                path: text(),
                message: text(),
            },
            ClusterError::Foreign {
                server: server(),
                path: text(),
                found: text(),
            },
            ClusterError::Undecodable {
                server: server(),
                path: text(),
                reason: text(),
            },
            ClusterError::Tls {
                server: server(),
                reason: text(),
            },
        ] {
            assert_eq!(error.retryability(), Retryability::Stop, "{error}");
        }
    }

    #[test]
    fn what_is_wrong_on_this_side_stays() {
        let file = || PathBuf::from("config");
        let source = || io::Error::from(io::ErrorKind::NotFound);
        for error in [
            ClusterError::Flag {
                flag: "server",
                value: text(),
                reason: text(),
            },
            ClusterError::NoConfiguration {
                searched: text(),
                purpose: None,
            },
            ClusterError::KubeconfigUnreadable {
                path: file(),
                source: source(),
            },
            ClusterError::KubeconfigMalformed {
                path: file(),
                reason: text(),
            },
            ClusterError::NotInKubeconfig {
                what: "context",
                name: text(),
                known: Vec::new(),
                files: text(),
            },
            ClusterError::KubeconfigValue {
                object: text(),
                field: "server",
                problem: text(),
                files: text(),
            },
            ClusterError::File {
                what: "client key",
                path: file(),
                object: text(),
                source: source(),
            },
            ClusterError::PluginStart {
                command: text(),
                user: text(),
                install_hint: None,
                source: source(),
            },
            ClusterError::PluginFailed {
                command: text(),
                user: text(),
                problem: text(),
            },
            ClusterError::PluginRefused {
                command: text(),
                user: text(),
                refusal: "may not run",
            },
            ClusterError::Preferences {
                path: file(),
                reason: text(),
            },
            ClusterError::Credentials {
                server: server(),
                reason: text(),
            },
        ] {
            assert_eq!(error.retryability(), Retryability::Stop, "{error}");
        }
    }
}
