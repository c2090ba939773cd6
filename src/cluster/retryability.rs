//! Retryability of a command after an error.

use http::StatusCode;

use super::error::ClusterError;

/// Prospect of the same command, run again as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retryability {
    /// The cause passes by itself.
    TryAgain,
    /// It would fail in the same way, until the user does something.
    Stop,
}

impl ClusterError {
    /// Retryability after this error.
    ///
    /// Trying again is safe whatever became of a change: names of rules are made from what they taint,
    /// so the same command finds what an earlier one has made, looks at it anew, and does what is left.
    /// This holds for a change whose outcome is not known too. A name that does not resolve and a server
    /// that refuses connections count as passing, since a cluster that restarts looks like that; the
    /// caller has to stop trying at some time.
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
            Self::Configuration { .. }
            | Self::Tls { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotServed { .. }
            | Self::NotFound { .. }
            | Self::Invalid { .. }
            | Self::Undecodable { .. } => Retryability::Stop,
        }
    }
}

/// Retryability after a refusal with this HTTP status.
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
    fn what_passes_by_itself_is_tried_again() {
        let permission = Permission::new("get", Kind::Pod);
        for (error, expected) in [
            (
                ClusterError::Unreachable {
                    server: server(),
                    reason: text(),
                },
                Retryability::TryAgain,
            ),
            (refused(500), Retryability::TryAgain),
            (refused(429), Retryability::TryAgain),
            (refused(408), Retryability::TryAgain),
            (refused(400), Retryability::Stop),
            (refused(409), Retryability::Stop),
            (ClusterError::NotFound { path: text() }, Retryability::Stop),
            (ClusterError::configuration("x"), Retryability::Stop),
            (
                ClusterError::Forbidden {
                    permission,
                    user: None,
                    purpose: None,
                },
                Retryability::Stop,
            ),
            (
                ClusterError::Unresolved {
                    path: text(),
                    reason: text(),
                },
                Retryability::TryAgain,
            ),
        ] {
            assert_eq!(error.retryability(), expected, "{error}");
        }
    }
}
